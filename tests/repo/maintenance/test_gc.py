"""Garbage goes, everything needed stays, and nobody who writes meanwhile loses a block."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.objects import codec
from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.errors import (
    CorruptError,
    FormatError,
    InvalidInputError,
    NotFoundError,
    StorageError,
)
from ibidem.objects.walk import Link
from ibidem.repo.bootstrap import bootstrapped
from ibidem.repo.core import Core
from ibidem.repo.maintenance import garbage
from ibidem.repo.repository import Repository
from ibidem.store.files import whole_file
from ibidem.store.memory import MemoryStore
from ibidem.store.protocol import NO_CELLS

from .conftest import fill

SOURCE = str(Path(__file__).parents[3] / "src")


@pytest.mark.skipif(sys.platform == "win32", reason="no kill, and no lock of a file")
def test_files_of_killed_writers_go_and_those_of_living_ones_stay(folder: Path) -> None:
    with ibidem.open(folder) as repo:
        inner = folder / ".ibidem"
        before = {path for path in inner.rglob("*") if path.is_file()}
        folders = [inner / name for name in ("index", "index/segments", "index/snapshots", "keys")]
        for one in folders:
            one.mkdir(exist_ok=True)
            worker = os.fork()
            if not worker:
                with whole_file(one / "uses", is_durable=False):
                    os.kill(os.getpid(), signal.SIGKILL)
            os.waitpid(worker, 0)
        assert repo.maintenance.fsck().notes
        with ExitStack() as living:
            for one in folders:
                file = living.enter_context(whole_file(one / "written", is_durable=False))
                file.write(b"here")
            repo.maintenance.gc(dry_run=True)
            repo.maintenance.gc()
        written = {one / "written" for one in folders}
        assert {path for path in inner.rglob("*") if path.is_file()} == before | written


def abandoned(repo: Repository) -> CommitCid:
    """Makes a commit that nothing but the log leads to, with content of its own."""
    branch = repo.current_branch
    repo.branch("doomed")
    repo.switch("doomed")
    with repo.transaction(message="doomed") as tx:
        tx.add_node("Doc", summary="unusual phrase", content=b"y" * 9000, key="doomed")
    head = repo.head
    assert head is not None
    repo.switch(branch)
    repo.delete_branch("doomed")
    return head


def test_what_the_log_can_still_undo_stays(repo: Repository) -> None:
    fill(repo)
    abandoned(repo)
    before = repo.core.store.stats().block_count
    report = repo.maintenance.gc()
    assert (report.block_count, repo.core.store.stats().block_count) == (0, before)
    repo.history.undo()
    assert "doomed" in repo.branches()


def test_a_collection_is_nothing_to_undo(repo: Repository) -> None:
    for number in range(4):
        with repo.transaction(message=f"commit {number}") as tx:
            tx.add_node("Note", summary=f"note {number}")
    repo.maintenance.gc(keep_operations=2)
    assert repo.history.undo().operation.description == "undo commit on heads/main"
    assert repo.commit_at().message == "commit 2"
    with pytest.raises(InvalidInputError, match="given up by 'repo gc'"):
        repo.history.undo()
    repo.maintenance.gc(keep_operations=4)
    assert repo.history.redo().operation.description.startswith("redo undo commit")
    assert repo.commit_at().message == "commit 3"


def test_given_up_operations_take_what_only_they_held_with_them(repo: Repository) -> None:
    ids = fill(repo)
    gone = abandoned(repo)
    wanted = repo.maintenance.gc(keep_operations=1, dry_run=True)
    assert wanted.counts["commit"] == 1
    assert wanted.counts["blob"] == 1
    assert wanted.counts["node"] == 1
    assert repo.core.store.has(gone)
    done = repo.maintenance.gc(keep_operations=1)
    assert done.counts == wanted.counts
    assert (done.block_count, done.size_bytes) == (wanted.block_count, wanted.size_bytes)
    assert not repo.core.store.has(gone)
    assert repo.maintenance.fsck().is_clean
    assert repo.maintenance.fsck().unreachable_count == 0
    assert repo.at("v1").node(ids["doc 0"]).summary == "summary 0"
    assert len(list(repo.stage.changes())) == 1
    with pytest.raises(InvalidInputError):  # noqa: PT012  which of them is beside the point
        for _ in range(3):
            repo.history.undo()
    assert repo.maintenance.fsck().is_clean


def test_what_was_never_visible_goes(repo: Repository) -> None:
    fill(repo)
    repo.stage.clear()
    report = repo.maintenance.gc()
    assert report.counts == {"node": 1, "root": 1, "tree": 1}
    assert repo.maintenance.gc().block_count == 0


def test_kept_receipts_and_runs_hold_their_roots(repo: Repository) -> None:
    fill(repo)
    repo.branch("asked")
    repo.switch("asked")
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="asked about")
    result = repo.retrieve("asked about")
    assert result.receipt is not None
    repo.receipts.keep(result.receipt)
    repo.switch("main")
    repo.delete_branch("asked")
    repo.maintenance.gc(keep_operations=1)
    assert repo.receipts.replay(result.receipt).to_bytes() == result.to_bytes()
    assert repo.maintenance.fsck().is_clean


def test_snapshots_of_roots_that_are_gone_go_with_their_files(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        fill(repo)
        gone = abandoned(repo)
        repo.at(gone).retrieve("unusual phrase")
        repo.retrieve("another")  # the snapshot of a root that was only asked is written by now
        root = repo.at(gone).root_cid
        assert root in repo.core.search_index.current.remembered()
        assert repo.maintenance.gc(keep_operations=1).snapshot_count == 1
        assert root not in repo.core.search_index.current.remembered()
        assert repo.maintenance.fsck().is_clean


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        fill(repo)
        for number in range(3):
            repo.retrieve("summary")  # so the next commit is indexed, most of them only in memory
            with repo.transaction() as tx:
                tx.add_node("Doc", summary=f"another {number}")
        assert repo.at().root_cid not in repo.core.search_index.current.remembered()
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        repo.maintenance.gc(keep_operations=1, dry_run=True)
        after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        assert after.keys() == before.keys()
        assert [path.name for path in after if after[path] != before[path]] == []


@pytest.mark.parametrize("block", [{"kind": "later", "v": 1}, {"kind": "conflict", "v": 2}])
def test_an_unknown_kind_or_version_stops_it(repo: Repository, block: dict[str, object]) -> None:
    from ibidem.objects.blocks import WriteBatch
    from ibidem.objects.root import Root
    from ibidem.objects.tree import mutate

    from .test_fsck import commit_root

    fill(repo)
    later = codec.encode(block)
    root = repo.at().root
    buffer = WriteBatch(repo.core.store)
    buffer.put(Cid.of(later), later)
    conflicts = mutate(root.conflicts, {bytes(16): Cid.of(later)}, buffer)
    fields = {name: getattr(root, name) for name in ("nodes", "edges", "tombstones")}
    commit_root(repo, Root(**fields, conflicts=conflicts), *buffer.new.items())
    before = list(repo.core.store.cids())
    with pytest.raises(FormatError):
        repo.maintenance.gc()
    assert list(repo.core.store.cids()) == before


def test_an_unknown_cell_stops_it(repo: Repository) -> None:
    repo.core.store.publish({}, {"later": (None, b"1")})
    with pytest.raises(FormatError):
        repo.maintenance.gc()


def test_a_missing_block_stops_it(repo: Repository) -> None:
    ids = fill(repo)
    repo.core.store.delete([repo.at().node(ids["doc 0"]).cid])
    before = list(repo.core.store.cids())
    with pytest.raises(CorruptError):
        repo.maintenance.gc(keep_operations=1)
    assert set(before) <= set(repo.core.store.cids())


@pytest.mark.parametrize("keep", [0, -1])
def test_keeping_no_operation_is_refused(repo: Repository, keep: int) -> None:
    with pytest.raises(InvalidInputError):
        repo.maintenance.gc(keep_operations=keep)


class Interrupted(MemoryStore):
    """Lets something happen right before the nth deletion."""

    def __init__(self) -> None:
        super().__init__()
        self.at = 0
        self.happening: list[object] = []

    def delete(self, cids: Iterable[Cid], *, cells: Mapping[str, bytes | None] = NO_CELLS) -> int:
        self.at -= 1
        if self.at == 0:
            for call in self.happening:
                call()  # type: ignore[operator]
        return super().delete(cids, cells=cells)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "BATCH_BLOCKS", 2)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_commit_that_needs_condemned_blocks_again_keeps_them(at: int) -> None:
    """The same content, added between mark and sweep, is put again and found needed."""
    store = bootstrapped(Interrupted(), None, "", lambda: 1)
    repo = Repository(Core(store, None, lambda: 1))
    fill(repo)
    abandoned(repo)
    other = Repository(Core(store, None, lambda: 1))

    def again() -> None:
        with other.transaction(message="doomed") as tx:
            tx.add_node("Doc", summary="unusual phrase", content=b"y" * 9000, key="doomed")

    store.at, store.happening = at, [again]
    repo.maintenance.gc(keep_operations=1)
    assert repo.maintenance.fsck().is_clean
    assert repo.at().retrieve("unusual phrase").items


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("at", [2, 5, 8, 11])
def test_an_erasure_after_a_collection_that_was_cut_short_finds_all_vectors(at: int) -> None:
    def failing() -> None:
        raise StorageError("input/output error")

    store = bootstrapped(Interrupted(), None, "", lambda: 1)
    with Repository(Core(store, None, lambda: 1)) as repo:
        nodes = []
        with repo.transaction() as tx:
            nodes += [tx.add_node("Doc", summary=f"what stays {key}", key=key) for key in range(20)]
        repo.branch("doomed")
        with repo.transaction(branch="doomed") as tx:
            for key, node in enumerate(nodes):
                tx.set_vector(node, model="m", vector=np.full(40, key + 0.3, np.float32))
        repo.delete_branch("doomed")
        store.at, store.happening = at, [failing]
        with pytest.raises(StorageError):
            repo.maintenance.gc(keep_operations=1)
        repo.maintenance.erase(nodes)
        left = [store.get(cid) for cid in store.cids()]
        rows = [np.full(40, key + 0.3, np.float32).tobytes() for key in range(20)]
        assert not [block for block in left if any(row in block for row in rows)]


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_branch_at_a_condemned_commit_survives_whole_or_is_refused(at: int) -> None:
    store = bootstrapped(Interrupted(), None, "", lambda: 1)
    repo = Repository(Core(store, None, lambda: 1))
    fill(repo)
    gone = abandoned(repo)
    other = Repository(Core(store, None, lambda: 1))
    refused = []

    def saved() -> None:
        try:
            other.branch("saved", at=gone)
        except NotFoundError as error:
            refused.append(error)

    store.at, store.happening = at, [saved]
    repo.maintenance.gc(keep_operations=1)
    assert repo.maintenance.fsck().is_clean
    assert ("saved" in repo.branches()) != bool(refused)
    assert bool(refused) == (at > 1)
    if not refused:
        assert repo.at("saved").retrieve("unusual phrase").items


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("is_committed", [False, True])
@pytest.mark.parametrize("at", [1, 2])
def test_a_first_stage_that_comes_meanwhile_keeps_what_it_holds(
    at: int, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    store = bootstrapped(Interrupted(), None, "", lambda: 1)
    repo, other = Repository(Core(store, None, lambda: 1)), Repository(Core(store, None, lambda: 1))
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="committed", key="committed")
    abandoned(repo)
    list_garbage = garbage.list_garbage

    def staged(*arguments: Any) -> dict[bytes, tuple[str, int]]:
        """Lists as garbage what is staged after all was marked."""
        with other.stage.transaction() as tx:
            tx.add_node("Doc", summary="staged", key="staged")
        return list_garbage(*arguments)

    monkeypatch.setattr(garbage, "list_garbage", staged)
    store.at, store.happening = at, [lambda: is_committed and other.stage.commit(message="late")]
    repo.maintenance.gc(keep_operations=1)
    assert repo.maintenance.fsck().is_clean
    if not is_committed:
        assert len(list(repo.stage.changes())) == 1
        repo.stage.commit(message="later")
    assert repo.retrieve("staged").items


LEASH = """
import os, threading
threading.Thread(target=lambda: os.read(0, 1) or os._exit(1), daemon=True).start()
"""
"""Ends the process as soon as nobody holds the other end of its input: with whoever began it."""
WRITER = """
import sys, ibidem
repo = ibidem.open(sys.argv[1])
for number in range(int(sys.argv[3])):
    with repo.transaction(message=sys.argv[2]) as tx:
        tx.add_node("Doc", summary=f"{sys.argv[2]} {number % 5}", key=f"{sys.argv[2]} {number}")
    name = f"{sys.argv[2]}-{number}"
    repo.branch(name)
    if number % 2:
        repo.delete_branch(name)
"""
READER = """
import sys, ibidem
repo = ibidem.open(sys.argv[1])
while repo.core.store.cell("head") and not repo.tags().get("done"):
    assert repo.retrieve("summary").items
    repo.commit_at()
"""


def begun(script: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Begins a process that ends with this one."""
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    command = [sys.executable, "-c", LEASH + script, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)


def test_what_a_test_has_begun_ends_with_a_test_that_is_killed() -> None:
    child = f"{LEASH}print('ready', flush=True)\nwhile True: pass"
    begin = [sys.executable, "-c", child]
    parent = f"import subprocess; subprocess.Popen({begin!r}, stdin=subprocess.PIPE).wait()"
    command = [sys.executable, "-c", parent]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.kill()
        # Ends only when the child has: until then that holds the other end.
        assert process.stdout.read() == b""


@pytest.mark.parametrize("commits", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_nothing_is_lost_beside_writers_and_readers(tmp_path: Path, commits: int) -> None:
    with ibidem.init(tmp_path) as repo:
        fill(repo)
        folder = str(tmp_path)
        writers = [begun(WRITER, folder, name, str(commits)) for name in ("a", "b")]
        reader = begun(READER, folder)
        rounds = 0
        while any(writer.poll() is None for writer in writers):
            repo.maintenance.gc(keep_operations=1 + rounds % 7)
            rounds += 1
        repo.tag("done")
        assert [writer.wait() for writer in writers] == [0, 0]
        assert reader.wait(300) == 0
        for process in (*writers, reader):
            assert process.stdin is not None
            process.stdin.close()
        assert rounds > 1
        report = repo.maintenance.fsck()
        assert report.faults == ()
        found = {node.key for node in repo.query(label="Doc") if node.key}
        assert len(found) == 3 + 2 * commits


def test_most_blocks_are_entered_once_though_each_view_has_another_tree_of_refs(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(repo)
    for number in range(60):
        repo.branch(f"b{number}")
    entered, enter = 0, garbage.Marks.enter

    def counted(marks: garbage.Marks, link: Link) -> bool:
        nonlocal entered
        entered += 1
        return enter(marks, link)

    monkeypatch.setattr(garbage.Marks, "enter", counted)
    report = repo.maintenance.gc(dry_run=True)
    assert entered <= 1.5 * report.kept_count  # with every entry of every tree it is 8 times
