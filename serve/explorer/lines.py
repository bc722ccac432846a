"""The commit of each line of a document.

The commit that set the text of a part is known from the history of the part. If the part has
several lines, some of them may be older: the lines of the document at that commit are compared with
those at its parents, and a line that is there already belongs to whatever set it there. So every
merge is followed to the side that a line came from, and no commit in between is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby, islice

from ibidem import ALL, Commit, CommitCid, Node, NodeId, Repository
from ibidem.objects.record import record
from ibidem.serve.explorer.parts import text_parts

COMPARISONS_MAX = 50
"""Comparisons of a document with an earlier version, for one page."""
LINES_MAX = 500
"""Lines of a document that is compared; a part of a longer one belongs to one commit. Where every
second line is the same, a comparison takes 0.4 s."""


@record
class Line:
    """A line of a document, by its part."""

    part: NodeId
    index: int
    """Number of lines of the part before it."""
    text: str


class Lines:
    """Finds the commits of the lines of one document."""

    def __init__(self, repository: Repository, document: NodeId) -> None:
        self._repository = repository
        self._document = document
        self._known: dict[object, list[Line]] = {}
        self._comparisons_count = 0

    def runs(self, at: object, part: Node) -> Iterator[tuple[int, str, Commit | None]]:
        """Yields the lines of a part as runs of one commit, each with the number of lines before
        it.
        """
        lines = _split(part.summary or "")
        owners: list[Commit | None] = [None] * len(lines)
        waiting = [(at, part.id, {index: index for index in range(len(lines))})]
        while waiting:
            rev, id_, wanted = waiting.pop()
            commit = self._setter(rev, id_)
            for index in wanted.values():
                owners[index] = commit
            if commit is not None and len(lines) > 1:
                waiting += self._older(commit, id_, wanted)
        start = 0
        for _, run in groupby(owners, key=lambda one: None if one is None else one.cid):
            commits = list(run)
            stop = start + len(commits)
            yield start, "\n".join(lines[start:stop]), commits[0]
            start = stop

    def _older(
        self, commit: Commit, part: NodeId, wanted: dict[int, int]
    ) -> Iterator[tuple[CommitCid, NodeId, dict[int, int]]]:
        """Yields where lines of a part are in the parents of the commit that set its text.

        Args:
            commit: that commit.
            part: the part.
            wanted: lines of the part, by their index in it.
        """
        rest = dict(wanted)
        now = self._lines(commit.cid)
        for parent in commit.parents:
            before = self._lines(parent)
            if not before or not now or not rest or self._comparisons_count >= COMPARISONS_MAX:
                return
            self._comparisons_count += 1
            found: defaultdict[NodeId, dict[int, int]] = defaultdict(dict)
            for old, new in _same(before, now):
                if new.part == part and new.index in rest:
                    found[old.part][old.index] = rest.pop(new.index)
            for id_, lines in found.items():
                yield parent, id_, lines

    def _setter(self, rev: object, part: NodeId) -> Commit | None:
        found = self._repository.history.blame(part, rev)
        return next((one.commit for one in found if one.field == "summary"), None)

    def _lines(self, rev: object) -> list[Line]:
        """Returns the lines of the document at a revision; none if it is too long, or not there."""
        if rev not in self._known:
            revision = self._repository.at(rev, viewer=ALL)
            node = revision.find_nodes([self._document]).get(self._document)
            parts = () if node is None else islice(text_parts(revision, node, ()), LINES_MAX + 1)
            lines = [
                Line(part.id, index, text)
                for _, part in parts
                for index, text in enumerate(_split(part.summary or ""))
            ]
            self._known[rev] = lines if len(lines) <= LINES_MAX else []
        return self._known[rev]


def _split(text: str) -> list[str]:
    """Returns the lines of a part, as the lines of its source are counted."""
    return text.rstrip("\n").split("\n")


def _same(before: Sequence[Line], now: Sequence[Line]) -> Iterator[tuple[Line, Line]]:
    """Yields the lines that two versions have in common."""
    old, new = ([line.text for line in each] for each in (before, now))
    for a, b, size in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        yield from zip(before[a : a + size], now[b : b + size], strict=True)
