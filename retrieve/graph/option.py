"""What a query may ask of the lanes that walk edges, with every default filled in.

An option that a mode has no use for is refused with that mode, so none is without effect.

Spec: retrieval 5.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, fields
from types import MappingProxyType
from typing import Any, TypeVar

from ibidem.objects.block import empty
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks

DIRECTIONS = ("outgoing", "incoming", "both")
SEEDS_MAX = 1000
ETYPES_MAX = 1000
WEIGHT_MAX = 1e9
NODES_MAX = 1_000_000
WALK_DEPTH_MAX = 4
ROUNDS_MAX = 100
DAMPING_MAX = 0.999


@record
class Decay:
    """Best paths from the seeds: a node scores the best seed's share, less at every step."""

    direction: str = "both"
    etypes: tuple[str, ...] | None = None
    """The types that are walked, ascending; None for all."""
    weights: Mapping[str, float] = field(default_factory=empty)
    """By type, a factor of every edge of it; 1.0 where absent."""
    seeds: int = 3
    """How many nodes of the first fusion are walked from."""
    max_expand: int | None = None
    """How many nodes the lane returns, where that is less than the query's depth."""
    depth: int = 2
    decay: float = 0.7
    """What every step multiplies by."""
    max_per_seed: int | None = None
    """How many nodes, seeds not counted, one seed may bring."""
    max_frontier: int = 5000
    """How many nodes are walked from at each step."""


@record
class PageRank:
    """Personalised PageRank: where a walk is found that now and then starts again at a seed."""

    direction: str = "both"
    etypes: tuple[str, ...] | None = None
    weights: Mapping[str, float] = field(default_factory=empty)
    seeds: int = 3
    max_expand: int | None = None
    damping: float = 0.85
    """How likely the walk goes on at each step."""
    epsilon: float = 3e-4
    """The share, for each arc of a node, below which what a node has is not passed on."""
    rounds: int = 15


@record
class Community:
    """What belongs together with the seeds, by label propagation around them."""

    etypes: tuple[str, ...] | None = None
    weights: Mapping[str, float] = field(default_factory=empty)
    seeds: int = 3
    hops: int = 2
    """How far from the seeds labels are propagated."""
    rounds: int = 8
    decay: float = 0.85
    max_per_community: int | None = 10
    max_nodes: int = 5000
    """How many nodes take part."""


Graph = Decay | PageRank
O = TypeVar("O", Decay, PageRank, Community)  # noqa: E741

_MODES = ("decay", "ppr")


def graph(value: object) -> Graph:
    """Returns the options of the graph lane from a person's mapping, or from a canonical form.

    Raises:
        InvalidInputError: no mapping, no mode, an option that the mode does not have, or one out of
            bounds.
    """
    given = _mapping("graph", value, {"mode": "ppr"})
    mode = given.pop("mode", None)
    if not isinstance(mode, str) or mode not in _MODES:
        raise InvalidInputError(
            f"graph.mode: got {checks.show(mode)}, expected one of {', '.join(_MODES)}"
        )
    if mode == "decay":
        return _build("graph", Decay, given)
    return _build("graph", PageRank, given)


def community(value: object) -> Community:
    """Returns the options of the community lane; like `graph`."""
    return _build("community", Community, _mapping("community", value, {"hops": 2}))


def form(value: Graph | Community | None) -> dict[str, Any] | None:
    """Returns the canonical form, every field present."""
    if value is None:
        return None
    found: dict[str, Any] = {}
    if isinstance(value, Decay | PageRank):
        found["mode"] = "decay" if isinstance(value, Decay) else "ppr"
    for one in fields(value):
        given = getattr(value, one.name)
        if isinstance(given, tuple):
            given = list(given)
        found[one.name] = dict(given) if isinstance(given, Mapping) else given
    return found


def _build(name: str, kind: type[O], given: dict[str, Any]) -> O:
    known = {one.name for one in fields(kind)}
    for key in sorted(set(given) - known):
        raise InvalidInputError(
            f"{name}.{key}: got an unknown option, expected one of {', '.join(sorted(known))}"
        )
    return kind(**{key: _CHECKS[key](f"{name}.{key}", value) for key, value in given.items()})


def _mapping(name: str, value: object, example: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInputError(
            f"{name}: got {checks.show(value)}, expected a mapping such as {example}"
        )
    return dict(value)


def _direction(name: str, value: object) -> str:
    if value not in DIRECTIONS or not isinstance(value, str):
        raise InvalidInputError(
            f"{name}: got {checks.show(value)}, expected one of {', '.join(DIRECTIONS)}"
        )
    return value


def _etypes(name: str, value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, str | Iterable):
        raise InvalidInputError(f"{name}: got {checks.show(value)}, expected edge types")
    given = [value] if isinstance(value, str) else list(value)
    if not 1 <= len(given) <= ETYPES_MAX:
        raise InvalidInputError(
            f"{name}: got {len(given)} edge types, expected 1 to {ETYPES_MAX}, or None for all"
        )
    return tuple(sorted({checks.name(name, one) for one in given}))


def _weights(name: str, value: object) -> Mapping[str, float]:
    if not isinstance(value, Mapping) or len(value) > ETYPES_MAX:
        raise InvalidInputError(
            f"{name}: got {checks.show(value)}, "
            f"expected at most {ETYPES_MAX} edge types and numbers"
        )
    pairs = {
        checks.name(name, etype): checks.number(f"{name}.{etype}", weight, high=WEIGHT_MAX)
        for etype, weight in value.items()
    }
    return MappingProxyType(dict(sorted(pairs.items())))


def _number(high: float) -> Any:
    return lambda name, value: checks.number(name, value, high=high)


def _count(low: int, high: int) -> Any:
    return lambda name, value: checks.count(name, value, low=low, high=high)


def _count_or_none(low: int, high: int) -> Any:
    return lambda name, value: (
        None if value is None else checks.count(name, value, low=low, high=high)
    )


_CHECKS: Mapping[str, Any] = {
    "direction": _direction,
    "etypes": _etypes,
    "weights": _weights,
    "seeds": _count(1, SEEDS_MAX),
    "max_expand": _count_or_none(1, NODES_MAX),
    "depth": _count(1, WALK_DEPTH_MAX),
    "decay": _number(1.0),
    "max_per_seed": _count_or_none(1, NODES_MAX),
    "max_frontier": _count(1, NODES_MAX),
    "damping": _number(DAMPING_MAX),
    "epsilon": _number(1.0),
    "rounds": _count(1, ROUNDS_MAX),
    "hops": _count(1, WALK_DEPTH_MAX),
    "max_per_community": _count_or_none(1, NODES_MAX),
    "max_nodes": _count(1, NODES_MAX),
}
