"""Ways in which something hidden once showed, each closed for a viewer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import ibidem
from ibidem.ingest.ingest import ingest_text
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.conversation.message import Message
from ibidem.memory.graph import GraphMemory, Record
from ibidem.objects.child import Child
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer
from ibidem.retrieve.context.prompt import cited_digest

LOW = Viewer(level="low", scopes=())
DAY = 86_400_000_000
EPOCH = 1_767_225_600_000_000


@pytest.fixture
def repo() -> Repository:
    found = ibidem.init("memory:", clock=lambda: EPOCH)
    with found.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
    return found


def test_a_forged_citation_confirms_no_guess_and_an_own_one_is_true(repo):
    with repo.transaction() as tx:
        parts = [
            tx.add_node("Passage", summary=text, props={"level": level})
            for text, level in (("the vault is green", 1), ("the vault code is 4711", 3))
        ]
        children = [Child(part, "", 0, 0) for part in parts]
        tx.add_node("Section", summary="the vault", props={"level": 1}, children=children)
    viewer = repo.as_viewer(LOW)
    made = viewer.prompt("vault", expand="section")
    assert made.citations
    assert all(map(viewer.verify_citation, made.citations))
    hidden = repo.at(viewer=Viewer(level=4, scopes=())).node(parts[1])
    (span, *_) = made.citations[0].spans
    text = "the vault code is 4711"
    guess = replace(
        span,
        id=hidden.id,
        cid=hidden.cid,
        start=0,
        stop=len(text),
        digest=cited_digest(text),
    )
    forged = replace(made.citations[0], spans=(guess,))
    assert not viewer.verify_citation(forged)


def test_a_thread_counts_what_is_seen_and_goes_on_after_it(repo):
    owner = Conversations(repo)
    owner.append("a", [Message("user", "hello"), Message("user", "4711", props={"level": 3})])
    memory = Conversations(repo.as_viewer(LOW))
    assert memory.thread("a").next_ord == 1
    assert [one.next_ord for one in memory.threads()] == [1]
    assert memory.save("a", [("user", "hello"), ("user", "guess")]).ords == (1,)
    assert memory.append("a", [("user", "mine")]).ords == (2,)
    assert [one.text for one in memory.messages("a")] == ["hello", "guess", "mine"]
    assert sorted(one.text for one in Conversations(repo, viewer=ALL).messages("a")) == [
        "4711",
        "guess",
        "hello",
        "mine",
    ]
    with pytest.raises(InvalidInputError) as got:
        memory.compact("a", 0, 1, "x")
    assert got.value.kind is ErrorKind.NOT_PERMITTED


def test_events_and_commits_about_hidden_nodes_move_no_time(repo):
    memory = GraphMemory(repo)
    seen, hidden = memory.add(
        [Record("Semantic", "tea", scope="", level=1), Record("Semantic", "x", scope="", level=3)],
        time=EPOCH,
    )
    viewer = repo.as_viewer(LOW)

    def told() -> object:
        own = GraphMemory(viewer)
        answer = own.retrieve_graph("tea")
        (item,) = answer.items
        return (
            own.salience(seen),
            item.salience,
            viewer.at().moment(notes=viewer.notes.space().head),
        )

    before = told()
    repo.notes.space().reinforce(hidden, time=EPOCH + 300 * DAY)
    with repo.transaction(time=EPOCH + 400 * DAY) as tx:
        tx.add_node("Note", summary="secret", props={"level": 4})
    assert told() == before


def test_writes_about_hidden_and_missing_nodes_end_alike(repo):
    memory = GraphMemory(repo)
    (hidden,) = memory.add([Record("Semantic", "x", scope="", level=3)], time=EPOCH)
    (seen,) = memory.add([Record("Semantic", "tea", scope="", level=1)], time=EPOCH)
    viewer = repo.as_viewer(LOW)
    missing = NodeId(bytes(15) + b"\x07")
    own, space = GraphMemory(viewer), viewer.notes.space()
    writes: list[Callable[[NodeId], object]] = [
        own.retract,
        lambda id_: own.relate(seen, "of", id_),
        lambda id_: own.contest(seen, id_),
        lambda id_: space.vote(id_, 1, author="eve"),
        space.reinforce,
    ]
    head = repo.head, repo.notes.space().head
    for write in writes:
        errors = []
        for id_ in (hidden, missing):
            with pytest.raises(NotFoundError) as got:
                write(id_)
            errors.append(str(got.value).replace(str(id_), "ID"))
        assert errors[0] == errors[1]
    assert (repo.head, repo.notes.space().head) == head


def test_the_first_of_several_malformed_records_depends_on_what_is_seen():
    errors = []
    for numbers in (range(6), (1, 3, 5)):
        repo = ibidem.init("memory:", clock=lambda: EPOCH)
        with repo.transaction() as tx:
            tx.set_trust_policy(TrustPolicy())
            for number in numbers:
                props = {"level": 1 if number % 2 else 4, "salience": f"odd {number}"}
                tx.add_node("Semantic", summary="tea", props=props, id=NodeId(bytes([number]) * 16))
        answer = GraphMemory(repo.as_viewer(LOW)).retrieve_graph("tea")
        errors.append(
            (answer.items, answer.warnings, answer.explain().replace(str(answer.root), ""))
        )
    assert errors[0] == errors[1]


def test_a_commit_is_not_read_where_its_log_is_refused(repo):
    revision = repo.as_viewer(LOW).at()
    for name in ("commit", "log", "root", "core", "snapshot"):
        with pytest.raises(InvalidInputError, match="is refused"):
            getattr(revision, name)
    assert revision.commit_cid == repo.head


def test_the_depth_of_a_heading_is_no_level_of_trust(repo):
    with repo.transaction() as tx:
        ingest_text(tx, "# One\n\n## Two\n\n### Three\n\n#### Four\n\na mill\n", path="a.md")
    seen = repo.at(viewer=LOW).retrieve(label="Section", limit=None)
    assert sorted(item.node.summary for item in seen) == ["Four", "One", "Three", "Two"]
