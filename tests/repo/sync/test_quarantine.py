"""Blocks that wait: no other import takes their folder for one that nobody has, and none is read
more often than it must."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

import ibidem
from ibidem.objects import codec
from ibidem.objects.cid import BlobCid, Cid, CommitCid, VectorCid
from ibidem.objects.errors import ErrorKind, StorageError
from ibidem.objects.links import links
from ibidem.objects.vector import Vector
from ibidem.repo.core import Core
from ibidem.repo.erasure import quarantines
from ibidem.repo.repository import Repository
from ibidem.repo.sync.local_remote import LocalRemote
from ibidem.repo.sync.missing_blocks import kind_of
from ibidem.repo.sync.quarantine import Quarantine
from ibidem.repo.sync.receive import Intake
from ibidem.store.testing import RecordingStore

from .conftest import filled


def test_a_folder_that_was_just_made_is_not_swept_by_another_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, refused = tempfile.mkdtemp, []
    block = b"from elsewhere"
    monkeypatch.setattr(quarantines, "_CLAIM_SECONDS", 0.0)
    with (
        ibidem.init(tmp_path) as repo,
        Quarantine(repo.core, memory_bytes_max=0) as first,
        Quarantine(repo.core, memory_bytes_max=0) as second,
    ):

        def made(**options: object) -> str:
            monkeypatch.setattr(tempfile, "mkdtemp", make)
            folder = make(**options)  # type: ignore[call-overload]
            with pytest.raises(StorageError) as error:
                second.take([(BlobCid.of(block), block)])
            refused.append(error.value.kind)
            return str(folder)

        monkeypatch.setattr(tempfile, "mkdtemp", made)
        first.take([(BlobCid.of(block), block)])
        assert refused == [ErrorKind.LOCKED]
        second.take([(BlobCid.of(block), block)])
        assert first[BlobCid.of(block)] == second[BlobCid.of(block)] == block
    assert not list((tmp_path / ".ibidem").glob("quarantine-*"))


def test_what_a_killed_import_has_left_goes_with_the_next(tmp_path: Path) -> None:
    block = b"from elsewhere"
    with ibidem.init(tmp_path) as repo:
        left = tmp_path / ".ibidem" / "quarantine-left"
        (left / "blocks").mkdir(parents=True)
        with Quarantine(repo.core, memory_bytes_max=0) as found:
            found.take([(BlobCid.of(block), block)])
            assert not left.exists()


def test_blocks_of_a_clone_are_written_in_batches_and_refused_ones_go_again(
    tmp_path: Path,
) -> None:
    with ibidem.init(tmp_path) as repo:
        before = set(repo.core.store.cids())
        bodies = [b"%d" % number * 100 for number in range(40)]
        blocks = {BlobCid.of(body): body for body in bodies}
        accepted = set(list(blocks)[:30])
        store = RecordingStore(repo.core.store)
        repo.core.store = store  # type: ignore[assignment]
        with Quarantine(repo.core, memory_bytes_max=1_500, is_unseen=True) as found:
            found.take(blocks.items())
            assert store.publish_count > 5
            assert store.size_bytes <= store.publish_count * 1_500
            assert store.block_count + len(found._pending) == len(found) == 40
            assert not list((tmp_path / ".ibidem").glob("quarantine-*"))
            assert {cid: found[cid] for cid in found} == blocks
            rest = found.accept(accepted.__contains__)
            assert set(rest) == accepted & set(found._pending)
            store.put(dict(rest))
        assert set(store.cids()) - before == accepted  # type: ignore[operator]
        assert all(store.get(cid) == blocks[cid] for cid in accepted)


def test_a_block_that_is_sent_twice_is_here_once(tmp_path: Path) -> None:
    vectors = [Vector("i8", 2, bytes(32), bytes((1, number))).encode() for number in range(40)]
    blocks = {VectorCid.of(block): block for block in vectors}
    with (
        ibidem.init(tmp_path) as repo,
        Quarantine(repo.core, memory_bytes_max=3_000, is_unseen=True) as found,
    ):
        before = set(repo.core.store.cids())
        found.take([*list(blocks.items())[:1] * 3, *blocks.items(), *blocks.items()])
        assert len(found) == 40
        assert {cid: found[cid] for cid in found} == blocks
        noted = found.fields_of(list(blocks))
        assert all(fields in ({}, {"kind": "vector", "dim": 2}) for fields in noted)
        assert found.fields_of([BlobCid.of(b"not here")]) == [None]
        assert not found.accept(lambda _: False)
        assert set(repo.core.store.cids()) == before


class CountingQuarantine(Quarantine):
    """Counts how often each block is read."""

    def __init__(self, repository: Core) -> None:
        super().__init__(repository)
        self.reads = Counter[Cid]()

    def __getitem__(self, cid: Cid) -> bytes:
        self.reads[cid] += 1
        return super().__getitem__(cid)

    def get_many(self, cids: Sequence[Cid]) -> list[bytes]:
        self.reads.update(cids)
        return super().get_many(cids)


def filled_pack(theirs: Repository) -> tuple[CommitCid, dict[Cid, bytes]]:
    """Fills a repository; returns its head and the blocks of a clone of it."""
    filled(theirs)
    head = theirs.head
    assert head is not None
    return head, dict(LocalRemote(theirs.core).pack([head], []))


def test_an_inspection_reads_only_values_of_which_not_all_is_noted_and_once() -> None:
    with ibidem.init() as theirs, ibidem.init() as ours:
        head, pack = filled_pack(theirs)
        with CountingQuarantine(ours.core) as found:
            found.take(pack.items())
            Intake(ours.core, found).inspect([head])
        kinds = {cid: kind_of(block) for cid, block in pack.items() if not cid.is_raw}
        nodes = [cid for cid in kinds if kinds[cid] == "node"]
        long = {cid for cid in nodes if list(links(pack[cid]))}
        assert long
        assert {cid for cid in nodes if found.reads[cid]} == long
        for kind, reads in {"node": 1, "edge": 0, "sparse": 1, "vector": 0}.items():
            cids = long if kind == "node" else {cid for cid in kinds if kinds[cid] == kind}
            assert {found.reads[cid] for cid in cids} == {reads}, kind


def test_noted_fields_are_those_of_the_value(tmp_path: Path) -> None:
    with ibidem.init() as theirs, ibidem.init() as ours:
        _, pack = filled_pack(theirs)
        with Quarantine(ours.core) as found:
            found.take(pack.items())
            counts = Counter[str]()
            for block, noted in zip(pack.values(), found.fields_of(list(pack)), strict=True):
                assert noted is not None
                if noted:
                    assert noted.items() <= codec.decode(block).items()
                    counts[noted["kind"]] += 1
    assert counts == {"node": 27, "edge": 29, "vector": 10}
