"""The options of packs, and packs as JSON and as lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ibidem.cli.render import answer, output
from ibidem.cli.render.output import faint, plural, strong

if TYPE_CHECKING:
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.context.pack import Hit, Pack

Function = TypeVar("Function", bound=Callable[..., Any])
LIMIT = 5
_OPTIONS = (
    click.option(
        "--expand",
        type=click.Choice(["neighbors", "section", "edges"]),
        help="What is taken around a hit; passages before and after it if not given.",
    ),
    click.option(
        "--around", type=int, metavar="N", help="Passages on each side of a hit; 1 if not given."
    ),
    click.option(
        "--merge",
        type=click.Choice(["absorb", "coalesce"]),
        help="Keep packs small, or make one of those that overlap.",
    ),
    click.option(
        "--overflow",
        type=click.Choice(["skip", "stop"]),
        help="What a pack does that is over the budget: be skipped, or end the answer.",
    ),
    click.option(
        "--rank",
        type=click.Choice(["score", "none", "hybrid"]),
        help="By score; in document order; or 0.7 by words and 0.3 by vector.",
    ),
    click.option("--spans", is_flag=True, help="Say in --json where the texts match."),
    click.option("--nodes-max", type=int, metavar="N", help="Nodes in a pack at most."),
    click.option("--walk-etype", multiple=True, help="With --expand edges, only of this type."),
    click.option("--walk-hops", type=int, metavar="N", help="With --expand edges, how far."),
    click.option("--walk-fanout", type=int, metavar="N", help="And how many nodes from each."),
    click.option(
        "--walk-direction",
        type=click.Choice(["outgoing", "incoming", "both"]),
        help="And which way.",
    ),
)
_NAMES = {
    "expand": "expand",
    "around": "per_hit_neighbors",
    "merge": "merge",
    "overflow": "budget",
    "rank": "rank",
    "spans": "spans",
    "nodes_max": "nodes_max",
    "walk_etype": "etypes",
    "walk_hops": "hops",
    "walk_fanout": "fanout",
    "walk_direction": "direction",
}


def pack_options(function: Function) -> Function:
    """Adds the options of packs, passed on for `taken`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def taken(given: dict[str, Any]) -> dict[str, Any]:
    """Takes the options of packs out of all that were given, as the library names them."""
    found = {name: given.pop(option) for option, name in _NAMES.items()}
    # 0 is a number here, and equal to False.
    return {
        name: value
        for name, value in found.items()
        if value is not None and value is not False and value != ()
    }


def pack_json(pack: Pack) -> dict[str, Any]:
    """Returns a pack as JSON."""
    return {
        "id": str(pack.id),
        "alias": pack.alias,
        "scope": pack.scope,
        "document": None if pack.document is None else str(pack.document),
        "source": pack.source,
        "section": None if pack.section is None else str(pack.section),
        "heading_path": list(pack.heading_path),
        "hits": [_hit_json(hit) for hit in pack.hits],
        "members": [
            {
                "id": str(member.id),
                "cid": str(member.cid),
                "ord": member.ord,
                "start": member.start,
            }
            for member in pack.members
        ],
        "score": pack.score,
        "text": pack.text,
        "tokens": pack.tokens,
        "fallback": pack.fallback,
    }


def packs_lines(found: Answer[Pack], receipt: str | None) -> list[str]:
    """Returns an answer of packs as lines for people."""
    lines = [answer.cost_line(found, "pack"), answer.receipt_line(receipt)]
    for rank, pack in enumerate(found, 1):
        lines += ["", *pack_lines(rank, pack)]
    return lines


def pack_lines(rank: int, pack: Pack) -> list[str]:
    """Returns one pack as lines for people: where it stands, then its text."""
    place = " > ".join((pack.source or "", *pack.heading_path)).strip(" >")
    name = output.one_line(place or str(pack.entry.id))
    facts = (
        f"{pack.alias}, score {pack.score:.6g}, {plural(len(pack.hits), 'hit')}, "
        f"{plural(pack.tokens, 'token')}"
    )
    note = "" if pack.fallback is None else f", {pack.fallback}"
    body = pack.text.splitlines()
    return [f"[{rank}] {strong(name)}  {faint(facts + note)}", *(f"    {line}" for line in body)]


def _hit_json(hit: Hit) -> dict[str, Any]:
    return {
        "id": str(hit.id),
        "cid": str(hit.cid),
        "ord": hit.ord,
        "score": hit.score,
        "lanes": answer.lanes_json(hit.lanes),
        "spans": [list(span) for span in hit.spans],
    }
