"""The protocol of embedders, and the encoding of their identity.

An embedder turns texts into vectors and identifies itself by a digest. Embedders with equal digests
are taken for the same function: the same weights, tokenizer, algorithm, pooling and length, or the
same model of the same provider.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from inspect import getattr_static
from typing import Any, Protocol

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from ibidem.objects import codec
from ibidem.objects.errors import ErrorKind, InvalidInputError

Float32s = NDArray[np.float32]
SparseRow = tuple[NDArray[np.uint32], Float32s]
"""Token ids (n,), ascending, and their weights (n,)."""

BATCH_TEXTS = 256
BATCH_CHARS = 1 << 18


class Embedder(Protocol):
    """Computes vectors of texts."""

    @property
    def name(self) -> str:
        """The name of the model, under which vectors are stored by default."""
        ...

    @property
    def digest(self) -> bytes:
        """The identity of the model, 32 bytes; see `identity`."""
        ...

    @property
    def dim(self) -> int:
        """The number of components."""
        ...

    def embed(self, texts: Sequence[str]) -> Float32s:
        """Returns (n, dim) finite float32, one row for each text, in their order.

        Raises:
            InvalidInputError: a text is not valid Unicode.
            StorageError: the provider does not answer, or rejects the request.
            CorruptError: its answer does not match the request.
        """
        ...


def checked_embedder(embedder: Embedder) -> Embedder:
    """Returns an embedder; raises `InvalidInputError` for what lacks a part of one."""
    expected = "an Embedder: name, digest, dim and embed(texts)"
    _check_parts("embedder", embedder, ("name", "digest", "dim", "embed"), expected)
    return embedder


class SparseEncoder(Protocol):
    """Computes weights of the tokens of a vocabulary from texts."""

    @property
    def name(self) -> str:
        """The name of the vocabulary, under which sparse vectors are stored: that of the model,
        because two models weigh the same tokens in two ways."""
        ...

    def encode(self, texts: Sequence[str]) -> Sequence[SparseRow]:
        """Returns the tokens and weights of each text, in their order.

        Raises:
            InvalidInputError: the provider rejects the request.
            StorageError: the provider does not answer.
            CorruptError: its answer does not match the request.
        """
        ...


def checked_encoder(encoder: SparseEncoder) -> SparseEncoder:
    """Returns a sparse encoder; raises `InvalidInputError` for what lacks a part of one."""
    _check_parts("encoder", encoder, ("name", "encode"), "a SparseEncoder: name and encode(texts)")
    return encoder


def _check_parts(field: str, value: object, parts: Sequence[str], expected: str) -> None:
    for part in parts:
        # A property is not read: it may load a model, or ask a server.
        if getattr_static(value, part, None) is None and not hasattr(value, part):
            raise InvalidInputError(
                f"{field}: got {type(value).__name__} without {part!r}, expected {expected}"
            )


def identity(parts: Mapping[str, Any]) -> bytes:
    """Returns the digest of an embedder's defining parts: blake3 of them as canonical DAG-CBOR."""
    return blake3(codec.encode(dict(parts))).digest()


def batches(
    texts: Sequence[str], *, texts_max: int = BATCH_TEXTS, chars_max: int = BATCH_CHARS
) -> Iterator[Sequence[str]]:
    """Yields the texts in order, in parts of bounded count and length, never empty.

    A text that is longer than `chars_max` is a part by itself.
    """
    start = chars = 0
    for at, text in enumerate(texts):
        if at > start and (at - start >= texts_max or chars + len(text) > chars_max):
            yield texts[start:at]
            start, chars = at, 0
        chars += len(text)
    if start < len(texts):
        yield texts[start:]


def checked(vectors: Any, *, count: int, dim: int, name: str) -> Float32s:
    """Returns an embedder's answer as (count, dim) float32.

    Raises:
        InvalidInputError: the dimension is wrong (kind `dimension-mismatch`; the message names
            both), a component is not a finite number, or the number of rows is wrong.
    """
    try:
        with np.errstate(over="ignore"):  # overflow is detected by the check for finite numbers
            array = np.asarray(vectors, np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"model {name!r}: got an answer that is no array of numbers, expected {count} vectors"
        ) from error
    if array.ndim != 2 or len(array) != count:
        raise InvalidInputError(
            f"model {name!r}: got an answer of shape {array.shape}, expected {count} vectors"
        )
    if array.shape[1] != dim:
        raise InvalidInputError(
            f"model {name!r}: got {array.shape[1]} dimensions, expected {dim}",
            kind=ErrorKind.DIMENSION_MISMATCH,
        )
    if not np.isfinite(array).all():
        raise InvalidInputError(f"model {name!r}: got a component that is not finite")
    return array
