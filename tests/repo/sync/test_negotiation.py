"""What one history lacks of another, and how that is found out: against sets of all ancestors."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.repo.history.ancestry import Reachable, commits_between, parents_first
from ibidem.repo.sync.negotiation import common_commits

ROOT = RootCid.of(b"")


@st.composite
def histories(draw: st.DrawFn, is_honest: bool = True):
    """Commits in an order in which parents come first, and the buffer that holds them."""
    buffer = WriteBatch()
    made: list[CommitCid] = []
    for at in range(draw(st.integers(1, 14))):
        parents = draw(st.lists(st.sampled_from(made), unique=True, max_size=2)) if made else []
        time = at // 2 if is_honest else draw(st.integers(0, 5))
        block = Commit(ROOT, tuple(parents), time=time, message=str(at)).encode()
        made.append(CommitCid.of(block))
        buffer.put(made[-1], block)
    return buffer, made


def behind(buffer: WriteBatch, starts: list[CommitCid]) -> set[CommitCid]:
    found: set[CommitCid] = set()
    waiting = list(starts)
    while waiting:
        cid = waiting.pop()
        if cid not in found:
            found.add(cid)
            waiting.extend(Commit.decode(buffer.get(cid)).parents)
    return found


def some(made: list[CommitCid]) -> st.SearchStrategy[list[CommitCid]]:
    return st.lists(st.sampled_from(made), max_size=3, unique=True)


@settings(max_examples=examples(150))
@given(st.data())
def test_between_is_the_difference_of_all_ancestors(data: st.DataObject):
    buffer, made = data.draw(histories())
    wanted, had = data.draw(some(made)), data.draw(some(made))
    found = commits_between(buffer, wanted, had)
    assert set(found) == behind(buffer, wanted) - behind(buffer, had)
    seen: set[CommitCid] = set()
    for cid, commit in found.items():
        assert not (set(commit.parents) & set(found)) - seen
        seen.add(cid)


@settings(max_examples=examples(100))
@given(st.data())
def test_wrong_clocks_cost_more_and_lose_nothing(data: st.DataObject):
    buffer, made = data.draw(histories(is_honest=False))
    wanted, had = data.draw(some(made)), data.draw(some(made))
    found = set(commits_between(buffer, wanted, had))
    assert behind(buffer, wanted) - behind(buffer, had) <= found <= behind(buffer, wanted)


@settings(max_examples=examples(50))
@given(st.data())
def test_reachable_is_membership_in_all_ancestors(data: st.DataObject):
    buffer, made = data.draw(histories(is_honest=False))
    starts = data.draw(some(made))
    reachable = Reachable(buffer, starts)
    every = behind(buffer, starts)
    for cid in data.draw(st.permutations(made)):
        assert (cid in reachable) == (cid in every)


@settings(max_examples=examples(50))
@given(st.data())
def test_negotiation_finds_all_that_is_common(data: st.DataObject):
    buffer, made = data.draw(histories())
    ours, theirs = data.draw(some(made)), data.draw(some(made))
    there = behind(buffer, theirs)
    common = common_commits(buffer, ours, lambda cids: set(cids) & there)
    assert behind(buffer, common) == behind(buffer, ours) & there


def test_a_long_history_is_settled_in_few_questions():
    buffer, made = WriteBatch(), []
    for at in range(1500):
        block = Commit(ROOT, tuple(made[-1:]), time=at).encode()
        made.append(CommitCid.of(block))
        buffer.put(made[-1], block)
    for length in (0, 1, 700, 1499):
        there = set(made[: length + 1])
        asked: list[int] = []

        def ask(cids, there=there, asked=asked):
            asked.append(len(cids))
            return set(cids) & there

        common = common_commits(buffer, made[-1:], ask)
        assert max(common, key=made.index) == made[length]
        assert len(asked) <= 5


def test_the_order_follows_from_the_set():
    buffer, made = WriteBatch(), []
    for at in range(20):
        block = Commit(ROOT, tuple(made[at // 2 : at // 2 + 1]), time=0, message=str(at)).encode()
        made.append(CommitCid.of(block))
        buffer.put(made[-1], block)
    commits = {cid: Commit.decode(buffer.get(cid)) for cid in made}
    back = dict(reversed(commits.items()))
    assert list(parents_first(commits)) == list(parents_first(back))
