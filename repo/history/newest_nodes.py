"""Nodes in the order of the commits that created or last wrote them, newest first.

The line of first parents is read backwards from a revision, and each commit's tree of nodes is
compared with its parent's. The first difference of a node that comes up is its last, so the newest
few nodes cost the commits that wrote them, however long the history is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import CommitCid, TreeCid
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, diff
from ibidem.repo.history.ancestry import first_parents, read_commit
from ibidem.repo.retrieval.listing import matching
from ibidem.retrieve.query import checks

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.commit import Commit
    from ibidem.repo.graph import Graph

ORDERS = ("updated", "created")


@record
class WrittenNode:
    """A node, and the commit that created it or gave it its present version."""

    node: Node
    commit: Commit


def newest_nodes(
    revision: Graph, *, by: str, limit: int | None, **conditions: Any
) -> list[WrittenNode]:
    """Returns the newest nodes that meet all conditions; nodes of one commit by id.

    Args:
        revision: the graph whose nodes are listed, and whose commit begins the history.
        by: `updated` for the last commit that wrote a node, `created` for the one that added it.
        limit: maximal number of nodes, None for all.
        conditions: as for `listing.page`.

    Raises:
        InvalidInputError: an option is wrong; it is named.
        NotFoundError: kind `block-not-found`: the history is not in this repository that far back.
    """
    checks.choice("by", by, ORDERS)
    most = None if limit is None else checks.count("limit", limit)
    count, is_match = matching(revision, **conditions)
    store = revision.core.store
    start = revision.commit_cid
    written = () if start is None else _written(store, start, is_update=by == "updated")
    wanted = ((key, commit) for key, commit in written if is_match(key))
    return [
        WrittenNode(revision.node(key, include_tombstoned=True), commit)
        for key, commit in islice(wanted, count if most is None else min(most, count))
    ]


def _written(
    source: Source, start: CommitCid, *, is_update: bool
) -> Iterator[tuple[NodeId, Commit]]:
    """Yields every node that the first root has, with its commit."""
    done: set[bytes] = set()
    for commit, before, after in _steps(source, start):
        for key, was, now in diff(source, before, after):
            if key not in done and (is_update or was is None or now is None):
                done.add(key)
                if now is not None:
                    yield NodeId(key), commit


def _steps(source: Source, start: CommitCid) -> Iterator[tuple[Commit, TreeCid, TreeCid]]:
    """Yields the commits of the line with the trees of nodes before and after each."""
    later: tuple[Commit, TreeCid] | None = None
    for _, commit in first_parents(partial(read_commit, source), start):
        nodes = Root.decode(source.get(commit.root)).nodes
        if later is not None:
            yield later[0], nodes, later[1]
        later = commit, nodes
    if later is not None:
        yield later[0], EMPTY_TREE, later[1]
