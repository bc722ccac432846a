"""Two answers to one question: what entered, left and moved, and which commit did it."""

from __future__ import annotations

from math import ceil, log2

import pytest

from ibidem.objects.blocks import Source
from ibidem.objects.cid import CommitCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.repo.history import bisect, compare
from ibidem.repo.history.ancestry import CommitEnds, read_ends
from ibidem.repo.history.compare import MoveKind
from ibidem.repo.history.diff_format import cause_lines, move_lines
from ibidem.repo.repository import Repository
from ibidem.repo.revision import Revision

QUESTION = "how do retries back off"


def note(repo: Repository, key: str, summary: str, message: str = "") -> NodeId:
    with repo.transaction(author="ada", message=message or f"note {key}") as tx:
        return tx.add_node("Note", summary=summary, key=("note", key), replace=True)


@pytest.fixture
def history(repo: Repository) -> tuple[Repository, NodeId]:
    """Two hundred commits; 37 commits ago a note that answered stopped doing so."""
    wanted = note(repo, "retries", "Retries back off: one second, two, four.")
    for number in range(162 - 1):
        note(repo, f"a{number}", f"Deadline number {number} of the retries.")
    note(repo, "retries", "Nothing to see here.", "tidy up wording")
    for number in range(37):
        note(repo, f"b{number}", f"Another deadline, number {number}.")
    return repo, wanted


def test_bisect_finds_a_planted_edit_among_200_commits(history: tuple[Repository, NodeId]):
    repo, wanted = history
    assert len(list(repo.history.log())) == 200
    found = repo.history.bisect(QUESTION, expect=wanted, rank_max=3)
    assert found.first_bad == repo.commit_at("HEAD~37")
    assert found.last_good == repo.commit_at("HEAD~38")
    assert found.evaluations_count <= 8
    assert found.cause is not None
    assert [change.id for change in found.cause.changes] == [wanted]
    assert found.cause.changes[0].fields == ("summary",)


@pytest.mark.parametrize("distance", [1, 2, 3, 4, 7, 8, 9, 31, 33])
def test_bisect_asks_no_more_than_the_logarithm(history: tuple[Repository, NodeId], distance: int):
    repo, wanted = history
    found = repo.history.bisect(QUESTION, expect=wanted, good=f"HEAD~{37 + distance}")
    assert found.first_bad == repo.commit_at("HEAD~37")
    assert found.commits_count == 37 + distance
    assert found.evaluations_count <= ceil(log2(found.commits_count + 1))


def test_bisect_and_compare_read_back_no_further_than_they_have_to(
    history: tuple[Repository, NodeId], monkeypatch: pytest.MonkeyPatch
):
    repo, wanted = history
    read: list[CommitCid] = []

    def counting(source: Source, cid: CommitCid) -> CommitEnds:
        read.append(cid)
        return read_ends(source, cid)

    monkeypatch.setattr(bisect, "read_ends", counting)
    monkeypatch.setattr(compare, "read_ends", counting)
    repo.history.bisect(QUESTION, expect=wanted, good="HEAD~5")
    assert len(read) == 6
    repo.branch("side", at="HEAD~3")
    with repo.transaction(branch="side") as tx:
        tx.add_node("Note", summary="Retries back off, they say.")
    read.clear()
    assert repo.history.compare(QUESTION, before="side", after="HEAD").is_related
    assert len(read) == 8


def test_bisect_says_that_an_expectation_still_holds(repo: Repository):
    wanted = note(repo, "retries", "Retries back off.")
    note(repo, "other", "Deadlines.")
    found = repo.history.bisect(QUESTION, expect=wanted)
    assert found.first_bad is None
    assert found.last_good is None


def test_bisect_finds_a_removal(repo: Repository):
    wanted = note(repo, "retries", "Retries back off.")
    note(repo, "other", "Deadlines.")
    with repo.transaction(message="gone") as tx:
        tx.remove_node(wanted)
    note(repo, "third", "Retries.")
    found = repo.history.bisect(QUESTION, expect=wanted)
    assert found.first_bad == repo.commit_at("HEAD~1")


def test_bisect_begins_where_the_node_came_to_be(repo: Repository):
    for number in range(9):
        note(repo, str(number), "Deadlines.")
    wanted = note(repo, "retries", "Retries back off.")
    note(repo, "retries", "Nothing.", "spoilt")
    found = repo.history.bisect(QUESTION, expect=wanted)
    assert found.first_bad is not None
    assert found.first_bad.message == "spoilt"
    assert found.commits_count == 2


def test_bisect_of_what_never_held_ends_at_the_first_commit(repo: Repository):
    wanted = note(repo, "other", "Deadlines.")
    note(repo, "retries", "Retries back off.")
    found = repo.history.bisect(QUESTION, expect=wanted)
    assert found.first_bad == repo.commit_at("HEAD~1")
    assert found.last_good is None
    assert found.cause is None


def test_bisect_refuses_what_it_can_not_answer(repo: Repository):
    wanted = note(repo, "retries", "Retries back off.")
    repo.branch("side")
    note(repo, "other", "Deadlines.")
    with repo.transaction(branch="side") as tx:
        tx.add_node("Note", summary="aside")
    with pytest.raises(InvalidInputError, match="good"):
        repo.history.bisect(QUESTION, expect=wanted, good="side")
    with pytest.raises(InvalidInputError, match="rank_max"):
        repo.history.bisect(QUESTION, expect=wanted, rank_max=0)
    with pytest.raises(InvalidInputError, match="in no commit"):
        repo.history.bisect(QUESTION, expect=NodeId(bytes(16)))


def test_compare_names_every_kind_of_move_and_its_commit(repo: Repository):
    first = note(repo, "a", "retries back off")
    second = note(repo, "b", "retries and much else that is beside the point")
    note(repo, "c", "deadlines")
    third = note(repo, "d", "retries back off by doubling", "a better one")
    with repo.transaction(author="eve", message="cleaning") as tx:
        tx.tombstone(first, reason="old")
    found = repo.history.compare(QUESTION, before="HEAD~2", after="HEAD")
    kinds = {move.id: move.kind for move in found.moves}
    assert kinds[first] is MoveKind.LEFT
    assert kinds[third] is MoveKind.ENTERED
    assert kinds[second] in (MoveKind.RESCORED, MoveKind.MOVED)
    assert [cause.commit.message for cause in found.causes] == ["a better one", "cleaning"]
    assert {change.id for change in found.causes[1].changes} == {first}
    text = "\n".join([*move_lines(found.moves), *cause_lines(repo.core.store, found.causes)])
    assert f"1 -> -   left     {first}  Note  retries back off" in text
    assert f"tombstone {first} added" in text
    assert "'cleaning' by eve, 2026-01-01T00:00:" in text


def test_compare_with_the_older_revision_second_finds_the_same_causes(repo: Repository):
    note(repo, "a", "retries back off")
    note(repo, "b", "retries back off twice", "better")
    note(repo, "c", "deadlines")
    there, back = (
        repo.history.compare(QUESTION, before="HEAD~2", after="HEAD"),
        repo.history.compare(QUESTION, before="HEAD", after="HEAD~2"),
    )
    assert [cause.commit for cause in there.causes] == [cause.commit for cause in back.causes]
    assert {m.id: (m.before, m.after) for m in there.moves} == {
        m.id: (m.after, m.before) for m in back.moves
    }


def test_compare_of_branches_looks_behind_both(repo: Repository):
    note(repo, "a", "retries back off")
    repo.branch("side")
    note(repo, "b", "retries", "on main")
    with repo.transaction(branch="side", message="on side") as tx:
        tx.add_node("Note", summary="back off twice", key=("note", "c"))
    found = repo.history.compare(QUESTION, before="side", after="main")
    assert {cause.commit.message for cause in found.causes} == {"on main", "on side"}


def test_compare_that_may_not_ask_further_names_a_stretch(history: tuple[Repository, NodeId]):
    from ibidem.repo.history.compare import compare_revisions

    repo, _ = history
    found = compare_revisions(
        repo.core,
        "HEAD~60",
        "HEAD",
        lambda graph: Revision(graph).retrieve(QUESTION),
        evaluations_max=2,
    )
    assert found.evaluations_count <= 4
    assert sum(cause.commits_count for cause in found.causes) > len(found.causes)


def test_compare_of_equal_answers_asks_nothing_in_between(history: tuple[Repository, NodeId]):
    repo, _ = history
    found = repo.history.compare(QUESTION, before="HEAD", after="HEAD")
    assert found.causes == ()
    assert found.evaluations_count == 0
    assert {move.kind for move in found.moves} == {MoveKind.SAME}


def test_titles_can_not_steer_a_terminal(repo: Repository):
    note(repo, "a", "\x1b[31mretries\u202e back off")
    note(repo, "b", "retries back off")
    lines = move_lines(repo.history.compare(QUESTION, before="HEAD~1", after="HEAD").moves)
    assert "\\x1b[31mretries\\u202e" in "\n".join(lines)


@pytest.mark.parametrize(
    ("others", "told"), [(1, "and 1 more change in"), (2, "and 2 more changes in")]
)
def test_what_is_not_shown_is_counted(repo: Repository, others: int, told: str):
    note(repo, "retries", "Retries back off.")
    with repo.transaction() as tx:
        tx.add_node("Note", summary="Nothing.", key=("note", "retries"), replace=True)
        for number in range(others):
            tx.add_node("Other", summary=f"number {number}")
    found = repo.history.compare(QUESTION, before="HEAD~1", after="HEAD")
    assert told in "\n".join(cause_lines(repo.core.store, found.causes))


def test_lines_about_an_item_name_its_place_before_and_after(repo: Repository) -> None:
    repo.ingest(text="# Refunds\n\nMoney is back within 30 days.\n", path="shop.md")
    repo.ingest(text="# Help\n\n# Refunds\n\nMoney is back within 14 days.\n", path="shop.md")
    found = repo.history.compare("money back", before="HEAD~1", after="HEAD")
    lines = [line.strip() for line in move_lines(found.moves)]
    assert "at shop.md:3 > Refunds" in lines
    assert "at shop.md:5 > Refunds" in lines
