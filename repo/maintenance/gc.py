"""Garbage collection: deletes blocks that no cell, operation or ref of this repository leads to.

Everything that the operation log can undo to is needed, so the log is bounded here: operations
before the newest `OPERATIONS_KEPT` are dropped.

An unknown kind or version, or a missing block, aborts the collection before anything is deleted.

Spec: format 8, 9.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.objects.block import empty
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import OperationCid
from ibidem.objects.record import record
from ibidem.objects.tree.cache import TreeCache
from ibidem.repo.erasure.destroy import finish
from ibidem.repo.maintenance.cells import HORIZON_CELL
from ibidem.repo.maintenance.garbage import Marks, delete_garbage, list_garbage, mark_all
from ibidem.repo.operation_log import OPERATIONS_KEPT
from ibidem.repo.view_check import has_wrong_ref
from ibidem.retrieve.query import checks
from ibidem.store.files import remove_stale

if TYPE_CHECKING:
    from ibidem.objects.view import View
    from ibidem.repo.core import Core
    from ibidem.repo.state import LogEntry, State
    from ibidem.store.protocol import Store


@record
class GcReport:
    """What a collection deleted, or would delete."""

    block_count: int
    size_bytes: int
    counts: Mapping[str, int] = field(default_factory=empty)
    """Deleted blocks by kind."""
    kept_count: int = 0
    operation_count: int = 0
    """Operations dropped from the log: as requested, or because of a ref with a target of the wrong
    kind for its name.
    """
    snapshot_count: int = 0
    """Index snapshots of deleted roots."""
    is_dry_run: bool = False


def collect(
    repository: Core,
    *,
    keep_operations: int | None = OPERATIONS_KEPT,
    dry_run: bool = False,
    author: str = "",
    time: int | None = None,
) -> GcReport:
    """Deletes all unreferenced blocks, and the files that killed processes were writing.

    Args:
        repository: other processes may read and write it at the same time.
        keep_operations: how many of the newest operations are kept; older ones can no longer be
            undone, and blocks that only they needed are deleted. None keeps all.
        dry_run: only counts.

    Raises:
        InvalidInputError: `keep_operations` is not a count, or below 1.
        FormatError: an unknown kind or version.
        CorruptError: a needed block is missing or damaged.
    """
    if keep_operations is not None:
        keep_operations = checks.count("keep_operations", keep_operations, low=1)
    store = repository.store
    marks = Marks(store, repository.progress)
    if dry_run:
        dropped, horizon = repository.operation_log.retry_if_collected(
            lambda state: _older(repository, state, keep_operations)
        )
        mark_all(store, marks, horizon)
        garbage = list_garbage(store, marks)
    else:
        finish(repository)  # completes an interrupted erasure first
        dropped = _cut(repository, keep_operations, author=author, time=time)
        garbage = delete_garbage(marks, repository.progress)
    snapshot_count = _drop_snapshots(repository, garbage, dry_run=dry_run)
    if repository.folder is not None and not dry_run:
        for folder, _, _ in os.walk(repository.folder):
            remove_stale(Path(folder))
    counts = Counter(kind for kind, _ in garbage.values())
    return GcReport(
        len(garbage),
        sum(size for _, size in garbage.values()),
        dict(sorted(counts.items())),
        len(marks),
        dropped,
        snapshot_count,
        dry_run,
    )


def _older(
    repository: Core, state: State, count_max: int | None
) -> tuple[int, OperationCid | None]:
    """Returns how many operations are dropped, and which one is then the oldest; None if none are.

    Operations with an invalid ref are dropped too, unless the newest one still has it.
    """
    entries = list(repository.operation_log.history(state))
    right = _right_count(repository.store, entries)
    count = min(len(entries) if count_max is None else count_max, right or len(entries))
    is_more = len(entries) > count
    return max(0, len(entries) - count), entries[count - 1].cid if is_more else None


def _right_count(store: Store, entries: Sequence[LogEntry]) -> int:
    """Returns how many of the newest operations have no ref with a target of the wrong kind for its
    name. Nobody may go back to an operation with such a ref, and once the ref is dropped nothing
    keeps its target.
    """
    newer: View | None = None
    source = TreeCache(store)
    for at, entry in enumerate(entries):
        if has_wrong_ref(source, entry.view, newer):
            return at
        newer = entry.view
    return len(entries)


def _cut(repository: Core, count_max: int | None, *, author: str, time: int | None) -> int:
    """Drops older operations, by publishing an operation; returns how many were dropped.

    The head moves, so a process that is about to go back behind the horizon loses the race and
    notices it. The same holds for another collection: an operation that it has dropped must not
    become the horizon again.
    """
    operations = repository.operation_log

    def attempt(state: State) -> int:
        count, horizon = _older(repository, state, count_max)
        if horizon is not None:
            operations.publish(
                state,
                state.view,
                WriteBatch(repository.store),
                author=author,
                time=operations.time(time),
                description="give up older operations",
                cells={HORIZON_CELL: (state.cells.get(HORIZON_CELL), horizon.raw)},
            )
        return count

    return operations.retry(attempt)


def _drop_snapshots(
    repository: Core, garbage: Mapping[bytes, tuple[str, int]], *, dry_run: bool
) -> int:
    """Drops the index snapshots of deleted roots, with the files that only they need."""
    known, store = repository.search_index.written_roots(), repository.store
    if dry_run:
        return sum(root.raw in garbage for root in known)
    gone = [root for root in known if not store.has(root)]
    repository.search_index.current.forget_all(gone)
    return len(gone)
