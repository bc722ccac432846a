"""A full copy brings a whole log along: its views, refs and erasures are checked as fsck does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ibidem
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, OperationCid, ViewCid
from ibidem.objects.derive import ref_key
from ibidem.objects.erasure import Erasure
from ibidem.objects.errors import CorruptError, IbidemError
from ibidem.objects.ids import NodeId
from ibidem.objects.operation import Operation
from ibidem.objects.tree import mutate
from ibidem.objects.view import Ref, View
from ibidem.repo.maintenance.fsck import fsck
from ibidem.repo.repository import Repository
from ibidem.repo.state import HEAD_CELL
from ibidem.repo.sync.messages import Bundle, Tip, container

from .conftest import filled
from .forging import put

Made = tuple[View, dict[str, Any]]
"""A view, and fields of the operation that makes it, in the place of the right ones."""


def with_ref(repo: Repository, view: View, ref: Ref, key: bytes, buffer: WriteBatch) -> View:
    buffer.put(ref.cid, ref.encode())
    return replace(view, refs=mutate(view.refs, {key: ref.cid}, buffer))


def ref_under_another_key(repo: Repository, view: View, buffer: WriteBatch) -> Made:
    ref = Ref("heads/other", repo.head)
    return with_ref(repo, view, ref, ref_key("heads/else"), buffer), {}


def ref_under_two_keys(repo: Repository, view: View, buffer: WriteBatch) -> Made:
    ref = Ref("heads/other", repo.head)
    once = with_ref(repo, view, ref, ref_key("heads/other"), buffer)
    return with_ref(repo, once, ref, ref_key("heads/else"), buffer), {}


def ref_without_a_name(repo: Repository, view: View, buffer: WriteBatch) -> Made:
    ref = Ref("heads/../other", repo.head)
    return with_ref(repo, view, ref, ref_key(ref.name), buffer), {}


def ref_of_another_kind(repo: Repository, view: View, buffer: WriteBatch) -> Made:
    from ibidem.objects.cid import StepCid

    assert repo.head is not None
    ref = Ref("runs/evil/1", StepCid(repo.head.raw))
    return with_ref(repo, view, ref, ref_key(ref.name), buffer), {}


def erasure_at(view: View, key: bytes | None, erasure: Erasure, buffer: WriteBatch) -> Made:
    buffer.put(erasure.cid, erasure.encode())
    entries = {erasure.key if key is None else key: erasure.cid}
    return replace(view, erasures=mutate(view.erasures, entries, buffer)), {}


def gone(**fields: Any) -> Erasure:
    return Erasure(NodeId(bytes(16)), (Cid.of(b"gone"),), **fields)


def erasure_under_another_key(repo: Repository, view: View, buffer: WriteBatch) -> Made:
    return erasure_at(view, bytes(16), gone(), buffer)


def erasure_with_a_false_signature(repo: Repository, view: View, buffer: WriteBatch) -> Made:
    return erasure_at(view, None, gone(signature=bytes(96)), buffer)


def erasure_of_a_root(repo: Repository, view: View, buffer: WriteBatch) -> Made:
    cid = Cid(repo.commit_at().root.raw)
    return erasure_at(view, None, Erasure(NodeId(bytes(16)), (cid,)), buffer)


def head_without_a_name(repo: Repository, view: View, buffer: WriteBatch) -> Made:
    return replace(view, head="../../evil"), {}


def head_that_is_a_tag(repo: Repository, view: View, buffer: WriteBatch) -> Made:
    return replace(view, head="tags/v1"), {}


def head_that_is_no_branch_name(repo: Repository, view: View, buffer: WriteBatch) -> Made:
    return replace(view, head="heads/A b"), {}


def view_that_follows_nothing(repo: Repository, view: View, buffer: WriteBatch) -> Made:
    return replace(view, seq=view.seq + 5), {}


def operation_that_undoes_a_number(repo: Repository, view: View, buffer: WriteBatch) -> Made:
    return view, {"extra": {"undoes": 5}}


def operation_with_two_parents(repo: Repository, view: View, buffer: WriteBatch) -> Made:
    newest, before = (one.cid for one in list(repo.history.operations())[:2])
    return view, {"parents": (newest, before)}


MADE: list[Callable[[Repository, View, WriteBatch], Made]] = [
    ref_under_another_key,
    ref_under_two_keys,
    ref_without_a_name,
    ref_of_another_kind,
    erasure_under_another_key,
    erasure_with_a_false_signature,
    erasure_of_a_root,
    head_without_a_name,
    head_that_is_a_tag,
    head_that_is_no_branch_name,
    view_that_follows_nothing,
    operation_that_undoes_a_number,
    operation_with_two_parents,
]


def as_made(repo: Repository, made: Callable[[Repository, View, WriteBatch], Made]) -> OperationCid:
    """Puts one more operation at the end of the log, as nothing here would make it."""
    state, buffer = repo.core.operation_log.state(), WriteBatch(repo.core.store)
    follows = replace(state.view, seq=state.view.seq + 1, previous=state.operation.view)
    view, fields = made(repo, follows, buffer)
    buffer.put(view.cid, view.encode())
    operation = Operation(
        **{"view": ViewCid(view.cid.raw), "parents": (state.cid,), "time": 1, **fields}
    )
    buffer.put(operation.cid, operation.encode())
    cid = OperationCid(operation.cid.raw)
    repo.core.store.publish(buffer.new, {HEAD_CELL: (state.cid.raw, cid.raw)})
    return cid


def full_copy(
    repo: Repository, made: Callable[[Repository, View, WriteBatch], Made], path: Path
) -> Path:
    """Writes everything in the store as a full copy that ends in an operation, as a program of
    somebody else may."""
    head = repo.head
    assert head is not None
    cid = as_made(repo, made)
    blocks = {cid: repo.core.store.get(cid) for cid in repo.core.store.cids()}
    message = Bundle({"heads/main": Tip(head, 0)}, "heads/main", operation=cid)
    path.write_bytes(b"".join(container(message, sorted(blocks.items()))))
    return path


@pytest.fixture
def source():
    with ibidem.init(clock=lambda: 0) as repo:
        filled(repo, 6)
        yield repo


def test_a_full_copy_that_is_right_is_taken(source: Repository, tmp_path: Path):
    file = full_copy(source, lambda _, view, __: (view, {}), tmp_path / "copy.car")
    with ibidem.clone(file, tmp_path / "copy") as copy:
        assert copy.maintenance.fsck().faults == ()
        assert list(copy.history.operations()) == list(source.history.operations())


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.__name__)
def test_a_full_copy_with_a_log_that_fsck_would_fault_is_refused(
    source: Repository, tmp_path: Path, made: Callable[[Repository, View, WriteBatch], Made]
):
    file = full_copy(source, made, tmp_path / "copy.car")
    with pytest.raises(CorruptError):
        ibidem.clone(file, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    assert fsck(source.core).faults


def test_what_a_full_copy_says_is_erased_does_not_come_with_it(tmp_path: Path):
    """A block that its own log says was destroyed is not taken in."""
    with ibidem.init(clock=lambda: 0) as repo:
        filled(repo, 6)
        with repo.transaction() as tx:
            gone = tx.add_node("Doc", summary="secret", key="secret")
        node = repo.at().node(gone)
        repo.maintenance.erase([gone])
        cid = OperationCid(repo.core.store.cell(HEAD_CELL) or b"")
        head = repo.head
        assert head is not None
        blocks = {one: repo.core.store.get(one) for one in repo.core.store.cids()}
    put(blocks, node.encode())
    message = Bundle({"heads/main": Tip(head, 0)}, "heads/main", operation=cid)
    path = tmp_path / "copy.car"
    path.write_bytes(b"".join(container(message, sorted(blocks.items()))))
    with ibidem.clone(path, tmp_path / "copy") as copy:
        assert not copy.core.store.has(node.cid)
        assert copy.maintenance.fsck().faults == ()


def test_a_clone_refuses_an_erasure_with_a_false_signature(tmp_path: Path):
    with ibidem.init(tmp_path / "a", clock=lambda: 0) as repo:
        filled(repo, 6)
        as_made(repo, erasure_with_a_false_signature)
    with pytest.raises(CorruptError, match="signature"):
        ibidem.clone(tmp_path / "a", tmp_path / "b")


def test_undo_of_an_operation_whose_fields_are_no_links_is_refused_in_words(source: Repository):
    as_made(source, operation_that_undoes_a_number)
    with pytest.raises(IbidemError, match=r"operation\.undoes"):
        source.history.undo()
