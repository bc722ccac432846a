"""History: who gave a node its values, a drawn log, and bounds to how far it goes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ibidem.repo.core import Core
from ibidem.repo.revspec import HEAD

if TYPE_CHECKING:
    from ibidem.objects.commit import Commit
    from ibidem.objects.ids import NodeId
    from ibidem.repo.history.bisect import Bisection
    from ibidem.repo.history.blame import Blame
    from ibidem.repo.history.compare import Ask, Comparison
    from ibidem.repo.history.log import Change
    from ibidem.repo.history.rewrite import Pruned


class HistoryApi(Core):
    """The methods of `Repository` about its past."""

    def log(self, rev: object = HEAD) -> Iterator[Commit]:
        """Yields the commits behind a revision, newest first; none on a branch without commits."""
        from ibidem.repo.history import log

        return log.commits(self.store, self.resolve(rev, missing_ok=True))

    def diff(self, before: object, after: object = HEAD) -> Iterator[Change]:
        """Yields what differs between two revisions, by family and id."""
        from ibidem.repo.history import log

        state = self.operation_log.state()
        old, new = (self.graph(rev, state=state) for rev in (before, after))
        return log.changes(self.store, old.root, new.root)

    def compare(
        self,
        text: str | None = None,
        *,
        before: object,
        after: object = HEAD,
        **options: Any,
    ) -> Comparison:
        """Returns how the answer to one question differs between two revisions, and why."""
        from ibidem.repo.history.compare import compare_revisions

        return compare_revisions(self, before, after, self._question(text, options))

    def bisect(
        self,
        text: str | None = None,
        *,
        expect: NodeId,
        rank_max: int | None = None,
        good: object = None,
        bad: object = HEAD,
        **options: Any,
    ) -> Bisection:
        """Returns the first commit whose answer lacks a node, or has it below a rank.

        Args:
            text: what is asked; `options` as for `retrieve`.
            expect: the node. rank_max: the last rank that will do, None for any.
            good: a revision whose answer has it; None for wherever the node came to be.
            bad: the last revision to consider.
        """
        from ibidem.repo.history.bisect import bisect_node

        ask = self._question(text, options)
        return bisect_node(self, ask, expect, rank_max=rank_max, good=good, bad=bad)

    def _question(self, text: str | None, options: Mapping[str, Any]) -> Ask:
        from ibidem.repo.retrieval.retrieve import retrieve

        return lambda graph: retrieve(self, graph, text=text, **options)

    def touching(
        self,
        rev: object = HEAD,
        *,
        node: NodeId | None = None,
        label: str | None = None,
        path: str | None = None,
    ) -> Iterator[Commit]:
        """Yields the commits behind a revision that touched something, newest first.

        Args:
            node: that node. label: a node of that label. path: a part of the document that was
                ingested from there. Several must fit one and the same node.
        """
        from ibidem.repo.history.touching import Touched, touching

        start = self.resolve(rev, missing_ok=True)
        return touching(self.store, start, Touched(node, label, path))

    def blame(self, node: NodeId, rev: object = HEAD) -> list[Blame]:
        """Returns, for each field and property of a node, the commit that gave it its value.

        Raises:
            NotFoundError: the node is not there at that revision.
        """
        from ibidem.repo.history.blame import blame
        from ibidem.retrieve.access.policy import ALL

        self.graph(rev, trust=ALL).node(node, include_tombstoned=True)
        return blame(self.store, self.commit_at(rev).cid, node)

    def squash(
        self,
        base: object = None,
        *,
        branch: str | None = None,
        message: str = "",
        author: str = "",
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
        sign: str | bool | None = None,
    ) -> Commit:
        """Folds the commits of a branch after `base`, or all of them, into one, and returns it.

        Args:
            message: without one, that of the last commit.
            sign: as for `Repository.transaction`.
        """
        from ibidem.repo import branches
        from ibidem.repo.arguments import commit_info
        from ibidem.repo.history import rewrite

        start = None if base is None else self.resolve(base)
        full_name = branches.branch_of(self.operation_log, branch)
        signed = commit_info(author, message, time, agent, task, self.key_for(sign))
        return rewrite.squash(self.operation_log, full_name, start, signed)

    def prune(
        self,
        rev: object,
        *,
        drop_signatures: bool = False,
        author: str = "",
        time: int | datetime | None = None,
    ) -> Pruned:
        """Lets the history begin at a revision, on every branch and tag that has it behind it.

        The commits from there on are written anew over the same states; undo takes it back, and a
        collection of garbage makes it final. Kept receipts and runs replay as before.
        """
        from ibidem.repo.arguments import checked_time
        from ibidem.repo.history import rewrite

        first = self.resolve(rev)
        assert first is not None, "BUG: resolve returned None"
        return rewrite.prune(
            self.operation_log,
            first,
            drop_signatures=drop_signatures,
            author=author,
            time=checked_time(time),
        )
