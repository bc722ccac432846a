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
from ibidem.repo.history.answer_change import rankings

if TYPE_CHECKING:
    from ibidem.objects.commit import Commit
    from ibidem.objects.ids import NodeId
    from ibidem.repo.history.answer_change import Ranking
    from ibidem.repo.history.compare import Cause, Comparison, Move
    from ibidem.repo.history.log import Change

RANKS_SHOWN = 20
"""Ranks of the answer at each commit."""


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
    led = rankings(found, before=before, after=after)
    return [
        h.figure[moves_picture(found.moves, before=before, after=after)],
        course(led, links=links) if len(led) > 2 else None,
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


def course(rankings: Sequence[Ranking], *, links: Links = NOWHERE) -> h.Element:
    """Returns how an answer came about: its rankings, oldest first, as lines through time and one
    after the other.

    They stand side by side in a part of the page that scrolls from one to the next, by a finger,
    by the arrow keys, or by the numbers above it: a slider without a script.
    """
    numbers = range(len(rankings))
    return h.section[
        h.h2["How it came about"],
        h.div(".scrolls", role="region", tabindex="0", aria_label="Ranks at each state")[
            course_picture(rankings)
        ],
        h.nav(".pages", aria_label="States")[
            (h.a(href=f"#state-{number}")[str(number)] for number in numbers)
        ],
        h.div(".states", role="region", tabindex="0", aria_label="The answer at each state")[
            (
                _state(number, ranking, links)
                for number, ranking in zip(numbers, rankings, strict=True)
            )
        ],
    ]


def course_picture(rankings: Sequence[Ranking]) -> h.Element:
    """Returns the ranks of all items through time; a column for each state, by its number."""
    titles: dict[NodeId, str] = {}
    for ranking in rankings:
        for item in ranking.items[:RANKS_SHOWN]:
            titles.setdefault(item.id, one_line(item.title, width=80) or item.label)
    ranks = [{item.id: item.rank for item in ranking.items[:RANKS_SHOWN]} for ranking in rankings]
    return svg.rank_course(
        [(title, [each.get(id_) for each in ranks]) for id_, title in titles.items()],
        states=len(rankings),
    )


def _state(number: int, ranking: Ranking, links: Links) -> h.Element:
    cause = ranking.cause
    if cause is None:
        head: h.Node = one_line(ranking.name)
    else:
        count = cause.commits_count
        many = "" if count == 1 else f"one or more of {count} commits up to "
        head = [many, commit(cause.commit, links=links)]
    more = len(ranking.items) - RANKS_SHOWN
    gone = [kind for kind in ranking.kinds.values() if kind == "left"]
    return h.section(id=f"state-{number}")[
        h.h3[f"{number}. ", head],
        h.ol[
            (
                h.li[
                    one_line(item.title, width=80) or item.label,
                    [" ", tag(str(ranking.kinds[item.id]))] if item.id in ranking.kinds else None,
                ]
                for item in ranking.items[:RANKS_SHOWN]
            )
        ],
        h.p(".muted")[f"and {more:,} more"] if more > 0 else None,
        h.p(".muted")[f"{len(gone):,} left the answer"] if gone else None,
    ]


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
