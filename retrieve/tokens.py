"""Token counts: an estimator that every machine agrees on, and the protocol for exact ones.

A count decides what fits a budget and is part of the answer, so an estimator is pure and has a name
that the query records.

Spec: retrieval 8.2.
"""

from __future__ import annotations

from typing import Protocol


class TokenEstimator(Protocol):
    """Counts the tokens of a text: pure, the same for the same text for ever under one name."""

    @property
    def name(self) -> str:
        """Names the estimator and its version; stored in every query that used it."""

    def estimate(self, text: str) -> int:
        """Returns the number of tokens, 0 for the empty text."""


class HeuristicEstimator:
    """Four ASCII characters a token, one and a half others a token, both rounded up.

    >>> HeuristicEstimator().estimate("naïve"), HeuristicEstimator().estimate("")
    (2, 0)
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name that queries record."""
        return "heuristic"

    def estimate(self, text: str) -> int:
        """Returns ceil(ascii / 4) + ceil(non_ascii * 2 / 3), in integers."""
        if text.isascii():
            return (len(text) + 3) // 4
        ascii_count = len(text.encode("ascii", "ignore"))
        other_count = len(text) - ascii_count
        return (ascii_count + 3) // 4 + (2 * other_count + 2) // 3


HEURISTIC = HeuristicEstimator()
"""The default estimator."""
