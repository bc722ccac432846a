"""Which commits two repositories have in common, and which lie between them.

Two colours run back through the history together: wanted and had. A commit that the second colour
reaches is not wanted, nor is anything behind it. Commit times decide the order of reading only:
where they are wrong, something may be sent twice, and nothing is left out. Negotiation asks the
other side about few commits in few rounds.

Spec: sync 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from ibidem.objects.cid import CommitCid
from ibidem.objects.commit import Commit

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source


def commits_between(
    source: Source, wanted: Iterable[CommitCid], had: Iterable[CommitCid]
) -> dict[CommitCid, Commit]:
    """Returns the commits behind `wanted`, these included, that are not behind `had`.

    Returns:
        parents before children.

    Raises:
        NotFoundError: a commit behind one of them is missing.
    """
    walk = _Walk(source)
    for cid in had:
        walk.add(cid, is_had=True)
    for cid in wanted:
        walk.add(cid, is_had=False)
    return parents_first(walk.run())


def parents_first(commits: dict[CommitCid, Commit]) -> dict[CommitCid, Commit]:
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
    found: dict[CommitCid, Commit] = {}
    while ready:
        cid = heappop(ready)[2]
        found[cid] = commits[cid]
        for child in children.get(cid, ()):
            missing[child] -= 1
            if not missing[child]:
                heappush(ready, (commits[child].time, child.raw, child))
    return found


class Reachable:
    """The commits behind some, asked one by one; reads back only until it has found the one."""

    def __init__(self, source: Source, starts: Iterable[CommitCid]) -> None:
        self._seen: set[CommitCid] = set()
        self._walk = self._newest_first(source, list(starts))

    def __contains__(self, cid: CommitCid) -> bool:
        if cid in self._seen:
            return True
        return any(found == cid for found in self._walk)

    def _newest_first(self, source: Source, starts: list[CommitCid]) -> Iterator[CommitCid]:
        waiting: list[tuple[int, bytes, Commit]] = []

        def push(cid: CommitCid) -> bool:
            if cid in self._seen:
                return False
            self._seen.add(cid)
            commit = Commit.decode(source.get(cid))
            heappush(waiting, (-commit.time, cid.raw, commit))
            return True

        for start in starts:
            if push(start):
                yield start
        while waiting:
            for parent in heappop(waiting)[2].parents:
                if push(parent):
                    yield parent


class _Walk:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._waiting: list[tuple[int, bytes, CommitCid]] = []
        self._commits: dict[CommitCid, Commit] = {}
        self._had: dict[CommitCid, bool] = {}
        self._passed: set[CommitCid] = set()
        self._undecided = 0
        """How many of those waiting are not had."""
        self._oldest: int | None = None
        """The earliest time of a commit that was ever wanted."""

    def add(self, cid: CommitCid, *, is_had: bool) -> None:
        known = self._had.get(cid)
        if known is None:
            commit = self._commits[cid] = Commit.decode(self._source.get(cid))
            self._had[cid] = is_had
            if not is_had:
                self._undecided += 1
                self._oldest = (
                    commit.time if self._oldest is None else min(self._oldest, commit.time)
                )
            heappush(self._waiting, (-commit.time, cid.raw, cid))
        elif is_had and not known:
            self._spread(cid)

    def run(self) -> dict[CommitCid, Commit]:
        while self._undecided or self._may_meet():
            cid = heappop(self._waiting)[2]
            is_had = self._had[cid]
            self._undecided -= not is_had
            self._passed.add(cid)
            for parent in self._commits[cid].parents:
                self.add(parent, is_had=is_had)
        return {cid: self._commits[cid] for cid, is_had in self._had.items() if not is_had}

    def _may_meet(self) -> bool:
        """Tells whether what is had may still lead to something that was wanted."""
        if not self._waiting or self._oldest is None:
            return False
        return -self._waiting[0][0] >= self._oldest

    def _spread(self, cid: CommitCid) -> None:
        """Marks a commit that was wanted until now, and all that was read behind it, as had."""
        marked = [cid]
        while marked:
            at = marked.pop()
            if self._had.get(at, True):
                continue
            self._had[at] = True
            if at in self._passed:
                marked += self._commits[at].parents
            else:
                self._undecided -= 1


Ask = Callable[[Sequence[CommitCid]], set[CommitCid]]
ASKED_PER_ROUND = 256
ROUNDS_MAX = 8


def common_commits(
    source: Source, tips: Iterable[CommitCid], ask: Ask, *, hint: Iterable[CommitCid] = ()
) -> list[CommitCid]:
    """Returns commits that both sides have, ascending: what was asked about and is known there.

    Args:
        tips: what is here.
        ask: returns which of some commits are known there.
        hint: commits among these that are known there already.
    """
    starts = list(dict.fromkeys(tips))
    known = set(hint)
    first = [cid for cid in starts if cid not in known][:ASKED_PER_ROUND]
    known |= ask(first) & set(first) if first else set()
    unknown = set(first) - known
    for _ in range(ROUNDS_MAX):
        open_commits = _open(commits_between(source, starts, known), unknown)
        if not open_commits:
            break
        asked = _chosen(open_commits)
        answered = ask(asked) & set(asked)
        known |= answered
        unknown |= set(asked) - answered
    return sorted(known)


def _open(commits: dict[CommitCid, Commit], unknown: set[CommitCid]) -> list[CommitCid]:
    """Returns what is not settled, newest first; what comes after an unknown one is unknown."""
    found: list[CommitCid] = []
    for cid, commit in commits.items():  # parents before children
        if cid in unknown or not unknown.isdisjoint(commit.parents):
            unknown.add(cid)
        else:
            found.append(cid)
    found.reverse()
    return found


def _chosen(commits: list[CommitCid]) -> list[CommitCid]:
    if len(commits) <= ASKED_PER_ROUND:
        return commits
    half = ASKED_PER_ROUND // 2
    places = {1 << power for power in range(len(commits).bit_length() - 1)}
    places |= {at * len(commits) // half for at in range(half)}
    return [commits[at] for at in sorted(places)]
