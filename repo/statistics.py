"""A repository in numbers, read from the counts that trees and store keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ibidem.objects.record import record
from ibidem.objects.tree import Tree

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid, TreeCid
    from ibidem.repo.reader import Reader


@record
class RepositoryStats:
    """What the repository and its current head hold."""

    head: CommitCid | None
    branch_name: str
    node_count: int
    """Tombstoned nodes included."""
    edge_count: int
    tombstone_count: int
    vector_counts: Mapping[str, int]
    """By model."""
    sparse_counts: Mapping[str, int]
    """By vocabulary."""
    branch_count: int
    tag_count: int
    block_count: int
    """Of all revisions."""
    store_bytes: int
    """What the block store occupies on disk."""


def repository_stats(repository: Reader, rev: object) -> RepositoryStats:
    """Returns the numbers of a revision; the cost does not grow with the repository."""
    revision = repository.at(rev)
    root = revision.root

    def count(tree: TreeCid) -> int:
        return len(Tree(repository.store, tree))

    store = repository.store.stats()
    return RepositoryStats(
        head=revision.commit_cid,
        branch_name=repository.current_branch,
        node_count=count(root.nodes),
        edge_count=count(root.edges),
        tombstone_count=count(root.tombstones),
        vector_counts={name: count(tree) for name, tree in sorted(root.vectors.items())},
        sparse_counts={name: count(tree) for name, tree in sorted(root.sparse.items())},
        branch_count=len(repository.branches()),
        tag_count=len(repository.tags()),
        block_count=store.block_count,
        store_bytes=store.size_bytes,
    )
