"""Common ancestors: right on any history, and at the cost of what differs."""

from __future__ import annotations

import random

import pytest

from ibidem.objects import codec
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import CorruptError
from ibidem.repo.history.ancestry import commits_between, is_ancestor, merge_bases, read_ends
from ibidem.repo.merge.base import common_root


class History:
    """Commits with chosen parents, times that mean nothing, and a count of what is read."""

    def __init__(self) -> None:
        self.commits: list[CommitCid] = []
        self.parents: dict[CommitCid, tuple[CommitCid, ...]] = {}
        self._blocks = WriteBatch()
        self.read_count = 0

    def get(self, cid: Cid) -> bytes:
        self.read_count += 1
        return self._blocks.get(cid)

    def commit(self, *parents: CommitCid, time: int = 0) -> CommitCid:
        message = str(len(self.commits))
        made = Commit(RootCid.of(message.encode()), parents, time=time, message=message)
        self._blocks.put(made.cid, made.encode())
        self.commits.append(made.cid)
        self.parents[made.cid] = parents
        return made.cid

    def line(self, start: CommitCid, count: int) -> CommitCid:
        for _ in range(count):
            start = self.commit(start)
        return start

    def behind(self, cid: CommitCid) -> set[CommitCid]:
        found = {cid}
        waiting = [cid]
        while waiting:
            for parent in self.parents[waiting.pop()]:
                if parent not in found:
                    found.add(parent)
                    waiting.append(parent)
        return found


def obvious(history: History, one: CommitCid, other: CommitCid) -> tuple[CommitCid, ...]:
    common = history.behind(one) & history.behind(other)
    return tuple(
        sorted(
            each
            for each in common
            if not any(each in history.behind(more) for more in common if more != each)
        )
    )


@pytest.mark.parametrize("seed", range(60))
def test_bases_are_those_of_the_definition_on_random_histories(seed: int) -> None:
    rng = random.Random(seed)
    history = History()
    history.commit()
    for _ in range(rng.randrange(2, 30)):
        width = rng.choice((1, 1, 1, 2, 2, 3))
        recent = history.commits[-rng.choice((3, 6, 30)) :]
        parents = rng.sample(recent, min(width, len(recent)))
        if rng.random() < 0.05:
            parents = []
        history.commit(*parents, time=rng.randrange(-9, 9))
    for _ in range(20):
        one, other = rng.choice(history.commits), rng.choice(history.commits)
        assert merge_bases(history, one, other) == obvious(history, one, other)
        assert merge_bases(history, other, one) == obvious(history, one, other)
        assert is_ancestor(history, one, other) == (one in history.behind(other))


@pytest.mark.parametrize("length", [100, 1_000, 10_000])
def test_what_is_read_follows_what_differs_and_not_how_long_the_history_is(length: int) -> None:
    history = History()
    fork = history.line(history.commit(), length)
    ours, theirs = history.line(fork, 30), history.line(fork, 5)
    history.read_count = 0
    assert merge_bases(history, ours, theirs) == (fork,)
    assert history.read_count <= 70
    history.read_count = 0
    assert merge_bases(history, ours, fork) == (fork,)
    assert history.read_count <= 70
    behind_merges = history.commit(ours, theirs)
    history.read_count = 0
    assert merge_bases(history, behind_merges, theirs) == (theirs,)
    assert is_ancestor(history, fork, behind_merges)
    assert history.read_count <= 250


def test_clocks_change_neither_the_answer_nor_the_cost() -> None:
    counts = set()
    for sign in (-1, 0, 1):
        history = History()
        tip = history.commit()
        for number in range(500):
            tip = history.commit(tip, time=sign * number)
        ours = theirs = tip
        for number in range(20):
            ours = history.commit(ours, time=-sign * number)
            theirs = history.commit(theirs, time=sign * 10**12)
        history.read_count = 0
        assert merge_bases(history, ours, theirs) == (tip,)
        counts.add(history.read_count)
    assert len(counts) == 1


def test_strangers_have_no_base() -> None:
    history = History()
    one, other = history.line(history.commit(), 5), history.line(history.commit(), 5)
    assert merge_bases(history, one, other) == ()
    assert common_root(history, one, other, WriteBatch()) is None


def test_two_thousand_crossings_are_no_recursion_too_deep() -> None:
    history = History()
    one, other = (history.commit(history.commit()) for _ in range(2))
    for _ in range(2_000):
        one, other = history.commit(one, other), history.commit(other, one)
    assert len(merge_bases(history, one, other)) == 2


@pytest.mark.parametrize(
    "change", [{"time": "x"}, {"root": 1}, {"parents": [1]}, {"parents": 1}, {"kind": "root"}]
)
def test_a_commit_of_another_form_is_an_error_of_ours(change: dict[str, object]) -> None:
    fields = codec.decode(Commit(RootCid.of(b""), time=1).encode())
    block = codec.encode(fields | change)
    source = WriteBatch()
    source.put(CommitCid.of(block), block)
    with pytest.raises(CorruptError):
        read_ends(source, CommitCid.of(block))


def test_a_tip_dated_far_too_early_does_not_cost_all_history() -> None:
    for early in ("wanted", "had", "both", "neither"):
        history = History()
        cid = history.commit(time=1)
        for time in range(2, 500):
            cid = history.commit(cid, time=time)
        base = cid
        had = history.commit(base, time=0 if early in ("had", "both") else 501)
        mine = [history.commit(base, time=502)]
        mine.append(history.commit(mine[-1], time=503))
        mine.append(history.commit(mine[-1], time=0 if early in ("wanted", "both") else 504))
        for wanted, known, expected in (
            (mine[-1:], [had], mine),
            (mine[-1:], [base], mine),
            ([had], mine[-1:], [had]),
            ([base], mine[-1:], []),
            (mine[-1:], [had, mine[0]], mine[1:]),
        ):
            history.read_count = 0
            assert list(commits_between(history, wanted, known)) == expected
            assert history.read_count <= 10
