"""Everything that can be wrong is found, named, and told from what is only absent on purpose."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import dag_cbor
import numpy as np
import pytest

import ibidem
from ibidem.objects import codec
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import StorageError
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, Tree, mutate
from ibidem.objects.tree.block import encode as encode_tree
from ibidem.repo.maintenance.folder import fsck_folder, repair_folder
from ibidem.repo.maintenance.report import FaultKind, FsckReport
from ibidem.repo.repository import Repository

from .conftest import fill


def kinds(report: FsckReport) -> set[FaultKind]:
    return {fault.kind for fault in report.faults}


def commit_root(repo: Repository, root: Root, *more: tuple[Cid, bytes]) -> CommitCid:
    """Puts a root, whatever is in it, and a branch on it, as nothing here would do."""
    block = root.encode()
    head = repo.head
    commit = Commit(RootCid.of(block), () if head is None else (head,), message="by hand")
    repo.core.store.put({RootCid.of(block): block, commit.cid: commit.encode(), **dict(more)})
    repo.branch("by-hand", at=commit.cid)
    return commit.cid


def test_a_whole_repository_is_clean_and_everything_is_counted(folder: Path) -> None:
    report = fsck_folder(folder)
    assert report.is_clean
    assert report.notes == ()
    assert report.unreachable_count == 0
    assert report.counts["node"] == 6
    assert report.counts["blob"] == 1
    assert report.counts["operation"] == 5
    assert report.counts["logged-receipt"] == 1
    assert report.counts["page"] > 10


def test_every_block_that_is_missing_or_damaged_is_named(repo: Repository) -> None:
    """Leaf values and the trees of every branch too, not only what the head needs."""
    fill(repo)
    store = repo.core.store
    for cid in list(store.cids()):
        if cid == EMPTY_TREE:
            continue  # reads as empty whether it is here or not
        block = store.get(cid)
        store.delete([cid])
        report = repo.maintenance.fsck()
        assert any(
            fault.cid == cid or fault.kind in (FaultKind.LOG, FaultKind.CELL)
            for fault in report.faults
        ), cid
        store._blocks[cid] = block[:-1] + bytes([block[-1] ^ 1])  # type: ignore[attr-defined]
        report = repo.maintenance.fsck()
        assert any(
            fault.cid == cid or fault.kind in (FaultKind.LOG, FaultKind.CELL)
            for fault in report.faults
        ), cid
        store._blocks[cid] = block  # type: ignore[attr-defined]
    assert repo.maintenance.fsck().is_clean


def test_all_parents_are_followed(repo: Repository) -> None:
    """The seed of this project followed the first parent only."""
    ids = fill(repo)
    repo.stage.clear()
    repo.switch("side")
    with repo.transaction() as tx:
        tx.update_node(ids["doc 3"], summary="changed on the side")
    side = repo.commit_at()
    repo.switch("main")
    repo.merge("side")
    repo.delete_branch("side")
    repo.maintenance.gc(keep_operations=1)
    gone = Tree(repo.core.store, Root.decode(repo.core.store.get(side.root)).nodes).cid
    repo.core.store.delete([gone])
    assert any(fault.cid == gone for fault in repo.maintenance.fsck().faults)


def test_an_edge_without_its_node_is_dangling(repo: Repository) -> None:
    ids = fill(repo)
    root = repo.at().root
    buffer = WriteBatch(repo.core.store)
    nodes = mutate(root.nodes, {ids["doc 1"].raw: None}, buffer)
    commit_root(
        repo,
        Root(nodes, root.edges, root.tombstones, root.conflicts, root.vectors, config=root.config),
        *buffer.new.items(),
    )
    found = [fault for fault in repo.maintenance.fsck().faults if fault.kind is FaultKind.DANGLING]
    assert {fault.where.split()[0] for fault in found} == {"edge", "vectors"}
    assert all(ids["doc 1"].raw.hex() in fault.detail for fault in found)


def test_a_value_under_another_key_or_of_another_kind_is_malformed(repo: Repository) -> None:
    ids = fill(repo)
    root = repo.at().root
    cid = Tree(repo.core.store, root.nodes).get(ids["doc 0"].raw)
    edge = next(iter(Tree(repo.core.store, root.edges).items()))[1]
    for key, value in ((ids["doc 3"].raw, cid), (ids["doc 3"].raw, edge)):
        buffer = WriteBatch(repo.core.store)
        nodes = mutate(root.nodes, {key: value}, buffer)
        fields = {name: getattr(root, name) for name in ("edges", "tombstones", "conflicts")}
        commit_root(repo, Root(nodes, **fields, config=root.config), *buffer.new.items())
        assert FaultKind.MALFORMED in kinds(repo.maintenance.fsck())
        repo.delete_branch("by-hand")


def test_a_tree_that_build_would_not_make_is_malformed(repo: Repository) -> None:
    fill(repo, count=3)
    root = repo.at().root
    keys, cids = Tree(repo.core.store, root.nodes).arrays()
    leaf = encode_tree(0, keys[:1].tobytes(), cids[:1].tobytes(), b"")
    rest = encode_tree(0, keys[1:].tobytes(), cids[1:].tobytes(), b"")
    joined = Cid.of(leaf).raw + Cid.of(rest).raw
    counts = (1).to_bytes(8, "big") + (len(keys) - 1).to_bytes(8, "big")
    top = encode_tree(1, keys[0].tobytes() + keys[-1].tobytes(), joined, counts)
    cid = type(root.nodes).of(top)
    fields = {name: getattr(root, name) for name in ("edges", "tombstones", "conflicts")}
    blocks = ((Cid.of(block), block) for block in (leaf, rest, top))
    commit_root(repo, Root(cid, **fields, config=root.config), *blocks)
    assert any("should not" in fault.detail for fault in repo.maintenance.fsck().faults)


def test_a_block_in_another_form_than_its_value_has_is_malformed(repo: Repository) -> None:
    ids = fill(repo)
    root = repo.at().root
    node = repo.at().node(ids["doc 0"])
    block = codec.encode({**node.to_map(), "tail": ""})
    buffer = WriteBatch(repo.core.store)
    buffer.put(Cid.of(block), block)
    nodes = mutate(root.nodes, {node.id.raw: Cid.of(block)}, buffer)
    fields = {name: getattr(root, name) for name in ("edges", "tombstones", "conflicts")}
    commit_root(repo, Root(nodes, **fields, config=root.config), *buffer.new.items())
    assert any("left out" in fault.detail for fault in repo.maintenance.fsck().faults)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ({"origin": None}, FaultKind.CELL),
        ({"strange": b"1"}, FaultKind.CELL),
        ({"origin": b"x" * 36}, FaultKind.CELL),
        ({"stage": b"\xa0"}, FaultKind.CELL),
        ({"horizon": b"\x01\x71\x1e\x20" + bytes(32)}, FaultKind.LOG),
        ({"head": b"\x01\x71\x1e\x20" + bytes(32)}, FaultKind.MISSING),
        ({"erasing": b"1"}, FaultKind.UNFINISHED),
    ],
)
def test_a_cell_that_is_not_what_it_should_be_is_named(
    repo: Repository, cells: dict[str, bytes | None], kind: FaultKind
) -> None:
    fill(repo)
    repo.core.store.publish(
        {}, {name: (repo.core.store.cell(name), value) for name, value in cells.items()}
    )
    assert kind in kinds(repo.maintenance.fsck())


def test_an_unknown_kind_is_named_and_never_taken_for_a_leaf(repo: Repository) -> None:
    fill(repo)
    later = codec.encode({"kind": "later", "v": 1})
    repo.core.store.put({Cid.of(later): later})
    root = repo.at().root
    buffer = WriteBatch(repo.core.store)
    conflicts = mutate(root.conflicts, {bytes(16): Cid.of(later)}, buffer)
    fields = {name: getattr(root, name) for name in ("nodes", "edges", "tombstones")}
    made = Root(**fields, conflicts=conflicts, vectors=root.vectors, config=root.config)
    commit_root(repo, made, *buffer.new.items())
    assert FaultKind.UNKNOWN in kinds(repo.maintenance.fsck())


def damage(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


FILES: list[tuple[str, Callable[[Path], Path], FaultKind]] = [
    ("segment", lambda root: min((root / "index/segments").iterdir()), FaultKind.INDEX),
    ("manifest", lambda root: min((root / "index/snapshots").iterdir()), FaultKind.INDEX),
    ("receipt log", lambda root: root / "receipts/log", FaultKind.RECEIPT),
    ("embeddings", lambda root: root / "embeddings" / bytes(32).hex() / "07", FaultKind.CACHE),
    ("trust", lambda root: root / "keys/trusted", FaultKind.KEY),
]


@pytest.mark.parametrize(("name", "find", "kind"), FILES, ids=[name for name, *_ in FILES])
def test_damage_beside_the_blocks_is_named_and_mended(
    folder: Path, name: str, find: Callable[[Path], Path], kind: FaultKind
) -> None:
    with ibidem.open(folder) as repo:
        vectors = {
            bytes([7] * 32): np.ones(3, np.float32),
            bytes([7] * 31 + [1]): np.ones(3, "<f4"),
        }
        repo.core.vector_cache.add(bytes(32), vectors)
        repo.keys.ring.generate("ada")
    assert fsck_folder(folder).is_clean
    damage(find(folder / ".ibidem"), 50)
    report = fsck_folder(folder)
    assert kinds(report) == {kind}
    assert report.is_data_whole == (kind in (FaultKind.INDEX, FaultKind.CACHE))
    mended = repair_folder(folder, report, None)
    if kind is not FaultKind.KEY:  # nobody else has it
        assert mended.is_clean
        assert mended.repaired
    with ibidem.open(folder) as repo:
        assert repo.retrieve("summary").items


@pytest.mark.parametrize("name", ["index/segments", "index/snapshots", "receipts", "embeddings"])
def test_a_damaged_file_that_cannot_be_removed_is_an_error_of_the_medium(
    folder: Path, name: str
) -> None:
    with ibidem.open(folder) as repo:
        repo.core.vector_cache.add(bytes(32), {bytes([7] * 32): np.ones(3, np.float32)})
    path = min(one for one in (folder / ".ibidem" / name).rglob("*") if one.is_file())
    path = path.with_name("log") if name == "receipts" else path
    damage(path, 50)
    report = fsck_folder(folder)
    assert report.faults
    path.unlink()
    path.mkdir()
    with pytest.raises(StorageError, match=path.name):
        repair_folder(folder, report, None)


def test_a_receipt_that_a_crash_cut_off_is_a_note(folder: Path) -> None:
    path = folder / ".ibidem/receipts/log"
    path.write_bytes(path.read_bytes()[:-7])
    report = fsck_folder(folder)
    assert report.is_clean
    assert "cut off" in report.notes[0]


def test_damaged_and_missing_blocks_come_from_another_copy(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "other")
    with ibidem.open(folder) as repo:
        repo.core.store.delete(list(repo.core.store.cids())[::3])
        before = repo.maintenance.fsck()
        assert before.faults
    after = repair_folder(folder, before, tmp_path / "other")
    assert after.is_clean
    assert after.repaired
    with ibidem.open(folder) as repo:
        assert repo.retrieve("summary").items


def test_a_block_from_another_copy_is_believed_for_its_hash_alone(repo: Repository) -> None:
    ids = fill(repo)
    gone = repo.at().node(ids["doc 0"]).cid

    class Liar:
        def get(self, cid: Cid) -> bytes:
            return Node(ids["doc 0"], "Doc").encode()

    repo.core.store.delete([gone])
    after = repo.maintenance.repair(repo.maintenance.fsck(), Liar())
    assert not after.repaired
    assert not after.is_clean


def test_a_damaged_layout_is_found_before_the_file_is_opened(folder: Path) -> None:
    path = folder / ".ibidem/blocks/data.mdb"
    data = bytearray(path.read_bytes())
    data[16 + 120 + 8 + 0] += 2  # the number of a transaction
    path.write_bytes(data)
    report = fsck_folder(folder)
    assert kinds(report) == {FaultKind.PAGE}
    with pytest.raises(ibidem.objects.errors.CorruptError):
        repair_folder(folder, report, None)


def test_wrong_bounds_in_an_index_are_found_though_every_hash_is_right(repo: Repository) -> None:
    from ibidem.index.bounds import bound_problem
    from ibidem.index.segments.segment import Segment

    fill(repo)
    for segment in repo.at().snapshot().state.segments():
        assert bound_problem(segment) is None
        for name in ("residual", "norms", "codes", "scale", "term.impacts", "term.tops"):
            column = segment.columns().get(name)
            if column is None or not len(column):
                continue
            wrong = column.copy()
            wrong.reshape(-1)[-1] = wrong.reshape(-1)[-1] // 2 if name != "scale" else 0
            columns = {**segment.columns(), name: wrong}
            assert bound_problem(Segment("wrong", columns, segment.meta, 0)) is not None, name


def test_an_index_of_vectors_that_lean_one_way_is_whole(tmp_path: Path) -> None:
    from ibidem.index.bounds import bound_problem
    from ibidem.index.segments.codes import CENTRE_COLUMNS
    from ibidem.index.segments.segment import Segment

    rows = np.random.default_rng(1).standard_normal((1_100, 8)).astype(np.float32) + 3.0
    with ibidem.init(tmp_path / "leaning") as repo:
        with repo.transaction() as tx:
            for number, row in enumerate(rows):
                tx.set_vector(tx.add_node("N", key=number), model="m", vector=row)
        repo.retrieve(vector=("m", [1.0] * 8), limit=3)
        assert repo.maintenance.fsck().faults == ()
        (segment,) = (
            one for one in repo.at().snapshot().state.segments() if CENTRE_COLUMNS[0] in one
        )
        assert bound_problem(segment) is None
        for name in ("codes", "residual", *CENTRE_COLUMNS):
            columns = {**segment.columns(), name: segment[name] // 2}
            assert bound_problem(Segment("wrong", columns, segment.meta, 0)) is not None, name
    assert fsck_folder(tmp_path / "leaning").is_clean


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="the system has no files without names")
def test_a_check_keeps_no_part_of_an_index_in_memory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ibidem.index.segments.store import MemorySegmentStore

    kept: list[object] = []
    monkeypatch.setattr(MemorySegmentStore, "put", lambda *arguments: kept.append(arguments))
    assert fsck_folder(folder).is_clean
    assert not kept


def test_a_snapshot_of_other_rows_than_its_root_has_is_found(folder: Path) -> None:
    from ibidem.index.audit import row_problems

    with ibidem.open(folder) as repo:
        held = repo.at().snapshot()
        assert list(row_problems(held, repo.at().root, repo.core.store)) == []
        problems = list(row_problems(held, repo.at("v1").root, repo.core.store))
    assert any("nodes" in problem for problem in problems)


def test_comparing_the_rows_of_a_snapshot_looks_up_no_parts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ibidem.index.audit import row_problems
    from ibidem.index.snapshot import Snapshot

    looked_up: list[int] = []
    for name in ("children", "parent"):
        monkeypatch.setattr(Snapshot, name, lambda _, ordinal: looked_up.append(ordinal))
    with ibidem.open(folder) as repo:
        assert list(row_problems(repo.at().snapshot(), repo.at().root, repo.core.store)) == []
    assert looked_up == []


def test_a_deep_check_reports_what_a_second_library_reads_differently(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(repo)
    assert repo.maintenance.fsck(deep=True).is_clean
    block_count = sum(not cid.is_raw for cid in repo.core.store.cids())
    chosen = next(cid for cid in repo.core.store.cids() if not cid.is_raw)
    read, seen = dag_cbor.decode, []

    def decode(block: bytes) -> object:
        seen.append(Cid.of(block))
        return {"kind": "another"} if seen[-1] == chosen else read(block)

    monkeypatch.setattr(dag_cbor, "decode", decode)
    report = repo.maintenance.fsck(deep=True)
    assert len(seen) == block_count
    assert [(fault.kind, fault.cid) for fault in report.faults] == [
        (FaultKind.DISAGREEMENT, chosen)
    ]
    assert not report.is_data_whole
    seen.clear()
    assert repo.maintenance.fsck().is_clean
    assert not seen
