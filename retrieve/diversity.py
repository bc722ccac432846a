"""Maximal marginal relevance: reorders the first nodes so that each is relevant and unlike the
nodes before it.

Relevance comes from the scores of the current order: after a reranking, those of the reranker, so
that diversity never undoes it.

Spec: retrieval 6.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks, option_checks
from ibidem.retrieve.query.options import default, defaults

Similarity = Callable[[int, Sequence[int]], Sequence[float]]
"""Maps a position and other positions to the similarity of each of the others to the first."""


@record
class Mmr:
    """The option of diversity."""

    share: float = default("mmr.lambda")
    """The option `lambda`: the share of relevance; 1.0 changes nothing."""
    depth: int = default("mmr.depth")
    """The number of nodes that are reordered; the rest stays after them."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {"lambda": self.share, "depth": self.depth}

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> Self:
        """Returns the option of a canonical form."""
        parts = option_checks.parts("mmr", form)
        return cls(parts["lambda"], parts["depth"])


def resolve_mmr(given: object, *, has_ranker: bool) -> Mmr | None:
    """Returns the option, given as a mapping of `lambda` and `depth`, None for none."""
    if given is None:
        return None
    known = defaults("mmr")
    if not isinstance(given, Mapping) or not set(given) <= set(known):
        raise InvalidInputError(
            f"mmr: got {checks.show(given)}, expected a mapping of 'lambda' and 'depth'"
        )
    if not has_ranker:
        raise InvalidInputError("mmr: got one where nothing ranks, expected a text or a vector")
    return Mmr.from_form({**known, **given})


def diversify(scores: Sequence[float], share: float, similarity: Similarity) -> list[int]:
    """Returns the positions 0..n-1 in their new order.

    Args:
        scores: n scores, descending.
        share: the share of relevance, 0 to 1.
        similarity: called for each node that is chosen, with those that are left.

    Spec: retrieval 6.2.

    >>> alike = [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> diversify([0.95, 0.94, 0.70], 0.7, lambda one, others: [alike[one][i] for i in others])
    [0, 2, 1]
    >>> diversify([0.95, 0.94, 0.70], 1.0, lambda one, others: [alike[one][i] for i in others])
    [0, 1, 2]
    """
    relevances = _relevances(scores)
    left = list(range(len(scores)))
    likeness = dict.fromkeys(left, 0.0)
    taken: list[int] = []
    while left:
        best = max(
            left,
            key=lambda position: (
                share * relevances[position] - (1.0 - share) * likeness[position],
                -position,
            ),
        )
        taken.append(best)
        left.remove(best)
        for position, value in zip(left, similarity(best, left), strict=True):
            likeness[position] = max(likeness[position], value)
    return taken


def _relevances(scores: Sequence[float]) -> list[float]:
    """Returns the scores scaled to 0..1, where 0 is the lower of 0.0 and the last score."""
    if not scores:
        return []
    high, low = scores[0], min(0.0, scores[-1])
    if high == low:
        return [1.0] * len(scores)
    return [(score - low) / (high - low) for score in scores]
