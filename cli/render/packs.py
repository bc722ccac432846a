"""The options of packs, and packs as JSON and as lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ibidem.cli.options import flags
from ibidem.cli.render import answer, output
from ibidem.cli.render.output import faint, plural, strong
from ibidem.retrieve.query.options import PACKS_ALONE

if TYPE_CHECKING:
    from ibidem.objects.cid import RootCid
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.context.pack import Pack

Function = TypeVar("Function", bound=Callable[..., Any])
_FLAGGED = [one for one in PACKS_ALONE.values() if one.flag is not None]
"""The others are flags of `repo prompt` alone."""


def pack_options(function: Function) -> Function:
    """Adds the options of packs, passed on for `taken`."""
    return flags.added(_FLAGGED)(function)


def taken(given: dict[str, Any]) -> dict[str, Any]:
    """Removes the options of packs from the given ones and returns them by their library names."""
    return flags.taken(_FLAGGED, given)


def packs_lines(
    found: Answer[Pack],
    *,
    explain: bool = False,
    names: Mapping[RootCid, str] | None = None,
) -> list[str]:
    """Returns an answer of packs as lines for people; `explain` adds what each pack is made of, and
    `names` are those of the repositories by root, for an answer over several."""
    lines = []
    for rank, pack in enumerate(found, 1):
        lines += pack_lines(rank, pack, names, explain=explain)
    return lines


def pack_lines(
    rank: int,
    pack: Pack,
    names: Mapping[RootCid, str] | None = None,
    *,
    explain: bool = False,
) -> list[str]:
    """Returns one pack as lines for people: its location, its text, and a blank line."""
    from ibidem.repo.retrieval.printed_frame import INDENT

    body = pack.text.split("\n")
    title = strong(answer.named(names or {}, pack.root) + output.one_line(pack.title))
    facts = [_facts_line(pack)] if explain else []
    return [f"[{rank}] {title}", *(f"{INDENT}{line}".rstrip() for line in body), *facts, ""]


def _facts_line(pack: Pack) -> str:
    facts = (
        f"{pack.alias}, score {pack.score:.6g}, {plural(len(pack.hits), 'hit')}, "
        f"{plural(pack.tokens, 'token')}"
    )
    note = "" if pack.fallback is None else f", {pack.fallback}"
    return faint(f"    {facts}{note}")
