"""Merges the layouts of three versions of a document or section: the children and the texts between
them, by position.

Each side is compared with the base as runs: maximal stretches of children that it does not have as
the base has them, with what it has instead. Runs of both sides that do not touch are both made;
those that touch are made if their order is certain and neither leaves out a child. The tail counts
as the lead of a last child that every version has. Sizes take no part in this: they are merged like
any other value here, and computed again when all nodes are merged.

Spec: merge 3.1.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from ibidem.objects import codec
from ibidem.objects.record import record

_Size = tuple[int, int]
_Item = tuple[bytes, str]
"""The id and the lead of a child."""
_END = b""
"""Stands for the id of the last child, whose lead is the tail."""


def merge_layouts(
    base: bytes | None, ours: bytes | None, theirs: bytes | None, *, is_settled: bool = False
) -> bytes | None:
    """Returns the merge of two changed layouts, the same whichever is called ours; None if they are
    in conflict.

    Args:
        base: the canonical bytes of `[children, tail]`; None for a value without them, with which
            only layouts that differ in nothing but sizes are merged.
        ours: likewise.
        is_settled: a side has resolved or replaced a conflict about the layout: as without a base.
    """
    was, one, other = (_Layout(each) for each in (base, ours, theirs))
    if one.items != other.items and (base is None or is_settled):
        return None
    items = None if _is_change_lost(was, one, other) else _merged(was.items, one.items, other.items)
    if items is None:
        return None
    *listed, (_, tail) = items
    children = [[id_, lead, *_size(was, one, other, id_)] for id_, lead in listed]
    return codec.encode([children or None, tail or None])


def without_sizes(layout: bytes) -> tuple[bytes, bytes]:
    """Returns what layouts are ordered by: their bytes without sizes, as these follow from other
    nodes, then their bytes.

    Args:
        layout: the canonical bytes of `[children, tail]`.
    """
    children, tail = codec.decode(layout)
    bare = [child[:2] for child in children or ()]
    return codec.encode([bare or None, tail]), layout


class _Layout:
    """One version: its children in order, and their recorded sizes by id."""

    def __init__(self, layout: bytes | None) -> None:
        children: list[Any] | None
        children, tail = (None, None) if layout is None else codec.decode(layout)
        self.items: list[_Item] = [(id_, lead) for id_, lead, *_ in children or ()]
        self.items.append((_END, tail or ""))
        self.sizes: dict[bytes, _Size] = {
            id_: (size_bytes, size_lines) for id_, _, size_bytes, size_lines in children or ()
        }


@record
class _Run:
    """Children `start` to `stop` of the base, which a side replaces."""

    start: int
    stop: int
    items: tuple[_Item, ...]

    @property
    def length_change(self) -> int:
        """How many more children there are than before."""
        return len(self.items) - (self.stop - self.start)

    @property
    def is_insertion(self) -> bool:
        """Whether it replaces nothing."""
        return self.start == self.stop

    def touches(self, other: _Run) -> bool:
        """Returns whether the base has no child between two runs, or they overlap."""
        return max(self.start, other.start) <= min(self.stop, other.stop)

    def single(self) -> Iterator[_Run]:
        """Yields the replacement of each child by one, where there are as many as before."""
        if self.length_change:
            yield self
            return
        for step, item in enumerate(self.items):
            yield _Run(self.start + step, self.start + step + 1, (item,))


def _merged(base: list[_Item], ours: list[_Item], theirs: list[_Item]) -> list[_Item] | None:
    """Returns the items of both sides; None if they are in conflict."""
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    first, second = _runs(base, ours), _runs(base, theirs)
    if first is None or second is None:
        return None
    runs: list[_Run] = []
    for group in _groups(first, second):
        made = _made(*group)
        if made is None:
            return None
        runs += made
    items = list(_applied(base, runs))
    return items if len({id_ for id_, _ in items}) == len(items) else None


def _runs(base: Sequence[_Item], side: Sequence[_Item]) -> list[_Run] | None:
    """Returns the runs of a side, in order; None if it has children of the base in another order,
    or one of its children twice."""
    indices = {id_: index for index, (id_, _) in enumerate(base)}
    if len(indices) < len(base):
        return None
    found: list[_Run] = []
    items: list[_Item] = []
    start, last = 0, -1
    for item in side:
        index = indices.get(item[0])
        if index is not None:
            if index <= last:
                return None
            last = index
        if index is None or item != base[index]:
            items.append(item)
            continue
        if index > start or items:
            found.append(_Run(start, index, tuple(items)))
        start, items = index + 1, []
    if start < len(base) or items:
        found.append(_Run(start, len(base), tuple(items)))
    return found


def _is_change_lost(base: _Layout, ours: _Layout, theirs: _Layout) -> bool:
    """Returns whether a side removed a child of which the other changed the size."""
    return any(
        id_ not in one.sizes and other.sizes.get(id_, size) != size
        for id_, size in base.sizes.items()
        for one, other in ((ours, theirs), (theirs, ours))
    )


def _groups(ours: list[_Run], theirs: list[_Run]) -> Iterator[tuple[list[_Run], list[_Run]]]:
    """Yields the runs of both sides, those together that touch, directly or through others."""
    group: tuple[list[_Run], list[_Run]] = [], []
    reach = -1
    tagged = [(run, side) for side, runs in enumerate((ours, theirs)) for run in runs]
    for run, side in sorted(tagged, key=lambda each: (each[0].start, each[0].stop, each[1])):
        if run.start > reach and reach >= 0:
            yield group
            group = [], []
        group[side].append(run)
        reach = max(reach, run.stop)
    yield group


def _made(ours: list[_Run], theirs: list[_Run]) -> list[_Run] | None:
    """Returns what both sides make of one place; None if that is not certain."""
    for less, more in ((ours, theirs), (theirs, ours)):
        if _is_within(less, more):
            return more
    first, second = ({each for run in side for each in run.single()} for side in (ours, theirs))
    runs = sorted(first | second, key=lambda run: (run.start, run.stop))
    both = first & second
    for number, run in enumerate(runs):
        later = (runs[after] for after in range(number + 1, len(runs)))
        for other in takewhile(run.touches, later):
            is_by_both = run in both or other in both
            if (
                not is_by_both
                and (run in first) != (other in first)
                and not _is_ordered(run, other)
            ):
                return None
    return runs


def _is_within(less: Sequence[_Run], more: Sequence[_Run]) -> bool:
    """Returns whether some runs of one side are all made by runs of the other side too."""
    starts = [run.start for run in more]
    unread: dict[int, Iterator[_Item]] = {}
    for run in less:
        number = bisect_right(starts, run.start) - 1
        if number < 0 or run.stop > more[number].stop:
            return False
        if run == more[number]:
            continue
        items = unread.setdefault(number, iter(more[number].items))
        if run.length_change < 0 or not all(item in items for item in run.items):
            return False
    return True


def _is_ordered(one: _Run, other: _Run) -> bool:
    """Returns whether two runs that touch can both be made, in a certain order."""
    if min(one.length_change, other.length_change) < 0:
        return False
    if one.is_insertion or other.is_insertion:
        return min(one.length_change, other.length_change) == 0
    return max(one.start, other.start) == min(one.stop, other.stop)


def _applied(base: Sequence[_Item], runs: Iterable[_Run]) -> Iterator[_Item]:
    """Yields the children of the base with runs applied."""
    start = 0
    for run in runs:
        yield from base[start : run.start]
        yield from run.items
        start = run.stop
    yield from base[start:]


def _size(base: _Layout, ours: _Layout, theirs: _Layout, id_: bytes) -> _Size:
    was, one, other = (layout.sizes.get(id_) for layout in (base, ours, theirs))
    changed = [size for size in (one, other) if size is not None and size != was]
    size = min(changed, default=was)
    assert size is not None, "BUG: a child of no version"
    return size
