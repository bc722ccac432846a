"""The fusion options of a query: the names, constants and weights of the ways to combine lanes.

Spec: retrieval 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Self

from ibidem.objects.block import empty
from ibidem.objects.config import Config
from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.identity_cache import IdentityCache
from ibidem.retrieve.query import checks, option_checks
from ibidem.retrieve.query.options import OPTIONS
from ibidem.retrieve.query.subquery import QUERIES
from ibidem.retrieve.query.vector import VECTOR_OPTIONS

LANES = (
    "lexical",
    *(option.lane for option in VECTOR_OPTIONS.values()),
    "graph",
    "community",
    "mentions",
    QUERIES,
)
"""Every kind of lane, in the order in which fusion adds them."""

RRF_K = 60.0
FUSIONS = OPTIONS["fusion"].choices
DAMPED = ("rrf", "weighted_rrf")
"""The methods that have the constant `rrf_k`: they use ranks, the others scores."""


@record
class Fusion:
    """How lanes are combined into one score."""

    name: str = "rrf"
    k: float = RRF_K
    """The constant that damps reciprocal ranks; only for the methods in `DAMPED`."""
    weights: Mapping[str, float] = field(default_factory=empty)
    """By lane, 1.0 if absent; only for the weighted methods."""

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

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {"name": self.name, "k": self.k, "weights": dict(self.weights)}

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> Self:
        """Returns the fusion of a canonical form."""
        return cls(form["name"], form["k"], checked_weights(form["weights"]))

    def weight(self, lane: str) -> float:
        """Returns the weight of a lane."""
        return self.weights.get(kind_of(lane), 1.0)


def kind_of(lane: str) -> str:
    """Returns the kind of a lane: its name, but `queries` for that of a subquery."""
    return lane.partition("[")[0]


def configured_fusion(config: Config) -> Fusion:
    """Returns the fusion in a root's configuration, the default of questions.

    Raises:
        CorruptError: `config.fusion` is of the wrong form.
    """
    return _CONFIGURED(config)


def resolve_fusion(
    config: Config, name: str | None, k: float | None, weights: Mapping[str, float] | None
) -> Fusion:
    """Returns the fusion of a query; values that are not given come from the configuration, then
    from the spec.

    Raises:
        InvalidInputError: an option is of the wrong form, or does not belong to the method.
        CorruptError: the configuration is of the wrong form.
    """
    own = configured_fusion(config)
    if name is None and k is None and weights is None:
        return own
    chosen = own.name if name is None else checks.name("fusion", name)
    if k is not None and chosen not in DAMPED:
        raise InvalidInputError(
            f"rrf_k: got one with fusion {chosen!r}, expected {' or '.join(map(repr, DAMPED))}"
        )
    if weights is None:
        weights = own.weights if chosen == own.name else {}
    damping = own.k if k is None else option_checks.present("rrf_k", k)
    return Fusion(chosen, damping, checked_weights(weights))


def _configured(config: Config) -> Fusion:
    given = config.fusion
    try:
        return Fusion(
            checks.name("fusion", given.get("name", "rrf")),
            option_checks.present("rrf_k", given.get("k", RRF_K)),
            checked_weights(given.get("weights", {})),
        )
    except InvalidInputError as error:
        raise CorruptError(f"config.fusion: {error}") from error


_CONFIGURED: IdentityCache[Config, Fusion] = IdentityCache(_configured)


def checked_weights(weights: object) -> Mapping[str, float]:
    """Returns weights by lane as floats; the lanes themselves are checked by `Fusion`."""
    if not isinstance(weights, Mapping):
        raise InvalidInputError(
            f"weights: got {type(weights).__name__}, expected lanes and numbers"
        )
    return MappingProxyType(
        {
            checks.name("weights", lane): checks.number(
                f"weights.{lane}", weight, high=OPTIONS["weights"].high
            )
            for lane, weight in sorted(weights.items())
        }
    )
