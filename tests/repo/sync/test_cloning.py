"""A clone has everything, answers the same, and is there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

import ibidem
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.repo.sync.local_remote import LocalRemote

from .conftest import filled
from .exchanging import Pair, answer, edit


def test_a_clone_answers_the_same_bytes_and_knows_where_it_came_from(pair: Pair, tmp_path: Path):
    _, theirs = pair
    theirs.branch("draft")
    theirs.tag("v1")
    theirs.switch("draft")
    with ibidem.clone(tmp_path / "theirs", tmp_path / "copy") as copy:
        assert copy.current_branch == "draft"
        assert copy.branches() == theirs.branches()
        assert copy.tags() == theirs.tags()
        assert answer(copy) == answer(theirs)
        assert copy.sync.remotes.get("origin").location == str(tmp_path / "theirs")
        assert copy.maintenance.fsck().faults == ()
        edit(theirs, "later")
        copy.sync.pull()
        assert copy.head == theirs.head


def test_a_branch_of_a_remote_is_named_as_it_was_fetched(pair: Pair, tmp_path: Path):
    _, theirs = pair
    with ibidem.clone(tmp_path / "theirs", tmp_path / "copy") as copy:
        before = copy.head
        edit(theirs, "later")
        assert copy.resolve("origin/main") == before
        copy.sync.fetch()
        for name in ("origin/main", "remotes/origin/main", "remotes/origin/heads/main"):
            assert copy.resolve(name) == theirs.head != before
        assert copy.resolve("origin/main~1") == before == copy.head
        for name in ("origin/other", "nobody/main", "origin/", "origin", "/main"):
            with pytest.raises(NotFoundError):
                copy.resolve(name)
        copy.merge("origin/main")
        assert copy.head == theirs.head
        assert copy.branch("origin/main", at="main~1") == copy.resolve("origin/main") == before
        assert copy.resolve("remotes/origin/main") == theirs.head


def test_a_clone_of_an_empty_repository_is_one(tmp_path: Path):
    from ibidem.objects.config import Config

    with ibidem.init(tmp_path / "a", config=Config(analyser="plain-1")):
        pass
    with ibidem.clone(tmp_path / "a", tmp_path / "b") as copy:
        assert copy.head is None
        assert copy.at().config.analyser == "plain-1"


def test_a_clone_into_a_repository_is_refused(pair: Pair, tmp_path: Path):
    _ours, _ = pair
    with pytest.raises(InvalidInputError):
        ibidem.clone(tmp_path / "theirs", tmp_path / "ours")


def test_a_failed_clone_leaves_nothing(tmp_path: Path):
    with pytest.raises(NotFoundError):
        ibidem.clone(tmp_path / "nothing", tmp_path / "copy")
    assert not (tmp_path / "copy" / ".ibidem").exists()


def test_memory_repositories_copy_too():
    from ibidem.repo.sync.fetch_push import fetch

    with ibidem.init() as one, ibidem.init() as other:
        filled(one, 5)
        assert fetch(other.core, LocalRemote(one.core), "origin")[0].block_count
