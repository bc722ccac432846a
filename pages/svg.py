"""Pictures as SVG: score bars, a meter, ranks that moved, a branch graph.

All coordinates are integers, so the same values give the same bytes. Colours come from the style
sheet by class; `alone` adds it to a picture that stands in a file of its own. Every picture has a
title that says in words what it shows, and whatever it shows is on its page as text too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import htpy as h
from markupsafe import Markup

from ibidem.objects.printable import one_line
from ibidem.objects.record import record
from ibidem.pages.html import render, style_sheet

BAR_WIDTH, BAR_HEIGHT = 240, 12
ROW_HEIGHT = 28
CHART_WIDTH, LABEL_WIDTH, LABEL_CHARACTERS = 720, 260, 36
COMMIT_HEIGHT, COMMIT_WIDTH = 44, 18
COLUMNS_MAX = 12
"""Columns that a branch graph draws; further branches share the last one."""


@record
class Ranked:
    """One item in two rankings; None where it is in one only."""

    label: str
    before: int | None
    after: int | None
    kind: str
    """How it differs, such as `entered`; the class of its line."""


def picture(title: str, width: int, height: int, *shapes: h.Node) -> h.Element:
    """Returns a picture with its title, for people who do not see it."""
    return h.svg(
        role="img",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
    )[_title(title), shapes]


def alone(drawn: h.Element) -> str:
    """Returns a picture as a file of its own, with the style sheet of the pages."""
    text = render(drawn)
    style = render(h.style[Markup(style_sheet())])  # noqa: S704  # of this package
    start = text.index(">") + 1
    return text[:start] + style + text[start:]


def score_bar(parts: Mapping[str, float], largest: float) -> h.Element:
    """Returns a bar of what each lane contributed to one score; less than 0 is drawn as nothing.

    Args:
        parts: the contributions by lane, in the order in which they are drawn.
        largest: the sum that fills the whole width.
    """
    shapes, start, total = [], 0, Fraction(0)
    for lane, contribution in parts.items():
        total += max(Fraction(contribution), Fraction(0))
        stop = start if largest <= 0 else min(BAR_WIDTH, int(total * BAR_WIDTH / Fraction(largest)))
        shapes.append(_rect(lane, start, 0, stop - start, BAR_HEIGHT))
        start = stop
    words = ", ".join(f"{lane} {contribution:.6g}" for lane, contribution in parts.items())
    track = _rect("track", 0, 0, BAR_WIDTH, BAR_HEIGHT)
    return picture(f"contributions: {words or 'none'}", BAR_WIDTH, BAR_HEIGHT, track, shapes)


def meter(used: int, budget: int | None) -> h.Element:
    """Returns the part of a budget that was used; all of it where there is no budget."""
    whole = max(used if budget is None else budget, 1)
    width = min(BAR_WIDTH, used * BAR_WIDTH // whole)
    title = f"{used:,} tokens" if budget is None else f"{used:,} of {budget:,} tokens"
    kind = "over" if used > whole else "fill"
    return picture(
        title,
        *(BAR_WIDTH, BAR_HEIGHT),
        _rect("track", 0, 0, BAR_WIDTH, BAR_HEIGHT),
        _rect(kind, 0, 0, width, BAR_HEIGHT),
    )


def moved_ranks(items: Sequence[Ranked], *, before: str, after: str) -> h.Element:
    """Returns two rankings side by side, with a line from the old rank of an item to its new one.

    Args:
        items: those of both rankings, each once.
        before: the name of the left ranking.
        after: the name of the right one.
    """
    rows = max((rank or 0 for item in items for rank in (item.before, item.after)), default=0)
    west, east = LABEL_WIDTH, CHART_WIDTH - LABEL_WIDTH
    shapes: list[h.Node] = [
        _text(before, west - 12, 18, anchor="end", kind="muted"),
        _text(after, east + 12, 18, kind="muted"),
    ]
    for item in items:
        label = one_line(item.label, width=LABEL_CHARACTERS)
        if item.before is not None:
            at = f"{label}  {item.before}"
            shapes.append(_text(at, west - 12, _row(item.before) + 4, anchor="end"))
        if item.after is not None:
            shapes.append(_text(f"{item.after}  {label}", east + 12, _row(item.after) + 4))
        start = None if item.before is None else (west, _row(item.before))
        stop = None if item.after is None else (east, _row(item.after))
        shapes.append(_link(item, start, stop))
    title = f"ranks: {before} and {after}, {len(items)} items"
    return picture(title, CHART_WIDTH, (rows + 1) * ROW_HEIGHT + 8, shapes)


def _link(item: Ranked, start: tuple[int, int] | None, stop: tuple[int, int] | None) -> h.Node:
    words = f"{one_line(item.label)}: {item.kind}"
    if start is not None and stop is not None:
        bend = (start[0] + stop[0]) // 2
        path = f"M{start[0]} {start[1]}C{bend} {start[1]} {bend} {stop[1]} {stop[0]} {stop[1]}"
        return _path(f"line {item.kind}", path, title=words)
    if start is not None:
        return _path(f"line {item.kind}", f"M{start[0]} {start[1]}h40m0 -5v10", title=words)
    assert stop is not None, "BUG: an item of neither ranking"
    return _path(f"line {item.kind}", f"M{stop[0]} {stop[1]}h-40m0 -5v10", title=words)


def _row(rank: int) -> int:
    return rank * ROW_HEIGHT + ROW_HEIGHT // 2


def branch_graph(commits: Sequence[tuple[str, Sequence[str]]]) -> h.Element:
    """Returns the lines between commits, one row for each; `COMMIT_HEIGHT` is the height of a row.

    Args:
        commits: each with its parents, no commit before one of its children. Parents that are not
            among them are drawn as lines that leave at the bottom.
    """
    rows = {name: row for row, (name, _) in enumerate(commits)}
    columns, lines = _columns(commits)
    bottom = len(commits) * COMMIT_HEIGHT
    shapes: list[h.Node] = []
    for child, parent, column in lines:
        start = (_column(columns[child]), _commit_row(rows[child]))
        is_known = parent in rows
        stop = (
            _column(columns[parent] if is_known else column),
            _commit_row(rows[parent]) if is_known else bottom,
        )
        shapes.append(_path("line", _branch(start, _column(column), stop)))
    for name, row in rows.items():
        shapes.append(h.circle(".dot", cx=_column(columns[name]), cy=_commit_row(row), r=6))
    width = _column(min(max(columns.values(), default=0), COLUMNS_MAX - 1)) + COMMIT_WIDTH
    return picture(f"branch graph of {len(commits)} commits", width, max(bottom, 1), shapes)


def _columns(
    commits: Sequence[tuple[str, Sequence[str]]],
) -> tuple[dict[str, int], list[tuple[str, str, int]]]:
    """Returns the column of each commit, and the lines: child, parent and the line's column.

    A column belongs to the commit that its line leads to, until that commit is drawn in the first
    of its columns; so the line of first parents stays where it is.
    """
    waiting: list[str | None] = []
    columns: dict[str, int] = {}
    lines = []
    for name, parents in commits:
        own = columns[name] = _column_of(waiting, name)
        waiting = [None if awaited == name else awaited for awaited in waiting]
        for position, parent in enumerate(parents):
            if position == 0:
                waiting[own] = parent
            lines.append((name, parent, own if position == 0 else _column_of(waiting, parent)))
    return columns, lines


def _column_of(waiting: list[str | None], name: str) -> int:
    """Returns the column of a commit, the first free one if it has none yet."""
    if name in waiting:
        return waiting.index(name)
    if None in waiting:
        free = waiting.index(None)
        waiting[free] = name
        return free
    waiting.append(name)
    return len(waiting) - 1


def _branch(start: tuple[int, int], column: int, stop: tuple[int, int]) -> str:
    """Returns the path from a child along a column to its parent."""
    path = f"M{start[0]} {start[1]}"
    bend = min(start[1] + COMMIT_HEIGHT, stop[1])
    if start[0] != column:
        middle = (start[1] + bend) // 2
        path += f"C{start[0]} {middle} {column} {middle} {column} {bend}"
    back = max(stop[1] - COMMIT_HEIGHT, bend)
    if column == stop[0]:
        return path + f"L{stop[0]} {stop[1]}"
    middle = (back + stop[1]) // 2
    return path + f"L{column} {back}C{column} {middle} {stop[0]} {middle} {stop[0]} {stop[1]}"


def _column(index: int) -> int:
    return min(index, COLUMNS_MAX - 1) * COMMIT_WIDTH + COMMIT_WIDTH // 2


def _commit_row(index: int) -> int:
    return index * COMMIT_HEIGHT + COMMIT_HEIGHT // 2


def _rect(kind: str, x: int, y: int, width: int, height: int) -> h.Node:
    return h.rect(class_=kind, x=x, y=y, width=width, height=height)


def _text(
    text: str, x: int, y: int, *, anchor: str | None = None, kind: str | None = None
) -> h.Node:
    return h.text(class_=kind, x=x, y=y, text_anchor=anchor)[text]


def _path(kind: str, path: str, *, title: str | None = None) -> h.Node:
    return h.path(class_=kind, d=path)[None if title is None else _title(title)]


def _title(text: str) -> h.Element:
    return h.title[text]


def whole_of(contributions: Iterable[Mapping[str, float]]) -> float:
    """Returns the largest sum of contributions, which fills a bar; 0 for none."""
    return max(
        (sum(max(part, 0.0) for part in parts.values()) for parts in contributions), default=0.0
    )
