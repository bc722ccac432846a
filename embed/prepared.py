"""The integer form of a checkpoint's weights, kept in a file beside it, so that loading maps it.

The file is a cache: its manifest says of which weights, by which algorithm and with which hash it
was made, and every open checks the hash. What does not fit is made again; where nothing can be
written, it is made in memory.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from ibidem.embed import safetensors
from ibidem.embed.encoder import prepare
from ibidem.embed.files import sha256_of
from ibidem.objects.errors import CorruptError
from ibidem.store.files import write_file

ALGORITHM = "bert-exact-1"
"""Names the arithmetic of `encoder.py`; another arithmetic has another name."""


def prepared_weights(weights: Path, sha256: str) -> Mapping[str, NDArray[Any]]:
    """Returns what `Encoder` takes, mapped from the cache file, which is made when it is not there.

    Args:
        weights: a safetensors file.
        sha256: its hash; the file itself is read only to make the cache.

    Raises:
        CorruptError: the weights are not those of the hash, or not of a BERT.
        StorageError: they cannot be read.
    """
    found = _cached(weights, sha256)
    if found is not None:
        return found
    actual = sha256_of(weights)
    if actual != sha256:
        raise CorruptError(
            f"weights: {weights} has sha256 {actual}, expected {sha256}",
            hint="install the model again",
        )
    arrays = prepare(safetensors.read(weights)[0])
    return _kept(weights, sha256, arrays) or arrays


def cache_files(weights: Path) -> tuple[Path, Path]:
    """Returns where the cache of a weights file and its manifest are."""
    return weights.with_name(f"{ALGORITHM}.bin"), weights.with_name(f"{ALGORITHM}.json")


def _cached(weights: Path, sha256: str) -> Mapping[str, NDArray[Any]] | None:
    data, manifest = cache_files(weights)
    try:
        said = json.loads(manifest.read_bytes())
        hasher = blake3()
        hasher.update_mmap(data)
        if said == _manifest(sha256, hasher.hexdigest()):
            return safetensors.read(data)[0]
    except (OSError, ValueError, CorruptError):
        pass
    return None


def _kept(
    weights: Path, sha256: str, arrays: Mapping[str, NDArray[Any]]
) -> Mapping[str, NDArray[Any]] | None:
    """Writes the cache and returns it mapped; None where it cannot be written."""
    data, manifest = cache_files(weights)
    ordered = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with contextlib.suppress(OSError):
        # Until the manifest is there the hash does not fit, and the cache is made once more.
        safetensors.write(data, ordered, {"algorithm": ALGORITHM, "weights": sha256})
        hasher = blake3()
        hasher.update_mmap(data)
        write_file(manifest, json.dumps(_manifest(sha256, hasher.hexdigest())).encode())
        return safetensors.read(data)[0]
    return None


def _manifest(sha256: str, blake3_hex: str) -> dict[str, str]:
    return {"algorithm": ALGORITHM, "weights_sha256": sha256, "blake3": blake3_hex}
