"""What a lane said about a node, and its canonical bytes.

Spec: retrieval 9.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from ibidem.retrieve.answer.cbor_writer import count_of, head_of, ordered, reals_of


class LaneScore(NamedTuple):
    """What one lane said about a node."""

    rank: int
    """1 for the lane's best."""
    score: float
    """In the lane's own measure."""
    contribution: float
    """What it added to the fused score."""


def encode_lanes(lanes: Mapping[str, LaneScore]) -> bytes:
    """Returns the canonical bytes of what lanes said: by lane, [rank, score, contribution]."""
    parts = [head_of(5, len(lanes))]
    for key, name in _lane_keys(tuple(lanes)):
        rank, score, share = lanes[name]
        parts += (key, count_of(rank), reals_of(score, share))
    return b"".join(parts)


@lru_cache(maxsize=256)
def _lane_keys(names: tuple[str, ...]) -> tuple[tuple[bytes, str], ...]:
    """Returns what stands before a lane's numbers, and the lane, in canonical order."""
    return tuple((key + head_of(4, 3), name) for key, name in ordered(names))
