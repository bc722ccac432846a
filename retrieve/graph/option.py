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
from ibidem.retrieve.query.options import OPTIONS, defaults

_GRAPH = defaults("graph")
_ETYPES_MAX = int(OPTIONS["graph.etypes"].high)
_COMMUNITY = defaults("community")


@record
class Decay:
    """Best paths from the seeds: a node scores the best seed's share, less at every step."""

    direction: str = _GRAPH["direction"]
    etypes: tuple[str, ...] | None = _GRAPH["etypes"]
    """The types that are walked, ascending; None for all."""
    weights: Mapping[str, float] = field(default_factory=empty)
    """By type, a factor of every edge of it; 1.0 where absent."""
    seeds: int = _GRAPH["seeds"]
    """How many nodes of the first fusion are walked from."""
    max_expand: int | None = _GRAPH["max_expand"]
    """How many nodes the lane returns, where that is less than the query's depth."""
    depth: int = _GRAPH["depth"]
    decay: float = _GRAPH["decay"]
    """What every step multiplies by."""
    max_per_seed: int | None = _GRAPH["max_per_seed"]
    """How many nodes, seeds not counted, one seed may bring."""
    max_frontier: int = _GRAPH["max_frontier"]
    """How many nodes are walked from at each step."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {"mode": "decay", **_form(self)}


@record
class PageRank:
    """Personalised PageRank: where a walk is found that now and then starts again at a seed."""

    direction: str = _GRAPH["direction"]
    etypes: tuple[str, ...] | None = _GRAPH["etypes"]
    weights: Mapping[str, float] = field(default_factory=empty)
    seeds: int = _GRAPH["seeds"]
    max_expand: int | None = _GRAPH["max_expand"]
    damping: float = _GRAPH["damping"]
    """How likely the walk goes on at each step."""
    epsilon: float = _GRAPH["epsilon"]
    """The share, for each arc of a node, below which what a node has is not passed on."""
    rounds: int = _GRAPH["rounds"]

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {"mode": "ppr", **_form(self)}


@record
class Community:
    """What belongs together with the seeds, by label propagation around them."""

    etypes: tuple[str, ...] | None = _COMMUNITY["etypes"]
    weights: Mapping[str, float] = field(default_factory=empty)
    seeds: int = _COMMUNITY["seeds"]
    hops: int = _COMMUNITY["hops"]
    """How far from the seeds labels are propagated."""
    rounds: int = _COMMUNITY["rounds"]
    decay: float = _COMMUNITY["decay"]
    max_per_community: int | None = _COMMUNITY["max_per_community"]
    max_nodes: int = _COMMUNITY["max_nodes"]
    """How many nodes take part."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return _form(self)


Graph = Decay | PageRank
O = TypeVar("O", Decay, PageRank, Community)  # noqa: E741


def graph(value: object) -> Graph:
    """Returns the options of the graph lane from a person's mapping, or from a canonical form.

    Raises:
        InvalidInputError: no mapping, no mode, an option that the mode does not have, or one out of
            bounds.
    """
    given = _mapping("graph", value, {"mode": "ppr"})
    mode = checks.present("graph.mode", given.pop("mode", None))
    if mode == "decay":
        return _build("graph", Decay, given)
    return _build("graph", PageRank, given)


def community(value: object) -> Community:
    """Returns the options of the community lane; like `graph`."""
    return _build("community", Community, _mapping("community", value, {"hops": 2}))


def _build(name: str, kind: type[O], given: dict[str, Any]) -> O:
    known = {one.name for one in fields(kind)}
    for key in sorted(set(given) - known):
        raise InvalidInputError(
            f"{name}.{key}: got an unknown option, expected one of {', '.join(sorted(known))}"
        )
    return kind(
        **{
            key: _OWN.get(key, checks.option)(f"{name}.{key}", value)
            for key, value in given.items()
        }
    )


def _form(value: Decay | PageRank | Community) -> dict[str, Any]:
    """Returns the canonical form, every field present."""
    form: dict[str, Any] = {}
    for one in fields(value):
        given = getattr(value, one.name)
        if isinstance(given, tuple):
            given = list(given)
        form[one.name] = dict(given) if isinstance(given, Mapping) else given
    return form


def _mapping(name: str, value: object, example: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInputError(
            f"{name}: got {checks.show(value)}, expected a mapping such as {example}"
        )
    return dict(value)


def _etypes(name: str, value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, str | Iterable):
        raise InvalidInputError(f"{name}: got {checks.show(value)}, expected edge types")
    given = [value] if isinstance(value, str) else list(value)
    if not 1 <= len(given) <= _ETYPES_MAX:
        raise InvalidInputError(
            f"{name}: got {len(given)} edge types, expected 1 to {_ETYPES_MAX}, or None for all"
        )
    return tuple(sorted({checks.name(name, one) for one in given}))


def _weights(name: str, value: object) -> Mapping[str, float]:
    if not isinstance(value, Mapping) or len(value) > _ETYPES_MAX:
        raise InvalidInputError(
            f"{name}: got {checks.show(value)}, "
            f"expected at most {_ETYPES_MAX} edge types and numbers"
        )
    pairs = {
        checks.name(name, etype): checks.number(f"{name}.{etype}", weight, high=OPTIONS[name].high)
        for etype, weight in value.items()
    }
    return MappingProxyType(dict(sorted(pairs.items())))


_OWN: Mapping[str, checks.Check] = {"etypes": _etypes, "weights": _weights}
