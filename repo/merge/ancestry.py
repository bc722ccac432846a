"""Where two histories meet, found without reading what both have.

Two colours spread from the two sides along parents, one generation of each at a time. A commit that
gets both is common, and so is all behind it; that news is passed on to what was read already.
Reading ends when nothing of one colour alone is left to be read. No clock is asked, so a wrong one
cannot cost anything, and no numbers need to be kept: where histories went apart at one point, what
is read is at most twice what differs.

Spec: merge 8.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ibidem.objects import codec
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.repo.erasure.guard import NOTHING_ERASED, Erased
from ibidem.repo.merge.three_way import merge_roots

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source, WriteBatch

VIRTUAL_DEPTH_MAX = 16
"""How many times the base of a merge may itself be merged; then the lowest ancestor has to do."""

_OURS, _THEIRS = 1, 2
_BOTH = _OURS | _THEIRS


def merge_bases(source: Source, ours: CommitCid, theirs: CommitCid) -> tuple[CommitCid, ...]:
    """Returns the common ancestors that are behind no other common ancestor, ascending.

    A commit counts among its ancestors. There is none where the histories have nothing in common,
    and more than one where each side has merged from the other.

    Raises:
        NotFoundError: a commit on the way is missing.

    Spec: merge 8.
    """
    return _bases(source, (ours,), (theirs,))


def is_ancestor(source: Source, commit: CommitCid, of: CommitCid) -> bool:
    """Tells whether a commit is `of`, or behind it."""
    return commit == of or commit in _Walk(source, (commit,), (of,)).met()


def common_root(
    source: Source,
    ours: CommitCid,
    theirs: CommitCid,
    buffer: WriteBatch,
    *,
    erased: Erased = NOTHING_ERASED,
) -> RootCid | None:
    """Returns the root that a merge of two commits takes as its base.

    That of the common ancestor; of several, their merge, made in the same way; None of none.

    Args:
        buffer: gets the blocks of a base that is no commit's root; nobody needs them afterwards.
        erased: as `merge_roots` takes it.

    Spec: merge 8.
    """
    return merged_root(source, merge_bases(source, ours, theirs), buffer, erased=erased)


def merged_root(
    source: Source,
    bases: tuple[CommitCid, ...],
    buffer: WriteBatch,
    depth_max: int = VIRTUAL_DEPTH_MAX,
    *,
    erased: Erased = NOTHING_ERASED,
) -> RootCid | None:
    """Returns the root of a commit, or of several as `common_root` merges them; None of none."""
    if not bases:
        return None
    root = _root(source, bases[0])
    for position, other in enumerate(bases[1:] if depth_max else (), 1):
        common = _bases(source, bases[:position], (other,))
        before = merged_root(source, common, buffer, depth_max - 1, erased=erased)
        second = _root(source, other)
        root = merge_roots(source, before, root, second, buffer, is_base=True, erased=erased)
    return root


def _bases(
    source: Source, ours: tuple[CommitCid, ...], theirs: tuple[CommitCid, ...]
) -> tuple[CommitCid, ...]:
    met = _Walk(source, ours, theirs).met()
    best = [
        one
        for one in met
        if not any(one != other and is_ancestor(source, one, other) for other in met)
    ]
    return tuple(sorted(best))


class _Walk:
    """Spreads two colours over a history until they have met everywhere.

    Commits are told apart by the bytes of their CIDs, which is twice as fast.
    """

    def __init__(
        self, source: Source, ours: Iterable[CommitCid], theirs: Iterable[CommitCid]
    ) -> None:
        self._source = source
        self._colours: dict[bytes, int] = {}
        self._parents: dict[bytes, list[bytes]] = {}
        self._waiting: deque[bytes] = deque()
        self._of_one_colour = 0
        self._starts = [cid.raw for cid in (*ours, *theirs)]
        for colour, starts in ((_OURS, ours), (_THEIRS, theirs)):
            for cid in starts:
                self._paint(cid.raw, colour)
        while self._of_one_colour:
            self._read(self._waiting.popleft())

    def met(self) -> set[CommitCid]:
        """Returns the common commits that a side reaches without passing another common one."""
        found = {raw for raw in self._starts if self._colours[raw] == _BOTH}
        for raw, parents in self._parents.items():
            if self._colours[raw] != _BOTH:
                found.update(parent for parent in parents if self._colours[parent] == _BOTH)
        return {CommitCid(raw) for raw in found}

    def _read(self, raw: bytes) -> None:
        colour = self._colours[raw]
        self._of_one_colour -= colour != _BOTH
        parents = self._parents[raw] = _parents(self._source.get(CommitCid(raw)))
        for parent in parents:
            self._paint(parent, colour)

    def _paint(self, raw: bytes, colour: int) -> None:
        """Adds a colour to a commit, and to what is known to be behind it."""
        stack = [raw]
        while stack:
            raw = stack.pop()
            before = self._colours.get(raw, 0)
            after = before | colour
            if after == before:
                continue
            self._colours[raw] = after
            if raw in self._parents:
                stack.extend(self._parents[raw])
                continue
            if not before:
                self._waiting.append(raw)
                self._of_one_colour += after != _BOTH
            elif after == _BOTH:
                self._of_one_colour -= 1


def _parents(block: bytes) -> list[bytes]:
    """Returns the parents in a commit's block, of which nothing else is looked at."""
    fields = codec.decode(block)
    links = fields.get("parents", []) if isinstance(fields, dict) else None
    if isinstance(links, list) and all(isinstance(link, Cid) for link in links):
        return [link.raw for link in links]
    return [parent.raw for parent in Commit.decode(block).parents]


def _root(source: Source, cid: CommitCid) -> RootCid:
    return Commit.decode(source.get(cid)).root
