"""Differences as lines for people: which items of an answer moved and by how much, what changed in
the graph, and in which commit. Text from a repository is escaped: a title can neither control the
terminal nor break a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ibidem.objects.edge import Edge
from ibidem.objects.errors import ErasedError
from ibidem.objects.node import Node
from ibidem.objects.printable import moment, one_line
from ibidem.objects.root import NOUNS
from ibidem.repo.history.compare import Cause, Move, MoveKind, Placed

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.commit import Commit
    from ibidem.repo.history.log import Change
    from ibidem.retrieve.answer.lane_score import LaneScore

TITLE_CHARACTERS = 60
CHANGES_SHOWN = 5


class Described(NamedTuple):
    """A change of the graph in words, safe to print."""

    name: str
    """The changed thing: its noun, its id, and the model of a vector."""
    touched: str
    """The fields and properties that differ, empty for none."""
    label: str
    """The label of a node, empty for anything else."""
    text: str | None
    """The start of a node's summary, or the label and ends of an edge; None if it has neither, and
    `(erased)` if it was erased."""


def move_lines(moves: Sequence[Move]) -> list[str]:
    """Returns a table of the items that differ, with their ranks and scores per lane, and the
    number of unchanged items.
    """
    lines: list[str] = []
    for move in moves:
        if move.kind is not MoveKind.SAME:
            lines += _move_lines(move)
    same = sum(move.kind is MoveKind.SAME for move in moves)
    return [*lines, f"{_items(same)} unchanged"] if same else lines


def cause_lines(source: Source, causes: Iterable[Cause]) -> list[str]:
    """Returns lines on the commits that changed an answer, each with its changes of the answer and
    the graph.
    """
    return [line for cause in causes for line in _cause_lines(source, cause)]


def commit_line(commit: Commit) -> str:
    """Returns a commit as one line: CID, message, author and time."""
    message = one_line(commit.message.partition("\n")[0], width=TITLE_CHARACTERS) or "no message"
    author = one_line(commit.author) or "nobody"
    return f"{commit.cid} {message!r} by {author}, {moment(commit.time, seconds_only=True)}"


def _move_lines(move: Move) -> Iterator[str]:
    before, after = move.before, move.after
    item = after or before
    assert item is not None, "BUG: an item of neither answer"
    ranks = _pair(*(None if one is None else str(one.rank) for one in (before, after)))
    yield f"{ranks:<8} {move.kind:<8} {item.id}  {one_line(item.label)}  {_title(item)}"
    if item.location:
        yield f"{'':9}at {item.location}"
    scores = [None if one is None else one.score for one in (before, after)]
    yield f"{'':9}{_numbers('score', *scores)}"
    for lane in sorted({**_lanes(before), **_lanes(after)}):
        old, new = _lanes(before).get(lane), _lanes(after).get(lane)
        if old != new:
            parts = [
                _numbers("rank", old and old.rank, new and new.rank),
                _numbers("score", old and old.score, new and new.score),
                _numbers("adds", old and old.contribution, new and new.contribution),
            ]
            yield f"{'':9}{lane}: {', '.join(parts)}"
    if before and after and before.tokens != after.tokens:
        yield f"{'':9}{_numbers('tokens', before.tokens, after.tokens)}"
    if before and after and before.cid != after.cid:
        yield f"{'':9}the node itself was edited"


def _cause_lines(source: Source, cause: Cause) -> Iterator[str]:
    if cause.commits_count == 1:
        yield f"commit {commit_line(cause.commit)}"
    else:
        yield f"one or more of {cause.commits_count} commits up to {commit_line(cause.commit)}"
    effects = [
        f"{kind} {count}"
        for kind in MoveKind
        if (count := sum(move.kind is kind for move in cause.moves))
    ]
    yield f"  in the answer: {', '.join(effects) or 'no item differs'}"
    shown = cause.changes[:CHANGES_SHOWN]
    for change in shown:
        yield f"  in the graph: {change_line(source, change)}"
    more = cause.changes_count - len(shown)
    if more > 0:
        yield f"  and {more} more change{'s' * (more != 1)} in the graph"


def change_line(source: Source, change: Change) -> str:
    """Returns a change of the graph as one line: the thing, its text, the differing fields."""
    found = describe(source, change, width=TITLE_CHARACTERS)
    touched = f" ({found.touched})" if found.touched else ""
    text = "" if found.text is None else f": {found.text!r}" if found.label else f": {found.text}"
    return f"{found.name} {change.action}{touched}{text}"


def describe(source: Source, change: Change, *, width: int) -> Described:
    """Returns the parts of a line on a change of the graph; text of a node is truncated."""
    model = f" {one_line(change.name)}" if change.name else ""
    name = f"{NOUNS[change.family]} {change.id}{model}"
    touched = [*change.fields, *(f"props.{name}" for name in change.properties)]
    label, text = _text(source, change, width)
    return Described(name, one_line(", ".join(touched), width=100), label, text)


def _text(source: Source, change: Change, width: int) -> tuple[str, str | None]:
    cid = change.after or change.before
    assert cid is not None, "BUG: a change with neither side"
    if change.family not in ("nodes", "edges"):
        return "", None
    try:
        block = source.get(cid)
    except ErasedError:
        return "", "(erased)"
    if change.family == "nodes":
        node = Node.decode(block)
        summary = one_line(node.summary, width=width) if node.summary else None
        return one_line(node.ntype), summary
    edge = Edge.decode(block)
    return "", f"{edge.src} {one_line(edge.etype)} {edge.dst}"


def _title(item: Placed) -> str:
    return one_line(item.title, width=TITLE_CHARACTERS)


def _lanes(item: Placed | None) -> Mapping[str, LaneScore]:
    return {} if item is None else item.lanes


def _items(count: int) -> str:
    return "1 item" if count == 1 else f"{count} items"


def _numbers(name: str, before: float | None, after: float | None) -> str:
    """Returns `name before -> after`, with enough digits to distinguish the two."""
    if before == after:
        return f"{name} {_number(before)}"
    texts = _number(before), _number(after)
    if texts[0] == texts[1]:
        texts = repr(before), repr(after)
    return f"{name} {_pair(*texts)}"


def _number(value: float | None) -> str:
    return "-" if value is None else str(value) if isinstance(value, int) else f"{value:.6g}"


def _pair(before: str | None, after: str | None) -> str:
    return f"{before or '-'} -> {after or '-'}"
