"""Measures of ranked answers against judgements, as trec_eval defines them, and their interval.

Everything is plain float64 arithmetic and the canonical logarithm, so a gate passes on every
machine or on none.

>>> grades = {"a": 2, "b": 1}
>>> recall(["b", "x"], grades, 2), reciprocal_rank(["x", "a"], grades)
(0.5, 0.5)
>>> round(ndcg(["b", "a"], grades, 10), 6)
0.859719
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum, sqrt

from ibidem.retrieve.numbers import ln_ratio

Z = 1.959963984540054
"""The two-sided 95 % quantile of the normal distribution."""


def recall(ranked: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """Returns the share of the relevant documents among the first `depth`."""
    relevant = {document for document, grade in grades.items() if grade > 0}
    return len(relevant.intersection(ranked[:depth])) / len(relevant)


def reciprocal_rank(ranked: Sequence[str], grades: Mapping[str, int]) -> float:
    """Returns 1 over the rank of the first relevant document, 0 if there is none."""
    ranks = (rank for rank, document in enumerate(ranked, 1) if grades.get(document, 0) > 0)
    return 1 / next(ranks, float("inf"))


def ndcg(ranked: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """Returns the discounted gain of the first `depth` over that of the best order.

    The gain is the grade, the discount the logarithm of the rank plus one.
    """
    best = sorted(grades.values(), reverse=True)[:depth]
    return _gain([grades.get(document, 0) for document in ranked[:depth]]) / _gain(best)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Returns Wilson's 95 % interval of the mean of values between 0 and 1.

    Values between 0 and 1 vary at most as much as hits and misses with the same mean do, so the
    interval is on the safe side. Nothing is drawn at random.

    >>> low, high = interval([1.0] * 9 + [0.0])
    >>> round(low, 4), round(high, 4)
    (0.5958, 0.9821)
    """
    count = len(values)
    mean = fsum(values) / count
    middle = mean + Z * Z / (2 * count)
    spread = Z * sqrt(max(mean * (1 - mean), 0.0) / count + Z * Z / (4 * count * count))
    scale = 1 + Z * Z / count
    return max((middle - spread) / scale, 0.0), min((middle + spread) / scale, 1.0)


def _gain(grades: Sequence[int]) -> float:
    return fsum(grade / ln_ratio(rank + 1, 1) for rank, grade in enumerate(grades, 1))
