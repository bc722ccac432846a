"""A history drawn with lines: every commit after all of its children, and how they hang together.

    *    a merge
    |\\
    | *  of this
    * |  and this
    |/
    *    which both came from
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from ibidem.objects.cid import CommitCid
from ibidem.repo.history.log import CommitEnds, ends_of

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source


def children_first(
    source: Source, start: CommitCid | None
) -> Iterator[tuple[CommitCid, CommitEnds]]:
    """Yields a commit and everything behind it, no commit before one of its children.

    All commits are read before the first is yielded; of those that may come, the latest does.
    """
    commits: dict[CommitCid, CommitEnds] = {}
    waiting_children: dict[CommitCid, int] = {}
    todo = [] if start is None else [start]
    while todo:
        cid = todo.pop()
        if cid in commits:
            continue
        commit = commits[cid] = ends_of(source, cid)
        for parent in commit.parents:
            waiting_children[parent] = waiting_children.get(parent, 0) + 1
            todo.append(parent)
    ready = [] if start is None else [(-commits[start].time, start.raw)]
    while ready:
        cid = CommitCid(heappop(ready)[1])
        commit = commits[cid]
        yield cid, commit
        for parent in commit.parents:
            waiting_children[parent] -= 1
            if not waiting_children[parent]:
                heappush(ready, (-commits[parent].time, parent.raw))


class LogGraph:
    """Draws one commit after the other; columns are the commits that lines lead to."""

    def __init__(self) -> None:
        self._columns: list[CommitCid] = []

    def draw(self, cid: CommitCid, commit: CommitEnds) -> tuple[str, str, list[str]]:
        """Returns the line of a commit, what stands beside more lines about it, and the lines
        that lead on from it."""
        columns = self._columns
        if cid not in columns:
            columns.append(cid)
        at = columns.index(cid)
        row = " ".join("*" if place == at else "|" for place in range(len(columns)))
        beside = " ".join(
            "|" if commit.parents or place != at else " " for place in range(len(columns))
        )
        return row, beside, self._open(at, commit) + self._close(at, commit)

    def _open(self, at: int, commit: CommitEnds) -> list[str]:
        """Makes columns for the parents of a merge that have none yet."""
        columns, lines = self._columns, []
        if commit.parents:
            columns[at] = commit.parents[0]
        for place, parent in enumerate(commit.parents[1:], at + 1):
            right = len(columns) - place
            columns.insert(place, parent)
            lines.append("| " * (place - 1) + "|\\" + " \\" * right)
        return lines

    def _close(self, at: int, commit: CommitEnds) -> list[str]:
        """Joins columns that lead to the same commit, and drops one that leads nowhere."""
        columns, lines = self._columns, []
        if not commit.parents:
            right = len(columns) - at - 1
            del columns[at]
            return ["| " * at + " /" * right] if right else []
        place = 1
        while place < len(columns):
            first = columns.index(columns[place])
            if first == place:
                place += 1
                continue
            lines.append(_join(first, place, len(columns)))
            del columns[place]
        return lines


def _join(first: int, place: int, count: int) -> str:
    """Returns the line that leads one column into an earlier one."""
    between = "_|" * (place - first - 1)
    return ("| " * first + "|" + between + "/" + " /" * (count - place - 1)).rstrip()
