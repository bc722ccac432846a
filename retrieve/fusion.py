"""How lanes become one score: the names, constants and weights that a query may ask for.

Spec: retrieval 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ibidem.objects.block import empty
from ibidem.objects.errors import InvalidInputError

LANES = ("lexical", "dense", "sparse", "graph", "community")
"""Every lane, in the order in which fusion adds them."""

RRF_K = 60.0
FUSIONS = ("rrf", "weighted_rrf", "convex")


@dataclass(frozen=True, slots=True)
class Fusion:
    """How lanes become one score."""

    name: str = "rrf"
    k: float = RRF_K
    """The constant that reciprocal ranks are damped with; unused by `convex`."""
    weights: Mapping[str, float] = field(default_factory=empty)
    """By lane, 1.0 where absent; only for the weighted forms."""

    def __post_init__(self) -> None:
        if self.name not in FUSIONS:
            raise InvalidInputError(
                f"fusion: got {self.name!r}, expected one of {', '.join(FUSIONS)}"
            )
        if not 0.0 <= self.k < float("inf"):
            raise InvalidInputError(f"rrf_k: got {self.k}, expected a finite number of at least 0")
        if self.weights and self.name == "rrf":
            raise InvalidInputError(
                "weights: got some with fusion 'rrf', expected 'weighted_rrf' or 'convex'"
            )
        for lane, weight in self.weights.items():
            if lane not in LANES:
                raise InvalidInputError(
                    f"weights: got the lane {lane!r}, expected one of {', '.join(LANES)}"
                )
            if not 0.0 < weight < float("inf"):
                raise InvalidInputError(
                    f"weights.{lane}: got {weight}, expected a finite number above 0",
                    hint="leave a lane out by not giving its query",
                )

    def weight(self, lane: str) -> float:
        """Returns the weight of a lane."""
        return self.weights.get(lane, 1.0)
