"""Commits, an erasure and a collection in a bucket whose answers get lost: nothing else is."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'ibidem[s3]'")
from obstore.store import MemoryStore
from tests.store.faulty_writers import FaultyBucket

import ibidem
from ibidem.repo.maintenance.folder import fsck_folder
from ibidem.repo.repository import Repository
from ibidem.store.log import backend
from ibidem.store.log.objects import Bucket
from ibidem.store.testing import run_together

ADDRESS = "s3://bucket/notes"
COMMITS = 8


@pytest.mark.parametrize("seed", [1, 2])
def test_commits_beside_an_erasure_and_a_collection_lose_nothing(
    seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    objects, opened = MemoryStore(), count()
    monkeypatch.setattr(
        backend,
        "bucket_at",
        lambda _: (FaultyBucket(Bucket(objects), f"{seed} {next(opened)}"), 0.0),
    )
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    secret = "Rumpelstiltskin"
    with ibidem.init(ADDRESS) as repository:
        with repository.transaction(author="a") as tx:
            node = tx.add_node("Note", summary=f"the name is {secret}")
        repository.history.undo(author="a")
        repository.history.redo(author="a")

    def write(writer: int) -> None:
        with ibidem.open(ADDRESS) as repository:
            for number in range(COMMITS):
                with repository.transaction(author="a") as tx:
                    tx.add_node("Note", summary=f"note {writer} {number}", key=[writer, number])

    def erase() -> None:
        with ibidem.open(ADDRESS) as repository:
            repository.maintenance.erase([node], reason="asked", author="a")

    def collect() -> None:
        with ibidem.open(ADDRESS) as repository:
            repository.maintenance.gc(keep_operations=5)

    run_together(lambda: write(1), lambda: write(2), erase, collect)
    plain = Bucket(objects)
    monkeypatch.setattr(backend, "bucket_at", lambda _: (plain, 0.0))
    with ibidem.open(ADDRESS) as repository:
        assert notes(repository) == sorted(
            f"note {writer} {number}" for writer in (1, 2) for number in range(COMMITS)
        )
    assert fsck_folder(ADDRESS).is_clean
    for name in plain.listed(""):
        assert secret.encode() not in (plain.get(name) or b""), name


def notes(repository: Repository) -> list[str]:
    return sorted(node.summary for node in repository.at().nodes())
