"""Who is overtaken by garbage collection between two reads sees the newer state, and no error.

The state that a reader has begun with is given up, with its view and its refs, right before the
reader gets to them: a store lets that happen at one block, so nothing here waits or sleeps.

A writer that uses values of a state that was given up is refused if they are collected before it
publishes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from ibidem.objects.cid import Cid
from ibidem.objects.derive import node_id
from ibidem.objects.errors import ConflictError, NotFoundError
from ibidem.repo.bootstrap import bootstrapped
from ibidem.repo.core import Core
from ibidem.repo.maintenance import garbage
from ibidem.repo.repository import Repository
from ibidem.repo.sync.fetch_push import chosen
from ibidem.repo.sync.local_remote import LocalRemote
from ibidem.store.memory import MemoryStore
from ibidem.store.protocol import Swap

from .conftest import fill


class Trapped(MemoryStore):
    """Lets something happen right before one block is read for the first time."""

    def __init__(self) -> None:
        super().__init__()
        self.trap: Cid | None = None
        self.happening: Callable[[], object] = lambda: None
        self.before_publish: list[Callable[[], object]] = []
        """What happens before each of the next publications, the first one last."""

    def get(self, cid: Cid) -> bytes:
        if self.trap == cid:
            self.trap = None
            self.happening()
        return super().get(cid)

    def publish(
        self,
        blocks: Mapping[Cid, bytes],
        cells: Mapping[str, Swap],
        *,
        needs: Iterable[Cid] = (),
    ) -> None:
        if self.before_publish:
            self.before_publish.pop()()
        super().publish(blocks, cells, needs=needs)


@pytest.fixture
def repo() -> Repository:
    """A repository on a trapped store, with a run, a kept receipt and notes."""
    repo = Repository(Core(bootstrapped(Trapped(), None, "", lambda: 1), None, lambda: 1))
    ids = fill(repo)
    repo.stage.clear()
    receipt = repo.retrieve("number", limit=1).receipt
    assert receipt is not None
    repo.receipts.keep(receipt)
    with repo.runs.start("nightly") as run:
        run.event("tool", 1)
    repo.notes.space().reinforce(ids["doc 0"])
    return repo


def other_of(repo: Repository) -> Repository:
    return Repository(Core(repo.core.store, None, lambda: 1))


def overtake(repo: Repository) -> None:
    """Another one commits, and gives up every state before that."""
    other = other_of(repo)
    with other.transaction() as tx:
        tx.add_node("Doc", summary="meanwhile", unique=True)
    other.maintenance.gc(keep_operations=1)


def armed(repo: Repository) -> Trapped:
    """Lets that happen when the refs as they are now are read next."""
    store = repo.core.store
    assert isinstance(store, Trapped)
    store.trap, store.happening = repo.core.view.refs, lambda: overtake(repo)
    return store


def committed(repo: Repository) -> bool:
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="ours")
    return tx.commit is not None


def committed_in_run(repo: Repository) -> bool:
    with repo.runs.start("more") as run:
        store = armed(repo)
        with run.transaction() as tx:
            tx.add_node("Doc", summary="ours")
    return store.trap is None


def asked_with_notes(repo: Repository) -> bool:
    revision = repo.at()
    store = armed(repo)
    return bool(revision.retrieve("summary", feedback=True).items) and store.trap is None


def fetched(repo: Repository) -> bool:
    with Repository(
        Core(bootstrapped(MemoryStore(), None, "", lambda: 1), None, lambda: 1)
    ) as copy:
        stream = io.BytesIO()
        repo.sync.export(stream)
        stream.seek(0)
        copy.sync.load(stream)
        return copy.head == repo.head


READS: dict[str, Callable[[Repository], Any]] = {
    "branches": lambda repo: repo.branches()["main"] == repo.head,
    "resolve": lambda repo: repo.resolve("main") == other_of(repo).head,
    "commit": committed,
    "branch": lambda repo: repo.branch("made") == other_of(repo).head,
    "note space": lambda repo: len(repo.notes.space().log().events) == 1,
    "note spaces": lambda repo: list(repo.notes.spaces()) == ["memory"],
    "notes of a question": asked_with_notes,
    "runs": lambda repo: [run.name for run in repo.runs.list()] == ["nightly/1"],
    "run": lambda repo: len(repo.runs.open("nightly").steps) == 3,
    "commit in a run": committed_in_run,
    "kept receipts": lambda repo: len(repo.receipts.list()) == 1,
    "kept receipt": lambda repo: repo.receipts.find(repo.receipts.list()[0].cid),
    "dropped receipt": lambda repo: repo.receipts.drop(other_of(repo).receipts.list()[0].cid),
    "offer": lambda repo: LocalRemote(repo.core).refs(("heads/",)).refs["heads/main"],
    "known to a remote": lambda repo: LocalRemote(repo.core).known(()) == set(),
    "to push": lambda repo: chosen(repo.core, (), ()) == {"heads/main": repo.head},
    "export": fetched,
}


@pytest.mark.parametrize("read", READS)
def test_who_is_overtaken_between_two_reads_sees_the_newer_state(
    repo: Repository, read: str
) -> None:
    store = armed(repo)
    assert READS[read](repo)
    assert store.trap is None
    assert repo.maintenance.fsck().is_clean


@pytest.mark.parametrize("block", ["operation", "view"])
def test_who_is_overtaken_at_the_first_look_looks_again(repo: Repository, block: str) -> None:
    store = repo.core.store
    assert isinstance(store, Trapped)
    state = repo.core.operation_log.state()
    store.trap = state.cid if block == "operation" else state.operation.view
    store.happening = lambda: overtake(repo)
    assert other_of(repo).core.view.seq > state.view.seq
    assert store.trap is None


LONG = node_id("", "long")


def changed(repo: Repository) -> Callable[[], object]:
    tx = repo.transaction()
    tx.update_node(LONG, summary="ours")
    return tx.publish


def picked(repo: Repository) -> Callable[[], object]:
    commit = repo.head
    return lambda: repo.cherry_pick(commit)


def reverted(repo: Repository) -> Callable[[], object]:
    with repo.transaction() as tx:
        tx.remove_node(LONG)
    commit = repo.head
    return lambda: repo.revert(commit)


def kept(repo: Repository) -> Callable[[], object]:
    receipt = repo.retrieve("long").receipt
    assert receipt is not None
    return lambda: repo.receipts.keep(receipt)


def recorded(repo: Repository) -> Callable[[], object]:
    run = repo.runs.start("more")
    run.retrieve("long")
    return run.publish


@pytest.mark.parametrize("begin", [changed, picked, reverted, kept, recorded])
def test_values_of_a_state_that_was_given_up_are_not_used_while_they_are_collected(
    repo: Repository, begin: Callable[[Repository], Callable[[], object]]
) -> None:
    other, start = other_of(repo), repo.head
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="long", key="long", content="x" * 100_000)
    publish = begin(repo)
    while other.head != start:
        other.history.undo()
    with other.transaction() as tx:
        tx.add_node("Doc", summary="meanwhile")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(garbage, "_delete", lambda *_: iter(()))  # it ends before it deletes anything
        other.maintenance.gc(keep_operations=1)
    store = repo.core.store
    assert isinstance(store, Trapped)
    # A transaction loses a race first.
    store.before_publish = [lambda: other.maintenance.gc(keep_operations=2)]
    if begin is changed:
        store.before_publish.append(lambda: None)
    with pytest.raises((ConflictError, NotFoundError)):
        publish()
    assert store.before_publish == []
    assert other.maintenance.fsck().is_clean
    assert other.maintenance.gc().block_count == 0


def test_a_stage_uses_nothing_of_one_that_was_cleared_and_is_collected(repo: Repository) -> None:
    other = other_of(repo)
    with repo.stage.transaction() as tx:
        tx.add_node("Doc", summary="long", key="long", content="x" * 100_000)
    late = repo.stage.transaction()
    late.update_node(LONG, summary="ours")
    other.stage.clear()
    store = repo.core.store
    assert isinstance(store, Trapped)
    store.before_publish = [other.maintenance.gc, lambda: None]
    with pytest.raises(ConflictError, match="given up"):
        late.publish()
    assert store.before_publish == []
    assert other.maintenance.fsck().is_clean
