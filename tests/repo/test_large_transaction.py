"""What a large transaction stages waits in a file; all else is as if it were in memory."""

from __future__ import annotations

import errno
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

import ibidem
from ibidem.objects.child import Child
from ibidem.objects.cid import Cid
from ibidem.objects.derive import node_id
from ibidem.objects.errors import ErrorKind, InvalidInputError, StorageError
from ibidem.objects.text import text_digest
from ibidem.repo.repository import Repository
from ibidem.repo.transaction.staged_blocks import ENTRY_BYTES, StagingFile
from ibidem.repo.transaction.transaction import Transaction

from .conftest import ticking
from .staging import refused
from .test_publish import environment

LIMIT = 4_000
"""Bytes that a transaction here holds in memory: those of some ten nodes."""
COUNT = 60

pytestmark = pytest.mark.skipif(not hasattr(os, "pread"), reason="all stays in memory here")


@contextmanager
def limited(
    repo: Repository, limit: int = LIMIT, *, is_staged: bool = False
) -> Iterator[Transaction]:
    begin = repo.stage.transaction if is_staged else repo.transaction
    with begin() as tx:
        tx._draft.staged_bytes_max = limit
        yield tx


def note(tx: Transaction, number: int, text: str = "note") -> ibidem.NodeId:
    return tx.add_node("Note", key=number, summary=f"{text} {number}", replace=True)


def everything(tx: Transaction) -> None:
    """Stages some of everything, and changes much of it."""
    hub = tx.add_node("Hub", key="hub", content="the hub " * 2_000)
    ids = [note(tx, number) for number in range(COUNT)]
    for number, id_ in enumerate(ids):
        tx.add_edge(hub, "has", id_)
        if number % 3:
            vector = np.full(8, number + 1, np.float32)
            tx.set_vector(id_, model="m", vector=vector)
            given = text_digest(f"text {number}") if number % 2 else None
            tx.set_vector(id_, model="other", vector=vector, of=given)
        if number % 4:
            tx.set_sparse(id_, vocab="v", indices=[number], weights=[0.5])
    for number in range(0, COUNT, 5):  # after their vectors have been encoded
        tx.update_node(ids[number], summary=f"changed {number}")
    for number in range(0, COUNT, 7):
        tx.update_node(ids[number], content=bytes([number]) * 6_000)
        tx.update_node(ids[number], content=bytes([number]) * 7_000)
    tx.set_vector(ids[1], model="m", vector=np.ones(8, np.float32))
    tx.remove_vector(ids[2], model="m")
    tx.remove_sparse(ids[3], vocab="v")
    tx.remove_node(ids[4])
    tx.remove_edge(tx.edges_of(ids[5])[0].id)
    for id_ in ids[6:9]:
        tx.tombstone(id_, reason="the same")
    late = node_id("", COUNT)
    tx.set_vector(late, model="m", vector=np.full(8, 9, np.float32))
    for number in range(COUNT, 2 * COUNT):
        note(tx, number)


def blocks(repo: Repository) -> dict[Cid, bytes]:
    return {cid: repo.core.store.get(cid) for cid in repo.core.store.cids()}


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Repository]]:
    """Makes repositories that begin alike and have equal clocks."""
    made: list[Repository] = []

    def make(name: str) -> Repository:
        made.append(ibidem.init(tmp_path / name, clock=ticking()))
        with made[-1].transaction() as tx:
            for number in range(0, COUNT, 6):
                note(tx, number, "before")
        return made[-1]

    yield make
    for repo in made:
        repo.close()


@pytest.mark.parametrize("is_staged", [False, True])
def test_the_stored_blocks_are_those_of_a_transaction_in_memory(
    disk: Callable[[str], Repository], is_staged: bool
) -> None:
    one, other = disk("one"), disk("other")
    with limited(one, is_staged=is_staged) as tx:
        everything(tx)
        assert tx._draft._file is not None
    with limited(other, limit=1 << 30, is_staged=is_staged) as tx:
        everything(tx)
        assert tx._draft._file is None
    assert blocks(one) == blocks(other)
    assert one.core.store.cells() == other.core.store.cells()
    assert one.maintenance.fsck().is_clean


def test_what_is_staged_reads_the_same(disk: Callable[[str], Repository]) -> None:
    repo = disk("one")
    with limited(repo) as tx:
        everything(tx)
        assert tx._draft._file is not None
        before = tx.at()
        nodes = {node.id: node for node in tx.nodes()}
        visible = {id_: node for id_, node in nodes.items() if not tx.is_tombstoned(id_)}
        assert visible == {node.id: node for node in before.nodes()}
        assert all(tx.find_node(id_) == node for id_, node in nodes.items())
        hub = node_id("", "hub")
        content, edges = tx.content(hub), tx.edges_of(hub)
        assert [edge.id for edge in before.edges_of(hub)] == [edge.id for edge in edges]
    assert {node.id: node for node in repo.at().nodes()} == visible
    assert {node.id: node for node in before.nodes()} == visible  # after the end, too
    assert repo.at().content(hub) == content == b"the hub " * 2_000
    assert repo.at().edges_of(hub) == edges


def test_memory_is_bounded_by_the_limit_and_little_for_each_block(
    disk: Callable[[str], Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    added: list[int] = []
    add = StagingFile.add

    def counted(self: StagingFile, blocks: Mapping[Cid, bytes]) -> None:
        added.append(sum(map(len, blocks.values())) + ENTRY_BYTES * len(blocks))
        add(self, blocks)

    monkeypatch.setattr(StagingFile, "add", counted)
    repo, held = disk("one"), []
    with limited(repo) as tx:
        for number in range(10 * COUNT):
            note(tx, number)
            vector = np.full(16, number, np.float32)
            tx.set_vector(node_id("", number), model="m", vector=vector)
            held.append((tx._draft.held_bytes, len(tx._draft._buffer.new)))
            assert sum(map(len, tx._draft._pending.values())) <= LIMIT // ENTRY_BYTES
    assert max(size for size, _ in held) < LIMIT + 1_000
    assert max(count for _, count in held) <= LIMIT // ENTRY_BYTES
    assert len(added) > 40
    assert max(added) < 2 * LIMIT


def test_vectors_that_wait_again_for_a_changed_text_count_as_held(
    disk: Callable[[str], Repository],
) -> None:
    with limited(disk("one")) as tx:
        ids = [note(tx, number) for number in range(10 * COUNT)]
        for id_ in ids:
            tx.set_vector(id_, model="m", vector=np.ones(256, np.float32))
        for id_ in ids:
            tx.update_node(id_, summary="changed")
            waiting = tx._draft._pending[("vectors", "m")]
            assert len(waiting) * 256 * 4 <= LIMIT + 1_024 * 2


def test_vectors_whose_nodes_come_later_do_not_stay_in_memory(
    disk: Callable[[str], Repository],
) -> None:
    one, other = disk("one"), disk("other")
    for repo, limit in ((one, LIMIT), (other, 1 << 30)):
        with limited(repo, limit) as tx:
            for number in range(10 * COUNT):
                vector = np.full(16, number, np.float32)
                tx.set_vector(node_id("", number), model="m", vector=vector)
                waiting = tx._draft._pending[("vectors", "m")]
                assert limit > LIMIT or len(waiting) <= LIMIT // ENTRY_BYTES
            for number in range(10 * COUNT):
                note(tx, number)
    assert blocks(one) == blocks(other)


def other_threads(*_: object) -> None:
    """Lets other threads go on."""
    time.sleep(0)


def test_threads_that_stage_and_read_in_one_transaction_lose_nothing(
    disk: Callable[[str], Repository],
) -> None:
    one, other = disk("one"), disk("other")
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(20, 2, 2)
    gc.callbacks.append(other_threads)
    try:
        with limited(one) as tx:
            hub = tx.add_node("Hub", key="hub")

            def work(thread: int) -> None:
                for number in range(thread, 16 * COUNT, 4):
                    id_ = note(tx, number)
                    tx.add_edge(hub, "has", id_)
                    tx.set_vector(id_, model="m", vector=np.ones(16, np.float32))
                    assert tx.node(id_).summary == f"note {number}"

            def look() -> None:
                while not all(future.done() for future in working):
                    list(tx.nodes())
                    tx.at()
                    tx.edges_of(hub)
                    tx.node_id(str(hub))

            with ThreadPoolExecutor(6) as pool:
                working = [pool.submit(work, thread) for thread in range(4)]
                for future in (*working, pool.submit(look), pool.submit(look)):
                    future.result()
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(other_threads)
    with limited(other, 1 << 30) as tx:
        hub = tx.add_node("Hub", key="hub")
        for number in range(16 * COUNT):
            id_ = note(tx, number)
            tx.add_edge(hub, "has", id_)
            tx.set_vector(id_, model="m", vector=np.ones(16, np.float32))
    assert blocks(one) == blocks(other)


def test_nothing_is_stored_before_the_commit_and_a_collection_changes_nothing(
    disk: Callable[[str], Repository], tmp_path: Path
) -> None:
    repo = disk("one")
    stored, listed = blocks(repo), files(tmp_path)
    with limited(repo) as tx:
        everything(tx)
        assert blocks(repo) == stored
        assert files(tmp_path) == listed
        with ibidem.open(tmp_path / "one") as other:
            other.maintenance.gc()
            assert other.at().root_cid == tx.base.cid
    assert repo.maintenance.fsck().is_clean
    assert len(list(repo.at().edges_of(node_id("", "hub")))) == COUNT - 2


@pytest.mark.parametrize("how", ["rollback", "error", "dangling"])
def test_what_was_given_up_leaves_nothing(
    disk: Callable[[str], Repository], tmp_path: Path, how: str
) -> None:
    repo = disk("one")
    stored, listed, head = blocks(repo), files(tmp_path), repo.head
    tx = repo.transaction()
    tx._draft.staged_bytes_max = LIMIT
    everything(tx)
    assert tx._draft._file is not None
    if how == "dangling":
        tx.add_edge(node_id("", "absent"), "to", node_id("", "hub"))
        refused(ErrorKind.DANGLING_REFERENCE, tx.publish)
    elif how == "error":
        tx.__exit__(StorageError, StorageError("given up"), None)
    else:
        tx.rollback()
    assert tx._draft._file is None
    assert (blocks(repo), files(tmp_path), repo.head) == (stored, listed, head)


def test_lists_of_parts_in_the_file_are_checked(disk: Callable[[str], Repository]) -> None:
    repo = disk("one")
    tx = repo.transaction()
    tx._draft.staged_bytes_max = LIMIT
    for number, other in (("a", "b"), ("b", "a")):
        part = Child(node_id("", other), "", 5, 0)
        tx.add_node("Section", key=number, namespace="", children=(part,))
    for number in range(COUNT):
        note(tx, number)
    assert len(tx._draft._parts) == 2
    with pytest.raises(InvalidInputError, match="contains itself"):
        tx.publish()
    assert node_id("", "a") not in {node.id for node in repo.at().nodes()}


def open_files() -> list[str]:
    return [str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no list of open files here")
def test_the_file_is_closed_at_the_end(disk: Callable[[str], Repository], tmp_path: Path) -> None:
    repo = disk("one")

    def unnamed() -> int:
        return sum(str(tmp_path) in name and "(deleted)" in name for name in open_files())

    with limited(repo) as tx:
        everything(tx)
        assert unnamed() == 1
    gc.collect()
    assert unnamed() == 0


def other_writer(repo: Repository, work: Callable[[Transaction], object]) -> None:
    assert repo.core.folder is not None
    with (
        ibidem.open(repo.core.folder.parent, clock=ticking()) as other,
        other.transaction() as tx,
    ):
        work(tx)


def only_additions(tx: Transaction) -> None:
    ids = [note(tx, 2 * COUNT + number, "new") for number in range(COUNT)]
    for id_ in ids:
        tx.add_edge(ids[0], "to", id_)
        tx.set_vector(id_, model="m", vector=np.ones(8, np.float32))


@pytest.mark.parametrize("work", [everything, only_additions])
def test_a_lost_race_is_merged_to_the_same_blocks(
    disk: Callable[[str], Repository], work: Callable[[Transaction], None]
) -> None:
    found = []
    for name, limit in (("one", LIMIT), ("other", 1 << 30)):
        repo = disk(name)
        with limited(repo, limit) as tx:
            work(tx)
            other_writer(repo, lambda tx: note(tx, 1_000, "of another writer"))
        assert repo.maintenance.fsck().is_clean
        assert repo.at().node(node_id("", 1_000))
        found.append(blocks(repo))
    assert found[0] == found[1]


def test_an_erasure_meanwhile_is_respected(disk: Callable[[str], Repository]) -> None:
    repo = disk("one")
    tx = repo.transaction()
    tx._draft.staged_bytes_max = LIMIT
    everything(tx)
    other_writer(repo, lambda tx: tx.add_node("Hub", key="hub"))
    repo.maintenance.erase([node_id("", "hub")])
    refused(ErrorKind.FORGOTTEN, tx.publish)
    assert repo.maintenance.fsck().is_clean


def test_a_full_disk_changes_nothing_and_what_was_staged_before_can_be_committed(
    disk: Callable[[str], Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = disk("one")
    write, room = os.pwrite, [3 * LIMIT]

    def writing(descriptor: int, data: bytes, at: int) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        some = data[: room[0]]
        room[0] -= len(some)
        return write(descriptor, some, at)

    with limited(repo) as tx:
        count = 1_000
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", writing)
            while room[0]:
                count += 1
                with suppress(StorageError):
                    note(tx, count)
            with pytest.raises(StorageError, match="No space left"):
                note(tx, count + 1)
        assert tx.find_node(node_id("", count)) is None
    found = {node.id for node in repo.at().nodes() if node.summary.startswith("note")}
    assert found == {node_id("", number) for number in range(1_001, count)}
    assert repo.maintenance.fsck().is_clean


def test_a_killed_process_leaves_nothing(disk: Callable[[str], Repository], tmp_path: Path) -> None:
    repo = disk("one")
    stored, listed = blocks(repo), files(tmp_path / "one")
    program = """
import sys, ibidem
with ibidem.open(sys.argv[1]) as repo, repo.transaction() as tx:
    tx._draft.staged_bytes_max = 4_000
    for number in range(10_000_000):
        tx.add_node("Doc", content=bytes(3000), key=["new", number])
        if number == 1_000:
            assert tx._draft._file is not None
            print("open", flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "one")],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        child.send_signal(signal.SIGKILL)
    assert (blocks(repo), files(tmp_path / "one")) == (stored, listed)
    assert repo.maintenance.fsck().is_clean
    with limited(repo) as tx:
        everything(tx)
    assert repo.maintenance.fsck().is_clean


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_does_not_overwrite_what_is_staged(
    disk: Callable[[str], Repository],
) -> None:
    repo = disk("one")
    with limited(repo) as tx:
        ids = [note(tx, number) for number in range(COUNT)]
        assert tx._draft._file is not None
        child = os.fork()
        if not child:
            try:
                for number in range(COUNT, 3 * COUNT):
                    note(tx, number, "of the child")
            except InvalidInputError as error:
                os._exit("which began it" not in str(error))
            finally:
                os._exit(1)
        ids += [note(tx, number) for number in range(COUNT, 2 * COUNT)]
        assert os.waitpid(child, 0)[1] == 0
    assert {node.id for node in repo.at().nodes()} == set(ids)
    assert repo.maintenance.fsck().is_clean


def test_a_small_transaction_and_one_in_memory_need_no_file(
    disk: Callable[[str], Repository], repo: Repository
) -> None:
    with disk("one").transaction() as tx:
        everything(tx)
        assert tx._draft._file is None
    with limited(repo) as tx:
        everything(tx)
        assert tx._draft._file is None
