"""The statistics of a repository: trees and store from the counts that they keep, logs by reading
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ibidem.objects.record import record
from ibidem.objects.root import VECTOR_FAMILIES
from ibidem.objects.tree import Tree
from ibidem.repo import refs
from ibidem.repo.operation_log import OPERATIONS_KEPT
from ibidem.repo.refs import HEADS, TAGS

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid, TreeCid
    from ibidem.repo.core import Core
    from ibidem.repo.state import State


@record
class RepositoryStats:
    """Statistics of the repository and one revision."""

    head: CommitCid | None
    branch_name: str
    node_count: int
    """Including nodes with tombstones."""
    edge_count: int
    tombstone_count: int
    vector_counts: Mapping[str, Mapping[str, int]]
    """By family, and model or vocabulary."""
    branch_count: int
    tag_count: int
    block_count: int
    """Of all revisions."""
    store_bytes: int
    """The size of the block store on disk."""


@record
class LogSize:
    """The size of a log, and its bound."""

    count: int
    size_bytes: int
    count_max: int | None = None
    """Entries that stay when the log is cut; None if its bytes are bounded instead."""
    size_bytes_max: int | None = None
    """Bytes that it never exceeds; None if its entries are bounded instead."""


@record
class LogStats:
    """The logs of a repository: both grow with use, and both are bounded."""

    receipts: LogSize
    """Receipts of answers, stored outside the history; the files are cut as they grow. Kept
    receipts are blocks, and not counted.
    """
    operations: LogSize
    """Operations that can be undone, with their views, but without the blocks that these refer to.
    Garbage collection cuts this log.
    """


def log_stats(repository: Core) -> LogStats:
    """Returns the sizes of the logs; reads both, about 30 microseconds per operation."""
    operations = repository.operation_log

    def sizes(state: State) -> list[int]:
        return [
            len(entry.operation.encode()) + len(entry.view.encode())
            for entry in operations.history(state)
        ]

    found = operations.retry_if_collected(sizes)
    count, size_bytes = repository.receipts.size()
    return LogStats(
        receipts=LogSize(count, size_bytes, size_bytes_max=repository.receipts.bound_bytes),
        operations=LogSize(len(found), sum(found), count_max=OPERATIONS_KEPT),
    )


def repository_stats(repository: Core, rev: object) -> RepositoryStats:
    """Returns the statistics of a revision; the cost does not grow with the repository. Refs that
    cannot be read are not counted."""
    return repository.operation_log.retry_if_collected(
        lambda state: _stats_in(repository, state, rev)
    )


def _stats_in(repository: Core, state: State, rev: object) -> RepositoryStats:
    revision = repository.graph(rev, state=state)
    root = revision.root

    def count(tree: TreeCid) -> int:
        return len(Tree(repository.store, tree))

    store = repository.store.stats()
    return RepositoryStats(
        head=revision.commit_cid,
        branch_name=state.view.head.removeprefix(HEADS),
        node_count=count(root.nodes),
        edge_count=count(root.edges),
        tombstone_count=count(root.tombstones),
        vector_counts={
            family.name: {
                name: count(root.tree(family.name, name))
                for name in sorted(getattr(root, family.name))
            }
            for family in VECTOR_FAMILIES
        },
        branch_count=len(refs.readable(repository.store, state.view, HEADS)),
        tag_count=len(refs.readable(repository.store, state.view, TAGS)),
        block_count=store.block_count,
        store_bytes=store.size_bytes,
    )
