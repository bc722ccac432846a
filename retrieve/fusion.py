"""How lanes become one score: the names, constants and weights that a query may ask for.

Spec: retrieval 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

from ibidem.objects.block import empty
from ibidem.objects.config import Config
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve import option
from ibidem.retrieve.last import Last

LANES = ("lexical", "dense", "sparse", "graph", "community")
"""Every lane, in the order in which fusion adds them."""

RRF_K = 60.0
FUSIONS = ("rrf", "weighted_rrf", "convex", "score_normalised")
SCORED = ("convex", "score_normalised")
"""Those that look at scores; the others look at ranks."""


@record
class Fusion:
    """How lanes become one score."""

    name: str = "rrf"
    k: float = RRF_K
    """The constant that reciprocal ranks are damped with; unused by those that look at scores."""
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
                "weights: got some with fusion 'rrf', expected one of the weighted fusions"
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


def resolve_fusion(
    config: Config, name: str | None, k: float | None, weights: Mapping[str, float] | None
) -> Fusion:
    """Returns the fusion asked for; what is not said comes from the configuration, then from the
    spec.

    Raises:
        InvalidInputError: an option is of the wrong form, or does not go with the method.
    """
    if name is None and k is None and weights is None:
        return _DEFAULT(config)
    return _resolved(config, name, k, weights)


def _resolved(
    config: Config, name: str | None, k: float | None, weights: Mapping[str, float] | None
) -> Fusion:
    given = config.fusion
    chosen = option.name("fusion", given.get("name", "rrf") if name is None else name)
    if k is not None and chosen in SCORED:
        raise InvalidInputError(
            f"rrf_k: got one with fusion {chosen!r}, expected 'rrf' or 'weighted_rrf'"
        )
    damping = given.get("k", RRF_K) if k is None else k
    own = given.get("weights", {}) if chosen == given.get("name", "rrf") else {}
    return Fusion(
        chosen,
        option.number("rrf_k", damping, high=1e9),
        checked_weights(own if weights is None else weights),
    )


_DEFAULT: Last[Config, Fusion] = Last(lambda config: _resolved(config, None, None, None))


def checked_weights(weights: object) -> Mapping[str, float]:
    """Returns weights by lane as floats; the lanes themselves are checked by `Fusion`."""
    if not isinstance(weights, Mapping):
        raise InvalidInputError(
            f"weights: got {type(weights).__name__}, expected lanes and numbers"
        )
    return MappingProxyType(
        {
            option.name("weights", lane): option.number(f"weights.{lane}", weight, high=1e9)
            for lane, weight in sorted(weights.items())
        }
    )
