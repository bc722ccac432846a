"""Adjustment: the fused score is multiplied by factors, each with its share in the explanation.

A factor f changes a score s in proportion to its size: `s + |s| (f - 1)`, so that it raises and
lowers negative scores too. The shares, added in order to the fused score, give the final score to
the bit.

Spec: recall 2, 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from ibidem.objects.cid import CommitCid
from ibidem.objects.constants import TIME_MAX
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.retrieve.numbers import Float64s
from ibidem.retrieve.query import checks, option_checks
from ibidem.retrieve.query.options import default
from ibidem.retrieve.recall.feedback import Penalties, halved

IMPORTANCE_DEFAULT = "importance"
IMPORTANCE_MIDDLE, IMPORTANCE_GAIN = 0.4, 0.25


@record
class Recency:
    """The option that lowers old nodes."""

    as_of: int
    """Microseconds since 1970 UTC, as all times."""
    property: str = default("recency.property")
    """The property with a node's time; a node without it is neither raised nor lowered."""
    half_life: int = default("recency.half_life")
    weight: float = default("recency.weight")
    """The part of the score that decays."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {
            "as_of": self.as_of,
            "property": self.property,
            "half_life": self.half_life,
            "weight": self.weight,
        }

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> Self:
        """Returns the option of a canonical form."""
        as_of = checks.count("recency.as_of", form["as_of"], high=TIME_MAX)
        return cls(as_of, **option_checks.parts("recency", form))

    def factor(self, node: Node) -> float:
        """Returns the factor of one node."""
        time = node.props.get(self.property)
        if not isinstance(time, int) or isinstance(time, bool):
            return 1.0
        return (1.0 - self.weight) + self.weight * halved(self.as_of - time, self.half_life)


@record
class Importance:
    """The option that raises or lowers a node by a property from 0 to 1."""

    property: str = IMPORTANCE_DEFAULT

    def factor(self, node: Node) -> float:
        """Returns the factor of one node; 1.0 if it has no value."""
        value = node.props.get(self.property)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return 1.0
        bounded = min(1.0, max(0.0, float(value)))
        return 1.0 + (bounded - IMPORTANCE_MIDDLE) * IMPORTANCE_GAIN


@record
class Feedback:
    """The option that counts votes, as of one state of the notes."""

    notes: CommitCid | None
    """None if there are no notes yet."""
    penalties: Penalties = Penalties()
    """How far it moves a node."""


@record
class Worth:
    """The option that counts outcomes, as of one state of the notes."""

    notes: CommitCid | None
    as_of: int
    half_life: int | None = default("worth.half_life")


Opinions = Mapping[str, Mapping[NodeId, float]]
"""For `feedback` and `worth`: the factor of each node with feedback or outcomes."""


@record
class Adjusted:
    """The effect of one factor on each candidate, parallel to the fused ranking."""

    name: str
    ranks: Sequence[int]
    """By candidate, its rank before the factor."""
    factors: Float64s
    shares: Float64s


def adjusted(
    scores: Float64s,
    steps: Sequence[tuple[str, Callable[[int], float]]],
    order: Callable[[Float64s], Sequence[int]],
) -> tuple[Float64s, list[Adjusted]]:
    """Returns the scores after every factor, and the effect of each.

    Args:
        scores: (n,) by candidate.
        steps: the name of each factor, and a function from a candidate's position to its factor.
        order: a function from scores to positions, best first.

    Spec: recall 2.
    """
    done: list[Adjusted] = []
    for name, factor in steps:
        ranks = np.empty(scores.shape[0], np.int64)
        ranks[np.asarray(order(scores), np.int64)] = np.arange(1, scores.shape[0] + 1)
        factors = np.array([factor(position) for position in range(scores.shape[0])], np.float64)
        shares = np.abs(scores) * (factors - 1.0) + 0.0
        scores = scores + shares + 0.0
        done.append(Adjusted(name, ranks.tolist(), factors, shares))
    return scores, done
