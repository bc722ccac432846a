"""The rank, score and contribution of a node in each lane, and their canonical bytes.

Spec: retrieval 9.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ibidem.objects.block import EMPTY
from ibidem.retrieve.answer.cbor_writer import head_of, ordered, reals_of


class LaneScore(NamedTuple):
    """The result of one lane for a node."""

    rank: int
    """1 for the lane's best."""
    score: float
    """On the lane's own scale."""
    contribution: float
    """Its share in the fused score."""


class LaneScores(Mapping[str, LaneScore]):
    """The results of all lanes for a node.

    The canonical bytes are computed once: an answer and its receipt both contain them.
    """

    def __init__(self, scores: Mapping[str, LaneScore] = EMPTY) -> None:
        """Takes ownership of scores by lane, which must not change afterwards."""
        self._scores = scores
        self._encoded = b""

    def __getitem__(self, lane: str) -> LaneScore:
        return self._scores[lane]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    def __repr__(self) -> str:
        return f"LaneScores({dict(self._scores)!r})"

    def to_dict(self) -> dict[str, Any]:
        """Returns the ranks and scores by lane, as plain data."""
        return {name: lane._asdict() for name, lane in self.items()}

    def encode(self) -> bytes:
        """Returns the canonical bytes: by lane, [rank, score, contribution]."""
        if not self._encoded:
            scores = self._scores
            written = head_of(5, len(scores))
            for key, name in _lane_keys(tuple(scores)):
                rank, score, share = scores[name]
                written += key + head_of(0, rank) + reals_of(score, share)
            self._encoded = written
        return self._encoded


@lru_cache(maxsize=256)
def _lane_keys(names: tuple[str, ...]) -> tuple[tuple[bytes, str], ...]:
    """Returns the encoded bytes before a lane's numbers, with the lane, in canonical order."""
    return tuple((key + head_of(4, 3), name) for key, name in ordered(names))
