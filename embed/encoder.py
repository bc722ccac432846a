"""A BERT encoder whose result has the same bits on every machine.

Only integers are summed, and every sum is below 2^53 for any data, so it is exact in float64: in
any order, with or without fused operations, on any number of threads and with any BLAS. Every other
step is a single rounded operation on a single number. Texts are packed one after the other without
padding, and no row depends on its neighbours, so threads may share the texts in any way.

Activations are integers in units of 2^-18, at most 2^24 in size. A row of weights is scaled so that
its absolute values sum to at most 2^28. Together that is 2^52.

Spec: embedding 3; the proof of the bounds is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ibidem.embed.tables import (
    EXP_UNITS,
    GELU_UNITS,
    STEPS,
    TANH_UNITS,
    exp_table,
    gelu_table,
    tanh_table,
)
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
TOKENS_MAX = 512
HIDDEN_MAX = 1024
NARROW_MAX = 512
"""Up to this width, squares of means are summed in units of 2^4; beyond it, in units of 2^6."""
HEAD_DIM_MAX = 64
ROWS = 128
"""Rows of one matrix product; their activations stay in the cache of a core."""
PART_TOKENS = 2048
"""Tokens that one thread computes at a time, which limits its memory."""
MEAN, FIRST = "mean", "first"
POOLINGS = (MEAN, FIRST)
"""What becomes of a text's token states: their mean, or the state of the first token."""
_SHIFT_MAX = 60
_CURVE_ROWS = 16
"""Rows whose curve is computed at a time: with their indexes they fit in the cache of a core."""
Part = TypeVar("Part")


def prepare(weights: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Returns the integer form of a BERT checkpoint's weights, and the tables that `Encoder` needs.

    Args:
        weights: float32 arrays by the names that Hugging Face gives them, without `bert.` in
            front. If `classifier.weight` is one of them, the head of a cross-encoder is prepared.

    Raises:
        CorruptError: one is missing, not finite, or its shape does not fit.
    """
    out: dict[str, NDArray[Any]] = {}
    words = _take(weights, "embeddings.word_embeddings.weight", 2)
    positions = _take(weights, "embeddings.position_embeddings.weight", 2)[:TOKENS_MAX]
    kinds = _take(weights, "embeddings.token_type_embeddings.weight", 2)
    out["words"], out["places"], out["kinds"] = words, positions, kinds.astype(np.float64)
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
    if "classifier.weight" in weights:
        _prepare_dense(out, "pool", weights, ["pooler.dense"], 10)
        _prepare_dense(out, "head", weights, ["classifier"], UNIT_BITS)
        out["tanh"], out["tanh.step"] = tanh_table()
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
    """An encoder with prepared weights: `encode` gives vectors, `score` the scores of pairs.

    It holds no state beside the weights, so several threads may use it at once.
    """

    def __init__(
        self,
        prepared: Mapping[str, NDArray[Any]],
        *,
        heads: int,
        pooling: str = MEAN,
        threads: int = 1,
    ) -> None:
        self._weights = prepared
        self._hidden = int(prepared["words"].shape[1])
        self._wide = int(prepared["0.up"].shape[1])
        self._layers = 1 + max(int(name[:-3]) for name in prepared if name.endswith(".up"))
        self._heads, self._head_dim = heads, self._hidden // heads
        self._pooling, self._threads = pooling, threads
        fits = self._hidden <= HIDDEN_MAX and self._head_dim <= HEAD_DIM_MAX
        if not fits or self._head_dim * heads != self._hidden:
            raise InvalidInputError(
                f"encoder: {self._hidden} components in {heads} heads, expected at most "
                f"{HIDDEN_MAX}, and at most {HEAD_DIM_MAX} in each head"
            )
        # From a product of integers in units of 2^-34 to steps of the exp table.
        root = np.sqrt(np.float64(self._head_dim))
        self._exp_scale = float(STEPS) / root / float(2 ** (2 * HEAD_BITS))

    @property
    def dim(self) -> int:
        """The number of components of a vector."""
        return self._hidden

    def encode(self, texts: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Returns the pooled token states of each text, of unit norm: (n, d) float32.

        Args:
            texts: the token ids of each text, 1 to 512 of them.
        """
        if not texts:
            return np.empty((0, self._hidden), np.float32)
        whole = [(ids, len(ids)) for ids in texts]
        return np.concatenate(self._shared(self._vectors, whole))

    def score(self, pairs: Sequence[tuple[Sequence[int], int]]) -> list[float]:
        """Returns the score of each pair, a multiple of 2^-18; the checkpoint has a classifier.

        Args:
            pairs: the token ids of both texts together, 1 to 512 of them, and the number of those
                of the first text.
        """
        return [score for part in self._shared(self._scores, pairs) for score in part]

    def _shared(
        self,
        work: Callable[[Sequence[tuple[Sequence[int], int]]], Part],
        texts: Sequence[tuple[Sequence[int], int]],
    ) -> list[Part]:
        """Returns the results of the parts of some texts, in their order, computed by threads."""
        parts = _parts(texts, self._threads)
        if len(parts) < 2 or self._threads == 1:
            return [work(part) for part in parts]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(work, parts))

    def _vectors(self, texts: Sequence[tuple[Sequence[int], int]]) -> NDArray[np.float32]:
        x, spans = self._states(texts)
        return np.stack([self._pool(x[start:stop]) for start, stop in spans])

    def _scores(self, texts: Sequence[tuple[Sequence[int], int]]) -> list[float]:
        x, spans = self._states(texts)
        first = x[[start for start, _ in spans]]
        pooled = np.empty_like(first)
        self._dense(first, "pool", pooled)
        self._tanh(pooled)
        scores = np.empty((len(pooled), 1))
        self._dense(pooled, "head", scores)
        np.rint(scores, out=scores)
        scores *= 2.0**-UNIT_BITS
        scores += 0.0
        found: list[float] = scores[:, 0].tolist()
        return found

    def _states(
        self, texts: Sequence[tuple[Sequence[int], int]]
    ) -> tuple[Float64s, list[tuple[int, int]]]:
        """Returns the states of all tokens, (t, d), and the start and stop of each text."""
        lengths = [len(ids) for ids, _ in texts]
        assert min(lengths) > 0, "BUG: a text without tokens"
        assert max(lengths) <= TOKENS_MAX, "BUG: a text that was not cut"
        stops = np.cumsum(lengths).tolist()
        spans = list(zip([0, *stops[:-1]], stops, strict=True))
        ids = np.concatenate([np.asarray(each, np.int64) for each, _ in texts])
        x = self._embed(ids, lengths, [first for _, first in texts])
        heads = np.empty((len(x), 3 * self._hidden))
        buffers = _Buffers(min(len(x), ROWS), self._hidden, self._wide)
        for layer in range(self._layers):
            self._project(x, heads, f"{layer}.")
            context = heads[:, : self._hidden]
            if self._pooling == FIRST and layer == self._layers - 1:
                # Nothing reads the other states of the last layer.
                context = self._first_contexts(heads, spans)
                x = x[[start for start, _ in spans]]
                spans = [(at, at + 1) for at in range(len(spans))]
            else:
                self._contexts(heads, spans)
            self._add_context(x, context, f"{layer}.", buffers)
            self._feed_forward(x, f"{layer}.", buffers)
        return x, spans

    def _embed(self, ids: Integers, lengths: list[int], firsts: list[int]) -> Float64s:
        positions = np.concatenate([np.arange(length) for length in lengths])
        kinds = (positions >= np.repeat(firsts, lengths)).astype(np.int64)
        x = self._weights["words"][ids].astype(np.float64)
        x += self._weights["places"][positions]
        x += self._weights["kinds"][kinds]
        x *= float(2**EMBEDDING_BITS)
        square = np.empty((min(len(x), ROWS), self._hidden))
        for rows in _blocks(len(x)):
            self._normalise(x[rows], "norm", square, bits=EMBEDDING_BITS)
        return x

    def _project(self, x: Float64s, heads: Float64s, at: str) -> None:
        """Writes queries, keys and values of all tokens, (t, 3 d), into `heads`."""
        for rows in _blocks(len(x)):
            out = heads[rows]
            self._dense(x[rows], f"{at}qkv", out)
            _round(out, HEAD_MAX)

    def _contexts(self, heads: Float64s, spans: list[tuple[int, int]]) -> None:
        """Replaces the queries in `heads` by the attention output of their tokens."""
        for start, stop in spans:
            query, key, value = self._parts_of(heads[start:stop])
            # The values of all heads are read before the first query is overwritten.
            found = self._mix(query, key, value).transpose(1, 0, 2)
            heads[start:stop, : self._hidden] = found.reshape(stop - start, self._hidden)

    def _first_contexts(self, heads: Float64s, spans: list[tuple[int, int]]) -> Float64s:
        """Returns the attention output of the first token of each text, (n, d)."""
        found = np.empty((len(spans), self._hidden))
        for at, (start, stop) in enumerate(spans):
            query, key, value = self._parts_of(heads[start:stop])
            found[at] = self._mix(query[:, :1], key, value).reshape(self._hidden)
        return found

    def _parts_of(self, heads: Float64s) -> Float64s:
        """Returns queries, keys and values of one text, (3, heads, t, head dim)."""
        parts = heads.reshape(len(heads), 3, self._heads, self._head_dim)
        return parts.transpose(1, 2, 0, 3)

    def _add_context(self, x: Float64s, context: Float64s, at: str, buffers: _Buffers) -> None:
        """Replaces rows `x` by the layer norm of their sum with the projected attention output."""
        for rows in _blocks(len(x)):
            mixed = buffers.hidden[: rows.stop - rows.start]
            self._dense(context[rows], f"{at}mix", mixed)
            x[rows] += mixed
            self._normalise(x[rows], f"{at}mix", buffers.square)

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

    def _feed_forward(self, x: Float64s, at: str, buffers: _Buffers) -> None:
        """Replaces rows `x` by the layer norm of their sum with the output of two dense layers."""
        for rows in _blocks(len(x)):
            count = rows.stop - rows.start
            wide, down = buffers.wide[:count], buffers.hidden[:count]
            self._dense(x[rows], f"{at}up", wide)
            for start in range(0, count, _CURVE_ROWS):
                self._gelu(wide[start : start + _CURVE_ROWS], buffers)
            self._dense(wide, f"{at}down", down)
            x[rows] += down
            self._normalise(x[rows], f"{at}down", buffers.square)

    def _gelu(self, h: Float64s, buffers: _Buffers) -> None:
        """Replaces `h`, in units of 2^-10, by its GELU in units of 2^-18: max(h, 0) less a tail."""
        size, tail, step = buffers.curve[:, : len(h)]
        index = buffers.index[: len(h)]
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

    def _tanh(self, h: Float64s) -> None:
        """Replaces `h`, in units of 2^-10, by its hyperbolic tangent in units of 2^-18."""
        size = np.minimum(np.abs(h), float(TANH_UNITS * STEPS))
        index = size.astype(np.int64)
        rest = (size - index) * self._weights["tanh.step"][index]
        rest += self._weights["tanh"][index]
        np.copysign(np.rint(float(2**UNIT_BITS) - rest), h, out=h)

    def _dense(self, x: Float64s, name: str, out: Float64s) -> None:
        np.matmul(x, self._weights[name], out=out)
        out *= self._weights[f"{name}.scale"]
        out += self._weights[f"{name}.bias"]

    def _normalise(
        self, x: Float64s, name: str, square: Float64s, *, bits: int = UNIT_BITS
    ) -> None:
        """Replaces rows `x`, in units of 2^-bits, by their layer norm, rounded to 2^-18."""
        square = square[: len(x)]
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
        mean = x[0] if self._pooling == FIRST else x.sum(axis=0) / float(len(x))
        # The sum of all squares stays below 2^53: bounds in the spec.
        halves = 2 if self._hidden <= NARROW_MAX else 3
        squares = np.rint(mean * mean * 4.0**-halves).sum()
        if squares == 0.0:
            return np.zeros(self._hidden, np.float32)
        unit: NDArray[np.float32] = (mean / (2.0**halves * np.sqrt(squares))).astype(np.float32)
        return unit + np.float32(0.0)


class _Buffers:
    """Memory for one block of rows, reused because allocating it costs more than the work in it."""

    def __init__(self, rows: int, hidden: int, wide: int) -> None:
        self.hidden = np.empty((rows, hidden))
        self.square = np.empty((rows, hidden))
        self.wide = np.empty((rows, wide))
        self.curve = np.empty((3, _CURVE_ROWS, wide))
        self.index = np.empty((_CURVE_ROWS, wide), np.int64)


def _parts(
    texts: Sequence[tuple[Sequence[int], int]], threads: int
) -> list[Sequence[tuple[Sequence[int], int]]]:
    """Returns the texts in parts of about equal numbers of tokens, as many for each thread."""
    tokens = sum(len(ids) for ids, _ in texts)
    rounds = max(1, -(-tokens // (PART_TOKENS * threads)))
    size = -(-tokens // (rounds * threads))
    parts: list[Sequence[tuple[Sequence[int], int]]] = []
    start = tokens = 0
    for at, (ids, _) in enumerate(texts):
        tokens += len(ids)
        if tokens >= size:
            parts.append(texts[start : at + 1])
            start, tokens = at + 1, 0
    if start < len(texts):
        parts.append(texts[start:])
    return parts


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
