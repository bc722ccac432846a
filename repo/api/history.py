"""The history of a repository: commits, differences, blame, bisection, undo, squash and prune."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from ibidem.objects.commit import Commit
from ibidem.objects.ids import NodeId
from ibidem.repo import branches
from ibidem.repo.argument_checks import check_id
from ibidem.repo.arguments import checked_time
from ibidem.repo.history import log, rewrite
from ibidem.repo.history.ancestry import merge_bases
from ibidem.repo.history.blame import blame
from ibidem.repo.history.documents import document_changes
from ibidem.repo.history.touching import Touched, ids_before, paths_before, touching
from ibidem.repo.questions import Questions, changed_options
from ibidem.repo.revspec import HEAD
from ibidem.repo.viewer.exposure import not_permitted
from ibidem.retrieve.access.policy import ALL
from ibidem.retrieve.query import checks
from ibidem.retrieve.query.configured import CONFIGURED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from ibidem.embed.language_model import LanguageModel
    from ibidem.embed.protocol import Embedder, SparseEncoder
    from ibidem.objects.cid import CommitCid
    from ibidem.objects.operation import Operation
    from ibidem.repo.core import Core
    from ibidem.repo.history.bisect import Bisection
    from ibidem.repo.history.blame import Blame
    from ibidem.repo.history.compare import Ask, Comparison
    from ibidem.repo.history.documents import DocumentChange
    from ibidem.repo.history.log import Change, Position
    from ibidem.repo.history.newest_nodes import WrittenNode
    from ibidem.repo.history.rewrite import Pruned
    from ibidem.repo.operation_log import Restored
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.retrieve.query.configured import Configured
    from ibidem.retrieve.query.predicate import Predicate
    from ibidem.retrieve.rerank import Reranker
    from ibidem.retrieve.tokens import TokenEstimator


class History:
    """The commits and operations of a repository, and the causes of changed answers."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def log(self, at: object = HEAD) -> Iterator[Commit]:
        """Yields a revision and its ancestors, newest first; none on a branch without commits."""
        return log.commits(self._core.store, self._core.resolve(at, missing_ok=True))

    def diff(
        self, before: object, after: object = HEAD, *, beyond: Position | None = None
    ) -> Iterator[Change]:
        """Yields the changes between two revisions, by family, name and id.

        Args:
            before: a revision.
            after: another one.
            beyond: the family, name and id of a change; what comes after it is yielded, and what
                comes before it is not read.
        """
        state = self._core.operation_log.state()
        old, new = (self._core.graph(rev, state=state) for rev in (before, after))
        return log.changes(self._core.store, old.root, new.root, beyond=beyond)

    def diff_documents(
        self, before: object, after: object = HEAD, *, parts_max: int | None = None
    ) -> Iterator[DocumentChange]:
        """Yields the documents whose source or path differs between two revisions, by path.

        Args:
            before: a revision.
            after: another one.
            parts_max: a document with more parts is yielded without its texts, and not read to its
                end.
        """
        state = self._core.operation_log.state()
        old, new = (self._core.graph(rev, state=state) for rev in (before, after))
        if parts_max is not None:
            checks.count("parts_max", parts_max)
        return document_changes(self._core.store, old.root, new.root, parts_max=parts_max)

    def compare(
        self,
        text: str | None = None,
        *,
        before: object,
        after: object = HEAD,
        # options: retrieve
        queries: Sequence[str | Mapping[str, Any]] | None = None,
        imagine: LanguageModel | None = None,
        reword: LanguageModel | None = None,
        label: str | Iterable[str] | None = None,
        where: Mapping[str, object] | Predicate | None = None,
        include_tombstoned: bool = False,
        model: str | Configured | None = CONFIGURED,
        embedder: Embedder | None = None,
        degrade: bool = False,
        vector: tuple[str, Any] | None = None,
        sparse: tuple[str, Any, Any] | SparseEncoder | None = None,
        operator: str | Configured = CONFIGURED,
        phrases: bool | Configured = CONFIGURED,
        fuzzy: bool | Mapping[str, float] | None = None,
        related: bool | Configured = CONFIGURED,
        k1: float | Configured | None = CONFIGURED,
        b: float | Configured | None = CONFIGURED,
        graph: Mapping[str, object] | None = None,
        community: Mapping[str, object] | None = None,
        mentions: bool | Mapping[str, object] | None = None,
        as_of: int | datetime | None = None,
        valid_missing: str | None = "pass",
        created_after: int | datetime | None = None,
        created_before: int | datetime | None = None,
        updated_after: int | datetime | None = None,
        updated_before: int | datetime | None = None,
        fusion: str | Configured | None = CONFIGURED,
        rrf_k: float | Configured | None = CONFIGURED,
        weights: Mapping[str, float] | Configured | None = CONFIGURED,
        rerank: Reranker | None = None,
        rerank_text: str | None = None,
        rerank_depth: int | None = 25,
        rerank_timeout: float | None = 8.0,
        mmr: Mapping[str, float] | None = None,
        recency: bool | Mapping[str, Any] | None = None,
        importance: bool | str | None = None,
        feedback: bool | Mapping[str, Any] | None = None,
        worth: bool | Mapping[str, Any] | None = None,
        direct: bool | Mapping[str, Any] | None = None,
        notes: CommitCid | str | None = None,
        adjacency: int | Configured = CONFIGURED,
        metadata: bool | Configured = CONFIGURED,
        estimator: str | TokenEstimator = "heuristic",
        token_budget: int | Configured | None = CONFIGURED,
        frame: Mapping[str, int] | None = None,
        depth: int | Configured = CONFIGURED,
        limit: int | Configured | None = CONFIGURED,
        overflow: str | None = None,
        dedupe: str | None = None,
        dedupe_percent: int = 80,
        dedupe_property: str | None = None,
        headings: str = "keep",
        coverage_min: int | None = None,
        strict: bool = False,
        viewer: Viewer | None = None,
        # end of options
    ) -> Comparison:
        """Returns how the answer to one question differs between two revisions, and why."""
        options = changed_options(locals(), Questions.retrieve)
        return self._compared(text, before, after, options)

    def _compared(
        self, text: str | None, before: object, after: object, options: Mapping[str, Any]
    ) -> Comparison:
        from ibidem.repo.history.compare import compare_revisions

        return compare_revisions(self._core, before, after, self._question(text, **options))

    def bisect(
        self,
        text: str | None = None,
        *,
        expect: NodeId | str,
        rank_max: int | None = None,
        good: object = None,
        bad: object = HEAD,
        # options: retrieve
        queries: Sequence[str | Mapping[str, Any]] | None = None,
        imagine: LanguageModel | None = None,
        reword: LanguageModel | None = None,
        label: str | Iterable[str] | None = None,
        where: Mapping[str, object] | Predicate | None = None,
        include_tombstoned: bool = False,
        model: str | Configured | None = CONFIGURED,
        embedder: Embedder | None = None,
        degrade: bool = False,
        vector: tuple[str, Any] | None = None,
        sparse: tuple[str, Any, Any] | SparseEncoder | None = None,
        operator: str | Configured = CONFIGURED,
        phrases: bool | Configured = CONFIGURED,
        fuzzy: bool | Mapping[str, float] | None = None,
        related: bool | Configured = CONFIGURED,
        k1: float | Configured | None = CONFIGURED,
        b: float | Configured | None = CONFIGURED,
        graph: Mapping[str, object] | None = None,
        community: Mapping[str, object] | None = None,
        mentions: bool | Mapping[str, object] | None = None,
        as_of: int | datetime | None = None,
        valid_missing: str | None = "pass",
        created_after: int | datetime | None = None,
        created_before: int | datetime | None = None,
        updated_after: int | datetime | None = None,
        updated_before: int | datetime | None = None,
        fusion: str | Configured | None = CONFIGURED,
        rrf_k: float | Configured | None = CONFIGURED,
        weights: Mapping[str, float] | Configured | None = CONFIGURED,
        rerank: Reranker | None = None,
        rerank_text: str | None = None,
        rerank_depth: int | None = 25,
        rerank_timeout: float | None = 8.0,
        mmr: Mapping[str, float] | None = None,
        recency: bool | Mapping[str, Any] | None = None,
        importance: bool | str | None = None,
        feedback: bool | Mapping[str, Any] | None = None,
        worth: bool | Mapping[str, Any] | None = None,
        direct: bool | Mapping[str, Any] | None = None,
        notes: CommitCid | str | None = None,
        adjacency: int | Configured = CONFIGURED,
        metadata: bool | Configured = CONFIGURED,
        estimator: str | TokenEstimator = "heuristic",
        token_budget: int | Configured | None = CONFIGURED,
        frame: Mapping[str, int] | None = None,
        depth: int | Configured = CONFIGURED,
        limit: int | Configured | None = CONFIGURED,
        overflow: str | None = None,
        dedupe: str | None = None,
        dedupe_percent: int = 80,
        dedupe_property: str | None = None,
        headings: str = "keep",
        coverage_min: int | None = None,
        strict: bool = False,
        viewer: Viewer | None = None,
        # end of options
    ) -> Bisection:
        """Returns the first commit whose answer lacks a node, or ranks it below `rank_max`.

        Args:
            text: the question; the options are those of `retrieve`.
            expect: the node.
            rank_max: the lowest acceptable rank, None for any.
            good: a revision whose answer has it; None for the commit that added the node.
            bad: the last revision to consider.
        """
        expect = check_id("expect", expect, NodeId)
        ask = self._question(text, **changed_options(locals(), Questions.retrieve))
        from ibidem.repo.history.bisect import bisect_node

        return bisect_node(self._core, ask, expect, rank_max=rank_max, good=good, bad=bad)

    def _question(self, text: str | None, **options: Any) -> Ask:
        from ibidem.repo.retrieval.retrieve import retrieve

        return lambda graph: retrieve(self._core, graph, text=text, **options)

    def touching(
        self,
        at: object = HEAD,
        *,
        node: NodeId | str | None = None,
        label: str | None = None,
        path: str | None = None,
    ) -> Iterator[Commit]:
        """Yields the commits of a revision's history that touched a matching node, newest first.

        A single node must match all given conditions; an erased one matches neither a label nor a
        path.

        Args:
            node: that node, also under the ids that it had before its document was renamed.
            label: a node of that label.
            path: the document that was ingested from there, also under its earlier paths, or a part
                that it lists.
        """
        store = self._core.store
        node = None if node is None else check_id("node", node, NodeId)
        start = self._core.resolve(at, missing_ok=True)
        earlier: tuple[str, ...] = ()
        earlier_ids: tuple[NodeId, ...] = ()
        if start is not None and (path or node is not None):
            root = Commit.decode(store.get(start)).root
            earlier = paths_before(store, root, path) if path else ()
            earlier_ids = () if node is None else ids_before(store, root, node)
        touched = Touched(node, label, path, earlier, earlier_ids)
        return touching(store, start, touched, self._core.progress)

    def newest_nodes(
        self,
        at: object = HEAD,
        *,
        by: str = "updated",
        label: str | Iterable[str] | None = None,
        where: Mapping[str, object] | Predicate | None = None,
        as_of: int | datetime | None = None,
        valid_missing: str | None = None,
        created_after: int | datetime | None = None,
        created_before: int | datetime | None = None,
        updated_after: int | datetime | None = None,
        updated_before: int | datetime | None = None,
        include_tombstoned: bool = False,
        limit: int | None = 10,
        viewer: Viewer | None = None,
    ) -> list[WrittenNode]:
        """Returns the nodes written last, newest first, each with the commit that did it.

        On a branch that others were merged into, that is the merge.

        Args:
            at: the revision.
            by: `updated` for the last commit that wrote a node, `created` for the one that added
                it.
            label: only nodes of this type; this and the other conditions as for `query`.
            limit: maximal number of nodes, None for all; the cost is that of their commits.
            viewer: the caller, who may see everything; required if there is a trust policy.

        Examples:
            >>> import ibidem
            >>> repo = ibidem.init("memory:")
            >>> with repo.transaction(message="the first fact") as tx:
            ...     _ = tx.add_node("Fact", summary="tea")
            >>> [(one.node.summary, one.commit.message) for one in repo.history.newest_nodes()]
            [('tea', 'the first fact')]
        """
        conditions = changed_options(locals(), Questions.query, but=("limit",))
        from ibidem.repo.history.newest_nodes import newest_nodes
        from ibidem.repo.retrieval.given_time import given_times

        graph = self._core.graph(at, viewer=viewer)
        if graph.is_restricted:
            raise not_permitted("History.newest_nodes")
        return newest_nodes(graph, by=by, limit=limit, **given_times(conditions, graph))

    def blame(self, node: NodeId | str, at: object = HEAD) -> list[Blame]:
        """Returns, for each field and property of a node, the commit that last set it.

        Raises:
            NotFoundError: the node does not exist at that revision.
        """
        node = check_id("node", node, NodeId)

        self._core.graph(at, viewer=ALL).node(node, include_tombstoned=True)
        core = self._core
        return blame(core.store, core.commit_at(at).cid, node, core.progress)

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
        """Combines the commits of a branch after `base`, or all of them, into one, and returns it.

        Args:
            message: without one, that of the last commit.
            sign: as for `Repository.transaction`.
        """
        start = None if base is None else self._core.commit_cid_of(base)
        full_name = branches.branch_of(self._core.operation_log, branch)
        signed = self._core.signed(author, message, time, agent=agent, task=task, sign=sign)
        return rewrite.squash(self._core.operation_log, full_name, start, signed)

    def prune(
        self,
        rev: object,
        *,
        drop_signatures: bool = False,
        author: str = "",
        time: int | datetime | None = None,
    ) -> Pruned:
        """Drops the history before a revision, on every branch and tag that descends from it. The
        later commits are rewritten with the same states; undo reverts that until garbage is
        collected. Kept receipts and runs replay as before.
        """
        first = self._core.commit_cid_of(rev)
        return rewrite.prune(
            self._core.operation_log,
            first,
            drop_signatures=drop_signatures,
            author=author,
            time=checked_time(time),
        )

    def merge_bases(self, one: object, other: object) -> tuple[CommitCid, ...]:
        """Returns the best common ancestors of two revisions, ascending; none if unrelated."""
        core = self._core
        return merge_bases(core.store, core.commit_cid_of(one), core.commit_cid_of(other))

    def operations(self) -> Iterator[Operation]:
        """Yields the local log, newest first: every change of the refs."""
        log = self._core.operation_log
        return (entry.operation for entry in log.history(log.state()))

    def undoable(self, *, depth: int | None = None) -> Iterator[Operation]:
        """Yields the operations that `undo` would revert if it were called again and again: the
        first of them is what it reverts now.

        Args:
            depth: operations that are searched for each of them, None for all.
        """
        if depth is not None:
            checks.count("depth", depth)
        return self._core.operation_log.undoable(depth)

    def undo(self, *, author: str = "", time: int | datetime | None = None) -> Restored:
        """Restores the refs to before the newest change that is not undone yet.

        Tombstones stay: a branch that would lose one gets a new commit with the earlier state and
        the tombstones. `kept` names their nodes; `untombstone` shows one again.
        """
        return self._core.operation_log.undo(
            author=author, time=checked_time(time), key=self._core.signing_key
        )

    def redo(self, *, author: str = "", time: int | datetime | None = None) -> Restored:
        """Reverts the newest undo that no other change has followed."""
        return self._core.operation_log.redo(author=author, time=checked_time(time))
