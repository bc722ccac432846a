"""One step of an agent is one commit: every writer takes an open transaction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ibidem
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.graph import GraphMemory, Record, RecordType
from ibidem.memory.recall.feedback import Feedback
from ibidem.objects.errors import (
    ConflictError,
    ErrorKind,
    InvalidInputError,
    NotFoundError,
    ReplayError,
)
from ibidem.objects.ids import NodeId
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import TrustPolicy, Viewer


class HashEmbedder:
    """Gives every text the vector of its length."""

    name, digest, dim = "hash", bytes(32), 2

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.array([[len(text), 1.0] for text in texts], np.float32)


TIME = 1_767_225_600_000_000
NOBODY = NodeId(bytes([9] * 16))


def fact(text: str) -> Record:
    return Record(
        RecordType.SEMANTIC, text, scope="", provenance=[{"kind": "observation", "ref": "chat"}]
    )


@pytest.fixture
def repo() -> Repository:
    return ibidem.init("memory:", clock=lambda: TIME)


def test_one_step_of_an_agent_is_one_commit_and_one_operation(repo: Repository):
    (old,) = repo.records.add(fact("the gate is green"))
    answer = repo.retrieve("gate")
    before = len(list(repo.history.log())), len(list(repo.history.operations()))

    with repo.transaction(author="bot", message="step 2") as tx:
        tx.ingest(text="# Gate\n\nIt was painted.\n", path="gate.md")
        tx.conversations.append("a", [("user", "which colour has the gate?")])
        new = tx.records.supersede(old, fact("the gate is blue"))
        tx.add("the gate was painted in May")
        tx.feedback.vote(answer, old, -1, author="bot")
        tx.embed(HashEmbedder())

    assert len(list(repo.history.log())) == before[0] + 1
    assert len(list(repo.history.operations())) == before[1] + 1
    assert repo.commit_at().message == "step 2"
    assert [one.text for one in repo.conversations.messages("a")] == ["which colour has the gate?"]
    assert repo.records.get(new).text == "the gate is blue"
    assert [event.author for event in repo.notes.space().log().about(old)] == ["bot"]
    assert tx.noted == {"memory": repo.notes.space().head}
    assert repo.at().vector(new, "hash") is not None


def test_what_is_read_in_a_transaction_is_what_it_staged(repo: Repository):
    repo.conversations.append("a", [{"role": "user", "text": "one", "id": "m1"}])
    with repo.transaction() as tx:
        talk = tx.conversations
        assert talk.append("a", [("assistant", "two")]).ords == (1,)
        # The ids of stored and of staged messages are both known.
        again = [
            {"role": "user", "text": "one", "id": "m1"},
            {"role": "user", "text": "x", "id": "m3"},
        ]
        assert talk.append("a", again).ords == (0, 2)
        assert talk.append("a", again).ords == (0, 2)
        assert [one.text for one in talk.messages("a")] == ["one", "two", "x"]
        talk.compact("a", 0, 1, "both")
        assert [one.text for one in talk.view("a")] == ["both", "x"]
        assert talk.purge("a", 2).ords == (0, 1)
        assert [one.text for one in talk.messages("a")] == ["x"]
        assert [one.name for one in talk.threads()] == ["a"]
        (made,) = tx.records.add(fact("the gate is green"))
        assert tx.records.get(made).text == "the gate is green"
        assert [one.id for one in tx.records.list()] == [made]
        assert tx.at().count(label="Message") == 1
        assert repo.at().count(label="Message") == 1
    assert [one.text for one in repo.conversations.view("a")] == ["both", "x"]


def test_ranked_questions_are_refused_in_a_transaction(repo: Repository):
    with repo.transaction() as tx:
        tx.conversations.append("a", [("user", "one")])
        for ask in (
            lambda: tx.at().retrieve("one"),
            lambda: tx.at().packs("one"),
            lambda: tx.at().stream_packs("one"),
            lambda: tx.conversations.select("one", thread="a"),
            lambda: tx.records.retrieve_graph("one"),
        ):
            with pytest.raises(InvalidInputError, match="ask"):
                ask()
        with pytest.raises(InvalidInputError, match="HEAD"):
            tx.at("main")


def test_a_step_that_fails_half_way_publishes_nothing(repo: Repository):
    head = repo.head
    tx = repo.transaction()
    tx.add("fine")
    with pytest.raises(InvalidInputError, match="relations"):
        tx.records.add([fact("two")], relations=[(0, "about", 5)])
    with pytest.raises(InvalidInputError, match="half-way"):
        tx.publish()
    assert repo.head == head
    # One that stages nothing before it fails leaves the transaction as it was.
    with repo.transaction() as tx:
        tx.add("fine")
        with pytest.raises(LookupError):
            tx.records.retract(NOBODY)
    assert repo.head != head


def test_two_steps_that_append_to_one_thread_never_use_a_place_twice(repo: Repository):
    tx = repo.transaction()
    tx.conversations.append("a", [("user", "mine")])
    repo.conversations.append("a", [("user", "theirs")])
    with pytest.raises(ConflictError):
        tx.publish()
    assert [one.text for one in repo.conversations.messages("a")] == ["theirs"]
    # What is independent of it is merged.
    with repo.transaction() as tx:
        tx.conversations.append("b", [("user", "mine")])
        repo.conversations.append("a", [("user", "more")])
    assert [one.text for one in repo.conversations.messages("b")] == ["mine"]


def test_the_same_writers_over_a_transaction_by_their_classes(repo: Repository):
    with repo.transaction(message="all") as tx:
        Conversations(tx, embedder=HashEmbedder()).append("a", [("user", "hello there")])
        (made,) = GraphMemory(tx).add(fact("x"))
        GraphMemory(tx).consolidate(dry_run=True)
        GraphMemory(tx).prune()
        feedback = Feedback(tx, author="ada")
        feedback.outcome(made, True)
        feedback.reinforce(made, gain=0.2)
        feedback.penalize(made, 0.1)
        with pytest.raises(InvalidInputError, match="feedback"):
            tx.records.notes.reinforce(made)
    assert repo.conversations.select("hello", thread="a").messages
    kinds = [event.kind for event in repo.notes.space().log().about(made)]
    assert kinds == ["outcome", "reinforce", "penalize"]
    assert repo.commit_at().message == "all"


def test_events_are_refused_where_nothing_keeps_them(repo: Repository):
    made = repo.add("x")
    with pytest.raises(InvalidInputError, match="notes"), repo.stage.transaction() as tx:
        tx.feedback.outcome(made, True, author="ada")


def test_undo_takes_back_a_step_whole(repo: Repository):
    made = repo.add("x")
    with repo.transaction() as tx:
        tx.add("y")
        tx.feedback.outcome(made, True, author="ada")
    repo.history.undo()
    assert [node.summary for node in repo.query()] == ["x"]
    assert repo.notes.space().head is None


def test_a_run_records_and_replays_the_layers(repo: Repository):
    repo.add("the gate is green")

    def work(run):
        with run.transaction(author="bot", message="step") as tx:
            tx.conversations.append("a", [("user", "which colour?")])
            tx.add("the gate is tall")
        answer = run.retrieve("gate")
        head = run.feedback.vote(answer, answer.items[0].node.id, 1, author="bot")
        run.conversations.append("a", [("assistant", "green")])
        (made,) = run.records.add(fact("the gate is old"))
        with run.transaction() as tx:
            assert tx.conversations.messages("a")
            tx.feedback.outcome(made, True, author="bot")
        found = run.recall("gate")
        texts = [one.text for one in run.conversations.messages("a")]
        return head, tx.noted, texts, found.texts, run.records.get(made).text

    with repo.runs.start("r") as run:
        first = work(run)
    with repo.runs.open("r").replay() as replay:
        assert work(replay) == first
    replay = repo.runs.open("r").replay()
    tx = replay.transaction(author="bot", message="step")
    tx.conversations.append("a", [("user", "another")])
    tx.add("the gate is tall")
    with pytest.raises(ReplayError):
        tx.publish()


def test_a_viewer_has_the_layers_over_what_he_sees(repo: Repository):
    low = Viewer(level="low", scopes=())
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
    hidden = Record(RecordType.SEMANTIC, "the vault code is 4711", scope="", level=4)
    shown = Record(RecordType.SEMANTIC, "the vault opens at nine", scope="", level=1)
    repo.records.add([hidden, shown])
    repo.conversations.append("a", [{"role": "user", "text": "hi", "props": {"level": 1}}])
    face = repo.as_viewer(low, author="eve")
    assert face.conversations is face.conversations
    assert [one.text for one in face.conversations.messages("a")] == ["hi"]
    assert [item.node.summary for item in face.records.retrieve_graph("vault").items] == [
        "the vault opens at nine"
    ]
    assert face.recall("vault").texts
    assert "4711" not in "".join(face.recall("vault").texts)
    answer = face.retrieve("vault")
    face.feedback.vote(answer, answer.items[0].node.id, 1)
    assert [event.author for event in repo.notes.space().log().events] == ["eve"]
    with face.transaction(message="a step") as tx:
        made = tx.add("the vault is blue", props={"level": 1, "scope": ""})
        tx.feedback.outcome(made, True)
        tx.records.add(shown)
    assert repo.commit_at().author == "eve"
    assert repo.notes.space().log().about(made)[0].author == "eve"
    for refused in (
        lambda: face.ingest("docs"),
        lambda: face.conversations.compact("a", 0, 0, "x"),
        lambda: face.records.read(),
    ):
        with pytest.raises(InvalidInputError) as failure:
            refused()
        assert failure.value.kind is ErrorKind.NOT_PERMITTED


def test_open_creates_what_is_missing_and_opens_what_is_there(tmp_path: Path):
    with ibidem.open(tmp_path / "kb", create=True, author="ada") as repo:
        made = repo.add("one", label="Fact", props={"n": 1}, author="ada", message="why")
        assert repo.commit_at().message == "why"
    with ibidem.open(tmp_path / "kb", create=True) as repo:
        assert repo.at().node(made).summary == "one"
    with pytest.raises(NotFoundError):
        ibidem.open(tmp_path / "other")


def test_a_fact_added_twice_is_one_and_at_another_time_another(repo: Repository):
    one = repo.add("the gate is green")
    assert repo.add("the gate is green") == one
    assert repo.add("the gate is green", time=TIME) != one
    assert repo.add("the gate is green", props={"n": 1}) != one
    assert repo.add("the gate is green", label="Note") != one
    assert repo.at().node(one).ntype == "Semantic"
    assert len(list(repo.history.log())) == 4


def test_ingest_takes_files_folders_and_text(repo: Repository, tmp_path: Path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\nThe gate is green.\n")
    (docs / "b.bin").write_bytes(b"\0")
    assert repo.ingest(docs, message="docs").documents_added == 1
    assert repo.commit_at().message == "docs"
    assert repo.ingest([str(docs / "a.md")]).documents_added == 0
    assert repo.ingest(text="The gate is old.", path="c.md").documents_added == 1
    head = repo.head
    for wrong in (
        lambda: repo.ingest(docs / "b.bin"),
        lambda: repo.ingest(tmp_path / "nowhere.md"),
        lambda: repo.ingest([]),
        lambda: repo.ingest(3),  # type: ignore[arg-type]
        lambda: repo.ingest(docs, text="x", path="y.md"),
        lambda: repo.ingest(text="x"),
        lambda: repo.ingest(docs, prune=True),
    ):
        with pytest.raises(InvalidInputError):
            wrong()
    assert repo.head == head
    with ibidem.open(tmp_path, create=True) as here:
        assert here.ingest(docs).documents_added == 1
        (docs / "a.md").unlink()
        assert here.ingest(docs, prune=True).documents_removed == 1
