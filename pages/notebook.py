"""Answers, differences and graphs as a notebook shows them: a picture, and its content as a table.

A notebook has a style of its own and may take HTML apart before it shows it. So a picture is an
image with its style sheet inside, which can run nothing and reach nothing, and a table has what
style it needs in its elements.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import htpy as h

from ibidem.objects.ids import NodeId
from ibidem.objects.printable import one_line
from ibidem.pages import bisection, comparison, svg
from ibidem.pages.html import number, plural, render
from ibidem.pages.neighbourhood import Connection, Neighbour, picture_of
from ibidem.repo.history.answer_change import is_restricted
from ibidem.repo.history.bisect import Bisection
from ibidem.repo.history.compare import Comparison, MoveKind
from ibidem.retrieve.answer.answer import Answer
from ibidem.retrieve.answer.item import Item
from ibidem.retrieve.graph.paths import GraphPath
from ibidem.retrieve.records.item import RecordItem

if TYPE_CHECKING:
    from ibidem.objects.commit import Commit
    from ibidem.retrieve.answer.item import AnswerItem
    from ibidem.retrieve.records.item import RecordGraph

ROWS_SHOWN = 50
"""Rows of a table, and of a picture; the caption says how many more there are."""
TEXT_CHARACTERS = 2000
_CELL = "text-align: left; vertical-align: top; white-space: pre-wrap"


def notebook(value: object) -> str:
    """Returns a value as HTML, by its type."""
    match value:
        case Answer():
            return render(h.div[_answer(value)])
        case Comparison():
            return render(h.div[_comparison(value)])
        case Bisection():
            return render(h.div[_bisection(value)])
        case GraphPath():
            return render(h.div[_path(value)])
    raise AssertionError(f"BUG: {type(value)} is not drawn")


def image(drawn: h.Element, words: str) -> h.VoidElement:
    """Returns a picture as an image; `words` is what it shows, for people who do not see it."""
    data = b64encode(svg.alone(drawn).encode()).decode()
    return h.img(alt=one_line(words), src=f"data:image/svg+xml;base64,{data}")


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> h.Element:
    """Returns a table; cells keep their line breaks.

    Args:
        caption: what the table shows.
        heads: the heading of each column.
        rows: the cells, as many as there are heads.
    """
    more = len(rows) - ROWS_SHOWN
    title = caption + (f", and {more:,} more" if more > 0 else "")
    return h.table[
        h.caption[title], _row(h.th, heads), (_row(h.td, row) for row in rows[:ROWS_SHOWN])
    ]


def _row(cell: h.Element, values: Iterable[object]) -> h.Element:
    return h.tr[(cell(style=_CELL)[_cut(str(value))] for value in values)]


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_CHARACTERS else text[: TEXT_CHARACTERS - 1] + "…"


def _answer(found: Answer[AnswerItem]) -> list[h.Node]:
    question = "" if found.query.text is None else f" for {found.query.text!r}"
    budget = "" if found.token_budget is None else f" of {found.token_budget:,}"
    caption = f"{plural(len(found), 'item')}{question}, {found.tokens_used:,}{budget} tokens"
    titled = list(zip(found.titles(), found.items, strict=True))
    rows = [
        (rank, number(item.score), item.tokens, title, item.rendered.removeprefix(f"{title}\n"))
        for rank, (title, item) in enumerate(titled, 1)
    ]
    bars = [
        (title or _title(item), {lane: one.contribution for lane, one in item.lanes.items()})
        for title, item in titled[:ROWS_SHOWN]
        if isinstance(item, Item | RecordItem)
    ]
    return [
        image(svg.score_bars(bars), "what each lane contributed to each item") if bars else None,
        table(caption, ("rank", "score", "tokens", "place", "text"), rows),
        None if found.graph is None else _relations(found, found.graph),
    ]


def _title(item: AnswerItem) -> str:
    return one_line(item.title or item.rendered.partition("\n")[0])


def _relations(found: Answer[AnswerItem], graph: RecordGraph) -> list[h.Node]:
    """Returns the relations of an answer of records, with its best record in the middle."""
    shown = found.items[:ROWS_SHOWN]
    titles = {item.id: _title(item) for item in shown if isinstance(item, RecordItem)}
    edges = [
        Connection(edge.src, edge.etype, edge.dst)
        for edge in graph.edges
        if edge.src in titles and edge.dst in titles
    ]
    if not edges:
        return []
    nodes = _around([id_ for id_ in graph.root_ids if id_ in titles] or list(titles), titles, edges)
    rows = [(titles[edge.source], edge.name, titles[edge.target]) for edge in edges]
    caption = plural(len(edges), "relation")
    return [
        image(picture_of(nodes, edges), f"{len(nodes)} records and their relations"),
        table(caption, ("from", "type", "to"), rows),
    ]


def _around(
    roots: Sequence[NodeId], titles: dict[NodeId, str], edges: Sequence[Connection]
) -> list[Neighbour]:
    """Returns nodes around the first root, breadth first; what no edge reaches is next to it."""
    middle = roots[0]
    found = {middle: Neighbour(middle, titles[middle], 0, None)}
    near: dict[NodeId, list[NodeId]] = {id_: [] for id_ in titles}
    for edge in edges:
        near[edge.source].append(edge.target)
        near[edge.target].append(edge.source)
    waiting = [middle, *titles]
    for at in waiting:
        if at not in found:
            found[at] = Neighbour(at, titles[at], 1, middle)
        for other in near[at]:
            if other not in found:
                found[other] = Neighbour(other, titles[other], found[at].depth + 1, at)
                waiting.insert(len(found) - 1, other)
    return list(found.values())


def _comparison(found: Comparison) -> list[h.Node]:
    rows = []
    for move in found.moves:
        item = move.after or move.before
        assert item is not None, "BUG: an item of neither answer"
        ranks = ["" if one is None else one.rank for one in (move.before, move.after)]
        rows.append((move.kind, *ranks, item.label, item.title, move.id))
    different = sum(move.kind is not MoveKind.SAME for move in found.moves)
    caption = f"{different} of {plural(len(found.moves), 'item')} differ"
    drawn = comparison.moves_picture(found.moves[:ROWS_SHOWN], before="before", after="after")
    causes = [
        (_commit(cause.commit), cause.commits_count)
        for cause in found.causes
        if not is_restricted(found.before.query.viewer)
    ]
    heads = ("change", "before", "after", "label", "text", "id")
    return [
        image(drawn, "lines from old ranks to new ones") if rows else None,
        table(caption, heads, rows),
        table("caused by", ("commit", "of commits"), causes) if causes else None,
    ]


def _bisection(found: Bisection) -> list[h.Node]:
    tried = [
        (f"{index}. {_commit(step.commit)}", bisection.result(step))
        for index, step in enumerate(found.steps, 1)
    ]
    first = [_commit(one) for one in found.suspects]
    caption = f"tried {len(tried)} of {plural(found.commits_count, 'commit')}"
    return [
        image(bisection.picture(found), caption) if tried else None,
        table(caption, ("commit", "result"), tried),
        table("fails first at", ("commit",), [(one,) for one in first]) if first else None,
    ]


def _commit(commit: Commit) -> str:
    message = one_line(commit.message.partition("\n")[0], width=80) or "no message"
    return f"{commit.cid} {message!r} by {one_line(commit.author) or 'nobody'}"


def _path(found: GraphPath) -> list[h.Node]:
    nodes = [str(node) for node in found.nodes]
    drawn = svg.chain([f"{node[:8]}…" for node in nodes])
    rows = list(zip(nodes, ["", *map(str, found.edges)], strict=True))
    return [
        image(drawn, f"a path of {plural(len(nodes), 'node')}"),
        table(plural(len(nodes), "node"), ("node", "reached by edge"), rows),
    ]
