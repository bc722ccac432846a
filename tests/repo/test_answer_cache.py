"""Packs that a process returned are returned again without work, and never wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import ibidem
from ibidem.objects.errors import ErasedError, IbidemError, InvalidInputError
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import TrustPolicy, Viewer

from .settings import set_local


@pytest.fixture(params=["memory", "disk"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    opened = ibidem.init("memory:" if request.param == "memory" else tmp_path)
    opened.ingest(text="# Mill\n\nThe needle.\n\nIts stones.\n", path="mill.md")
    opened.add("another needle")
    return opened


def hits(repo: Repository) -> int:
    return repo.core.answer_cache.hit_count


def test_the_same_question_is_answered_without_work(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = repo.packs("needle", limit=3)
    with monkeypatch.context() as patched:
        patched.setattr("ibidem.repo.retrieval.retrieve._executed", None)  # not called
        again = repo.packs("needle", limit=3)
    assert again.to_bytes() == first.to_bytes()
    assert again.receipt == first.receipt
    assert hits(repo) == 1
    assert repo.receipts.replay(again.receipt).to_bytes() == first.to_bytes()  # computed anew
    assert hits(repo) == 1


def test_another_question_root_or_estimator_is_another_entry(repo: Repository) -> None:
    class Letters:
        name, digest = "letters", bytes(32)

        def __init__(self, each: int) -> None:
            self.each = each

        def estimate(self, text: str) -> int:
            return self.each * len(text)

    first = repo.packs("needle")
    assert repo.packs("needle", limit=1).to_bytes() != first.to_bytes()
    assert repo.packs("needles").to_bytes() != first.to_bytes()
    counts = [repo.packs("needle", estimator=Letters(each)).tokens_used for each in (1, 2)]
    assert counts[1] == 2 * counts[0]
    repo.add("a third needle")
    assert len(repo.packs("needle")) == len(first) + 1
    assert hits(repo) == 0
    assert repo.at("HEAD~1").packs("needle").to_bytes() == first.to_bytes()
    assert hits(repo) == 1
    assert repo.packs("absent needle", coverage_min=1000).warnings
    with pytest.raises(InvalidInputError, match="coverage_min"):
        repo.packs("absent needle", coverage_min=1000, strict=True)
    assert hits(repo) == 2


def test_one_commit_is_not_cited_for_another_with_the_same_root(repo: Repository) -> None:
    first = repo.packs("needle")
    repo.history.undo()
    repo.add("another needle")
    second = repo.packs("needle")
    assert second.receipt is not None
    assert first.receipt is not None
    assert second.receipt.commit == repo.head


def test_an_erasure_drops_every_entry(repo: Repository) -> None:
    gone = repo.add("a secret needle")
    old = repo.at()
    assert "secret" in old.packs("needle").text
    assert "secret" in old.packs("needle").text
    assert hits(repo) == 1
    repo.maintenance.erase(gone, reason="asked to")
    assert repo.core.answer_cache.size_bytes == 0
    assert "secret" not in repo.packs("needle").text
    with pytest.raises((ErasedError, IbidemError)):
        repo.at(old.commit_cid).packs("needle")
    assert hits(repo) == 1


def test_an_erasure_by_another_process_drops_every_entry(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        gone = repo.add("a secret needle")
        commit = repo.head
        assert "secret" in repo.packs("needle").text
        with ibidem.open(tmp_path) as other:
            other.maintenance.erase(gone, reason="asked to")
        with pytest.raises(IbidemError):
            repo.at(commit).packs("needle")
        assert len(repo.packs("needle")) == 0
        assert hits(repo) == 0


def test_every_viewer_has_answers_of_their_own(repo: Repository) -> None:
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="a hidden needle", props={"level": 3})
        tx.set_trust_policy(TrustPolicy(level="level"))
    everybody, insider = Viewer(level=0, scopes=()), Viewer(level=4, scopes=())
    for _ in range(2):
        assert "hidden" not in repo.packs("needle", viewer=everybody).text
        assert "hidden" in repo.packs("needle", viewer=insider).text
        with pytest.raises(InvalidInputError):
            repo.packs("needle")
    assert hits(repo) == 2


def test_bytes_are_bounded_and_none_are_kept_if_it_is_turned_off(repo: Repository) -> None:
    size = len(repo.packs("needle").to_bytes())
    set_local(repo, answer_cache=2 * size + 100)
    for text in ("needle", "stones", "mill", "needle", "another"):
        repo.packs(text)
        assert repo.core.answer_cache.size_bytes <= 2 * size + 100
    set_local(repo, answer_cache=0)
    before = hits(repo)
    repo.packs("another")
    repo.packs("another")
    assert hits(repo) == before


def test_what_a_smaller_bound_does_not_allow_is_dropped(repo: Repository) -> None:
    for text in ("needle", "stones", "mill"):
        repo.packs(text)
    size = repo.core.answer_cache.size_bytes
    set_local(repo, answer_cache=size - 1)
    repo.packs("mill")
    assert 0 < repo.core.answer_cache.size_bytes < size
    assert hits(repo) == 1
    set_local(repo, answer_cache=0)
    repo.packs("mill")
    assert repo.core.answer_cache.size_bytes == 0


@pytest.mark.parametrize("server", ["s3_prefix", "postgres_schema"])
def test_an_erasure_on_another_machine_drops_every_entry(
    server: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = str(request.getfixturevalue(server))
    with ibidem.init(address) as first:
        gone = first.add("a secret needle")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "other"))
        with ibidem.open(address) as second:
            before = second.at()
            for _ in range(2):
                assert "secret" in before.packs("needle").text
            first.maintenance.erase(gone, reason="asked to")
            assert len(second.packs("needle")) == 0
            with pytest.raises(ErasedError):
                second.at(before.commit_cid).packs("needle")
            with pytest.raises(ErasedError):
                before.packs("needle")
            assert hits(second) == 1
