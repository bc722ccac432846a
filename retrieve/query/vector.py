"""The vectors of a query, dense and sparse, in the canonical form that is recorded.

Spec: retrieval 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.numbers import Float32s
from ibidem.retrieve.query import checks

DIM_MAX = 4096
TOKENS_MAX = 65_536
"""The most tokens of a sparse query."""


@record
class QueryVector:
    """A dense query: its model and the bytes of its vector."""

    model: str
    data: bytes
    """float32, little-endian."""

    @property
    def dim(self) -> int:
        """The number of components."""
        return len(self.data) // 4

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {"model": self.model, "data": self.data}

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> QueryVector:
        """Returns the vector of a canonical form."""
        return checked_vector((form["model"], np.frombuffer(form["data"], "<f4")))

    def array(self) -> Float32s:
        """Returns the components, (d,) float32."""
        return np.frombuffer(self.data, "<f4").astype(np.float32)


@record
class QuerySparse:
    """A sparse query: weights on tokens of a vocabulary, tokens ascending."""

    vocab: str
    tokens: tuple[int, ...]
    weights: tuple[float, ...]
    """Each a float32."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {
            "vocab": self.vocab,
            "tokens": list(self.tokens),
            "weights": list(self.weights),
        }

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> QuerySparse:
        """Returns the vector of a canonical form."""
        return checked_sparse((form["vocab"], form["tokens"], form["weights"]))


def float32s(option: str, values: object) -> Float32s:
    """Returns finite float32 numbers without -0.0, rounded to nearest from the given values."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiu":
            raise ValueError(f"numbers of type {array.dtype}")
        with np.errstate(over="ignore"):
            array = array.astype(np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{option}: got {error}, expected a list of numbers") from error
    if array.ndim != 1:
        raise InvalidInputError(f"{option}: got shape {array.shape}, expected one dimension")
    if not np.isfinite(array).all():
        index = int(np.flatnonzero(~np.isfinite(array))[0])
        raise InvalidInputError(
            f"{option}: got {array[index]} at {index}, expected finite float32 numbers"
        )
    return array + np.float32(0.0)


def plain(value: object) -> object:
    """Returns a numpy scalar as a Python value, and anything else unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def checked_vector(vector: object) -> QueryVector:
    """Returns a dense query given as (model, numbers)."""
    if not isinstance(vector, tuple) or len(vector) != 2:
        raise InvalidInputError(f"vector: got {type(vector).__name__}, expected (model, numbers)")
    model = checks.name("vector", vector[0])
    values = float32s("vector", vector[1])
    if not 1 <= values.shape[0] <= DIM_MAX:
        raise InvalidInputError(
            f"vector: got {values.shape[0]} components, expected 1 to {DIM_MAX}",
            kind=ErrorKind.DIMENSION_MISMATCH,
        )
    return QueryVector(model, values.astype("<f4").tobytes())


def checked_sparse(sparse: object) -> QuerySparse:
    """Returns a sparse query given as (vocabulary, tokens, weights)."""
    if not isinstance(sparse, tuple) or len(sparse) != 3:
        raise InvalidInputError(
            f"sparse: got {type(sparse).__name__}, expected (vocabulary, tokens, weights)"
        )
    vocab = checks.name("sparse", sparse[0])
    tokens = [checks.count("sparse.tokens", plain(token), high=2**32 - 1) for token in sparse[1]]
    weights = float32s("sparse.weights", sparse[2])
    if len(tokens) != weights.shape[0] or not 1 <= len(tokens) <= TOKENS_MAX:
        raise InvalidInputError(
            f"sparse: got {len(tokens)} tokens and {weights.shape[0]} weights, "
            f"expected as many of each, 1 to {TOKENS_MAX}"
        )
    if len(set(tokens)) != len(tokens):
        raise InvalidInputError("sparse.tokens: got one twice, expected each once")
    pairs = sorted(zip(tokens, weights.tolist(), strict=True))
    return QuerySparse(vocab, tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs))


@record
class VectorOption:
    """An option that provides a vector to rank by."""

    lane: str
    check: Callable[[object], Any]
    """Converts the caller's value to that of the query."""
    read: Callable[[Mapping[str, Any]], Any]
    """Converts the canonical form to the value of the query."""
    name: str
    """The field of the canonical form that names the model or vocabulary."""


VECTOR_OPTIONS: Mapping[str, VectorOption] = {
    "vector": VectorOption("dense", checked_vector, QueryVector.from_form, "model"),
    "sparse": VectorOption("sparse", checked_sparse, QuerySparse.from_form, "vocab"),
}
"""By option name, which is a field of `Query` too; in the order of fusion."""
