"""What others change while it is all read is no fault, and what is wrong is found beside them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.embed import cache
from ibidem.objects.errors import CorruptError
from ibidem.objects.text import text_digest
from ibidem.repo.erasure import destroy
from ibidem.repo.maintenance import file_checks
from ibidem.repo.maintenance import fsck as checking
from ibidem.repo.maintenance.report import Fault, FaultKind
from ibidem.repo.repository import Repository

from .conftest import SECRET, fill
from .secret import add_secret


@pytest.fixture
def never_at_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """A repository in which another commits, and gives up what was before, at every reading."""
    kept_operations = checking.kept_operations
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        fill(repo)

        def disturbed(*arguments: Any) -> Iterator[Any]:
            with other.transaction(message="meanwhile") as tx:
                tx.add_node("Doc", unique=True)
            with suppress(CorruptError):  # where something is wrong, nothing is collected
                other.maintenance.gc(keep_operations=1)
            return kept_operations(*arguments)

        monkeypatch.setattr(checking, "kept_operations", disturbed)
        yield repo


def test_what_goes_at_every_reading_is_no_fault(never_at_rest: Repository) -> None:
    assert never_at_rest.maintenance.fsck().faults == ()


def test_what_is_wrong_is_found_though_others_never_rest(never_at_rest: Repository) -> None:
    lost = next(never_at_rest.at().nodes()).cid
    never_at_rest.core.store.delete([lost])
    faults = never_at_rest.maintenance.fsck().faults
    assert {(fault.kind, fault.cid) for fault in faults} == {(FaultKind.MISSING, lost)}


def test_a_frame_that_is_being_added_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, append = bytes(32), cache._append
    vectors = {text_digest("one"): np.ones(3, np.float32)}
    kept = cache.VectorCache(tmp_path)
    found: list[tuple[list[Fault], int]] = []
    monkeypatch.setattr(file_checks, "_WAIT_SECONDS", 0.0)

    def half_way(path: Path, frames: list[bytes]) -> None:
        append(path, frames)
        whole = path.read_bytes()
        path.write_bytes(whole + whole[:20])
        found.append(file_checks.check_embeddings(tmp_path))
        path.write_bytes(whole)

    monkeypatch.setattr(cache, "_append", half_way)
    kept.add(model, vectors)
    assert found == [([], 1)]


def test_a_file_that_is_replaced_while_quotations_are_looked_for_stops_no_erasure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ibidem.init(tmp_path) as repo:
        secret = add_secret(repo)
        folder = tmp_path / ".ibidem" / "local"
        folder.mkdir(exist_ok=True)
        (folder / "draft").write_text(SECRET)
        is_file = Path.is_file

        def let_go(path: Path) -> bool:
            was_there = is_file(path)
            if path.name == "draft":
                path.unlink()
            return was_there

        with monkeypatch.context() as patch:
            patch.setattr(destroy.Path, "is_file", let_go)
            repo.maintenance.erase(secret)
        assert repo.maintenance.fsck().is_clean
