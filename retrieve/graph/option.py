"""The options of the lanes that walk edges, with every default filled in.

An option that a mode does not use is rejected in that mode, so no option is without effect.

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
from ibidem.retrieve.query import checks, option_checks
from ibidem.retrieve.query.options import OPTIONS, defaults

_GRAPH = defaults("graph")
_ETYPES_MAX = int(OPTIONS["graph.etypes"].high)
_COMMUNITY = defaults("community")
_MENTIONS = defaults("mentions")


@record
class Decay:
    """Best paths from the seeds: a node gets the share of the best seed, reduced at every step."""

    direction: str = _GRAPH["direction"]
    etypes: tuple[str, ...] | None = _GRAPH["etypes"]
    """The edge types that are walked, ascending; None for all."""
    weights: Mapping[str, float] = field(default_factory=empty)
    """By type, a factor for each of its edges; 1.0 if absent."""
    seeds: int = _GRAPH["seeds"]
    """The number of nodes of the first fusion that are seeds."""
    max_expand: int | None = _GRAPH["max_expand"]
    """The number of nodes that the lane returns, if less than the query's depth."""
    depth: int = _GRAPH["depth"]
    decay: float = _GRAPH["decay"]
    """The factor of each step."""
    max_per_seed: int | None = _GRAPH["max_per_seed"]
    """The most nodes, besides the seeds, that one seed may add."""
    max_frontier: int = _GRAPH["max_frontier"]
    """The most nodes that are walked from at each step."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {"mode": "decay", **_form(self)}


@record
class PageRank:
    """Personalised PageRank: how often a random walk with restarts at the seeds visits a node."""

    direction: str = _GRAPH["direction"]
    etypes: tuple[str, ...] | None = _GRAPH["etypes"]
    weights: Mapping[str, float] = field(default_factory=empty)
    seeds: int = _GRAPH["seeds"]
    max_expand: int | None = _GRAPH["max_expand"]
    damping: float = _GRAPH["damping"]
    """The probability that the walk continues at each step."""
    epsilon: float = _GRAPH["epsilon"]
    """The share, per arc of a node, below which the node does not pass on what it holds."""
    rounds: int = _GRAPH["rounds"]

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {"mode": "ppr", **_form(self)}


@record
class Community:
    """The communities of the seeds, found by label propagation around them."""

    etypes: tuple[str, ...] | None = _COMMUNITY["etypes"]
    weights: Mapping[str, float] = field(default_factory=empty)
    seeds: int = _COMMUNITY["seeds"]
    hops: int = _COMMUNITY["hops"]
    """The distance from the seeds, in hops, within which labels are propagated."""
    rounds: int = _COMMUNITY["rounds"]
    decay: float = _COMMUNITY["decay"]
    max_per_community: int | None = _COMMUNITY["max_per_community"]
    max_nodes: int = _COMMUNITY["max_nodes"]
    """The most nodes that take part."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return _form(self)


@record
class Mentions:
    """The names in the question and in the best nodes, and the nodes that they lead to."""

    seeds: int = _MENTIONS["seeds"]
    max_nodes: int = _MENTIONS["max_nodes"]
    """A name in more nodes than this leads nowhere."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return _form(self)


_MENTIONS_DEFAULT = Mentions()
Graph = Decay | PageRank
O = TypeVar("O", Decay, PageRank, Community, Mentions)  # noqa: E741


def graph(value: object) -> Graph:
    """Returns the options of the graph lane from a caller's mapping, or from a canonical form.

    Raises:
        InvalidInputError: it is no mapping or has no mode, an option does not belong to the mode,
            or one is out of bounds.
    """
    given = _mapping("graph", value, {"mode": "ppr"})
    mode = option_checks.present("graph.mode", given.pop("mode", None))
    if mode == "decay":
        return _build("graph", Decay, given)
    return _build("graph", PageRank, given)


def community(value: object) -> Community:
    """Returns the options of the community lane, in the same way as `graph`."""
    return _build("community", Community, _mapping("community", value, {"hops": 2}))


def mentions(value: object) -> Mentions:
    """Returns the options of the mentions lane, in the same way as `graph`."""
    return _build("mentions", Mentions, _mapping("mentions", value, {"seeds": 2}))


def resolve_mentions(value: object, *, is_apt: bool) -> Mentions | None:
    """Returns the options of the mentions lane from what a caller gave: True, False or a mapping;
    None for the default, which is to have it where `is_apt`."""
    if value is None:
        return _MENTIONS_DEFAULT if is_apt else None
    if isinstance(value, bool):
        return _MENTIONS_DEFAULT if value else None
    return mentions(value)


def _build(name: str, kind: type[O], given: dict[str, Any]) -> O:
    known = {one.name for one in fields(kind)}
    for key in sorted(set(given) - known):
        raise InvalidInputError(
            f"{name}.{key}: got an unknown option, expected one of {', '.join(sorted(known))}"
        )
    return kind(
        **{
            key: _OWN.get(key, option_checks.option)(f"{name}.{key}", value)
            for key, value in given.items()
        }
    )


def _form(value: Decay | PageRank | Community | Mentions) -> dict[str, Any]:
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


_OWN: Mapping[str, option_checks.Check] = {"etypes": _etypes, "weights": _weights}
