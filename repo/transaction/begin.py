"""Starts a transaction on an open repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.repo.arguments import CommitInfo, UniqueIds
from ibidem.repo.branches import branch_in
from ibidem.repo.edge_lookup import EdgeLookup
from ibidem.repo.transaction.publish import BranchPublisher
from ibidem.repo.transaction.reconcile import checked_choice
from ibidem.repo.transaction.staged_graph import staged_graph
from ibidem.repo.transaction.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Callable

    from ibidem.objects.blocks import Source
    from ibidem.objects.cid import RootCid
    from ibidem.repo.core import Core
    from ibidem.repo.graph import Graph
    from ibidem.repo.state import State
    from ibidem.repo.transaction.changeset import Publisher
    from ibidem.repo.transaction.transaction import NewId


def branch_publisher(
    core: Core, branch: str | None, signed: CommitInfo, *, on_conflict: str
) -> BranchPublisher:
    """Returns the publisher for a branch, by default the current one."""
    choice = checked_choice(on_conflict)
    log = core.operation_log

    def publisher(state: State) -> BranchPublisher:
        full_name = branch_in(core.store, state, branch)
        return BranchPublisher(log, state, full_name, signed, on_conflict=choice)

    return log.retry_if_collected(publisher)


def begin(
    core: Core,
    publisher: Publisher,
    signed: CommitInfo,
    *,
    state: State | None = None,
    source: Source | None = None,
    recorded: Callable[[UniqueIds], NewId] | None = None,
    now: Callable[[], int] | None = None,
) -> Transaction:
    """Returns a transaction on the root of a publisher, which publishes its changes at the end.

    Args:
        state: that of the publisher, in which the base is read; by default the newest.
        source: what the transaction reads of its base; by default the store.
        recorded: wraps the function that generates ids of new nodes.
        now: returns the time of the transaction; by default that in `signed`, else the clock's.
    """

    def time() -> int:
        return core.operation_log.time(signed.time)

    def base(root_cid: RootCid) -> Graph:
        return core.base(root_cid, state)

    lookup = EdgeLookup(core.store, lambda root_cid, ask: base(root_cid).with_snapshot(ask))
    ids = UniqueIds(publisher.base(), signed, time)
    return Transaction(
        source or core.store,
        publisher,
        incident=lambda root, id: lookup.incident(None, root, id),  # noqa: A006
        unique_id=ids if recorded is None else recorded(ids),
        on_publish=core.search_index.after_commit,
        now=now or time,
        staged=lambda root, blocks: staged_graph(base(publisher.base().cid), root, blocks),
        author=signed.author,
        folder=core.folder,
    )
