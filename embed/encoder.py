"""A BERT encoder whose result has the same bits on every machine.

Only integers are summed, and every sum is below 2^53 for any data, so it is exact in float64: in
any order, with or without fused operations, on any number of threads and with any BLAS. Every other
step is a single rounded operation on a single number. Texts are packed one after the other without
padding, and no row depends on its neighbours.

Activations are integers in units of 2^-18, at most 2^24 in size. A row of weights is scaled so that
its absolute values sum to at most 2^28. Together that is 2^52.

Spec: embedding 3; the proof of the bounds is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ibidem.embed.tables import EXP_UNITS, GELU_UNITS, STEPS, exp_table, gelu_table
from ibidem.objects.errors import CorruptError, InvalidInputError

Float64s = NDArray[np.float64]
Integers = NDArray[np.int64]

UNIT_BITS = 18
"""Activations are integers times 2^-18."""
ACTIVATION_MAX = float(2**24)
WEIGHT_SUM_MAX = 2**28
HEAD_BITS = 17
"""Queries, keys and values are integers times 2^-17, at most 2^23."""
HEAD_MAX = float(2**23)
RESIDUAL_MAX = float(2**26)
EMBEDDING_BITS = 22
"""Sums of embeddings are integers times 2^-22: they are small, and normalised before use."""
TOKENS_MAX = 256
HIDDEN_MAX = 512
HEAD_DIM_MAX = 64
ROWS = 128
"""Rows of one matrix product; OpenBLAS is half as fast with more."""
_SHIFT_MAX = 60


def prepare(weights: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Returns the integer form of a BERT checkpoint's weights, and the tables that `Encoder` needs.

    Args:
        weights: float32 arrays by the names that Hugging Face gives them.

    Raises:
        CorruptError: one is missing, not finite, or its shape does not fit.
    """
    out: dict[str, NDArray[Any]] = {}
    words = _take(weights, "embeddings.word_embeddings.weight", 2)
    positions = _take(weights, "embeddings.position_embeddings.weight", 2)[:TOKENS_MAX]
    kind = _take(weights, "embeddings.token_type_embeddings.weight", 2)[0]
    out["words"], out["places"], out["kind"] = words, positions, kind.astype(np.float64)
    _prepare_norm(out, "norm", weights, "embeddings.LayerNorm")
    layer = 0
    while f"encoder.layer.{layer}.output.dense.weight" in weights:
        source, target = f"encoder.layer.{layer}", f"{layer}"
        heads = [f"{source}.attention.self.{part}" for part in ("query", "key", "value")]
        _prepare_dense(out, f"{target}.qkv", weights, heads, HEAD_BITS)
        _prepare_dense(
            out, f"{target}.mix", weights, [f"{source}.attention.output.dense"], UNIT_BITS
        )
        _prepare_norm(out, f"{target}.mix", weights, f"{source}.attention.output.LayerNorm")
        _prepare_dense(out, f"{target}.up", weights, [f"{source}.intermediate.dense"], 10)
        _prepare_dense(out, f"{target}.down", weights, [f"{source}.output.dense"], UNIT_BITS)
        _prepare_norm(out, f"{target}.down", weights, f"{source}.output.LayerNorm")
        layer += 1
    out["exp"], out["exp.step"] = exp_table()
    out["gelu"], out["gelu.step"] = gelu_table()
    return out


def integer_weights(matrix: NDArray[Any]) -> tuple[Float64s, Integers]:
    """Returns (n, k) float64 integers and (n,) shifts: row j is the weights times 2^shift[j].

    A shift is the largest, up to 60, that leaves the sum of the row's absolute values at most 2^28.
    """
    exact = matrix.astype(np.float64)
    size = np.abs(exact).sum(axis=1)
    # The order of this sum does not matter: it only gives an upper bound from which to start.
    shifts = 30 - np.frexp(size)[1].astype(np.int64)
    shifts = np.minimum(np.where(size > 0.0, shifts, 0), _SHIFT_MAX)
    while True:
        integers = np.rint(np.ldexp(exact, shifts[:, None]))
        over = np.abs(integers).astype(np.int64).sum(axis=1) > WEIGHT_SUM_MAX
        if not over.any():
            return integers, shifts
        shifts = shifts - over


class Encoder:
    """An encoder with prepared weights; it is used through `encode`."""

    def __init__(self, prepared: Mapping[str, NDArray[Any]], *, heads: int) -> None:
        self._weights = prepared
        self._hidden = int(prepared["words"].shape[1])
        self._wide = int(prepared["0.up"].shape[1])
        self._layers = 1 + max(int(name[:-3]) for name in prepared if name.endswith(".up"))
        self._heads, self._head_dim = heads, self._hidden // heads
        fits = self._hidden <= HIDDEN_MAX and self._head_dim <= HEAD_DIM_MAX
        if not fits or self._head_dim * heads != self._hidden:
            raise InvalidInputError(
                f"encoder: {self._hidden} components in {heads} heads, expected at most "
                f"{HIDDEN_MAX}, and at most {HEAD_DIM_MAX} in each head"
            )
        # Buffers for one block of rows, reused because allocating memory costs more than the work
        # in it.
        self._wide_rows = np.empty((4, ROWS, self._wide))
        self._index_rows = np.empty((ROWS, self._wide), np.int64)
        self._hidden_rows = np.empty((2, ROWS, self._hidden))
        # From a product of integers in units of 2^-34 to steps of the exp table.
        root = np.sqrt(np.float64(self._head_dim))
        self._exp_scale = float(STEPS) / root / float(2 ** (2 * HEAD_BITS))

    @property
    def dim(self) -> int:
        """The number of components of a vector."""
        return self._hidden

    def encode(self, texts: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Returns the mean of each text's token states, of unit norm: (n, d) float32.

        Args:
            texts: the token ids of each text, 1 to 256 of them.
        """
        if not texts:
            return np.empty((0, self._hidden), np.float32)
        lengths = [len(ids) for ids in texts]
        assert min(lengths) > 0, "BUG: a text without tokens"
        assert max(lengths) <= TOKENS_MAX, "BUG: a text that was not cut"
        stops = np.cumsum(lengths).tolist()
        spans = list(zip([0, *stops[:-1]], stops, strict=True))
        x = self._embed(np.concatenate([np.asarray(ids, np.int64) for ids in texts]), lengths)
        heads = np.empty((len(x), 3 * self._hidden))
        for layer in range(self._layers):
            self._attend(x, heads, spans, f"{layer}.")
            self._feed_forward(x, f"{layer}.")
        return np.stack([self._pool(x[start:stop]) for start, stop in spans])

    def _embed(self, ids: Integers, lengths: list[int]) -> Float64s:
        positions = np.concatenate([np.arange(length) for length in lengths])
        x = self._weights["words"][ids].astype(np.float64)
        x += self._weights["places"][positions]
        x += self._weights["kind"]
        x *= float(2**EMBEDDING_BITS)
        for rows in _blocks(len(x)):
            self._normalise(x[rows], "norm", bits=EMBEDDING_BITS)
        return x

    def _attend(self, x: Float64s, heads: Float64s, spans: list[tuple[int, int]], at: str) -> None:
        """Replaces rows `x` by the layer norm of their sum with the attention output."""
        for rows in _blocks(len(x)):
            out = heads[rows]
            self._dense(x[rows], f"{at}qkv", out)
            _round(out, HEAD_MAX)
        hidden = self._hidden
        context = heads[:, :hidden]
        for start, stop in spans:
            parts = heads[start:stop].reshape(stop - start, 3, self._heads, self._head_dim)
            query, key, value = parts.transpose(1, 2, 0, 3)
            # The values of all heads are read before the first query is overwritten.
            found = self._mix(query, key, value)
            context[start:stop] = found.transpose(1, 0, 2).reshape(stop - start, hidden)
        for rows in _blocks(len(x)):
            mixed = self._hidden_rows[0, : rows.stop - rows.start]
            self._dense(context[rows], f"{at}mix", mixed)
            x[rows] += mixed
            self._normalise(x[rows], f"{at}mix")

    def _mix(self, query: Float64s, key: Float64s, value: Float64s) -> Float64s:
        """Returns the attention output of one text's tokens, (heads, t, head dim) in units of
        2^-18."""
        scores = np.matmul(query, key.transpose(0, 2, 1))
        np.subtract(scores.max(axis=2, keepdims=True), scores, out=scores)
        scores *= self._exp_scale
        np.minimum(scores, float(EXP_UNITS * STEPS), out=scores)
        index = scores.astype(np.int64)
        scores -= index
        scores *= np.take(self._weights["exp.step"], index, mode="clip")
        scores += np.take(self._weights["exp"], index, mode="clip")
        np.rint(scores, out=scores)
        found: Float64s = np.matmul(scores, value)
        found /= scores.sum(axis=2, keepdims=True)
        found *= 2.0
        np.rint(found, out=found)
        return found

    def _feed_forward(self, x: Float64s, at: str) -> None:
        """Replaces rows `x` by the layer norm of their sum with the output of two dense layers."""
        for rows in _blocks(len(x)):
            count = rows.stop - rows.start
            wide, size, tail, step = self._wide_rows[:, :count]
            self._dense(x[rows], f"{at}up", wide)
            self._gelu(wide, size, tail, step, self._index_rows[:count])
            down = self._hidden_rows[0, :count]
            self._dense(wide, f"{at}down", down)
            x[rows] += down
            self._normalise(x[rows], f"{at}down")

    def _gelu(
        self, h: Float64s, size: Float64s, tail: Float64s, step: Float64s, index: Integers
    ) -> None:
        """Replaces `h`, in units of 2^-10, by its GELU in units of 2^-18: max(h, 0) less a tail."""
        np.abs(h, out=size)
        np.minimum(size, float(GELU_UNITS * STEPS), out=size)
        index[...] = size
        size -= index
        np.take(self._weights["gelu"], index, out=tail, mode="clip")
        np.take(self._weights["gelu.step"], index, out=step, mode="clip")
        size *= step
        tail += size
        np.maximum(h, 0.0, out=h)
        h *= 256.0
        h -= tail
        _round(h, ACTIVATION_MAX)

    def _dense(self, x: Float64s, name: str, out: Float64s) -> None:
        np.matmul(x, self._weights[name], out=out)
        out *= self._weights[f"{name}.scale"]
        out += self._weights[f"{name}.bias"]

    def _normalise(self, x: Float64s, name: str, *, bits: int = UNIT_BITS) -> None:
        """Replaces rows `x`, in units of 2^-bits, by their layer norm, rounded to 2^-18."""
        square = self._hidden_rows[1, : len(x)]
        _round(x, RESIDUAL_MAX)
        x -= x.sum(axis=1, keepdims=True) / float(self._hidden)
        np.multiply(x, x, out=square)
        square *= 2.0**-10
        np.rint(square, out=square)
        whole = square.sum(axis=1, keepdims=True)
        variance = whole / (float(self._hidden) * float(2 ** (2 * bits - 10)))
        # Exact: the square root times a power of two.
        x /= np.sqrt(variance + 1e-12) * float(2 ** (bits - UNIT_BITS))
        x *= self._weights[f"{name}.gain"]
        x += self._weights[f"{name}.offset"]
        _round(x, ACTIVATION_MAX)

    def _pool(self, x: Float64s) -> NDArray[np.float32]:
        mean = x.sum(axis=0) / float(len(x))
        squares = np.rint(mean * mean * 2.0**-4).sum()
        if squares == 0.0:
            return np.zeros(self._hidden, np.float32)
        unit: NDArray[np.float32] = (mean / (4.0 * np.sqrt(squares))).astype(np.float32)
        return unit + np.float32(0.0)


def _round(x: Float64s, limit: float) -> None:
    np.rint(x, out=x)
    np.clip(x, -limit, limit, out=x)


def _blocks(count: int) -> list[slice]:
    """Returns equal parts of at most ROWS rows."""
    parts = -(-count // ROWS)
    edges = [count * part // parts for part in range(parts + 1)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def _prepare_dense(
    out: dict[str, NDArray[Any]],
    target: str,
    weights: Mapping[str, NDArray[Any]],
    sources: list[str],
    unit_bits: int,
) -> None:
    """Puts the integer form of dense layers side by side; results are in units of 2^-unit_bits."""
    matrix = np.concatenate([_take(weights, f"{source}.weight", 2) for source in sources])
    bias = np.concatenate([_take(weights, f"{source}.bias", 1) for source in sources])
    integers, shifts = integer_weights(matrix)
    if len(bias) != len(integers):
        raise CorruptError(f"weights: {sources[0]} has {len(bias)} biases for {len(integers)} rows")
    out[target] = np.ascontiguousarray(integers.T)
    out[f"{target}.scale"] = np.ldexp(1.0, unit_bits - UNIT_BITS - shifts)
    out[f"{target}.bias"] = bias.astype(np.float64) * float(2**unit_bits)


def _prepare_norm(
    out: dict[str, NDArray[Any]], target: str, weights: Mapping[str, NDArray[Any]], source: str
) -> None:
    out[f"{target}.gain"] = _take(weights, f"{source}.weight", 1).astype(np.float64)
    offset = _take(weights, f"{source}.bias", 1).astype(np.float64)
    out[f"{target}.offset"] = offset * float(2**UNIT_BITS)


def _take(weights: Mapping[str, NDArray[Any]], name: str, sides: int) -> NDArray[np.float32]:
    array = weights.get(name)
    if array is None or array.ndim != sides or array.dtype != np.float32:
        raise CorruptError(f"weights: {name} is missing, or not float32 of {sides} dimensions")
    if not np.isfinite(array).all():
        raise CorruptError(f"weights: {name} has a component that is not finite")
    return array
