"""Commits made again elsewhere, and taken back: rebase, cherry-pick, revert."""

from __future__ import annotations

import pytest

from ibidem.objects.errors import InvalidInputError
from ibidem.repo.merge.branch import Outcome
from ibidem.repo.repository import Repository

from .conftest import A, B, C, on


def test_rebase_keeps_who_when_and_why_and_drops_what_is_there(repo: Repository) -> None:
    repo.switch("side")
    with repo.transaction(author="ada", message="one", time=5, agent="x", task="y") as tx:
        tx.update_node(A, summary="side")
    with repo.transaction(author="ada", message="same", time=6) as tx:
        tx.update_node(B, summary="same")
    with on(repo, "main") as tx:
        tx.update_node(B, summary="same")
    would = repo.rebase("main", dry_run=True)
    done = repo.rebase("main")
    assert would == done
    assert done.outcome is Outcome.APPLIED
    assert [commit.message for commit in done.dropped] == ["same"]
    (commit,) = done.commits
    assert (commit.author, commit.time, commit.agent, commit.task) == ("ada", 5, "x", "y")
    assert commit.parents == (repo.resolve("main"),)
    assert repo.head == commit.cid
    repo.history.undo()
    assert [each.message for each in repo.history.log()][:2] == ["same", "one"]
    repo.history.redo()
    assert repo.rebase("main").outcome is Outcome.UNCHANGED


def test_rebase_refuses_a_merge_and_changes_nothing(repo: Repository) -> None:
    for branch, node in (("side", A), ("main", B)):
        with on(repo, branch) as tx:
            tx.update_node(node, summary=branch)
    repo.branch("third", at="main~1")
    with on(repo, "third") as tx:
        tx.update_node(C, summary="third")
    repo.merge("side")
    head = repo.head
    with pytest.raises(InvalidInputError, match="is a merge"):
        repo.rebase("third")
    assert repo.head == head


def test_cherry_pick_and_revert_undo_each_other(repo: Repository) -> None:
    with on(repo, "side") as tx:
        tx.update_node(A, summary="first")
    with on(repo, "side") as tx:
        tx.update_node(B, summary="second")
    before = repo.at().root_cid
    picked = repo.cherry_pick("side")
    assert [commit.message for commit in picked.commits] == ["on side"]
    assert (repo.at().node(A).summary, repo.at().node(B).summary) == ("a base", "second")
    assert repo.cherry_pick("side").outcome is Outcome.UNCHANGED
    reverted = repo.revert("HEAD", author="bob")
    assert reverted.commits[0].message == "revert on side"
    assert repo.at().root_cid == before


def test_a_revert_of_what_was_changed_since_is_a_conflict(repo: Repository) -> None:
    for number in range(2):
        with repo.transaction() as tx:
            tx.update_node(A, summary=f"edit {number}")
    done = repo.revert("HEAD~1")
    assert [found.fields for found in done.conflicts] == [("summary",)]
    repo.resolve_conflict(A, "theirs")
    assert repo.at().node(A).summary == "a base"


def test_the_first_commit_can_be_reverted(repo: Repository) -> None:
    done = repo.revert("HEAD")
    assert done.conflicts == ()
    assert list(repo.at().nodes()) == []


def test_a_model_comes_with_the_vectors_of_a_commit_that_is_made_again(repo: Repository) -> None:
    with on(repo, "side") as tx:
        tx.set_vector(A, model="new", vector=[1.0, 0.0])
    with on(repo, "side") as tx:
        tx.set_vector(B, model="new", vector=[0.0, 1.0])
    known = repo.at("side").config.models["new"]
    repo.switch("main")
    repo.cherry_pick("side")
    assert repo.at().config.models["new"] == known
    assert repo.at().vector(B, "new") is not None
    assert repo.maintenance.fsck().faults == ()


def test_a_model_stays_where_what_brought_it_is_taken_back_and_vectors_are_left(
    repo: Repository,
) -> None:
    with on(repo, "main") as tx:
        tx.set_vector(A, model="new", vector=[1.0, 0.0])
    first = repo.resolve("main")
    with on(repo, "main") as tx:
        tx.set_vector(B, model="new", vector=[0.0, 1.0])
    repo.revert(first)
    assert repo.at().vector(A, "new") is None
    assert repo.at().vector(B, "new") is not None
    assert "new" in repo.at().config.models
    assert repo.maintenance.fsck().faults == ()
    repo.revert(repo.resolve("main~1"))
    assert "new" not in repo.at().root.vectors
    assert repo.maintenance.fsck().faults == ()
