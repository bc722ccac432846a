"""What a repository has completely: the commits, runs and receipts reachable from its refs, and
their roots.

The presence of a single block proves nothing, since it may be a remnant of deleted data. So these
questions are answered from the refs, each only as far back in history as necessary.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.tree import Tree
from ibidem.objects.view import Ref, View
from ibidem.repo.history.ancestry import Reachable, commits_between
from ibidem.repo.sync.missing_blocks import Records, records_behind, split_targets
from ibidem.repo.view_check import is_target

if TYPE_CHECKING:
    from ibidem.repo.operation_log import OperationLog
    from ibidem.store.protocol import Store


def have_set(operations: OperationLog) -> HaveSet:
    """Returns what the current refs reach."""
    return operations.retry_if_collected(lambda state: HaveSet(operations.store, state.view))


class HaveSet:
    """What the refs of one view reach."""

    def __init__(self, store: Store, view: View) -> None:
        self._store = store
        self.head = view.head
        """Full name of the current branch."""
        blocks = store.get_many([cid for _, cid in Tree(store, view.refs).items()])
        self.refs = {ref.name: ref for ref in map(Ref.decode, blocks)}
        """By full name."""
        self.wrong = frozenset(
            name for name, ref in self.refs.items() if not is_target(store, name, ref.target)
        )
        """Names of refs with a target of the wrong kind; nothing counts as known for
        them, and no copy takes them along."""
        self._commits, self._records = split_targets(
            store, (ref.target for name, ref in self.refs.items() if name not in self.wrong)
        )
        self._reachable = Reachable(store, self._commits)

    @property
    def tips(self) -> list[CommitCid]:
        """The commits that refs point to, each once, ascending."""
        return sorted(set(self._commits))

    def commit(self, cid: CommitCid) -> bool:
        """Returns whether a ref leads to the commit."""
        return self._store.has(cid) and cid in self._reachable

    def record(self, cid: Cid) -> bool:
        """Returns whether a run or a kept receipt leads to the step, receipt or part."""
        return cid in self._record_cids

    def has(self, cid: Cid) -> bool:
        """Returns whether a ref leads to a commit, a step, a receipt or a root."""
        commit, root = CommitCid(cid.raw), RootCid(cid.raw)
        return self.commit(commit) or self.record(cid) or self.root(root)

    def root(self, cid: RootCid) -> bool:
        """Returns whether the root is that of a commit, or is recorded by a run or receipt here."""
        return self._store.has(cid) and cid in self._roots

    @cached_property
    def _record_cids(self) -> set[Cid]:
        return {need.cid for need in self._behind.needs}

    @cached_property
    def _behind(self) -> Records:
        return records_behind(self._store, self._records, lambda _: False)

    @cached_property
    def _roots(self) -> set[Cid]:
        commits = commits_between(self._store, self._commits, ())
        return {commit.root for commit in commits.values()} | set(self._behind.roots)
