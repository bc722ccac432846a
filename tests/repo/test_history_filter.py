"""Conditions on when nodes were written, against what a reader of every commit would say."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pytest

import ibidem
from ibidem.objects.cid import CommitCid
from ibidem.objects.config import Config
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.repo.bootstrap import bootstrapped
from ibidem.repo.core import Core
from ibidem.repo.history import newest_nodes
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.retrieve.query.query import Query
from ibidem.store.memory import MemoryStore
from ibidem.store.testing import RecordingStore

NAMES = ("created_after", "created_before", "updated_after", "updated_before")


def states(repo: Repository, at: object = "HEAD") -> list[tuple[CommitCid, int, dict[str, Any]]]:
    """The line of first parents, newest first: commit, time and versions."""
    found, commit = [], repo.commit_at(at)
    while True:
        nodes = {str(node.id): node.cid for node in repo.at(commit.cid).nodes()}
        found.append((commit.cid, commit.time, nodes))
        if not commit.parents:
            return found
        commit = repo.commit_at(commit.parents[0])


def expected(line: list[Any], name: str, time: int) -> set[str]:
    now = line[0][2]
    base = next((nodes for _, when, nodes in line if when < time), {})
    new = {key for key in now if key not in base}
    other = {key for key in now if base.get(key) != now[key]}
    after = new if name.startswith("created") else other
    return after if name.endswith("after") else set(now) - after


def ids(nodes: Any) -> set[str]:
    return {str(node.id) for node in nodes}


def grown(rng: random.Random, *, goes_back: bool) -> Repository:
    """A history of some commits with additions, changes, removals and merges."""
    repo = ibidem.init("memory:")
    known: list[NodeId] = []
    time = 100
    for _ in range(rng.randint(3, 9)):
        time += rng.choice((0, 1, 5)) - (7 if goes_back and rng.random() < 0.3 else 0)
        with repo.transaction(time=time, author="a") as tx:
            new = [f"tea {rng.random()}" for _ in range(rng.randint(0, 3))]
            known += [tx.add_node("N", summary=text) for text in new]
            for node in rng.sample(known, min(len(known), 2)):
                if tx.find_node(node) is None:
                    continue
                if rng.random() < 0.3:
                    tx.remove_node(node)
                else:
                    tx.update_node(node, summary=f"tea {rng.choice('ab')}")
        if rng.random() < 0.3 and repo.head is not None:
            side = f"side{time}-{len(known)}"
            repo.branch(side)
            repo.switch(side)
            with repo.transaction(time=time + 1, author="a") as tx:
                known.append(tx.add_node("N", summary=f"tea side {rng.random()}"))
            repo.switch("main")
            with repo.transaction(time=time + 2, author="a") as tx:
                known.append(tx.add_node("N", summary=f"tea main {rng.random()}"))
            repo.merge(side, time=time + 3, author="a")
            time += 3
    return repo


@pytest.mark.parametrize("seed", range(12))
def test_conditions_compare_with_the_branch_as_it_stood(seed: int) -> None:
    """[3.2-i]."""
    rng = random.Random(seed)
    repo = grown(rng, goes_back=seed % 3 == 2)
    line = states(repo)
    for time in {0, *(when + step for _, when, _ in line for step in (0, 1))}:
        for name in NAMES:
            found = repo.query(**{name: time})  # type: ignore[arg-type]
            assert ids(found) == expected(line, name, time), (name, time)
            assert repo.at().count(**{name: time}) == len(found)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("by", ["created", "updated"])
def test_newest_nodes_come_by_their_commits(seed: int, by: str) -> None:
    repo = grown(random.Random(seed), goes_back=False)
    line = states(repo)
    now = line[0][2]
    wanted: list[tuple[str, CommitCid]] = []
    for index, (commit, _, nodes) in enumerate(line):
        before = line[index + 1][2] if index + 1 < len(line) else {}
        wanted += [
            (key, commit)
            for key in sorted(now)
            if key not in {done for done, _ in wanted}
            and key in nodes
            and (key not in before or (by == "updated" and before[key] != nodes[key]))
            and all(key in later for _, _, later in line[:index])
        ]
    found = repo.history.newest_nodes(by=by, limit=None)
    assert [(str(one.node.id), one.commit.cid) for one in found] == wanted
    assert repo.history.newest_nodes(by=by, limit=3) == found[:3]


def test_the_history_is_read_no_further_than_to_the_last_match(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repo = ibidem.init("memory:")
    for number in range(9):
        repo.add(f"old {number}", label="Old")
    repo.add("new", label="New")
    steps: list[CommitCid] = []
    read = newest_nodes.read_commit
    monkeypatch.setattr(
        newest_nodes, "read_commit", lambda source, cid: steps.append(cid) or read(source, cid)
    )
    [one] = repo.history.newest_nodes(by="updated", label="New")
    assert one.node.summary == "new"
    assert len(steps) == 2, "the commit of the only match, and its parent"
    assert repo.history.newest_nodes(by="updated", label="None") == []


def test_every_way_to_ask_takes_the_times() -> None:
    repo = ibidem.init("memory:")
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    with repo.transaction(time=moment.replace(day=1), author="a") as tx:
        ibidem.ingest_text(tx, "# Mail\n\nThe old parcel.\n", path="old.md")
        old = tx.add_node("Semantic", summary="old parcel", props={"time": 1, "status": "active"})
    with repo.transaction(time=moment, author="a") as tx:
        ibidem.ingest_text(tx, "# Mail\n\nThe new parcel.\n", path="new.md")
        tx.add_node("Semantic", summary="new parcel", props={"time": 1, "status": "active"})
        tx.update_node(old, props={"time": 1, "status": "active", "moved": True})
    texts = {item.rendered for item in repo.retrieve("parcel", created_after=moment)}
    assert {text for text in texts if "old" in text} == set()
    assert {text for text in texts if "new" in text}
    found = {pack.text for pack in repo.packs("parcel", created_before=moment, limit=None)}
    assert found >= {"The old parcel."}
    assert not {text for text in found if "new" in text}
    assert "The new parcel." in repo.prompt("parcel", created_after=moment).text
    [one] = repo.at().retrieve_many([{"text": "old parcel", "updated_after": moment}])
    assert old in {item.node.id for item in one}
    assert repo.retriever().text("parcel").option(created_after=moment).execute().items
    facts = repo.at().records("parcel", created_after=moment, as_of=2)
    assert [item.node.summary for item in facts] == ["new parcel"]


def test_answers_replay_from_the_bases_alone() -> None:
    """[3.2-h]: the receipt names the base, and keeping it keeps the base."""
    repo = ibidem.init("memory:")
    for time in (100, 200, 300):
        with repo.transaction(time=time, author="a") as tx:
            tx.add_node("N", summary=f"tea {time}")
    answer = repo.retrieve("tea", created_after=200, updated_before=50)
    assert answer.query.form()["history"] == {
        "created_after": repo.at("main~2").root_cid,
        "updated_before": None,
    }
    answer = repo.retrieve("tea", created_after=200)
    assert answer.receipt is not None
    assert Receipt.decode(answer.receipt.encode()) == answer.receipt
    saved = repo.receipts.keep(answer.receipt)
    repo.history.prune("main")
    repo.maintenance.gc(keep_operations=1)
    assert repo.receipts.replay(saved).cid == answer.cid
    # The history that is left says that everything is of its first commit.
    assert len(repo.query(created_after=300)) == 3


def test_a_query_without_a_history_has_the_bytes_that_it_had() -> None:
    repo = ibidem.init("memory:")
    with repo.transaction(time=1, author="a") as tx:
        tx.add_node("N", summary="tea")
    form = repo.retrieve("tea").query.form()
    assert "history" not in form
    with pytest.raises(ibidem.IbidemError, match="history"):
        Query.from_form({**form, "history": {}})


def test_what_is_wrong_is_refused_by_name() -> None:
    repo = ibidem.init("memory:")
    assert repo.query(created_after=5) == []  # a branch without commits
    with repo.transaction(time=100, author="a") as tx:
        tx.add_node("N", summary="tea")
    for value in ("yesterday", 1.5, True, 2**63, datetime(2026, 1, 1)):  # noqa: DTZ001
        with pytest.raises(InvalidInputError, match=r"^(created_after|time): got"):
            repo.retrieve("tea", created_after=value)  # type: ignore[arg-type]
    for form in ({}, {"since": None}, {"created_after": 5}, [None]):
        with pytest.raises(InvalidInputError, match=r"^history"):
            repo.at().retrieve_many([{"text": "tea", "history": form}])  # type: ignore[typeddict-item]
    with pytest.raises(InvalidInputError, match="expected one of them"):
        repo.at().retrieve_many(
            [{"text": "tea", "created_after": 5, "history": {"created_after": None}}]
        )
    root = repo.at().root_cid
    with pytest.raises(InvalidInputError, match="a revision that has a history"):
        ibidem.Revision(repo.core.graph(root)).query(created_after=5)
    with pytest.raises(InvalidInputError, match="by"):
        repo.history.newest_nodes(by="name")


def test_a_gap_in_the_history_is_named() -> None:
    repo = ibidem.init("memory:")
    for time in (100, 200, 300):
        with repo.transaction(time=time, author="a") as tx:
            tx.add_node("N", summary=f"tea {time}")
    gone = repo.commit_at("main~2").cid
    repo.core.store.delete([gone])
    assert len(repo.query(created_after=301)) == 0
    with pytest.raises(NotFoundError, match=f"created_before: .*{gone}") as caught:
        repo.query(created_before=150, updated_after=301)
    assert caught.value.kind is ErrorKind.BLOCK_NOT_FOUND


def test_the_history_is_not_for_a_restricted_viewer() -> None:
    repo = ibidem.init("memory:")
    with repo.transaction(time=100, author="a") as tx:
        tx.set_trust_policy(TrustPolicy())
        tx.add_node("N", summary="tea", props={"level": 1})
    low = Viewer(level="low", scopes=())
    everything = repo.at(viewer=ALL)
    answer = everything.retrieve("tea", created_after=50)
    assert len(answer.items) == len(everything.query(created_after=50)) == 1
    calls = (
        lambda: repo.as_viewer(low).retrieve("tea", created_after=50),
        lambda: repo.as_viewer(low).query(updated_before=50),
        lambda: repo.as_viewer(low).at().count(updated_before=50),
        lambda: repo.at(viewer=low).packs("tea", created_after=50),
        lambda: repo.retrieve("tea", created_after=-(10**9), viewer=low),
        lambda: repo.at(viewer=low).retrieve_many([{"history": {"created_after": None}}]),
        lambda: repo.history.newest_nodes(viewer=low),
    )
    for call in calls:
        with pytest.raises(InvalidInputError) as caught:
            call()
        assert caught.value.kind is ErrorKind.NOT_PERMITTED
    form = {**answer.query.form(), "viewer": low.form()}
    with pytest.raises(ibidem.IbidemError, match="history"):
        Query.from_form(form)


def read_counts(node_count: int) -> tuple[int, int]:
    """Blocks read for one question about a change of one node, and for the newest node."""
    store = RecordingStore(bootstrapped(MemoryStore(), Config.default(), "", lambda: 0))
    repo = Repository(Core(store, None, lambda: 0))  # type: ignore[arg-type]
    with repo.transaction(time=100, author="a") as tx:
        first = [tx.add_node("N", summary=f"tea {number}") for number in range(node_count)]
    with repo.transaction(time=200, author="a") as tx:
        tx.update_node(first[7], summary="coffee")
    head = repo.at()
    head.retrieve("coffee", limit=1)
    store.get_count = 0
    assert len(head.retrieve(updated_after=150, limit=None).items) == 1
    asked = store.get_count
    store.get_count = 0
    assert len(repo.history.newest_nodes(limit=1)) == 1
    return asked, store.get_count


def test_a_small_difference_costs_its_size_and_not_that_of_the_graph() -> None:
    few, many = read_counts(100), read_counts(3000)
    assert max(few) <= 16
    # The trees are a level or two higher: two blocks of each tree for a level.
    assert many[0] <= few[0] + 4
    assert many[1] <= few[1] + 6


def test_a_commit_that_hides_a_node_touches_it() -> None:
    with ibidem.init("memory:") as repo:
        with repo.transaction(message="add") as tx:
            made, other = (tx.add_node("Fact", summary=text) for text in ("tea", "milk"))
        with repo.transaction(message="hide") as tx:
            tx.tombstone(made, reason="wrong")
        with repo.transaction(message="other") as tx:
            tx.tombstone(other, reason="wrong")
        with repo.transaction(message="show") as tx:
            tx.untombstone(made)
        found = [one.message for one in repo.history.touching(node=made)]
        assert found == ["show", "hide", "add"]
        assert len(list(repo.history.touching(label="Fact"))) == 4
        assert list(repo.history.touching(label="Note")) == []
