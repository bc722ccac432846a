"""The local log: undo, redo, and what they leave alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

import ibidem
from ibidem.objects import codec
from ibidem.objects.cid import CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.repo import refs
from ibidem.repo.repository import Repository


def commit(repo: Repository, key: object) -> CommitCid:
    with repo.transaction() as tx:
        tx.add_node("Doc", key=key)
    assert tx.commit is not None
    return tx.commit.cid


def test_undo_and_redo_walk_back_and_forth(repo: Repository) -> None:
    states = [None, *(commit(repo, number) for number in range(3))]
    for expected in (2, 1, 0):
        repo.history.undo()
        assert repo.head == states[expected]
    with pytest.raises(InvalidInputError, match="nothing is left"):
        repo.history.undo()
    for expected in (1, 2, 3):
        repo.history.redo()
        assert repo.head == states[expected]
    with pytest.raises(InvalidInputError, match="nothing was undone"):
        repo.history.redo()
    repo.history.undo()
    repo.history.undo()
    repo.history.redo()
    repo.history.undo()
    assert repo.head == states[1]


def test_undo_brings_back_branches_tags_and_the_current_branch(repo: Repository) -> None:
    commit(repo, 1)
    repo.branch("side")
    repo.tag("v1")
    repo.switch("side")
    repo.delete_branch("main")
    assert repo.history.undo().operation.description == "undo delete heads/main"
    assert set(repo.branches()) == {"main", "side"}
    repo.history.undo()
    assert repo.current_branch == "main"
    repo.history.undo()
    repo.history.undo()
    assert (set(repo.branches()), repo.tags()) == ({"main"}, {})


def test_a_change_after_an_undo_ends_redo_and_can_be_undone(repo: Repository) -> None:
    first = commit(repo, 1)
    commit(repo, 2)
    repo.history.undo()
    other = commit(repo, 3)
    with pytest.raises(InvalidInputError):
        repo.history.redo()
    assert repo.head == other
    repo.history.undo()
    assert repo.head == first
    repo.history.undo()
    assert repo.head is None


def test_the_log_only_grows_and_its_numbers_go_on(repo: Repository) -> None:
    commit(repo, 1)
    repo.history.undo(author="ada")
    repo.history.redo()
    log = list(repo.history.operations())
    assert [operation.description for operation in log] == [
        "redo undo commit on heads/main",
        "undo commit on heads/main",
        "commit on heads/main",
        "init",
    ]
    assert log[1].author == "ada"
    operations = repo.core.operation_log
    states = operations.history(operations.state())
    assert [state.view.seq for state in states] == [3, 2, 1, 0]


def test_undone_commits_can_still_be_named(repo: Repository) -> None:
    undone = commit(repo, 1)
    repo.history.undo()
    assert repo.at(undone).commit is not None
    assert repo.branch("rescued", at=str(undone)) == undone


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.sampled_from(["commit", "undo", "redo"]), max_size=14))
def test_undo_and_redo_are_two_stacks(steps: list[str]) -> None:
    with ibidem.init("memory:", clock=lambda: 0) as repo:
        done: list[CommitCid | None] = [None]
        undone: list[CommitCid | None] = []
        for number, step in enumerate(steps):
            if step == "commit":
                done.append(commit(repo, number))
                undone.clear()
            elif step == "undo" and len(done) > 1:
                undone.append(done.pop())
                repo.history.undo()
            elif step == "redo" and undone:
                done.append(undone.pop())
                repo.history.redo()
            elif step != "commit":
                with pytest.raises(InvalidInputError):
                    getattr(repo.history, step)()
            assert repo.head == done[-1]


@pytest.mark.parametrize("missing", ["root", "parent"])
def test_an_unknown_field_does_not_hide_what_a_new_commit_needs(
    repo: Repository, missing: str
) -> None:
    """What it names may be garbage that is about to go, so publishing looks for it."""
    first = commit(repo, 1)
    root = RootCid.of(b"gone") if missing == "root" else repo.at().root_cid
    parent = CommitCid.of(b"gone") if missing == "parent" else first
    # In canonical order it stands before the kind, and pushes that far back.
    new = Commit(root, (parent,), extra={"x": "a field of a later version" * 9})

    def moved(state, buffer):
        buffer.put(new.cid, new.encode())
        return replace(state.view, refs=refs.changed(state.view, {"heads/main": new.cid}, buffer))

    with pytest.raises(NotFoundError) as caught:
        repo.core.operation_log.change(moved, author="", time=None, description="by hand")
    assert caught.value.kind is ErrorKind.BLOCK_NOT_FOUND
    assert repo.head == first


def test_content_that_looks_like_a_commit_is_content(repo: Repository) -> None:
    content = codec.encode({"v": 1, "kind": "commit"})[1:] + b"x" * 9_000
    with repo.transaction() as tx:
        node = tx.add_node("Doc", content=content, summary=repr(content[:20]))
    assert repo.at().content(node) == content
