"""One byte of one file is damaged: `fsck` says so, or nothing that anybody can ask is different."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ibidem
from ibidem.objects.errors import IbidemError
from ibidem.repo.maintenance.folder import fsck_folder
from ibidem.store.lmdb.file import TABLES
from ibidem.store.lmdb.pages import check_pages


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with ibidem.init(tmp_path / "repo", clock=lambda: 1) as repo:
        repo.keys.ring.generate("ada")
        with repo.transaction(author="ada", sign="ada") as tx:
            one = tx.add_node("Doc", summary="one thing", key="one", content=b"z" * 4200)
            two = tx.add_node("Doc", summary="another thing", key="two")
            tx.add_edge(one, "cites", two)
            tx.set_vector(one, model="m", vector=np.ones(2))
        repo.tag("v1")
        with repo.transaction(author="ada") as tx:
            tx.tombstone(two, reason="wrong")
        repo.retrieve("thing")
        with repo.stage.transaction() as tx:
            tx.add_node("Note", summary="staged")
    return tmp_path / "repo"


def told(folder: Path) -> object:
    """Returns everything that can be asked: answers, refs, logs, trust."""
    with ibidem.open(folder) as repo:
        before = [block for _, block in repo.core.receipts.blocks()]
        asked = [
            repo.at(rev).retrieve("thing", vector=("m", [1.0, 0.5])).to_bytes()
            for rev in ("HEAD", "v1")
        ]
        return (
            asked,
            repo.current_branch,
            {name: cid.raw for name, cid in {**repo.branches(), **repo.tags()}.items()},
            [operation.cid.raw for operation in repo.history.operations()],
            [commit.cid.raw for commit in repo.history.log()],
            [(change.family, change.id.raw, change.after) for change in repo.stage.changes()],
            [block.to_map() for block in repo.query(include_tombstoned=True)],
            [str(verdict.standing) for verdict in repo.keys.verify()],
            repo.keys.ring.trust(),
            repo.keys.ring.private("ada").seed,
            before,
        )


def restore(files: dict[Path, bytes]) -> None:
    for path, data in files.items():
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def flips(files: dict[Path, bytes], sample: int | None) -> Iterator[tuple[Path, int, int]]:
    """Yields (file, place, mask): every byte with one bit, or a sample of each file."""
    rng = random.Random(3)
    for path in sorted(files):
        if path.name == "lock.mdb":
            continue  # written anew by the first process that opens the store
        size = len(files[path])
        places = (
            range(size) if sample is None else sorted(rng.sample(range(size), min(size, sample)))
        )
        for at in places:
            yield path, at, 1 << rng.randrange(8)


EVERY = os.environ.get("IBIDEM_TEST_EVERY_FLIP") == "1"
"""Every byte of every file takes most of an hour; without it the slow run takes a sample."""


@pytest.mark.parametrize("sample", [3, pytest.param(None if EVERY else 40, marks=pytest.mark.slow)])
def test_every_flip_is_found_or_without_effect(folder: Path, sample: int | None) -> None:
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    before = told(folder)
    restore(files)
    counts: Counter[str] = Counter()
    slack = {
        at
        for start, stop in check_pages(folder / ".ibidem/blocks/data.mdb", TABLES).slack
        for at in range(start, stop)
    }
    rng = random.Random(4)
    for path, at, mask in flips(files, sample):
        is_slack = path.name == "data.mdb" and at in slack
        if is_slack and sample is None and rng.random() > 0.01:
            counts["slack"] += 1  # no record covers it; one in a hundred is tried all the same
            continue
        damaged = bytearray(files[path])
        damaged[at] ^= mask
        path.write_bytes(damaged)
        try:
            report = fsck_folder(folder)
            is_found = not report.is_clean or bool(report.notes)
        except IbidemError:
            is_found = True
        if is_found:
            counts["found"] += 1
        else:
            counts["without effect"] += 1
            assert told(folder) == before, f"{path} at {at} with {mask}"
        restore(files)
    print(dict(counts))
    assert counts["found"] > counts["without effect"] / 4
