"""The answers to one question at two revisions as HTML: lines from old ranks to new ones, each
item that differs, and the commits that caused it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import htpy as h

from ibidem.objects.printable import one_line
from ibidem.pages import svg
from ibidem.pages.html import NOWHERE, Links, date, linked, number, plural, short, table, tag

if TYPE_CHECKING:
    from ibidem.objects.commit import Commit
    from ibidem.repo.history.compare import Cause, Comparison, Move
    from ibidem.repo.history.log import Change


def comparison(
    found: Comparison,
    *,
    before: str,
    after: str,
    links: Links = NOWHERE,
    lines: Mapping[Change, str] | None = None,
) -> h.Node:
    """Returns how an answer differs between two revisions, and why.

    Args:
        before: the name of the older revision.
        after: the name of the newer one.
        lines: changes of the graph in words, where they are known.
    """
    return [
        h.figure[moves_picture(found.moves, before=before, after=after)],
        moves_table(found.moves, before=links.at(before), after=links.at(after)),
        h.section[
            h.h2["Causes"],
            None if found.is_related else h.p["The revisions have no common commit."],
            [cause(one, links=links, lines=lines) for one in found.causes]
            or h.p["No commit between them changed the answer."],
        ],
    ]


def moves_picture(moves: Sequence[Move], *, before: str, after: str) -> h.Element:
    """Returns both rankings as a picture."""
    return svg.moved_ranks(
        [
            svg.Ranked(
                _title(move),
                None if move.before is None else move.before.rank,
                None if move.after is None else move.after.rank,
                str(move.kind),
            )
            for move in moves
        ],
        before=before,
        after=after,
    )


def moves_table(
    moves: Sequence[Move], *, before: Links = NOWHERE, after: Links = NOWHERE
) -> h.Element:
    """Returns the items of both rankings with their ranks and scores; what left is linked as it was
    before.
    """
    count = sum(move.kind != "same" for move in moves)
    rows = [
        (
            _node(move, before, after),
            tag(str(move.kind)),
            _pair(*(None if one is None else str(one.rank) for one in (move.before, move.after))),
            _pair(
                *(None if one is None else number(one.score) for one in (move.before, move.after))
            ),
        )
        for move in moves
    ]
    caption = f"{plural(len(moves), 'item')}, {count} of them differ"
    return table(caption, ("Item", "Change", "Rank", "Score"), rows)


def cause(
    found: Cause, *, links: Links = NOWHERE, lines: Mapping[Change, str] | None = None
) -> h.Element:
    """Returns a commit that changed an answer, with what it moved and what it changed."""
    words = (
        "" if found.commits_count == 1 else f"one or more of {found.commits_count} commits up to "
    )
    more = found.changes_count - len(found.changes)
    older, newer = links.at(found.before.cid), links.at(found.commit.cid)
    return h.section(".items")[
        h.h3[words, commit(found.commit, links=links)],
        h.ul[(h.li[tag(str(move.kind)), " ", _node(move, older, newer)] for move in found.moves)],
        h.ul[
            (h.li[tag(one.action), " ", change_text(one, lines)] for one in found.changes),
            h.li[f"and {plural(more, 'more change')}"] if more > 0 else None,
        ],
    ]


def commit(found: Commit, *, links: Links = NOWHERE) -> h.Element:
    """Returns a commit on one line: its message, author and time."""
    message = one_line(found.message.partition("\n")[0], width=80) or "(no message)"
    cid = short(found.cid)
    return h.span[
        linked(links.to(f"commit/{found.cid}", at=None), h.code[cid]),
        f" {message} by {one_line(found.author, width=40) or 'nobody'}, ",
        date(found.time),
    ]


def change_text(change: Change, lines: Mapping[Change, str] | None) -> str:
    """Returns a change of the graph in words; its family and id if no others are known."""
    known = None if lines is None else lines.get(change)
    return known or f"{change.family} {change.id}"


def _node(move: Move, before: Links, after: Links) -> h.Element:
    links = before if move.after is None else after
    return linked(links.to(f"node/{move.id}"), _title(move))


def _title(move: Move) -> str:
    item = move.after or move.before
    assert item is not None, "BUG: an item of neither answer"
    return one_line(item.title, width=80) or item.label


def _pair(before: str | None, after: str | None) -> str:
    """Returns a value before and after; one alone where there is one."""
    if before == after or before is None or after is None:
        return before or after or ""
    return f"{before} → {after}"
