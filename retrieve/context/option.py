"""How hits become packs: what is taken around a hit, how overlaps are settled, what a budget does.

    expand     `neighbors`: the passages before and after it; `section`: the section that it is in;
               `edges`: what edges lead to
    merge      `absorb`: a hit that an earlier pack covers joins that pack, and windows stop where
               another one begins, so every pack is small; `coalesce`: windows that share a node
               become one, however long
    budget     `skip` what does not fit and go on, or `stop` there
    rank       `score`, or `none`: every score 0, document order
    spans      whether hits say where in their text the query matches

Spec: packs 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks

NEIGHBORS, SECTION, EDGES = "neighbors", "section", "edges"
ABSORB, COALESCE = "absorb", "coalesce"
SKIP, STOP = "skip", "stop"
SCORE, NONE = "score", "none"

LIMIT_DEFAULT = 5
PER_HIT_DEFAULT, PER_HIT_MAX = 1, 1000
NODES_MAX = 100_000
HOPS_DEFAULT, HOPS_MAX = 1, 8
FANOUT_DEFAULT, FANOUT_MAX = 8, 1000
DIRECTIONS = ("outgoing", "incoming", "both")
ETYPES_MAX = 1000


@record
class EdgeWalk:
    """Which edges lead from a hit to the other nodes of its pack."""

    etypes: tuple[str, ...] | None = None
    """None for every type; otherwise ascending."""
    direction: str = "both"
    hops: int = HOPS_DEFAULT
    fanout: int = FANOUT_DEFAULT
    """How many nodes one node brings in at most."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        etypes = None if self.etypes is None else list(self.etypes)
        return {
            "etypes": etypes,
            "direction": self.direction,
            "hops": self.hops,
            "fanout": self.fanout,
        }


@record
class PackOptions:
    """How hits become packs."""

    expand: str = NEIGHBORS
    per_hit_neighbors: int | None = PER_HIT_DEFAULT
    """Passages taken on each side; None where edges are followed."""
    merge: str = ABSORB
    budget: str = SKIP
    rank: str = SCORE
    nodes_max: int | None = None
    """Nodes in a pack at most, None for any number."""
    spans: bool = False
    edges: EdgeWalk | None = None
    """Where edges are followed, which."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form, every field present."""
        return {
            "expand": self.expand,
            "per_hit_neighbors": self.per_hit_neighbors,
            "merge": self.merge,
            "budget": self.budget,
            "rank": self.rank,
            "nodes_max": self.nodes_max,
            "spans": self.spans,
            "edges": None if self.edges is None else self.edges.form(),
        }

    def policy(self) -> dict[str, Any]:
        """Returns what the identity of a pack depends on beside its members."""
        form = self.form()
        return {name: form[name] for name in ("expand", "per_hit_neighbors", "merge", "edges")}

    @classmethod
    def from_form(cls, form: object) -> Self:
        """Returns the options of a canonical form."""
        if not isinstance(form, dict) or set(form) != set(cls().form()):
            raise InvalidInputError(f"packs: got {checks.show(form)}, expected its eight fields")
        flat = {name: value for name, value in form.items() if name != "edges"}
        edges = form["edges"]
        if edges is not None:
            if not isinstance(edges, dict) or set(edges) != set(EdgeWalk().form()):
                raise InvalidInputError(
                    f"packs.edges: got {checks.show(edges)}, expected its four fields"
                )
            flat |= edges
        made = resolve_packs({name: value for name, value in flat.items() if value is not None})
        assert isinstance(made, cls), "BUG: one class of options"
        return made


def resolve_packs(given: Mapping[str, object]) -> PackOptions:
    """Returns the options of a person, checked.

    Args:
        given: some of `expand` (`neighbors`, `section` or `edges`), `per_hit_neighbors` (0 to
            1,000; not with `edges`), `merge` (`absorb` or `coalesce`), `budget` (`skip` or `stop`),
            `rank` (`score` or `none`), `nodes_max` (1 to 100,000), `spans`; only with `edges`
            `etypes`, `direction` (`outgoing`, `incoming` or `both`), `hops` (0 to 8) and
            `fanout` (1 to 1,000).

    Raises:
        InvalidInputError: an option is unknown, or of the wrong type or size, or has no effect
            beside the others; the message names it.
    """
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"packs: got {checks.show(given)}, expected a map of options")
    known = (*(name for name in PackOptions().form() if name != "edges"), *EdgeWalk().form())
    unknown = sorted(str(name) for name in given if name not in known)
    if unknown:
        raise InvalidInputError(
            f"{unknown[0]}: got an unknown option, expected one of {', '.join(sorted(known))}"
        )
    expand = _one_of("expand", given.get("expand", NEIGHBORS), (NEIGHBORS, SECTION, EDGES))
    merge = _one_of("merge", given.get("merge", ABSORB), (ABSORB, COALESCE))
    is_walk = expand == EDGES
    _check_effect(given, EdgeWalk().form() if not is_walk else ("per_hit_neighbors",), expand)
    nodes_max = given.get("nodes_max")
    if is_walk and merge == COALESCE and nodes_max is not None:
        raise InvalidInputError(
            "nodes_max: got it with expand 'edges' and merge 'coalesce', expected merge 'absorb'"
        )
    around = given.get("per_hit_neighbors", PER_HIT_DEFAULT)
    return PackOptions(
        expand,
        None if is_walk else checks.count("per_hit_neighbors", around, high=PER_HIT_MAX),
        merge,
        _one_of("budget", given.get("budget", SKIP), (SKIP, STOP)),
        _one_of("rank", given.get("rank", SCORE), (SCORE, NONE)),
        None if nodes_max is None else checks.count("nodes_max", nodes_max, low=1, high=NODES_MAX),
        checks.flag("spans", given.get("spans", False)),
        _walk(given) if is_walk else None,
    )


def _walk(given: Mapping[str, object]) -> EdgeWalk:
    return EdgeWalk(
        _etypes(given.get("etypes")),
        _one_of("direction", given.get("direction", "both"), DIRECTIONS),
        checks.count("hops", given.get("hops", HOPS_DEFAULT), high=HOPS_MAX),
        checks.count("fanout", given.get("fanout", FANOUT_DEFAULT), low=1, high=FANOUT_MAX),
    )


def _check_effect(given: Mapping[str, object], useless: Iterable[str], expand: str) -> None:
    for name in useless:
        if name in given:
            raise InvalidInputError(
                f"{name}: got it with expand {expand!r}, where it has no effect"
            )


def _one_of(name: str, value: object, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        expected = " or ".join(repr(one) for one in known)
        raise InvalidInputError(f"{name}: got {checks.show(value)}, expected {expected}")
    return value


def _etypes(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInputError(f"etypes: got {checks.show(value)}, expected a list of types")
    names = sorted({checks.name("etypes", one) for one in value}, key=str.encode)
    if not 1 <= len(names) <= ETYPES_MAX:
        raise InvalidInputError(f"etypes: got {len(names)}, expected from 1 to {ETYPES_MAX}")
    return tuple(names)
