"""Questions over several repositories at once.

A union is a set of revisions that are asked as one collection: statistics are taken over all of
them, scores are those of one repository with all the nodes, and each item names the root that it is
of. The answer is a pure function of the set of roots, the viewer and the question; nothing is
copied, and no index is built besides those of the repositories.

What a question leaves to the configuration has to be the same in all of them, or be given.

Spec: retrieval 3.5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ibidem.objects.cid import Cid, CommitCid, NodeCid, RootCid
from ibidem.objects.config import TRUST_SETTING, Config, Model
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.objects.node import Node
from ibidem.repo.access import UnrestrictedGraph
from ibidem.repo.graph import Graph
from ibidem.repo.questions import changed_options
from ibidem.repo.receipts.replay import check_roots, check_same, found_receipt, opened, replayed
from ibidem.repo.retrieval import context
from ibidem.repo.retrieval.context import ask_packs
from ibidem.repo.retrieval.pack_stream import PackStream
from ibidem.repo.retrieval.records import ask_records
from ibidem.repo.retrieval.retrieve import answered, ask_nodes, has_words, stream_packs
from ibidem.repo.revision import Revision
from ibidem.repo.viewer.exposure import not_permitted
from ibidem.repo.viewer.repository import ViewerRepository
from ibidem.repo.viewer.revision import ViewerRevision
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.query.configured import CONFIGURED
from ibidem.retrieve.query.options import OF_CONVERSATIONS, SETTINGS, TIMES_OF_RECORDS
from ibidem.retrieve.query.settings import shown
from ibidem.retrieve.query.union import RootSet

if TYPE_CHECKING:
    from datetime import datetime

    from ibidem.embed.language_model import LanguageModel
    from ibidem.embed.protocol import Embedder, SparseEncoder
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.location import Location
    from ibidem.repo.core import Core
    from ibidem.repo.repository import Repository
    from ibidem.repo.retrieval.retrieve import PreparedQuery
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.retrieve.access.union_snapshot import UnionSnapshot
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item, RankedNode
    from ibidem.retrieve.answer.locator import Located
    from ibidem.retrieve.answer.receipt import Receipt
    from ibidem.retrieve.answer.sealed import SealedReceipt
    from ibidem.retrieve.context.pack import Pack
    from ibidem.retrieve.context.prompt import Citation, Prompt
    from ibidem.retrieve.query.configured import Configured
    from ibidem.retrieve.query.predicate import Predicate
    from ibidem.retrieve.query.query import Query
    from ibidem.retrieve.records.item import RecordItem
    from ibidem.retrieve.records.record import RecordType, Status
    from ibidem.retrieve.rerank import Reranker
    from ibidem.retrieve.tokens import TokenEstimator

    Source = Repository | ViewerRepository | Revision | ViewerRevision

T = TypeVar("T")
R = TypeVar("R")
EQUAL_FIELDS = ("semantics", "analyser", "fields")
"""The fields of the configuration that determine how every text is read."""


class Union:
    """Several revisions that are asked as one collection, read-only."""

    def __init__(self, sources: Iterable[Source]) -> None:
        """Takes revisions, and of repositories the revisions at their heads.

        Raises:
            InvalidInputError: one is neither, or fewer than two are of different roots.
        """
        if not isinstance(sources, Iterable):
            raise InvalidInputError(
                f"union: got {type(sources).__name__}, expected several repositories in a list"
            )
        given = [_revision_of(one) for one in sources]
        if not given:
            raise InvalidInputError("union: got no repositories, expected two or more")
        self._revisions = {one.root_cid: one for one in reversed(given)}
        self.roots = RootSet.of(self._revisions).roots
        """The roots, ascending."""
        self._core = _graph_of(given[0]).core
        """Of the first repository that was given: it has the receipts, and the embedders."""
        self._graphs = tuple(_graph_of(self._revisions[root]) for root in self.roots)
        self._cached: list[tuple[tuple[Any, ...], UnionSnapshot]] = []

    commit_cid = None
    """There is no commit of all of them."""

    def __repr__(self) -> str:
        return f"<Union of {len(self.roots)} roots>"

    def revision(self, root: RootCid | None) -> Revision | ViewerRevision:
        """Returns the revision of one of the roots, such as that of an item.

        Raises:
            NotFoundError: it is none of the roots.
        """
        if root is None or root not in self.roots:
            raise NotFoundError(f"root {root} is none of those of this union")
        return self._revisions[root]

    def retrieve(
        self,
        text: str | None = None,
        *,
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
    ) -> Answer[Item]:
        """Returns the ranked answer to a question over all roots; `root` of an item says which it
        is of. Options are those of `Revision.retrieve`, without conditions on the history and
        what counts notes; the first repository gets the receipt.

        Raises:
            InvalidInputError: an option is wrong; the configurations differ in what the question
                leaves to them; kind `viewer-required`.
            NotFoundError: kind `ambiguous`: `adjacency` is asked for, and several roots have a node
                with the id of an item.

        Examples:
            >>> import ibidem
            >>> work, notes = ibidem.init("memory:"), ibidem.init("memory:")
            >>> for repo, text in ((work, "the parcel arrives"), (notes, "a parcel of tea")):
            ...     with repo.transaction() as tx:
            ...         _ = tx.add_node("Fact", summary=text)
            >>> answer = ibidem.union([work, notes]).retrieve("parcel")
            >>> [(item.node.summary, item.root == work.at().root_cid) for item in answer]
            [('the parcel arrives', True), ('a parcel of tea', False)]
        """
        options = {"text": text, **changed_options(locals(), Union.retrieve)}
        return answered(self._core, *self._resolved(ask_nodes, options))

    def packs(
        self,
        text: str | None = None,
        *,
        # options: packs
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
        expand: str = "neighbors",
        per_hit_neighbors: int = 4,
        window_chars: int | None = 800,
        merge: str = "absorb",
        rank: str = "score",
        spans: bool = False,
        nodes_max: int | None = None,
        etypes: Iterable[str] | None = None,
        hops: int = 1,
        fanout: int = 8,
        direction: str = "both",
        sources: Mapping[str, object] | None = None,
        # end of options
    ) -> Answer[Pack]:
        """Returns hits with their surrounding text, no passage twice; `root` of a pack says which
        root it is of. Options are those of `Revision.packs`, as in `retrieve`.

        Examples:
            >>> import ibidem
            >>> work, notes = ibidem.init("memory:"), ibidem.init("memory:")
            >>> for repo, text in ((work, "The parcel arrives."), (notes, "A parcel of tea.")):
            ...     with repo.transaction() as tx:
            ...         _ = ibidem.ingest_text(tx, text, path="mail.md")
            >>> sorted(pack.text for pack in ibidem.union([work, notes]).packs("parcel"))
            ['A parcel of tea.', 'The parcel arrives.']
        """
        options = {"text": text, **changed_options(locals(), Union.packs)}
        return answered(self._core, *self._resolved(ask_packs, options))

    def stream_packs(
        self,
        text: str | None = None,
        *,
        # options: packs
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
        expand: str = "neighbors",
        per_hit_neighbors: int = 4,
        window_chars: int | None = 800,
        merge: str = "absorb",
        rank: str = "score",
        spans: bool = False,
        nodes_max: int | None = None,
        etypes: Iterable[str] | None = None,
        hops: int = 1,
        fanout: int = 8,
        direction: str = "both",
        sources: Mapping[str, object] | None = None,
        # end of options
    ) -> PackStream:
        """Returns an iterator over the packs of `packs`, each as soon as it is known."""
        options = {"text": text, **changed_options(locals(), Union.packs)}
        whole, prepared = self._resolved(ask_packs, options)
        return PackStream(stream_packs(self._core, whole, prepared), prepared.query)

    def prompt(
        self,
        text: str,
        packs: Answer[Pack] | None = None,
        *,
        style: str = "qa",
        # options: prompt
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
        expand: str = "neighbors",
        per_hit_neighbors: int = 4,
        window_chars: int | None = 800,
        merge: str = "absorb",
        rank: str = "score",
        spans: bool = False,
        nodes_max: int | None = None,
        etypes: Iterable[str] | None = None,
        hops: int = 1,
        fanout: int = 8,
        direction: str = "both",
        sources: Mapping[str, object] | None = None,
        # end of options
    ) -> Prompt:
        """Returns a prompt with numbered sources of all roots; each citation names the root of its
        source. The arguments are those of `Revision.prompt`.
        """
        options = changed_options(locals(), Union.packs)
        return context.prompt(self, text, packs, style=style, **options)

    def verify_citation(self, citation: Citation, *, viewer: Viewer | None = None) -> bool:
        """Returns whether a citation of one of the roots matches the text visible to the caller.

        Args:
            viewer: the caller; required if the cited root has a trust policy, and no revision was
                opened for one.
        """
        context.check_citation(citation)
        caller = self._viewer or viewer
        if viewer not in (None, caller):
            raise InvalidInputError("viewer: got another caller than the revision was opened for")
        graph = next((one for one in self._graphs if one.root_cid == citation.root), None)
        return graph is not None and context.verify(graph.core, citation, viewer=caller)

    def records(
        self,
        text: str | None = None,
        *,
        # options: union
        types: Iterable[RecordType | str] | None = None,
        include_status: Iterable[Status | str] = (),
        queries: Sequence[str | Mapping[str, Any]] | None = None,
        imagine: LanguageModel | None = None,
        reword: LanguageModel | None = None,
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
        token_budget: int | Configured | None = CONFIGURED,
        frame: Mapping[str, int] | None = None,
        depth: int = 200,
        limit: int = 25,
        coverage_min: int | None = None,
        viewer: Viewer | None = None,
        min_salience: float = 0.0,
        root_limit: int = 10,
        edge_limit: int = 100,
        hops: int = 1,
        direction: str = "both",
        top_min: float = 0.6,
        gap_min: float = 0.0,
        layered: bool = False,
        # end of options
    ) -> Answer[RecordItem]:
        """Returns the records that a question is about, and the records related to them in their
        root. Options are those of `Revision.records`; no notes count.

        Examples:
            >>> import ibidem
            >>> work, notes = ibidem.init("memory:"), ibidem.init("memory:")
            >>> _ = work.add("Ada likes tea"), notes.add("Tom likes coffee")
            >>> found = ibidem.union([work, notes]).records("likes tea")
            >>> sorted(item.node.summary for item in found)
            ['Ada likes tea', 'Tom likes coffee']
        """
        options = {"text": text, "notes": None, **changed_options(locals(), Union.records)}
        return answered(self._core, *self._resolved(ask_records, options))

    def _resolved(
        self, ask: Callable[..., PreparedQuery], options: dict[str, Any]
    ) -> tuple[_UnionGraph, PreparedQuery]:
        """Returns the graph and the resolved query of a question, which has to be one that several
        roots can answer."""
        for name in TIMES_OF_RECORDS:
            if options.get(name) is not None:
                raise InvalidInputError(
                    f"{name}: got it in a question to several repositories, expected one repository"
                )
        whole = self._graph_for(options.get("viewer"), _settled(ask, options))
        prepared = ask(self._core, whole, **options)
        _check_query(whole.graphs, prepared.query)
        return whole, prepared

    def replay(
        self,
        receipt: Receipt | SealedReceipt | Cid | str | None,
        *,
        estimator: str | TokenEstimator | None = None,
        text: str | None = None,
        key: bytes | None = None,
    ) -> Answer[Item]:
        """Recomputes the answer of a receipt of these roots; raises `ReplayError` unless the bytes
        agree. The arguments are those of `Receipts.replay`.

        Raises:
            ReplayError: kind `not-found`: it is of other roots.
            InvalidInputError: kind `not-permitted`: to a restricted viewer, the receipt of another
                one, or a CID instead of the receipt itself.
        """
        caller = self._viewer
        is_restricted = caller is not None and not caller.everything
        if is_restricted and isinstance(receipt, (Cid, str)):
            raise not_permitted("a receipt by its name")
        recorded = opened(found_receipt(self._core, receipt), text, key)
        if is_restricted and recorded.query.viewer != caller:
            raise not_permitted("the receipt of another viewer")
        graph = self._graph_for(recorded.query.viewer, None)
        check_roots(recorded.query, graph.union)
        _check_query(graph.graphs, recorded.query)
        result: Answer[Item] = replayed(self._core, graph, recorded, estimator)
        check_same(self._core, recorded, result, graph.config)
        return replace(result, receipt=recorded)

    @property
    def _viewer(self) -> Viewer | None:
        """The caller for whom a revision was opened; None if none was."""
        return next((one.viewer for one in self._graphs if one.viewer is not None), None)

    def _graph_for(self, viewer: Viewer | None, given: Collection[str] | None) -> _UnionGraph:
        caller = self._viewer if viewer is None else viewer
        graphs = [graph.seen_by(caller) for graph in self._graphs]
        return _UnionGraph(self._core, graphs, given, self._snapshot_of)

    def _snapshot_of(
        self, parts: Sequence[Snapshot], config: Config, viewer: Viewer | None
    ) -> UnionSnapshot:
        """Returns the union of the roots' snapshots; the last one is kept, with what was derived
        from it."""
        from ibidem.retrieve.access.union_snapshot import UnionSnapshot

        if self._cached:
            (same_parts, same_config, same_viewer), found = self._cached[0]
            is_same = len(same_parts) == len(parts) and all(
                one is other for one, other in zip(same_parts, parts, strict=True)
            )
            if is_same and (same_config, same_viewer) == (config, viewer):
                return found
        made = UnionSnapshot(parts, config, viewer)
        self._cached[:] = [((tuple(parts), config, viewer), made)]
        return made


class _UnionGraph(UnrestrictedGraph):
    """What a question reads of several roots."""

    def __init__(
        self,
        core: Core,
        graphs: Sequence[Graph],
        given: Collection[str] | None,
        join: Callable[[Sequence[Snapshot], Config, Viewer | None], UnionSnapshot],
    ) -> None:
        """Joins graphs, each seen by the caller.

        Args:
            core: where the receipt is kept.
            graphs: by root.
            given: the names of the options that the question does not take from a configuration;
                None for a replay, which takes none.
            join: makes one snapshot of those of the graphs.
        """
        self.core, self.commit = core, None
        self.union = RootSet.of(one.root_cid for one in graphs)
        self.root_cid, self.root = graphs[0].root_cid, graphs[0].root
        self.generation = next((one.generation for one in graphs if one.core is core), -1)
        self.viewer = next((one.viewer for one in graphs if one.viewer is not None), None)
        self.is_restricted = any(one.is_restricted for one in graphs)
        self.graphs, self._join = graphs, join
        self._current: UnionSnapshot | None = None
        self.config = _common_config(graphs, given)

    def _united(self, parts: Sequence[Snapshot]) -> UnionSnapshot:
        self._current = self._join(parts, self.config, self.viewer)
        return self._current

    def with_snapshot(self, question: Callable[[Any], T]) -> T:
        """Runs a question against the union of the snapshots; damaged index files of any of them
        are rebuilt."""
        return self._with([], question)

    def _with(self, parts: list[Snapshot], question: Callable[[Any], T]) -> T:
        if len(parts) == len(self.graphs):
            return question(self._united(parts))
        graph = self.graphs[len(parts)]
        return graph.with_snapshot(lambda part: self._with([*parts, part], question))

    def stream_with_snapshot(
        self, question: Callable[[Any], Generator[T, None, R]]
    ) -> Generator[T, None, R]:
        """Yields what a function of the union of the snapshots yields, and returns its result."""
        return self._stream([], question)

    def _stream(
        self, parts: list[Snapshot], question: Callable[[Any], Generator[T, None, R]]
    ) -> Generator[T, None, R]:
        if len(parts) == len(self.graphs):
            return question(self._united(parts))
        graph = self.graphs[len(parts)]
        return graph.stream_with_snapshot(lambda part: self._stream([*parts, part], question))

    @property
    def parts(self) -> Sequence[Graph]:
        """The graphs of the roots."""
        return self.graphs

    def located(self, result: Answer[Any]) -> Located:
        """Returns the location of each item in its document, and for a question for a value the
        documents, looked up root by root."""
        from ibidem.repo.locate_many import located
        from ibidem.retrieve.answer.answer import best_node, may_state

        items: Sequence[RankedNode] = [best_node(item) for item in result.items]
        found: list[Location | None] = [None] * len(items)
        documents: list[Node] = []
        for graph in self.graphs:
            own = [index for index, item in enumerate(items) if item.root == graph.root_cid]
            locations, there = located(
                graph,
                [items[index].id for index in own],
                include_tombstoned=result.query.include_tombstoned,
                with_documents=may_state(result),
            )
            documents += there
            for index, location in zip(own, locations, strict=True):
                found[index] = location
        return found, documents

    def node_source(self, estimator: TokenEstimator) -> NodeSource:
        """Returns how nodes of any of the roots are read."""
        cores = {graph.root_cid: graph.core for graph in self.graphs}
        first, current = self.graphs[0].core, self._current

        def core_of(cid: NodeCid, blocks: Sequence[Cid]) -> Core:
            home = None if current is None else current.home(cid)
            if home is not None:
                return cores[home]
            # A block that no store has is an error that the store words.
            every = cores.values()
            return next((core for core in every if all(map(core.store.has, blocks))), first)

        def load(cid: NodeCid) -> Node:
            return Node.decode(core_of(cid, [cid]).store.get(cid))

        def load_many(cids: Sequence[NodeCid]) -> list[Node]:
            homes: dict[Core, list[NodeCid]] = {}
            for cid in cids:
                homes.setdefault(core_of(cid, [cid]), []).append(cid)
            blocks: dict[NodeCid, bytes] = {}
            for core, some in homes.items():
                blocks.update(zip(some, core.store.get_many(some), strict=True))
            return [Node.decode(blocks[cid]) for cid in cids]

        def content_of(node: Node) -> bytes | None:
            if not isinstance(node.content, tuple):
                return node.content
            # A node without its hidden parts is itself in no store.
            return core_of(node.cid, node.content).content_of(node)

        return NodeSource(load, content_of, estimator, load_many)


def _revision_of(source: Source) -> Revision | ViewerRevision:
    from ibidem.repo.repository import Repository

    found = source.at() if isinstance(source, (Repository, ViewerRepository)) else source
    whole = found._revision if isinstance(found, ViewerRevision) else found
    # Not those of a server, of a transaction, whose blocks are in no store yet, or of a run, which
    # would not record the question.
    if type(whole) is not Revision:
        raise InvalidInputError(
            f"union: got {type(source).__name__}, expected repositories on this machine, "
            "or revisions of them"
        )
    return found


def _graph_of(revision: Revision | ViewerRevision) -> Graph:
    return revision.graph if isinstance(revision, Revision) else revision._revision.graph


def _settled(ask: Callable[..., PreparedQuery], options: Mapping[str, Any]) -> set[str]:
    """Returns the names of the settings that a question does not take from a configuration."""
    found = {*options, *OF_CONVERSATIONS}
    if ask is ask_records:
        found |= {"limit", "depth"}
    if not has_words(options.get("text")):
        found |= {"operator", "phrases"}
    if options.get("rank") == context.HYBRID:
        found |= {"fusion", "weights"}
    return found


def _common_config(graphs: Sequence[Graph], given: Collection[str] | None) -> Config:
    """Returns what the configurations agree on; for a replay, whose question has everything, only
    how texts are read has to agree.

    Raises:
        InvalidInputError: they differ in what the question leaves to them, with the setting and
            both repositories.
    """
    first = graphs[0].config
    models: dict[str, Model] = dict(first.models)
    trust = first.extra.get(TRUST_SETTING)
    settings = shown(first)
    for graph in graphs[1:]:
        for name in EQUAL_FIELDS:
            _check_equal(graphs[0], graph, name, getattr(first, name), getattr(graph.config, name))
        own = {} if given is None else shown(graph.config)
        for name in SETTINGS if given is not None else ():
            if name not in given:  # type: ignore[operator]
                _check_equal(graphs[0], graph, name, settings.get(name), own.get(name))
        models = {**graph.config.models, **models}
        trust = trust if trust is not None else graph.config.extra.get(TRUST_SETTING)
    extra = {**first.extra, **({} if trust is None else {TRUST_SETTING: trust})}
    return replace(first, models=models, extra=extra)


def _check_equal(one: Graph, other: Graph, name: str, value: object, another: object) -> None:
    if value != another:
        hint = "ask them one by one"
        if name in SETTINGS:
            hint = f"give it in the question, or set one value in all: `repo config set {name}`"
        raise InvalidInputError(
            f"config.{name}: got {_text_of(value)} ({one.core.shown}) and {_text_of(another)} "
            f"({other.core.shown}), expected one for all",
            hint=hint,
        )


def _text_of(value: object) -> str:
    return "nothing" if value is None else f"{value!r:.60}"


def _check_query(graphs: Sequence[Graph], query: Query) -> None:
    """Raises `InvalidInputError` unless the configurations agree on what a query reads of them."""
    _check_models(graphs, [query.vector, *(one.vector for one in query.queries or ())])
    if query.records is not None:
        _check_policies(graphs)


def _check_policies(graphs: Sequence[Graph]) -> None:
    """Raises `InvalidInputError` unless the policies, which name properties of records, agree."""
    for graph in graphs[1:]:
        first, other = (one.config.extra.get(TRUST_SETTING) for one in (graphs[0], graph))
        _check_equal(graphs[0], graph, TRUST_SETTING, first, other)


def _check_models(graphs: Sequence[Graph], vectors: Iterable[Any]) -> None:
    """Raises `InvalidInputError` unless the vectors that rank are of one model everywhere."""
    for name in {vector.model for vector in vectors if vector is not None}:
        known = [(graph, graph.config.models.get(name)) for graph in graphs]
        having = [(graph, model) for graph, model in known if model is not None]
        for graph, model in having[1:]:
            first = having[0][1]
            for part in ("dim", "metric", "digest"):
                one, other = getattr(first, part), getattr(model, part)
                _check_equal(having[0][0], graph, f"models.{name}.{part}", one, other)


def union(
    sources: Iterable[Repository | ViewerRepository | Revision | ViewerRevision],
) -> Union:
    """Returns several repositories, or revisions of them, as one collection that can be asked.

    Raises:
        InvalidInputError: one is neither, or fewer than two are of different roots.
    """
    return Union(sources)
