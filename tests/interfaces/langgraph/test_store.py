"""LangGraph's store beside its in-memory one: the same operations, the same results."""

import asyncio
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

pytest.importorskip("langgraph")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langgraph.store.base import (
        GetOp,
        InvalidNamespaceError,
        ListNamespacesOp,
        MatchCondition,
        PutOp,
        SearchOp,
    )
    from langgraph.store.memory import InMemoryStore

import ibidem
from ibidem.adapters.langgraph import IbidemStore

LABELS = st.sampled_from(["a", "b", "c", "ä", '"', "a]"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
PATHS = st.lists(LABELS | st.just("*"), min_size=1, max_size=2).map(tuple)
KEYS = st.sampled_from(["k", "l", 'm"', ""])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["x", "y"])
VALUES = st.dictionaries(
    st.sampled_from(["n", "tags", "about"]),
    SCALARS
    | st.lists(SCALARS, max_size=2)
    | st.dictionaries(st.sampled_from("pq"), SCALARS, max_size=2),
    max_size=3,
)
FILTERS = st.dictionaries(
    st.sampled_from(["n", "tags", "about"]),
    SCALARS
    | st.lists(SCALARS, max_size=2)
    | st.fixed_dictionaries({"$ne": SCALARS})
    | st.fixed_dictionaries({"$eq": SCALARS})
    | st.dictionaries(st.sampled_from("pq"), SCALARS, min_size=1, max_size=1),
    max_size=2,
)
WHOLE = 1_000


def shown(found):
    if isinstance(found, list):
        return sorted((shown(one) for one in found), key=repr)
    if found is None:
        return None
    return found.namespace, found.key, found.value


class Beside(RuleBasedStateMachine):
    """What one store has, the other has."""

    def __init__(self):
        super().__init__()
        self.repo = ibidem.init("memory:")
        self.ours, self.theirs = IbidemStore(self.repo), InMemoryStore()

    def teardown(self):
        self.repo.close()

    def same(self, ops):
        ours, theirs = self.ours.batch(ops), self.theirs.batch(ops)
        assert [shown(one) for one in ours] == [shown(one) for one in theirs]
        return ours

    @rule(
        ops=st.lists(
            st.builds(PutOp, NAMESPACES, KEYS, VALUES | st.none())
            | st.builds(GetOp, NAMESPACES, KEYS),
            min_size=1,
            max_size=5,
        )
    )
    def write(self, ops):
        count = len(list(self.repo.history.log())) if self.repo.head else 0
        self.same(ops)
        after = len(list(self.repo.history.log())) if self.repo.head else 0
        assert after <= count + 1

    @rule(prefix=st.lists(LABELS, max_size=2).map(tuple), filter=FILTERS)
    def search(self, prefix, filter):  # noqa: A002
        self.same([SearchOp(prefix, filter, WHOLE)])

    @rule(prefix=st.lists(LABELS, max_size=2).map(tuple), limit=st.integers(1, 3))
    def page(self, prefix, limit):
        pages = [
            found
            for offset in range(0, 40, limit)
            for found in self.ours.search(prefix, limit=limit, offset=offset)
        ]
        assert shown(pages) == shown(self.theirs.search(prefix, limit=WHOLE))

    @rule(
        path=PATHS, kind=st.sampled_from(["prefix", "suffix"]), depth=st.none() | st.integers(1, 3)
    )
    def namespaces(self, path, kind, depth):
        # The in-memory store still lists namespaces that nothing is in any more.
        found = self.ours.batch([ListNamespacesOp((MatchCondition(kind, path),), depth, WHOLE, 0)])[
            0
        ]
        theirs = self.theirs.batch(
            [ListNamespacesOp((MatchCondition(kind, path),), None, WHOLE, 0)]
        )
        there = {one.namespace for one in self.theirs.search((), limit=WHOLE)}
        assert found == sorted({one[:depth] for one in theirs[0] if one in there})

    @invariant()
    def everything(self):
        self.same([SearchOp((), None, WHOLE)])
        assert self.repo.head is None or self.repo.conflicts() == []


Beside.TestCase.settings = settings(max_examples=40, stateful_step_count=15)
TestBeside = Beside.TestCase


@settings(max_examples=25)
@given(st.lists(st.sampled_from(["red gate", "blue wall", "tea", "five"]), min_size=1, max_size=6))
def test_a_search_by_text_ranks_as_the_other(texts):
    index = {"dims": 8, "embed": DeterministicFakeEmbedding(size=8), "fields": ["text"]}
    with ibidem.init("memory:") as repo:
        stores = [IbidemStore(repo, index=index), InMemoryStore(index=index)]
        for store in stores:
            for number, text in enumerate(texts):
                store.put(("a", str(number % 2)), f"k{number}", {"text": text, "n": number})
            store.put(("a", "0"), "none", {"text": "red gate"}, index=False)
        ours, theirs = (store.search(("a", "0"), query="red gate") for store in stores)
        assert {one.key for one in ours} == {one.key for one in theirs}
        for one, other in zip(ours, theirs, strict=True):
            assert (one.score is None) == (other.score is None)
            if one.score is not None:
                assert one.score == pytest.approx(other.score, abs=1e-5)


def test_times_and_what_stays():
    now = iter(range(1_000_000, 9_000_000, 1_000_000))
    with ibidem.init("memory:", clock=lambda: next(now)) as repo:
        store = IbidemStore(repo)
        store.put(("a",), "k", {"n": 1})
        first = store.get(("a",), "k")
        before = repo.head
        store.put(("a",), "k", {"n": 2})
        second = store.get(("a",), "k")
        assert first is not None
        assert second is not None
        assert (first.created_at, first.value) == (second.created_at, {"n": 1})
        assert second.updated_at > first.updated_at
        store.delete(("a",), "k")
        assert store.get(("a",), "k") is None
        assert repo.at(before).count(label="store") == 1
        assert asyncio.run(store.asearch(())) == []


def test_two_writers_of_an_item_leave_the_last_and_no_conflict(tmp_path):
    with ibidem.init(tmp_path) as one, ibidem.open(tmp_path) as other:
        stores = [IbidemStore(repo) for repo in (one, other)]

        async def main():
            await asyncio.gather(
                *(stores[n % 2].aput(("a",), "k", {"n": n}) for n in range(16)),
                *(stores[n % 2].aput(("a",), f"k{n}", {"n": n}) for n in range(16)),
            )

        asyncio.run(main())
        assert len(stores[1].search((), limit=100)) == 17
        assert one.conflicts() == []


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (InvalidNamespaceError, lambda store: store.put((), "k", {})),
        (InvalidNamespaceError, lambda store: store.put(("a.b",), "k", {})),
        (ibidem.InvalidInputError, lambda store: store.put(("a",), "k", {"n": float("nan")})),
        (ibidem.InvalidInputError, lambda store: store.put(("a",), "k", {"n": object()})),
        (ibidem.InvalidInputError, lambda store: store.put(("a",), "k\ud800", {})),
        (ibidem.InvalidInputError, lambda store: store.put(("a",), "k", {"store.created_at": 1})),
        (ibidem.InvalidInputError, lambda store: store.search((), filter={"n": {"$near": 1}})),
        (ibidem.InvalidInputError, lambda store: store.search((), filter={"n": {"$gt": "x"}})),
        (ibidem.InvalidInputError, lambda store: store.batch(["get"])),
        (NotImplementedError, lambda store: store.put(("a",), "k", {}, ttl=3)),
    ],
)
def test_wrong_input_is_an_error_that_changes_nothing(error, call):
    with ibidem.init("memory:") as repo:
        store = IbidemStore(repo)
        store.put(("a",), "there", {"n": 1})
        before = repo.head
        with pytest.raises(error):
            call(store)
        assert repo.head == before
