"""Annotations: events on refs of their own, read at a pinned head."""

from __future__ import annotations

from threading import Thread

import pytest

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.repo.events import Event
from ibidem.repo.repository import Repository

A, B = NodeId(bytes(15) + b"a"), NodeId(bytes(15) + b"b")


def test_events_come_by_time_and_leave_the_graph_alone(repo: Repository):
    before = repo.at().root_cid
    notes = repo.notes.space("memory")
    assert notes.head is None
    assert notes.log().events == ()
    notes.penalize(A, 0.5, author="ada", time=20)
    head = notes.reinforce(A, author="bob", time=10)
    assert notes.head == head
    assert repo.notes.spaces() == {"memory": head}
    assert [(one.kind, one.time, one.author) for one in notes.log().about(A)] == [
        ("reinforce", 10, "bob"),
        ("penalize", 20, "ada"),
    ]
    assert notes.log().about(B) == ()
    assert repo.at().root_cid == before
    assert repo.head is None


def test_an_older_head_does_not_know_what_came_later(repo: Repository):
    notes = repo.notes.space()
    old = notes.vote(A, 1, author="ada")
    new = notes.vote(A, -1, author="ada")
    assert [one.value for one in notes.at(new).about(A)] == [1.0, -1.0]
    assert [one.value for one in notes.at(old).about(A)] == [1.0]
    assert [one.value for one in notes.at(new).about(A)] == [1.0, -1.0]
    assert notes.at(None).events == ()


def test_one_commit_holds_many_events_with_what_their_kind_has(repo: Repository):
    notes = repo.notes.space("recall/votes")
    head = notes.add(
        [Event("seen", (A, B), detail={"terms": ["x"]}), Event("seen", (B,))],
        author="ada",
    )
    log = notes.at(head)
    assert len(log.events) == 2
    assert len(log.about(B)) == 2
    assert log.about(A)[0].detail == {"terms": ["x"]}
    assert log.about(A)[0].author == "ada"
    assert len({one.id for one in log.events}) == 2


def test_equal_events_are_two_events(repo: Repository):
    notes = repo.notes.space()
    for _ in range(2):
        notes.outcome(A, True, author="ada", time=5)
    assert len(notes.log().about(A)) == 2


def test_writers_at_once_lose_nothing(repo: Repository):
    def write(author: str) -> None:
        for _ in range(5):
            repo.notes.space().vote(A, 1, author=author)

    threads = [Thread(target=write, args=(f"author {i}",)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(repo.notes.space().log().about(A)) == 30


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda notes: notes.vote(A, 2, author="ada"), "value"),
        (lambda notes: notes.vote(A, True, author="ada"), "value"),
        (lambda notes: notes.vote(A, 1, author=""), "author"),
        (lambda notes: notes.penalize(A, -1.0), "amount"),
        (lambda notes: notes.penalize(A, float("nan")), "amount"),
        (lambda notes: notes.penalize(A, float("inf")), "amount"),
        (lambda notes: notes.reinforce("a"), "target"),
        (lambda notes: notes.outcome(A, 1), "ok"),
        (lambda notes: notes.add([]), "events"),
        (lambda notes: notes.add([Event("x", ())]), "targets"),
        (lambda notes: notes.add([Event("x", (A, A))]), "targets"),
        (lambda notes: notes.add([Event("", (A,))]), "kind"),
        (lambda notes: notes.add([Event("x", (A,), detail={"kind": 1})]), "detail"),
    ],
)
def test_what_is_no_event_is_refused_and_nothing_is_added(repo: Repository, call, named: str):
    with pytest.raises(InvalidInputError, match=f"^{named}"):
        call(repo.notes.space())
    assert repo.notes.space().head is None


def test_a_space_has_the_name_of_a_branch(repo: Repository):
    with pytest.raises(InvalidInputError, match=r"^space"):
        repo.notes.space("Not Good")
