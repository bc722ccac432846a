"""What makes refs, views and the operation log valid: one check for copies and for `repo fsck`.

A ref has a target of the kind given by its name, its key is its name's, and the name is
well-formed; the key of an erasure is the hash of its block, and its signature is not false; the
current branch of a view is a branch; operations and their views follow one another.

Spec: format 5.8, 5.9, 5.10, 5.14; sync 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ibidem.objects import codec
from ibidem.objects.cid import Cid, OperationCid, TreeCid
from ibidem.objects.derive import ref_key
from ibidem.objects.erasure import Erasure
from ibidem.objects.errors import CorruptError, InvalidInputError, NotFoundError
from ibidem.objects.links import check_kind
from ibidem.objects.operation import Operation
from ibidem.objects.tree import EMPTY_TREE, diff
from ibidem.objects.view import Ref, View
from ibidem.objects.walk import target_kind, wrong_target
from ibidem.repo.maintenance.report import Fault, FaultKind
from ibidem.repo.operation_log import LINK_FIELDS, linked
from ibidem.repo.root_check import Report
from ibidem.repo.signing.key import signer_of
from ibidem.repo.sync.names import check_head, check_local

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source

NEVER_ERASED = frozenset(("commit", "root", "tree", "view", "ref", "operation", "erasure"))
"""Kinds of blocks that no erasure names (format 5.14): verification needs them."""


def is_target(source: Source, name: str, target: Cid) -> bool:
    """Returns whether a ref of that full name may point to a block.

    Raises:
        NotFoundError: the block is missing.
        CorruptError, FormatError: it is not a valid block.
    """
    return not target.is_raw and target_kind(name) == _kind(source, target)


def target_problem(source: Source, name: str, target: Cid) -> str | None:
    """Returns why a ref of that full name may not point to a block, None if it may.

    Raises:
        NotFoundError: the block is missing.
        CorruptError, FormatError: it is not a valid block.

    Spec: format 5.8-a.
    """
    if is_target(source, name, target):
        return None
    found = "raw block" if target.is_raw else _kind(source, target)
    return wrong_target(found, target, (str(target_kind(name)),))


def has_wrong_ref(source: Source, view: View, newer: View | None) -> bool:
    """Returns whether a view has a ref with a target of the wrong kind for its name, among those
    that `newer` does not have; raises as `target_problem`, except for a missing target.
    """
    for _, cid in _added(source, view.refs, EMPTY_TREE if newer is None else newer.refs):
        ref = Ref.decode(source.get(cid))
        with suppress(NotFoundError):
            if not is_target(source, ref.name, ref.target):
                return True
    return False


def check_view(
    source: Source,
    view: View,
    newer: View | None,
    report: Report,
    look: Callable[[Ref], object],
    *,
    owner: str = "",
) -> None:
    """Checks a view, as far as it differs from one that was checked.

    Args:
        source: has the blocks.
        view: the view to check.
        newer: the view that was checked; None if there is none.
        report: called with each fault.
        look: called with each ref that `newer` does not have.
        owner: named by the faults as what needs the view.

    Raises:
        NotFoundError: a ref, an erasure or a block of a tree is missing.
        CorruptError, FormatError: one of them is not well-formed by itself.
    """
    try:
        check_head("view.head", view.head)
    except InvalidInputError as error:
        report(Fault(FaultKind.LOG, owner or f"view {view.cid}", str(error), view.cid))
    for key, cid in _added(source, view.refs, EMPTY_TREE if newer is None else newer.refs):
        ref = Ref.decode(source.get(cid))
        look(ref)
        problem = _ref_problem(source, ref, key)
        if problem is not None:
            report(Fault(FaultKind.REF, f"ref {ref.name:.260}", problem, cid, owner))
    old = EMPTY_TREE if newer is None else newer.erasures
    for key, cid in _added(source, view.erasures, old):
        erasure = Erasure.decode(source.get(cid))
        problem = erasure_problem(erasure, key)
        if problem is not None:
            report(Fault(FaultKind.ERASURE, f"erasure {erasure.cid}", problem, cid, owner))


def erasure_problem(erasure: Erasure, key: bytes) -> str | None:
    """Returns why an erasure is wrong under its key, None if it is right."""
    if key != erasure.key:
        return f"it stands at key {key.hex()}, expected {erasure.key.hex()}"
    if erasure.signature is not None and signer_of(erasure) is None:
        return "its signature is not valid"
    return None


def check_log(
    operations: Sequence[tuple[OperationCid, Operation, View]],
    horizon: OperationCid | None,
    report: Report,
) -> None:
    """Checks that operations and views follow one another.

    Args:
        operations: the kept ones with their views, newest first.
        horizon: the oldest kept one, if there were older ones.
        report: called with each fault.
    """
    views = {cid: view for cid, _, view in operations}
    for cid, operation, _ in operations:
        for detail in _log_problems(cid, operation, views, is_oldest=cid == horizon):
            report(Fault(FaultKind.LOG, f"operation {cid}", detail, cid))


def _log_problems(
    cid: OperationCid,
    operation: Operation,
    views: dict[OperationCid, View],
    *,
    is_oldest: bool,
) -> Iterable[str]:
    view = views[cid]
    if len(operation.parents) > 1:
        yield f"it has {len(operation.parents)} parents, expected one at most"
    for name in LINK_FIELDS:
        try:
            linked(operation, name)
        except CorruptError as error:
            yield str(error)
    if not operation.parents and view.previous is not None and not is_oldest:
        yield "it is the first, and its view has one before"
    for parent in operation.parents:
        before = views.get(parent)
        if before is not None and (view.previous != before.cid or view.seq != before.seq + 1):
            yield "its view does not follow that of its parent"


def _ref_problem(source: Source, ref: Ref, key: bytes) -> str | None:
    if key != ref_key(ref.name):
        return f"it stands at key {key.hex()}, which is that of another name"
    try:
        check_local("ref.name", ref.name)
    except InvalidInputError as error:
        return str(error)
    try:
        return target_problem(source, ref.name, ref.target)
    except NotFoundError:
        return None  # another check decides whether it may be missing


def _added(source: Source, tree: TreeCid, before: TreeCid) -> Iterable[tuple[bytes, Cid]]:
    for key, _, cid in diff(source, before, tree):
        if cid is not None:
            yield key, cid


def _kind(source: Source, cid: Cid) -> str:
    try:
        return check_kind(codec.decode(source.get(cid)))
    except CorruptError as error:
        raise CorruptError(f"ref target {cid}: {error}") from error
