"""What lies behind commits: one walk back along parents, and the questions that it answers.

A walk spreads colours: a start has one, and what is behind a commit has its colours too. Nothing
is stored for it beside the commits, and their times are what an author says. Where an answer or
its cost must not depend on them, one generation is read after the other; where they only say in
which order commits come, or how many are read, the latest is read first.

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


class CommitEnds(NamedTuple):
    """What a commit hangs on, for those who walk over many and need no more."""

    root: RootCid
    parents: tuple[CommitCid, ...]
    time: int


class _Linked(Protocol):
    """What a walk asks of a commit."""

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
    """Spreads colours, the bits of a number, from some commits to all that is behind them.

    Commits are told apart by the bytes of their CIDs, which is twice as fast.
    """

    def __init__(self, read: Read[C], *, by_time: bool) -> None:
        self._read = read
        self._by_time = by_time
        self._waiting: list[tuple[int, bytes, CommitCid, C | None]] = []
        self.colours: dict[bytes, int] = {}
        """Of every commit that was found."""
        self.parents: dict[bytes, tuple[CommitCid, ...]] = {}
        """Of every commit that was taken."""
        self.waiting_counts = [0] * (1 + _BOTH)
        """By colours, how many commits wait to be taken."""

    def __len__(self) -> int:
        """Counts the commits that wait to be taken."""
        return len(self._waiting)

    @property
    def newest(self) -> int:
        """The time of the commit that is next, in a walk by time."""
        return -self._waiting[0][0]

    def paint(self, cids: Iterable[CommitCid], colour: int) -> None:
        """Adds a colour to commits, and to what is known to be behind them."""
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
                heappush(self._waiting, (order, raw, cid, commit))
            colours[raw] = after
            if raw in self.parents:
                stack.extend(self.parents[raw])
                continue
            self.waiting_counts[after] += 1
            if before:
                self.waiting_counts[before] -= 1

    def take(self) -> tuple[CommitCid, C]:
        """Returns the next commit; nothing is spread to its parents yet."""
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
    """Yields some commits and everything behind them, each once, reading one after the other.

    Of the commits whose child was yielded, the one with the latest time comes next, then the
    smaller CID; so a straight history comes in its own order, whatever its clocks said.
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
    """Yields a commit and everything behind it, no commit before one of its children.

    Of those that may come, the latest does. Where all ways back lead through one commit, no child
    of what was found can be behind it, and it is read no further: the newest commits cost what
    they are, and the branches beside them up to where these meet.
    """
    known: dict[CommitCid, CommitEnds] = {}

    def read(cid: CommitCid) -> CommitEnds:
        found = known[cid] = read_ends(source, cid)
        return found

    walk = _Walk(read, by_time=True)
    walk.paint(() if start is None else (start,), _WANTED)
    ready = [(-ends.time, cid.raw) for cid, ends in known.items()]
    children: Counter[CommitCid] = Counter()
    """Of what was found, how many children were not yielded."""
    dead_ends = 0
    """Commits without parents that were not yielded: not all ways lead on."""
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
    """Returns the commits so that each comes after those of its parents that are among them.

    The order follows from the set alone.
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
    """Returns the common ancestors that are behind no other common ancestor, ascending.

    A commit counts among its ancestors. There is none where the histories have nothing in common,
    and more than one where each side has merged from the other.

    Raises:
        NotFoundError: a commit on the way is missing.

    Spec: merge 8.
    """
    return lowest_common(source, (ours,), (theirs,))


def lowest_common(
    source: BlockReader, ours: Iterable[CommitCid], theirs: Iterable[CommitCid]
) -> tuple[CommitCid, ...]:
    """Returns the merge bases of what some commits have behind them and what others have."""
    met = _met(source, ours, theirs)
    best = [
        one
        for one in met
        if not any(one != other and is_ancestor(source, one, other) for other in met)
    ]
    return tuple(sorted(best))


def is_ancestor(source: BlockReader, commit: CommitCid, of: CommitCid) -> bool:
    """Returns whether a commit is `of`, or behind it."""
    return commit == of or commit in _met(source, (commit,), (of,))


def _met(
    source: BlockReader, ours: Iterable[CommitCid], theirs: Iterable[CommitCid]
) -> set[CommitCid]:
    """Returns the common commits that a side reaches without passing another common one.

    No clock is asked, so a wrong one cannot cost anything: where histories went apart at one point,
    what is read is at most twice what differs.
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
    """Returns the commits behind `wanted`, these included, that are not behind `had`.

    Times decide when to stop: where they are wrong, there may be some of `had` among them, and
    none is left out.

    Returns:
        parents before children.

    Raises:
        NotFoundError: a commit behind one of them is missing.
    """
    walk = _Walk(partial(read_commit, source), by_time=True)
    walk.paint(had, _HAD)
    walk.paint(wanted, _WANTED)
    found: dict[CommitCid, Commit] = {}
    oldest: int | None = None
    # What is had may lead to something wanted that is not older than it.
    while walk.waiting_counts[_WANTED] or (walk and oldest is not None and walk.newest >= oldest):
        cid, commit = walk.take()
        if walk.colours[cid.raw] == _WANTED:
            found[cid] = commit
            oldest = commit.time if oldest is None else min(oldest, commit.time)
        walk.spread(cid)
    return parents_first(
        {cid: commit for cid, commit in found.items() if walk.colours[cid.raw] == _WANTED}
    )


class Reachable:
    """The commits behind some, asked one by one; reads back only until it has found the one."""

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
