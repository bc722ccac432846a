"""The ancestors of commits: one walk along parents, and the queries that it answers.

A walk spreads colours: each start has one, and the ancestors of a commit have its colours too.
Nothing is stored for it besides the commits, and their times are set by authors. If an answer or
its cost must not depend on times, one generation is read after the other; if they only affect the
order of commits, or how many are read, the latest is read first.

Spec: merge 8, sync 7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from heapq import heappop, heappush
from itertools import chain
from operator import index
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from ibidem.objects import codec
from ibidem.objects.block import in_version
from ibidem.objects.cid import CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import CorruptError

if TYPE_CHECKING:
    from ibidem.objects.blocks import BlockReader

_OURS, _THEIRS = 1, 2
_WANTED, _HAD = _OURS, _THEIRS
_BOTH = _OURS | _THEIRS
_NEXT = -(1 << 64)
"""Comes before every order in which a commit waits."""


class CommitEnds(NamedTuple):
    """The root, parents and time of a commit, for walks that need no more."""

    root: RootCid
    parents: tuple[CommitCid, ...]
    time: int


class _Linked(Protocol):
    """The attributes of a commit that a walk reads."""

    @property
    def parents(self) -> tuple[CommitCid, ...]: ...

    @property
    def time(self) -> int: ...


C = TypeVar("C", bound=_Linked)
Read = Callable[[CommitCid], C]
"""Reads a commit: all of it (`read_commit`), or its ends (`read_ends`)."""


def read_commit(source: BlockReader, cid: CommitCid) -> Commit:
    """Returns a commit."""
    return Commit.decode(source.get(cid))


def read_ends(source: BlockReader, cid: CommitCid) -> CommitEnds:
    """Returns the root, the parents and the time of a commit, whose hash the store has checked.

    Raises:
        CorruptError: the block is no commit.
    """
    block = source.get(cid)
    fields = codec.decode(block)
    if not isinstance(fields, dict) or fields.get("kind") != Commit.KIND:
        raise CorruptError(f"block {cid}: got no commit, expected one")
    fields = in_version(fields)
    try:
        parents = tuple(CommitCid(parent.raw) for parent in fields.get("parents", ()))
        return CommitEnds(RootCid(fields["root"].raw), parents, index(fields["time"]))
    except (AttributeError, KeyError, TypeError):
        commit = Commit.decode(block)  # says what is wrong with it
        return CommitEnds(commit.root, commit.parents, commit.time)


class _Walk(Generic[C]):
    """Spreads colours, the bits of a number, from some commits to all their ancestors.

    Commits are compared by the bytes of their CIDs, which is twice as fast.
    """

    def __init__(self, read: Read[C], *, by_time: bool) -> None:
        self._read = read
        self._by_time = by_time
        self._waiting: list[tuple[int, bytes, CommitCid, C | None]] = []
        self.colours: dict[bytes, int] = {}
        """The colours of every commit that was found."""
        self.parents: dict[bytes, tuple[CommitCid, ...]] = {}
        """The parents of every commit that was taken."""
        self.waiting_counts = [0] * (1 + _BOTH)
        """The number of commits that wait to be taken, by colours."""

    def __len__(self) -> int:
        """Counts the commits that wait to be taken."""
        return len(self._waiting)

    @property
    def newest(self) -> int:
        """The time of the commit that is next, in a walk by time."""
        return -self._waiting[0][0]

    def paint(self, cids: Iterable[CommitCid], colour: int, *, are_next: bool = False) -> None:
        """Adds a colour to commits, and to their known ancestors.

        Args:
            are_next: whether new ones are taken before all others, whatever their times are.
        """
        colours = self.colours
        stack = list(cids)[::-1]
        while stack:
            cid = stack.pop()
            raw = cid.raw
            before = colours.get(raw, 0)
            after = before | colour
            if after == before:
                continue
            if not before:
                commit = self._read(cid) if self._by_time else None
                order = len(colours) if commit is None else -commit.time
                heappush(self._waiting, (_NEXT if are_next else order, raw, cid, commit))
            colours[raw] = after
            if raw in self.parents:
                stack.extend(self.parents[raw])
                continue
            self.waiting_counts[after] += 1
            if before:
                self.waiting_counts[before] -= 1

    def take(self) -> tuple[CommitCid, C]:
        """Returns the next commit, without spreading its colours to its parents."""
        _, raw, cid, commit = heappop(self._waiting)
        found = self._read(cid) if commit is None else commit
        self.waiting_counts[self.colours[raw]] -= 1
        self.parents[raw] = found.parents
        return cid, found

    def spread(self, cid: CommitCid) -> None:
        """Spreads the colours of a commit that was taken to its parents."""
        self.paint(self.parents[cid.raw], self.colours[cid.raw])


# -- orders ----------------------------------------------------------------------------------------


def newest_first(read: Read[C], starts: Iterable[CommitCid]) -> Iterator[tuple[CommitCid, C]]:
    """Yields some commits and all their ancestors, each once, read one at a time.

    Of the commits whose child was yielded, the one with the latest time is next, then the one with
    the smaller CID; so a linear history is in its own order, whatever its times are.
    """
    walk = _Walk(read, by_time=True)
    walk.paint(starts, _WANTED)
    while walk:
        cid, commit = walk.take()
        yield cid, commit
        walk.spread(cid)


def children_first(
    source: BlockReader, start: CommitCid | None
) -> Iterator[tuple[CommitCid, CommitEnds]]:
    """Yields a commit and all its ancestors, no commit before one of its children.

    Of the commits that may be next, the latest is. Where all paths back lead through one commit, no
    child of the found commits can be an ancestor of it, and it is read no further: the cost of the
    newest commits is their number, plus parallel branches up to where they meet.
    """
    known: dict[CommitCid, CommitEnds] = {}

    def read(cid: CommitCid) -> CommitEnds:
        found = known[cid] = read_ends(source, cid)
        return found

    walk = _Walk(read, by_time=True)
    walk.paint(() if start is None else (start,), _WANTED)
    ready = [(-ends.time, cid.raw) for cid, ends in known.items()]
    children: Counter[CommitCid] = Counter()
    """The number of children not yielded yet, by found commit."""
    dead_ends = 0
    """The number of commits without parents not yielded yet: not all paths lead on."""
    while ready:
        cid = CommitCid(heappop(ready)[1])
        ends = known.pop(cid)
        yield cid, ends
        dead_ends -= not ends.parents
        while cid.raw not in walk.parents or len(walk) > 1 or (dead_ends > 0 and walk):
            child, its = walk.take()
            walk.spread(child)
            children.update(its.parents)
            dead_ends += not its.parents
        for parent in ends.parents:
            children[parent] -= 1
            if not children[parent]:
                del children[parent]
                heappush(ready, (-known[parent].time, parent.raw))


def parents_first(commits: Mapping[CommitCid, C]) -> dict[CommitCid, C]:
    """Returns the commits sorted so that each follows those of its parents that are among them.

    The order depends only on the set.
    """
    children: dict[CommitCid, list[CommitCid]] = {}
    missing: dict[CommitCid, int] = {}
    for cid, commit in commits.items():
        parents = [parent for parent in commit.parents if parent in commits]
        missing[cid] = len(parents)
        for parent in parents:
            children.setdefault(parent, []).append(cid)
    ready: list[tuple[int, bytes, CommitCid]] = []
    for cid, count in missing.items():
        if not count:
            heappush(ready, (commits[cid].time, cid.raw, cid))
    found: dict[CommitCid, C] = {}
    while ready:
        cid = heappop(ready)[2]
        found[cid] = commits[cid]
        for child in children.get(cid, ()):
            missing[child] -= 1
            if not missing[child]:
                heappush(ready, (commits[child].time, child.raw, child))
    return found


def first_parents(read: Read[C], start: CommitCid) -> Iterator[tuple[CommitCid, C]]:
    """Yields a commit, its first parent, the first parent of that, and so on."""
    line: tuple[CommitCid, ...] = (start,)
    while line:
        commit = read(line[0])
        yield line[0], commit
        line = commit.parents


# -- what two histories share ----------------------------------------------------------------------


def merge_bases(source: BlockReader, ours: CommitCid, theirs: CommitCid) -> tuple[CommitCid, ...]:
    """Returns the common ancestors that are ancestors of no other common ancestor, ascending.

    A commit counts as its own ancestor. There are none if the histories are unrelated, and several
    if each side has merged from the other.

    Raises:
        NotFoundError: a commit on the way is missing.

    Spec: merge 8.
    """
    return lowest_common(source, (ours,), (theirs,))


def lowest_common(
    source: BlockReader, ours: Iterable[CommitCid], theirs: Iterable[CommitCid]
) -> tuple[CommitCid, ...]:
    """Returns the merge bases of the histories of two sets of commits."""
    met = _met(source, ours, theirs)
    best = [
        one
        for one in met
        if not any(one != other and is_ancestor(source, one, other) for other in met)
    ]
    return tuple(sorted(best))


def is_ancestor(source: BlockReader, commit: CommitCid, of: CommitCid) -> bool:
    """Returns whether a commit is `of` or an ancestor of it."""
    return commit == of or commit in _met(source, (commit,), (of,))


def _met(
    source: BlockReader, ours: Iterable[CommitCid], theirs: Iterable[CommitCid]
) -> set[CommitCid]:
    """Returns the common ancestors that a side reaches without passing another one.

    Times are not used, so wrong ones cannot increase the cost: if the histories diverged at one
    point, at most twice their difference is read.
    """
    walk = _Walk(partial(read_ends, source), by_time=False)
    starts = {_OURS: tuple(ours), _THEIRS: tuple(theirs)}
    for colour, cids in starts.items():
        walk.paint(cids, colour)
    while walk.waiting_counts[_OURS] or walk.waiting_counts[_THEIRS]:
        walk.spread(walk.take()[0])
    of_one_side = (cids for raw, cids in walk.parents.items() if walk.colours[raw] != _BOTH)
    reached = chain(*starts.values(), chain.from_iterable(of_one_side))
    return {cid for cid in reached if walk.colours[cid.raw] == _BOTH}


# -- what one history lacks ------------------------------------------------------------------------


def commits_between(
    source: BlockReader, wanted: Iterable[CommitCid], had: Iterable[CommitCid]
) -> dict[CommitCid, Commit]:
    """Returns the commits `wanted` and their ancestors, without `had` and the ancestors of those.

    Times decide when to stop: if they are wrong, some ancestors of `had` may be included, but none
    of the others is left out. The commits given are read first, and none counts as older than its
    ancestors, so one that is dated far too early does not cause all history to be read.

    Returns:
        The commits, parents before children.

    Raises:
        NotFoundError: an ancestor of one of them is missing.
    """
    times: dict[CommitCid, int] = {}
    """Of every commit that was read, later the latest in its history where that is known."""

    def read(cid: CommitCid) -> Commit:
        commit = read_commit(source, cid)
        times[cid] = commit.time
        return commit

    walk = _Walk(read, by_time=True)
    walk.paint(had, _HAD, are_next=True)
    walk.paint(wanted, _WANTED, are_next=True)
    found: dict[CommitCid, Commit] = {}
    while walk.waiting_counts[_WANTED]:
        cid, commit = walk.take()
        if walk.colours[cid.raw] == _WANTED:
            found[cid] = commit
        walk.spread(cid)
    for cid, commit in parents_first(found).items():
        times[cid] = max(map(times.__getitem__, (cid, *commit.parents)))
    oldest = min(map(times.__getitem__, found), default=0)
    # A commit in `had` may have a wanted ancestor that is not older than it.
    while found and walk and walk.newest >= oldest:
        walk.spread(walk.take()[0])
    return parents_first(
        {cid: commit for cid, commit in found.items() if walk.colours[cid.raw] == _WANTED}
    )


class Reachable:
    """The ancestors of some commits, queried one by one; reads only as much history as needed."""

    def __init__(self, source: BlockReader, starts: Iterable[CommitCid]) -> None:
        self._source = source
        self._starts = tuple(starts)

    def __contains__(self, cid: CommitCid) -> bool:
        walk = self._walk
        while walk and cid.raw not in walk.colours:
            walk.spread(walk.take()[0])
        return cid.raw in walk.colours

    @cached_property
    def _walk(self) -> _Walk[CommitEnds]:
        walk = _Walk(partial(read_ends, self._source), by_time=True)
        walk.paint(self._starts, _WANTED)
        return walk
