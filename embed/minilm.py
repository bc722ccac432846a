"""all-MiniLM-L6-v2, computed exactly: the offline default.

The weights are not part of this package; `install.py` installs them. Both files are pinned by hash,
and a known text must give known bytes before the model is used: a processor or library that
computes other bytes is rejected, because its vectors would differ from those of all other machines.

Spec: embedding.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from blake3 import blake3

from ibidem.embed.encoder import Encoder
from ibidem.embed.files import sha256_of
from ibidem.embed.prepared import ALGORITHM, prepared_weights
from ibidem.embed.protocol import Float32s, batches, identity
from ibidem.embed.wordpiece import WordPiece
from ibidem.objects.errors import CorruptError, ErrorKind, FormatError, NotFoundError

NAME = "minilm"
DIM = 384
HEADS = 12
TOKENS_MAX = 256
WEIGHTS_FILE = "model.safetensors"
TOKENIZER_FILE = "tokenizer.json"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
SELF_TEST_TEXT = "Ibidem: in the same place, to the byte."
SELF_TEST_BLAKE3 = "f3fbc42f590e928f7de645caed57683361ea1c13eb126efb2430265c907d1d36"
"""blake3 of the float32 little-endian vector of SELF_TEST_TEXT."""
DIGEST = identity(
    {
        "algorithm": ALGORITHM,
        "weights": WEIGHTS_SHA256,
        "tokenizer": TOKENIZER_SHA256,
        "pooling": "mean, unit norm",
        "tokens_max": TOKENS_MAX,
    }
)


class ExactMiniLM:
    """The model in a folder, loaded when it is first used; the same bytes everywhere, for single
    texts and for batches."""

    name = NAME
    digest = DIGEST
    dim = DIM

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        """`threads` compute the texts of a batch; their number changes no bit."""
        self._folder, self._threads = folder, threads
        self._loaded: tuple[WordPiece, Encoder] | None = None

    def load(self) -> None:
        """Maps the weights, checks both files and runs the self-test; later calls do nothing.

        Raises:
            NotFoundError: kind `unknown-model`: the model is not in the folder.
            CorruptError: the hash of a file is not the pinned one.
            FormatError: kind `unsupported-semantics`: the self-test gives different bytes.
        """
        if self._loaded is not None:
            return
        weights, tokenizer = self._folder / WEIGHTS_FILE, self._folder / TOKENIZER_FILE
        if not weights.is_file() or not tokenizer.is_file():
            raise NotFoundError(
                f"model {NAME!r} is not installed",
                kind=ErrorKind.UNKNOWN_MODEL,
                hint="run 'repo embed install minilm'",
            )
        actual = sha256_of(tokenizer)
        if actual != TOKENIZER_SHA256:
            raise CorruptError(
                f"tokenizer: {tokenizer} has sha256 {actual}, expected {TOKENIZER_SHA256}",
                hint="run 'repo embed install minilm'",
            )
        pieces = json.loads(tokenizer.read_bytes())["model"]["vocab"]
        words = WordPiece(sorted(pieces, key=pieces.__getitem__))
        prepared = prepared_weights(weights, WEIGHTS_SHA256)
        encoder = Encoder(prepared, heads=HEADS, threads=self._threads)
        found = blake3(_embed(words, encoder, [SELF_TEST_TEXT]).astype("<f4").tobytes()).hexdigest()
        if found != SELF_TEST_BLAKE3:
            raise FormatError(
                f"model {NAME!r}: the self-test gave {found}, expected {SELF_TEST_BLAKE3}; "
                "this machine does not compute exactly",
                kind=ErrorKind.UNSUPPORTED_SEMANTICS,
                hint="use another numpy, or another model",
            )
        self._loaded = words, encoder

    def embed(self, texts: Sequence[str]) -> Float32s:
        """Returns (n, 384) float32 of unit norm; a text is truncated to 256 tokens."""
        self.load()
        assert self._loaded is not None, "BUG: load left nothing"
        return _embed(*self._loaded, texts)

    def token_ids(self, text: str) -> list[int]:
        """Returns the token ids of a text, [CLS] and [SEP] included."""
        self.load()
        assert self._loaded is not None, "BUG: load left nothing"
        return self._loaded[0].tokenize(text, tokens_max=TOKENS_MAX)


def _embed(words: WordPiece, encoder: Encoder, texts: Sequence[str]) -> Float32s:
    rows = [
        encoder.encode([words.tokenize(text, tokens_max=TOKENS_MAX) for text in part])
        for part in batches(texts)
    ]
    return np.concatenate(rows) if rows else np.empty((0, encoder.dim), np.float32)
