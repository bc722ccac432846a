"""The same run with the same clock gives the same repository, and two acts never become one
unnoticed."""

from __future__ import annotations

from pathlib import Path
from threading import Barrier, Thread

import pytest

import ibidem
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.graph import GraphMemory, Record, RecordType
from ibidem.memory.recall.feedback import Feedback
from ibidem.objects.errors import ConflictError
from ibidem.objects.ids import NodeId
from ibidem.repo.events import Event
from ibidem.repo.repository import Repository

from .conftest import EPOCH

A, B = NodeId(bytes(15) + b"a"), NodeId(bytes(15) + b"b")


def at_one_time(path: str | Path = "memory:") -> Repository:
    return ibidem.init(path, clock=lambda: EPOCH)


def fact(text: str) -> Record:
    return Record(RecordType.SEMANTIC, text, scope="")


def work(repo: Repository) -> tuple[object, ...]:
    """Does some of everything that names nodes by itself."""
    memory = GraphMemory(repo, author="bot")
    one, two = memory.add([fact("the gate is green"), fact("the gate is green")])
    memory.fork(one, fact("the gate is open"))
    memory.notes.reinforce(one, author="bot")
    Feedback(repo).vote(repo.retrieve("gate"), two, -1, author="bot")
    Conversations(repo, author="bot").append("a", [("user", "what of the gate?")])
    with repo.runs.start("nightly") as run, run.transaction(author="bot") as tx:
        tx.add_node("Answer", summary="green", unique=True)
    answer = memory.retrieve_graph("gate", feedback=True)
    return repo.head, memory.notes.head, answer.cid, repo.at().root_cid


def test_identical_runs_with_one_clock_give_identical_commits():
    assert work(at_one_time()) == work(at_one_time())


def test_equal_episodes_of_one_time_are_several():
    memory = GraphMemory(at_one_time())
    episode = Record(RecordType.EPISODIC, "the gate was opened", scope="")
    ids = memory.add([episode] * 3) + memory.add(episode)
    assert len(set(ids)) == 4
    assert ids[:3] == sorted(ids[:3])


def test_the_last_vote_of_one_time_counts():
    for first in (1, -1):
        repo = at_one_time()
        with repo.transaction() as tx:
            node = tx.add_node("Doc", summary="alpha")
        answer = repo.retrieve("alpha")
        for number in range(20):
            value = first if number % 2 == 0 else -first
            Feedback(repo).vote(answer, node, value, author="ada", time=EPOCH)
            [item] = repo.retrieve("alpha", feedback=True)
            assert item.lanes["feedback"].score == (1.05 if value == 1 else 0.9)


def test_events_of_one_time_are_in_the_order_in_which_they_were_added():
    notes = at_one_time().notes.space()
    for first in range(0, 600, 3):
        batch = [Event("seen", (A,), detail={"n": first + place}) for place in range(3)]
        notes.add(batch, author="ada")
    assert [event.detail["n"] for event in notes.log().about(A)] == list(range(600))


def test_writers_of_equal_events_at_one_time_lose_none(tmp_path: Path):
    repo = at_one_time(tmp_path)
    begin = Barrier(6)

    def write() -> None:
        begin.wait()
        for _ in range(5):
            repo.notes.space().reinforce(A, author="ada")

    threads = [Thread(target=write) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(repo.notes.space().log().about(A)) == 30


def copies(tmp_path: Path) -> tuple[Repository, Repository]:
    one = at_one_time(tmp_path / "one")
    GraphMemory(one, author="bot").add(fact("the gate is green"))
    ibidem.clone(str(tmp_path / "one"), tmp_path / "two", clock=lambda: EPOCH).close()
    return one, ibidem.open(tmp_path / "two", clock=lambda: EPOCH)


def test_different_acts_in_two_copies_at_one_time_both_stay(tmp_path: Path):
    one, two = copies(tmp_path)
    for repo, text in ((one, "one"), (two, "two")):
        GraphMemory(repo, author="bot").add(fact(f"seen from {text}"))
        repo.notes.space().reinforce(A if repo is one else B, author="bot")
    two.sync.pull("origin", include=("notes",))
    assert list(two.conflicts()) == []
    texts = {record.text for record in GraphMemory(two).list()}
    assert texts == {"the gate is green", "seen from one", "seen from two"}
    assert {event.targets for event in two.notes.space().log().events} == {(A,), (B,)}


def test_the_same_act_in_two_copies_is_one(tmp_path: Path):
    one, two = copies(tmp_path)
    for repo in (one, two):
        GraphMemory(repo, author="bot").add(fact("seen"))
        repo.notes.space().reinforce(A, author="bot")
    assert one.head == two.head
    assert one.notes.space().head == two.notes.space().head


def test_two_writers_who_add_the_same_new_node_are_told(tmp_path: Path):
    repo = at_one_time(tmp_path)
    first, second = repo.transaction(author="bot"), repo.transaction(author="bot")
    for tx in (first, second):
        tx.add_node("Note", summary="seen", unique=True)
    first.publish()
    before = repo.head
    with pytest.raises(ConflictError, match=r"^node [0-9a-f]{32}: got the same new node"):
        second.publish()
    assert repo.head == before
    with repo.transaction(author="bot") as tx:
        tx.add_node("Note", summary="seen", unique=True)
    assert repo.at().count() == 2


def test_two_writers_who_add_different_new_nodes_both_succeed():
    repo = at_one_time()
    first, second = repo.transaction(author="bot"), repo.transaction(author="bot")
    first.add_node("Note", summary="seen", unique=True)
    second.add_node("Note", summary="heard", unique=True)
    first.publish()
    second.publish()
    assert repo.at().count() == 2
