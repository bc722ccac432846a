"""Draws a commit graph with lines, every commit after all of its children.

    *    a merge
    |\\
    | *  of this
    * |  and this
    |/
    *    which both came from
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid
    from ibidem.repo.history.ancestry import CommitEnds


class LogGraph:
    """Draws one commit after the other; each column holds the commit its line leads to."""

    def __init__(self) -> None:
        self._columns: list[CommitCid] = []

    def draw(self, cid: CommitCid, commit: CommitEnds) -> tuple[str, str, list[str]]:
        """Returns the graph part of the commit's first line, that of its further lines, and the
        connecting lines below it.
        """
        columns = self._columns
        if cid not in columns:
            columns.append(cid)
        at = columns.index(cid)
        row = " ".join("*" if position == at else "|" for position in range(len(columns)))
        beside = " ".join(
            "|" if commit.parents or position != at else " " for position in range(len(columns))
        )
        return row, beside, self._open(at, commit) + self._close(at, commit)

    def _open(self, at: int, commit: CommitEnds) -> list[str]:
        """Opens columns for the parents of a merge that have none yet."""
        columns, lines = self._columns, []
        if commit.parents:
            columns[at] = commit.parents[0]
        for position, parent in enumerate(commit.parents[1:], at + 1):
            right = len(columns) - position
            columns.insert(position, parent)
            lines.append("| " * (position - 1) + "|\\" + " \\" * right)
        return lines

    def _close(self, at: int, commit: CommitEnds) -> list[str]:
        """Joins columns that lead to the same commit, and drops one that leads nowhere."""
        columns, lines = self._columns, []
        if not commit.parents:
            right = len(columns) - at - 1
            del columns[at]
            return ["| " * at + " /" * right] if right else []
        position = 1
        while position < len(columns):
            first = columns.index(columns[position])
            if first == position:
                position += 1
                continue
            lines.append(_join(first, position, len(columns)))
            del columns[position]
        return lines


def _join(first: int, position: int, count: int) -> str:
    """Returns the line that leads one column into an earlier one."""
    between = "_|" * (position - first - 1)
    return ("| " * first + "|" + between + "/" + " /" * (count - position - 1)).rstrip()
