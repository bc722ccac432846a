"""What fsck reads and looks up grows with what the history has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from ibidem.objects import codec
from ibidem.objects.blocks import Source, WriteBatch
from ibidem.objects.cid import Cid, CommitCid, RootCid, TreeCid
from ibidem.objects.config import Config
from ibidem.objects.links import check_kind
from ibidem.objects.root import Root
from ibidem.objects.tree import Change, diff
from ibidem.objects.view import View
from ibidem.objects.walk import Link
from ibidem.repo import refs, root_check
from ibidem.repo.bootstrap import bootstrapped
from ibidem.repo.core import Core
from ibidem.repo.maintenance import checkup
from ibidem.repo.maintenance.block_checks import BlockCheck
from ibidem.repo.maintenance.fsck import fsck
from ibidem.repo.repository import Repository
from ibidem.repo.state import State
from ibidem.store.memory import MemoryStore


class CountingStore(MemoryStore):
    """Counts the blocks that are read."""

    read_count = 0

    def get(self, cid: Cid) -> bytes:
        self.read_count += 1
        return super().get(cid)

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        return [self.get(cid) for cid in cids]


def grown(count: int, *, batch: int) -> tuple[Repository, CountingStore]:
    """Returns a repository with nodes, each with an edge and a vector, in commits of a batch."""
    store = CountingStore()
    bootstrapped(store, Config.default(), "", lambda: 0)
    repo = Repository(Core(store, None, lambda: 0))
    hub = None
    for start in range(0, count, batch):
        with repo.transaction() as tx:
            for number in range(start, start + batch):
                node = tx.add_node("Note", key=number)
                tx.set_vector(node, model="m", vector=np.full(2, number + 1, np.float32))
                hub = hub or node
                tx.add_edge(node, "to", hub)
    return repo, store


def test_every_block_is_read_about_twice_and_entered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    entered = 0
    enter = BlockCheck.enter

    def counted(self: BlockCheck, link: Link) -> bool:
        nonlocal entered
        entered += 1
        return enter(self, link)

    monkeypatch.setattr(BlockCheck, "enter", counted)
    for count in (300, 3_000):
        repo, store = grown(count, batch=count // 10)
        store.read_count = entered = 0
        report = fsck(repo.core)
        assert report.is_clean
        assert store.read_count <= 2.15 * report.block_count
        # Not once for each entry of each tree block, which are ten times as many.
        assert entered <= 1.1 * report.block_count


def test_each_vector_is_read_once_and_new_nodes_are_not_looked_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repo, store = grown(200, batch=20)
    read: Counter[Cid] = Counter()
    get = store.get

    def counted(cid: Cid) -> bytes:
        read[cid] += 1
        return get(cid)

    looked_up = 0
    find = root_check._looked_up

    def watched(source: Source, tree: TreeCid, keys: list[bytes]) -> Iterator[Cid | None]:
        nonlocal looked_up
        looked_up += len(keys)
        return find(source, tree, keys)

    monkeypatch.setattr(store, "get", counted)
    monkeypatch.setattr(root_check, "_looked_up", watched)
    assert fsck(repo.core).is_clean
    vectors = [cid for cid in read if check_kind(codec.decode(get(cid))) == "vector"]
    assert len(vectors) == 200
    assert {read[cid] for cid in vectors} == {1}
    assert looked_up == 9  # the hub, which edges of nine later commits point to


@pytest.mark.parametrize("has_parent", [False, True])
@pytest.mark.parametrize("has_other", [False, True])
def test_vectors_of_another_dimension_than_their_model_are_found(
    has_other: bool, has_parent: bool
) -> None:
    repo, _ = grown(40, batch=20)
    with repo.transaction() as tx:
        node = tx.add_node("Note", key="other")
        vector = np.ones(3 if has_other else 2, np.float32)
        tx.set_vector(node, model="n", vector=vector)
    assert fsck(repo.core).is_clean

    def make(state: State, buffer: WriteBatch) -> View:
        commit = repo.commit_at()
        root = Root.decode(repo.core.store.get(commit.root))
        models = dict(root.config["models"])
        models["m"] = {**models["m"], "dim": 3}
        block = replace(root, config={**root.config, "models": models}).encode()
        buffer.put(RootCid.of(block), block)
        parents = (commit.cid,) if has_parent else ()
        forged = replace(commit, root=RootCid.of(block), parents=parents).encode()
        buffer.put(CommitCid.of(forged), forged)
        moved = refs.changed(state.view, {"heads/forged": CommitCid.of(forged)}, buffer)
        return replace(state.view, refs=moved)

    repo.core.operation_log.change(make, author="", time=None, description="forge")
    details = [fault.detail for fault in fsck(repo.core).faults]
    assert details == ["got dimension 2, expected 3 as model 'm' has"] * 40


def test_differences_between_two_trees_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    repo, _ = grown(200, batch=20)
    found: Counter[tuple[object, ...]] = Counter()

    def counted(source: Source, before: TreeCid, after: TreeCid) -> Iterator[Change]:
        if before != after:
            found[before, after] += 1
        return diff(source, before, after)

    monkeypatch.setattr(root_check, "diff", counted)
    assert fsck(repo.core).is_clean
    assert len(found) > 20
    assert set(found.values()) == {1}


def test_each_view_and_each_ref_is_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    repo, store = grown(10, batch=10)
    for number in range(20):
        repo.branch(f"b{number}")
    read: Counter[Cid] = Counter()
    get = store.get

    def counted(cid: Cid) -> bytes:
        read[cid] += 1
        return get(cid)

    monkeypatch.setattr(store, "get", counted)
    assert fsck(repo.core).is_clean
    of_kind = {Cid.of(block): check_kind(codec.decode(block)) for block in map(get, read)}
    for kind in ("view", "ref"):
        assert max(count for cid, count in read.items() if of_kind[cid] == kind) <= 2


def test_a_checkup_reads_each_commit_of_many_branches_once_and_a_sample_of_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repo, store = grown(60, batch=1)
    for number in range(20):
        repo.branch(f"b{number}")
    reads: list[str] = []
    monkeypatch.setattr(checkup, "_block_fault", lambda store, cid: reads.append(str(cid)) or None)
    store.read_count = 0
    assert checkup.check_history(repo.core).detail == "60 commits can be read"
    assert store.read_count < 2 * 60  # with the operations that made the branches
    total = store.stats().block_count
    for sample in (total - 1, total // 2 + 1, 7):
        monkeypatch.setattr(checkup, "SAMPLE_BLOCKS", sample)
        reads.clear()
        checkup.check_blocks(store, whole=False, progress=lambda *_: None)
        assert sample / 2 <= len(set(reads)) == len(reads) <= sample
