"""Prints the digest of the tiny model's results: run in processes with other settings."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path

import numpy as np

from ibidem.embed.encoder import Encoder, prepare


def main() -> None:
    """Reads how many texts to encode at once."""
    place = Path(__file__).with_name("conftest.py")
    spec = importlib.util.spec_from_file_location("embed_conftest", place)
    assert spec is not None
    assert spec.loader is not None
    tiny = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tiny)
    prepared = prepare(tiny.tiny_pair_weights())
    encoder = Encoder(prepared, heads=tiny.HEADS)
    texts, size = tiny.tiny_texts(), int(sys.argv[1])
    rows = [encoder.encode(texts[at : at + size]) for at in range(0, len(texts), size)]
    hasher = hashlib.sha256(np.concatenate(rows).astype("<f4").tobytes())
    pairs = [(ids, len(ids) // 2) for ids in texts]
    scores = [encoder.score(pairs[at : at + size]) for at in range(0, len(pairs), size)]
    hasher.update(repr([score for part in scores for score in part]).encode())
    for name in sorted(prepared):
        hasher.update(name.encode() + prepared[name].tobytes())
    print(hasher.hexdigest())


if __name__ == "__main__":
    main()
