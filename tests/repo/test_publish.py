"""Publishing: one durable write, races that lose nothing, conflicts that name their cause."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.objects.cid import Cid
from ibidem.objects.derive import node_id
from ibidem.objects.errors import ConflictError, ErrorKind, InvalidInputError, StorageError
from ibidem.objects.ids import NodeId
from ibidem.objects.tree import Tree
from ibidem.repo.core import Core
from ibidem.repo.repository import Repository
from ibidem.repo.transaction.transaction import Transaction
from ibidem.store.memory import MemoryStore
from ibidem.store.protocol import Swap
from ibidem.store.testing import RecordingStore, run_together

Work = Callable[[Transaction], object]


def race(repo: Repository, theirs: Work, ours: Work, *, on_conflict: str = "record") -> Transaction:
    """Makes `theirs` win a race against `ours`, which began first."""
    with repo.transaction(message="ours", on_conflict=on_conflict) as tx:
        ours(tx)
        with repo.transaction(message="theirs") as other:
            theirs(other)
    return tx


@pytest.fixture
def filled(repo: Repository) -> Repository:
    with repo.transaction() as tx:
        for key in "abcd":
            tx.add_node("Doc", summary=key, key=key)
        tx.add_edge(node_id("", "a"), "t", node_id("", "b"))
        tx.set_vector(node_id("", "a"), model="m", vector=[1.0, 2.0])
    return repo


A, B, C, D = (node_id("", key) for key in "abcd")


def test_writers_that_touch_different_things_are_both_kept(filled: Repository) -> None:
    def add(key: str, node: NodeId) -> Work:
        def work(tx: Transaction) -> None:
            tx.add_node("Doc", key=key)
            tx.update_node(node, summary=key)

        return work

    race(filled, add("theirs", A), add("ours", B))
    at = filled.at()
    assert (at.node(A).summary, at.node(B).summary) == ("theirs", "ours")
    assert at.node(node_id("", "ours"))
    assert at.node(node_id("", "theirs"))
    assert [commit.message for commit in filled.history.log()] == ["ours", "theirs", ""]


def test_two_first_commits_are_both_kept(repo: Repository) -> None:
    race(repo, lambda tx: tx.add_node("Doc", key="1"), lambda tx: tx.add_node("Doc", key="2"))
    assert len(list(repo.at().nodes())) == 2
    assert len(list(repo.history.log())) == 2


def test_writers_that_make_the_same_change_agree(filled: Repository) -> None:
    with filled.transaction() as tx:
        tx.update_node(A, summary="same")
        with filled.transaction() as other:
            other.update_node(A, summary="same")
    assert tx.commit is None
    assert filled.head == other.commit.cid if other.commit else False


def test_a_rebased_commit_equals_one_that_was_not_raced(filled: Repository) -> None:
    race(
        filled, lambda tx: tx.update_node(A, summary="1"), lambda tx: tx.update_node(B, summary="2")
    )
    raced = filled.at().root_cid
    filled.history.undo()
    filled.history.undo()
    with filled.transaction() as tx:
        tx.update_node(B, summary="2")
        tx.update_node(A, summary="1")
    assert filled.at().root_cid == raced


CLASHES: list[tuple[Work, Work]] = [
    (lambda tx: tx.update_node(A, summary="1"), lambda tx: tx.update_node(A, summary="2")),
    (lambda tx: tx.remove_node(C), lambda tx: tx.update_node(C, summary="2")),
    (lambda tx: tx.update_node(C, summary="1"), lambda tx: tx.remove_node(C)),
    (lambda tx: tx.remove_node(C), lambda tx: tx.add_edge(C, "t", D)),
    (lambda tx: tx.add_edge(D, "t", C), lambda tx: tx.remove_node(C)),
    (lambda tx: tx.remove_node(C), lambda tx: tx.set_vector(C, model="m", vector=[1, 1])),
    (lambda tx: tx.set_vector(C, model="m", vector=[1, 1]), lambda tx: tx.remove_node(C)),
    (lambda tx: tx.remove_node(C), lambda tx: tx.tombstone(C)),
    (lambda tx: tx.tombstone(C), lambda tx: tx.remove_node(C)),
    (lambda tx: tx.add_node("Doc", key="n"), lambda tx: tx.add_node("Note", key="n")),
    (lambda tx: tx.tombstone(C, reason="1"), lambda tx: tx.tombstone(C, reason="2")),
    (
        lambda tx: tx.set_vector(C, model="new", vector=[1]),
        lambda tx: tx.set_vector(D, model="new", vector=[1, 1]),
    ),
    (
        lambda tx: tx.set_vector(A, model="m", vector=[1, 1]),
        lambda tx: tx.set_vector(A, model="m", vector=[1, 3]),
    ),
]


@pytest.mark.parametrize("number", range(len(CLASHES)))
def test_writers_that_ask_for_it_are_refused_where_another_touched_the_same_thing(
    filled: Repository, number: int
) -> None:
    theirs, ours = CLASHES[number]
    with pytest.raises(ConflictError) as caught:
        race(filled, theirs, ours, on_conflict="raise")
    assert caught.value.kind is ErrorKind.CONFLICT
    assert [commit.message for commit in filled.history.log()] == ["theirs", ""]
    if number < len(CLASHES) - 2:
        assert any(str(node) in str(caught.value) for node in (A, C, D, node_id("", "n"))) or (
            "changed here" in str(caught.value)
        )


CONFLICTING = {0: ("summary",), 1: (), 2: (), 3: (), 4: (), 9: ("ntype",)}
"""By number in CLASHES: those that record a conflict, with the fields that it is about."""


@pytest.mark.parametrize("number", [n for n in range(len(CLASHES)) if n != 11])
def test_writers_that_touch_the_same_thing_are_merged_and_nobody_is_refused(
    filled: Repository, number: int
) -> None:
    tx = race(filled, *CLASHES[number])
    log = [commit.message for commit in filled.history.log()]
    assert log == ["ours", "theirs", ""] or (log == ["theirs", ""] and tx.commit is None)
    found = list(filled.conflicts())
    assert [conflict.fields for conflict in found] == (
        [CONFLICTING[number]] if number in CONFLICTING else []
    )
    assert tx.conflicts == tuple(conflict.id for conflict in found)


def test_models_of_one_name_that_differ_are_refused_and_change_nothing(
    filled: Repository,
) -> None:
    with pytest.raises(ConflictError, match="model 'new'"):
        race(filled, *CLASHES[11])
    assert [commit.message for commit in filled.history.log()] == ["theirs", ""]


def test_a_branch_deleted_under_a_writer_is_a_conflict(filled: Repository) -> None:
    filled.branch("side")
    tx = filled.transaction(branch="side")
    tx.update_node(A, summary="x")
    base = filled.resolve("side")
    filled.delete_branch("side")
    with pytest.raises(ConflictError) as caught:
        tx.publish()
    assert f"'repo branch side --at {base}'" in str(caught.value.hint)
    assert "staged" not in str(caught.value.hint)
    filled.branch("side", at=base)
    with filled.transaction(branch="side") as again:
        again.update_node(A, summary="x")


def test_a_writer_on_another_branch_is_not_disturbed(filled: Repository) -> None:
    filled.branch("side")
    with filled.transaction(branch="side") as tx:
        tx.update_node(A, summary="side")
        with filled.transaction() as other:
            other.update_node(A, summary="main")
    assert filled.at("side").node(A).summary == "side"
    assert filled.at("main").node(A).summary == "main"
    assert tx.commit is not None
    assert tx.commit.parents == (filled.resolve("main~1"),)


def test_threads_that_race_lose_no_commit(disk_repo: Repository) -> None:
    def work(writer: int) -> None:
        for number in range(6):
            with disk_repo.transaction(author=str(writer)) as tx:
                tx.add_node("Doc", key=[writer, number])

    run_together(*(lambda writer=writer: work(writer) for writer in range(4)))
    assert len(list(disk_repo.at().nodes())) == 24
    assert len(list(disk_repo.history.log())) == 24


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def test_processes_that_race_lose_no_commit(tmp_path: Path) -> None:
    ibidem.init(tmp_path).close()
    program = """
import sys, ibidem
with ibidem.open(sys.argv[1]) as repo:
    for number in range(10):
        with repo.transaction(author=sys.argv[2]) as tx:
            tx.add_node("Doc", key=[sys.argv[2], number])
"""

    def run(writer: int) -> None:
        subprocess.run(
            [sys.executable, "-W", "error", "-c", program, str(tmp_path), str(writer)],
            env=environment(),
            check=True,
        )

    run_together(*(lambda writer=writer: run(writer) for writer in range(3)))
    with ibidem.open(tmp_path) as repo:
        assert len(list(repo.at().nodes())) == 30
        assert len(list(repo.history.log())) == 30
        assert len(list(repo.history.operations())) == 31
        operations = repo.core.operation_log
        states = operations.history(operations.state())
        assert [state.view.seq for state in states] == list(range(30, -1, -1))


def test_a_killed_writer_leaves_the_last_whole_commit(tmp_path: Path) -> None:
    ibidem.init(tmp_path).close()
    program = """
import sys, ibidem
with ibidem.open(sys.argv[1]) as repo:
    for number in range(100000):
        with repo.transaction() as tx:
            tx.add_node("Doc", content=bytes(3000), key=number)
        print(number, flush=True)
"""
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)],
            env=environment(),
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            assert child.stdout is not None
            acknowledged = [int(child.stdout.readline()) for _ in range(5)]
            child.send_signal(signal.SIGKILL)
            acknowledged += [int(line) for line in child.stdout if line.endswith("\n")]
        with ibidem.open(tmp_path) as repo:
            at = repo.at()
            assert all(at.node(node_id("", number)) for number in acknowledged)
            for cid in repo.core.store.cids():
                repo.core.store.get(cid)
            with repo.transaction() as tx:
                for number in range(max(acknowledged) + 2):
                    if tx.find_node(node_id("", number)):
                        tx.remove_node(node_id("", number))


class FailingStore(MemoryStore):
    """Fails the nth publish from now."""

    fail_in = 0

    def publish(
        self,
        blocks: Mapping[Cid, bytes],
        cells: Mapping[str, Swap],
        *,
        needs: Iterable[Cid] = (),
    ) -> None:
        self.fail_in -= 1
        if self.fail_in == 0:
            raise StorageError("the disk is full")
        super().publish(blocks, cells, needs=needs)


def recorded() -> tuple[Repository, RecordingStore]:
    from ibidem.objects.config import Config
    from ibidem.repo.bootstrap import bootstrapped

    store = RecordingStore(bootstrapped(MemoryStore(), Config.default(), "", lambda: 0))
    return Repository(Core(store, None, lambda: 0)), store  # type: ignore[arg-type]


def test_a_failed_write_leaves_the_old_state_and_the_next_one_works() -> None:
    from ibidem.repo.bootstrap import bootstrapped

    store = bootstrapped(FailingStore(), None, "", lambda: 0)
    repo = Repository(Core(store, None, lambda: 0))
    with repo.transaction() as tx:
        a = tx.add_node("Doc", key="a")
    before, blocks = repo.head, store.stats().block_count
    store.fail_in = 1
    with pytest.raises(StorageError), repo.transaction() as tx:
        tx.update_node(a, summary="x")
    assert repo.head == before
    assert store.stats().block_count == blocks
    with repo.transaction() as tx:
        tx.update_node(a, summary="x")
    assert repo.at().node(a).summary == "x"


def test_a_commit_is_one_durable_write() -> None:
    repo, store = recorded()
    for number in range(3):
        before = store.publish_count
        with repo.transaction() as tx:
            for key in range(100):
                tx.add_node("Doc", content=bytes(5000), key=[number, key])
        assert store.publish_count == before + 1


@pytest.mark.parametrize("size", [1_000, 10_000])
def test_a_commit_of_one_node_costs_the_same_at_any_size(size: int) -> None:
    repo, store = recorded()
    with repo.transaction() as tx:
        for number in range(size):
            tx.add_node("Doc", summary=f"node {number}", key=number)
    height = Tree(repo.core.store, repo.at().root.nodes).height
    counts, sizes, reads = [], [], []
    for number in range(40):
        blocks, written, read = store.block_count, store.size_bytes, store.get_count
        with repo.transaction() as tx:
            tx.add_node("Doc", summary="one more", key=["new", number])
        counts.append(store.block_count - blocks)
        sizes.append(store.size_bytes - written)
        reads.append(store.get_count - read)
    # node, root, commit, ref, refs tree, view, operation; and the path in the tree of nodes
    assert np.mean(counts) <= 7 + height + 2
    assert np.mean(sizes) <= 32_000
    assert np.mean(reads) <= 30


def test_values_that_were_replaced_while_staged_are_not_written() -> None:
    repo, store = recorded()
    before = store.block_count
    with repo.transaction() as tx:
        a = tx.add_node("Doc", key="a")
        for number in range(50):
            tx.update_node(a, summary=str(number))
    assert store.block_count - before <= 8


@pytest.mark.parametrize("time", [1.5, "now", True, 1 << 70, -(1 << 70)])
def test_times_are_integers(repo: Repository, time: Any) -> None:
    with pytest.raises(InvalidInputError), repo.transaction(time=time) as tx:
        tx.add_node("Doc")
    assert repo.head is None


@pytest.mark.parametrize("field", ["author", "message", "agent", "task", "branch"])
def test_texts_are_texts(repo: Repository, field: str) -> None:
    with pytest.raises(InvalidInputError):
        repo.transaction(**{field: b"bytes"})  # type: ignore[arg-type]
