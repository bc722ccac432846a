"""The selector: which competence or plan to use, by applicability, past success and recent use.

It scores only records that were retrieved anyway and raises no others. Its certainty is expressed
by two numbers: the best score, and the gap to the second, so that two good ones can be recognised.

Spec: memory 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.retrieve.query.options import default
from ibidem.retrieve.recall.feedback import halved

RECENCY_HALF_LIFE = 30 * 86_400_000_000
"""Microseconds."""
NEUTRAL = 0.5


@record
class Candidate:
    """A competence or plan that was retrieved."""

    id: NodeId
    applicability: float
    """From 0 to 1: its confidence, or (cosine + 1) / 2 if the query has a vector."""
    successes: int = 0
    failures: int = 0
    reinforced: int | None = None
    """When it was last reinforced, None if never."""


@record
class Selection:
    """The result of the selector."""

    selected: tuple[NodeId, ...] = ()
    """Best first."""
    scores: Mapping[NodeId, float] = field(default_factory=dict)
    top: float = 0.0
    gap: float = 0.0
    """The lead of the best over the second, relative to the best; the score of the best itself if
    it is alone."""
    needs_more: bool = True

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {
            "selected": [[node.raw, self.scores[node]] for node in self.selected],
            "top": self.top,
            "gap": self.gap,
            "needs_more": self.needs_more,
        }


def score(candidate: Candidate, as_of: int) -> float:
    """Returns (applicability + success + recency) / 3, each rounded on its own.

    Success is the share of successes, one half before the first outcome. Recency halves every
    thirty days after the last reinforcement; it is one half without one.

    Spec: memory 3.
    """
    outcomes = candidate.successes + candidate.failures
    success = candidate.successes / outcomes if outcomes else NEUTRAL
    recency = NEUTRAL
    if candidate.reinforced is not None:
        recency = halved(as_of - candidate.reinforced, RECENCY_HALF_LIFE)
    return (candidate.applicability + success + recency) / 3.0


def select(
    candidates: Sequence[Candidate],
    as_of: int,
    *,
    top_min: float = default("records.top_min"),
    gap_min: float = default("records.gap_min"),
) -> Selection:
    """Returns the candidates by score, then id, and how certain the choice is.

    Args:
        candidates: the competences and plans that were retrieved.
        as_of: the time of the question, microseconds since 1970 UTC.
        top_min: the best score below which more is needed.
        gap_min: the gap below which more is needed.
    """
    scores = {one.id: score(one, as_of) for one in candidates}
    order = sorted(scores, key=lambda node: (-scores[node], node.raw))
    if not order:
        return Selection()
    top = scores[order[0]]
    gap = min(top, 1.0)
    if len(order) > 1:
        gap = (top - scores[order[1]]) / top if top > 0.0 else 0.0
    return Selection(tuple(order), scores, top, gap, top < top_min or gap < gap_min)
