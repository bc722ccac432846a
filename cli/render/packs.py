"""The options of packs, and packs as JSON and as lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ibidem.cli.options import flags
from ibidem.cli.render import answer, output, shapes
from ibidem.cli.render.output import faint, plural, strong
from ibidem.retrieve.query.options import OF_PACKS

if TYPE_CHECKING:
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.context.pack import Hit, Pack

Function = TypeVar("Function", bound=Callable[..., Any])


def pack_options(function: Function) -> Function:
    """Adds the options of packs, passed on for `taken`."""
    return flags.added(OF_PACKS.values())(function)


def taken(given: dict[str, Any]) -> dict[str, Any]:
    """Removes the options of packs from the given ones and returns them by their library names."""
    return flags.taken(OF_PACKS.values(), given)


def pack_json(pack: Pack) -> dict[str, Any]:
    """Returns a pack as JSON."""
    return {
        **shapes.fields_json(
            pack,
            *("id", "alias", "scope", "document", "source", "section", "heading_path", "score"),
            *("text", "tokens", "fallback"),
        ),
        "hits": [_hit_json(hit) for hit in pack.hits],
        "members": [
            shapes.fields_json(member, "id", "cid", "ord", "start") for member in pack.members
        ],
    }


def packs_lines(found: Answer[Pack], receipt: str | None) -> list[str]:
    """Returns an answer of packs as lines for people."""
    lines = [answer.cost_line(found, "pack"), answer.receipt_line(receipt)]
    for rank, pack in enumerate(found, 1):
        lines += ["", *pack_lines(rank, pack)]
    return lines


def pack_lines(rank: int, pack: Pack) -> list[str]:
    """Returns one pack as lines for people: its location, then its text."""
    position = " > ".join((pack.source or "", *pack.heading_path)).strip(" >")
    name = output.one_line(position or str(pack.entry.id))
    facts = (
        f"{pack.alias}, score {pack.score:.6g}, {plural(len(pack.hits), 'hit')}, "
        f"{plural(pack.tokens, 'token')}"
    )
    note = "" if pack.fallback is None else f", {pack.fallback}"
    body = pack.text.splitlines()
    return [f"[{rank}] {strong(name)}  {faint(facts + note)}", *(f"    {line}" for line in body)]


def _hit_json(hit: Hit) -> dict[str, Any]:
    return {
        **shapes.fields_json(hit, "id", "cid", "ord", "score", "spans"),
        "lanes": answer.lanes_json(hit.lanes),
    }
