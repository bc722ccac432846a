"""The encoder written out from spec/embedding.md, sections 3 and 4, in plain Python numbers.

No numpy and nothing of the encoder's: sums are of integers without limit, floats are IEEE binary64
with one rounding an operation. Slow; for the tiny model only.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from functools import cache
from typing import Any

Row = list[int]
_CONTEXT = Context(prec=40, traps=[])


def rint(value: float) -> int:
    return round(value)  # ties to even


def clip(value: int, limit: int) -> int:
    return max(-limit, min(limit, value))


def shift_and_weights(row: Sequence[float]) -> tuple[int, Row]:
    """Tries every shift from the largest down."""
    if not any(row):
        return 0, [0] * len(row)
    shift = 60
    while True:
        whole = [round(math.ldexp(w, shift)) for w in row]
        if sum(map(abs, whole)) <= 2**28:
            return shift, whole
        shift -= 1


@cache
def exp(numerator: int, denominator: int) -> float:
    return float(_CONTEXT.exp(_CONTEXT.divide(Decimal(numerator), Decimal(denominator))))


@cache
def table_e(i: int) -> float:
    return 0.0 if i == 16384 else exp(-(i // 1024), 1) * exp(-(i % 1024), 1024) * 2.0**20


@cache
def table_g(i: int) -> float:
    if i == 8192:
        return 0.0
    a = i / 1024
    falls = exp(-i * i, 2 * 1024 * 1024) * 0.398942280401432677939946059934
    term = total = a
    for n in range(1, 150):
        term = term * a * a / (2 * n + 1)
        total = total + term
    return a * max(0.5 - falls * total, 0.0) * 2.0**18


@cache
def table_h(i: int) -> float:
    falls = exp(-2 * i, 1024)
    return 0.0 if i == 8192 else 2.0 * falls / (1.0 + falls) * 2.0**18


def between(table: Any, last: int, at: float) -> float:
    i = int(at)
    step = table(i + 1) - table(i) if i < last else 0.0
    return table(i) + (at - i) * step


class PlainEncoder:
    """Over a checkpoint as nested lists."""

    def __init__(self, weights: Mapping[str, Any], *, heads: int, layers: int) -> None:
        self.w = {name: array.tolist() for name, array in weights.items()}
        self.heads, self.layers = heads, layers
        self._rows: dict[str, list[tuple[int, Row]]] = {}

    def encode(self, ids: Sequence[int], *, pooling: str = "mean") -> bytes:
        """Returns the vector, float32 little-endian."""
        x = self._states(ids, len(ids))
        kept = x[:1] if pooling == "first" else x
        mean = [sum(column) / len(kept) for column in zip(*kept, strict=True)]
        squares = sum(rint(m * m * 2.0**-4) for m in mean)
        unit = [m / (4.0 * math.sqrt(squares)) + 0.0 for m in mean]
        return struct.pack(f"<{len(unit)}f", *unit)

    def score(self, ids: Sequence[int], first: int) -> float:
        """Returns the score of a pair whose first text has the first tokens."""
        state = self._states(ids, first)[0]
        pooled = [
            rint(math.copysign(2**18 - between(table_h, 8192, min(abs(f), 8192.0)), f))
            for f in self._dense(state, "pooler.dense", 10)
        ]
        (score,) = self._dense(pooled, "classifier", 18)
        return rint(score) * 2.0**-18

    def _states(self, ids: Sequence[int], first: int) -> list[Row]:
        words, places = self._embeddings("word"), self._embeddings("position")
        kinds = self._embeddings("token_type")
        x = [
            self._norm(
                [
                    (a + b + c) * 2.0**22
                    for a, b, c in zip(words[i], places[t], kinds[int(t >= first)], strict=True)
                ],
                "embeddings.LayerNorm",
                22,
            )
            for t, i in enumerate(ids)
        ]
        for layer in range(self.layers):
            x = self._layer(x, f"encoder.layer.{layer}")
        return x

    def _embeddings(self, kind: str) -> Any:
        return self.w[f"embeddings.{kind}_embeddings.weight"]

    def _layer(self, x: list[Row], at: str) -> list[Row]:
        q, k, v = (
            [
                [
                    clip(rint(value), 2**23)
                    for value in self._dense(r, f"{at}.attention.self.{n}", 17)
                ]
                for r in x
            ]
            for n in ("query", "key", "value")
        )
        size = len(x[0]) // self.heads
        scale = 1024.0 / math.sqrt(size) * 2.0**-34
        mixed: list[Row] = [[] for _ in x]
        for head in range(self.heads):
            part = slice(head * size, (head + 1) * size)
            for t, row in enumerate(q):
                p = [sum(a * b for a, b in zip(row[part], r[part], strict=True)) for r in k]
                falls = (min((max(p) - each) * scale, 16384.0) for each in p)
                e = [rint(between(table_e, 16384, fall)) for fall in falls]
                total = sum(e)
                for c in range(part.start, part.stop):
                    weighed = sum(a * r[c] for a, r in zip(e, v, strict=True))
                    mixed[t].append(rint(weighed / total * 2.0))
        x = self._added(x, mixed, f"{at}.attention.output")
        wide = [
            [self._gelu(f) for f in self._dense(row, f"{at}.intermediate.dense", 10)] for row in x
        ]
        return self._added(x, wide, f"{at}.output")

    def _added(self, x: list[Row], inner: list[Row], at: str) -> list[Row]:
        return [
            self._norm(
                [a + b for a, b in zip(row, self._dense(y, f"{at}.dense", 18), strict=True)],
                f"{at}.LayerNorm",
                18,
            )
            for row, y in zip(x, inner, strict=True)
        ]

    def _gelu(self, f: float) -> int:
        tail = between(table_g, 8192, min(abs(f), 8192.0))
        return clip(rint(256.0 * max(f, 0.0) - tail), 2**24)

    def _dense(self, x: Row, name: str, unit: int) -> list[float]:
        if name not in self._rows:
            self._rows[name] = [shift_and_weights(row) for row in self.w[f"{name}.weight"]]
        out = []
        for (shift, row), bias in zip(self._rows[name], self.w[f"{name}.bias"], strict=True):
            total = sum(a * b for a, b in zip(x, row, strict=True))
            assert abs(total) <= 2**52
            out.append(math.ldexp(total, unit - 18 - shift) + bias * 2.0**unit)
        return out

    def _norm(self, x: list[float], name: str, unit: int) -> Row:
        n = len(x)
        a = [clip(rint(value), 2**26) for value in x]
        m = sum(a) / n
        c = [value - m for value in a]
        v = sum(rint(value * value * 2.0**-10) for value in c) / (n * 2.0 ** (2 * unit - 10))
        d = math.sqrt(v + 1e-12) * 2.0 ** (unit - 18)
        gains, offsets = self.w[f"{name}.weight"], self.w[f"{name}.bias"]
        return [
            clip(rint(value / d * gain + offset * 2.0**18), 2**24)
            for value, gain, offset in zip(c, gains, offsets, strict=True)
        ]
