"""A revision: the public, read-only API of the graph of one root. Reads are delegated to
`repo/graph.py`, queries to `repo/retrieval`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import update_wrapper
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from ibidem.objects.ids import NodeId
from ibidem.objects.vector import Sparse, Vector
from ibidem.repo.argument_checks import check_id
from ibidem.repo.graph import Graph
from ibidem.repo.questions import Questions, changed_options
from ibidem.retrieve.access.policy import policy_of
from ibidem.retrieve.query.configured import CONFIGURED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from fractions import Fraction
    from typing import Any

    from ibidem.embed.language_model import LanguageModel
    from ibidem.embed.protocol import Embedder, SparseEncoder
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.cid import CommitCid, RootCid
    from ibidem.objects.commit import Commit
    from ibidem.objects.config import Config
    from ibidem.objects.erasure import Erasure
    from ibidem.objects.root import Root
    from ibidem.objects.vector import Sparse, Vector
    from ibidem.repo.core import Core
    from ibidem.repo.retrieval.listing import Page
    from ibidem.repo.retrieval.neighbours import Neighbour
    from ibidem.repo.retrieval.pack_stream import PackStream
    from ibidem.repo.retrieval.signature import QuestionOptions
    from ibidem.retrieve.access.policy import TrustPolicy, Viewer
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import AnswerItem, Item
    from ibidem.retrieve.context.navigation import Navigation
    from ibidem.retrieve.context.prompt import Citation
    from ibidem.retrieve.graph.partition import Communities
    from ibidem.retrieve.graph.paths import GraphPath
    from ibidem.retrieve.query.configured import Configured
    from ibidem.retrieve.query.predicate import Predicate
    from ibidem.retrieve.records.item import RecordItem
    from ibidem.retrieve.records.record import RecordType, Status
    from ibidem.retrieve.rerank import Reranker
    from ibidem.retrieve.schema import Schema
    from ibidem.retrieve.tokens import TokenEstimator

T = TypeVar("T")
P = ParamSpec("P")


def _read(
    method: Callable[Concatenate[Graph, P], T],
) -> Callable[Concatenate[Revision, P], T]:
    """Returns a method of `Revision` that delegates to this method of `Graph`."""
    name = method.__name__

    def read(self: Revision, /, *args: P.args, **options: P.kwargs) -> T:
        found: T = getattr(self.graph, name)(*args, **options)
        return found

    update_wrapper(read, method)
    return read


class Revision(Questions):
    """The graph of one root, read-only. `commit` is None before the first commit.

    If the root has a trust policy, nothing can be read before `seen_by` names the caller.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def __repr__(self) -> str:
        commit = "no commit" if self.commit is None else f"commit {self.commit.cid}"
        return f"<{type(self).__name__} {commit}, root {self.root_cid}>"

    @property
    def core(self) -> Core:
        """The core below this API, for layers built on a repository."""
        return self.graph.core

    @property
    def root_cid(self) -> RootCid:
        """The CID of the root."""
        return self.graph.root_cid

    @property
    def root(self) -> Root:
        """The root: the trees of the graph and its configuration."""
        return self.graph.root

    @property
    def commit(self) -> Commit | None:
        """The commit; None if there is none."""
        return self.graph.commit

    @property
    def commit_cid(self) -> CommitCid | None:
        """The CID of the commit; None if there is none."""
        return self.graph.commit_cid

    @property
    def config(self) -> Config:
        """The configuration on which answers over this root depend."""
        return self.graph.config

    @property
    def viewer(self) -> Viewer | None:
        """The caller it was opened for; None if not given."""
        return self.graph.viewer

    @property
    def is_restricted(self) -> bool:
        """Whether the root may contain more than is visible here."""
        return self.graph.is_restricted

    @property
    def trust_policy(self) -> TrustPolicy | None:
        """How levels and scopes are read from nodes; None if the root has no trust policy."""
        return policy_of(self.config)

    @property
    def erasures(self) -> tuple[Erasure, ...]:
        """Erasures whose entries are left out; see `Repository.at(allow_erased=True)`."""
        return self.graph.erasures

    def seen_by(self, viewer: Viewer | None) -> Revision:
        """Returns the graph as a caller sees it; the same graph if there is no trust policy.

        Raises:
            InvalidInputError: kind `viewer-required`: there is a policy, and no caller was given.
        """
        visible = self.graph.seen_by(viewer)
        return self if visible is self.graph else Revision(visible)

    # -- reading -------------------------------------------------------------------------------

    node = _read(Graph.node)
    find_nodes = _read(Graph.find_nodes)
    node_id = _read(Graph.node_id)
    edge_id = _read(Graph.edge_id)
    edge = _read(Graph.edge)
    nodes = _read(Graph.nodes)
    edges = _read(Graph.edges)
    edges_of = _read(Graph.edges_of)

    def vector(self, id: NodeId | str, model: str) -> Vector | None:  # noqa: A002
        """Returns the vector of a node under a model, None if it has none."""
        return self.graph.vector(Vector, id, model)

    def sparse(self, id: NodeId | str, vocab: str) -> Sparse | None:  # noqa: A002
        """Returns the sparse vector of a node under a vocabulary, None if it has none."""
        return self.graph.vector(Sparse, id, vocab)

    def vectors(self) -> Iterator[tuple[str, NodeId, Vector]]:
        """Yields all vectors with their model and their node, by both."""
        return self.graph.vectors(Vector)

    def sparse_vectors(self) -> Iterator[tuple[str, NodeId, Sparse]]:
        """Yields all sparse vectors with their vocabulary and their node, by both."""
        return self.graph.vectors(Sparse)

    tombstone = _read(Graph.tombstone)
    content = _read(Graph.content)
    document = _read(Graph.document)
    locate = _read(Graph.locate)
    locate_many = _read(Graph.locate_many)
    is_visible = _read(Graph.is_visible)
    log = _read(Graph.log)
    snapshot = _read(Graph.snapshot)

    def newest(self, name: str) -> int | None:
        """Returns the time of the commit, None for a root without one; for a restricted caller, the
        greatest time in the property `name` of a visible node.
        """
        from ibidem.repo.retrieval.newest import newest_time

        return newest_time(self.graph, name)

    def moment(self, as_of: int | datetime | None = None, *, notes: CommitCid | None = None) -> int:
        """Returns the time of a question about records, in microseconds since 1970 UTC.

        Args:
            as_of: that time, if it is known.
            notes: the notes head whose events count.
        """
        from ibidem.repo.retrieval.records import moment_of

        return moment_of(self.graph.core, self.graph, as_of, notes)

    def with_snapshot(self, question: Callable[[Snapshot], T]) -> T:
        """Runs a question against the snapshot; damaged index files are rebuilt."""
        return self.graph.with_snapshot(question)

    # -- searching --------------------------------------------------------------------------------

    def _answer(self, method: str, **options: Any) -> Any:
        if method == "query":
            return list(self.page(**options).nodes)
        # Only what answers is imported: the others take longer than most answers.
        ask: Callable[..., Any]
        if method == "retrieve":
            from ibidem.repo.retrieval.retrieve import retrieve as ask
        elif method == "packs":
            from ibidem.repo.retrieval.context import packs as ask
        else:
            from ibidem.repo.retrieval.records import records as ask
        return ask(self.graph.core, self.graph, **options)

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
        """Returns an iterator of the packs that `packs` returns, each as soon as its text was read;
        then it has the whole answer.

        Examples:
            >>> import ibidem
            >>> repo = ibidem.init("memory:")
            >>> _ = repo.add("tea at five")
            >>> stream = repo.at().stream_packs("tea")
            >>> [pack.text for pack in stream]
            ['tea at five']
            >>> stream.answer == repo.packs("tea")
            True
        """
        return self._stream_packs(text, changed_options(locals(), Questions.packs))

    def _stream_packs(self, text: str | None, options: Mapping[str, Any]) -> PackStream:
        from ibidem.repo.retrieval.context import stream_packs

        return stream_packs(self.graph.core, self.graph, text, **options)

    def retrieve_many(self, questions: Iterable[QuestionOptions]) -> list[Answer[Item]]:
        """Returns the answers to several questions, each given by its options of `retrieve`. The
        answers are the same as one by one; questions over the same nodes share work.
        """
        from ibidem.repo.retrieval import retrieve

        return retrieve.retrieve_many(self.graph.core, self.graph, questions)

    def verify_citation(self, citation: Citation) -> bool:
        """Returns whether a citation of any revision matches the text visible to this caller."""
        from ibidem.repo.retrieval import context

        return context.verify(self.graph.core, citation, viewer=self.viewer)

    def records(
        self,
        text: str | None = None,
        *,
        # options: records
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
        notes: CommitCid | str | None = "memory",
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
        """Returns the records that a question is about, and the records related to them.

        Args:
            text: the question; without one, and without a vector, every record by its salience.
            types: the types of the returned records; by default all six.
            as_of: the time for salience and validity; by default that of the commit, or of the
                notes if that is later.
            notes: the notes head whose events count, or the name of the space; None for no events.
            include_status: statuses to include in addition to `active` and `contested`.
            depth: number of records that each lane ranks.

        Raises:
            InvalidInputError: an option is wrong, or would have no effect; kind `viewer-required`.

        Examples:
            >>> import ibidem
            >>> repo = ibidem.init("memory:")
            >>> memory = ibidem.GraphMemory(repo)
            >>> payload = {"canonical_name": "Ada", "entity_type": "person"}
            >>> ada = ibidem.Record("Entity", "Ada", scope="", payload=payload)
            >>> _ = memory.add(ada)
            >>> [item.node.summary for item in repo.at().records("Ada")]
            ['Ada']
        """
        found: Answer[RecordItem] = self._answer(
            "records", text=text, **changed_options(locals(), Revision.records)
        )
        return found

    def page(
        self,
        *,
        label: str | Iterable[str] | None = None,
        where: Mapping[str, object] | Predicate | None = None,
        as_of: int | datetime | None = None,
        valid_missing: str | None = None,
        created_after: int | datetime | None = None,
        created_before: int | datetime | None = None,
        updated_after: int | datetime | None = None,
        updated_before: int | datetime | None = None,
        include_tombstoned: bool = False,
        order_by: str | tuple[str, str] | None = None,
        limit: int | None = None,
        offset: int = 0,
        after: str | None = None,
    ) -> Page:
        """Returns the result of `query` with the total count and the cursor of the next page."""
        options = changed_options(locals(), Questions.query)
        from ibidem.repo.retrieval import listing
        from ibidem.repo.retrieval.given_time import given_times

        return listing.page(self.graph, **given_times(options, self.graph))

    def count(
        self,
        *,
        label: str | Iterable[str] | None = None,
        where: Mapping[str, object] | Predicate | None = None,
        as_of: int | datetime | None = None,
        valid_missing: str | None = None,
        created_after: int | datetime | None = None,
        created_before: int | datetime | None = None,
        updated_after: int | datetime | None = None,
        updated_before: int | datetime | None = None,
        include_tombstoned: bool = False,
    ) -> int:
        """Returns how many nodes `query` would return without a limit; reads no nodes."""
        options = changed_options(locals(), Questions.query)
        from ibidem.repo.retrieval import listing
        from ibidem.repo.retrieval.given_time import given_times

        return listing.count(self.graph, **given_times(options, self.graph))

    def navigate(self, id: NodeId | str) -> Navigation | None:  # noqa: A002
        """Returns what is before, after, above and beside a passage or section, None for a node
        without a document.

        Examples:
            >>> import ibidem
            >>> repo = ibidem.init("memory:")
            >>> with repo.transaction() as tx:
            ...     _ = ibidem.ingest_text(tx, "# Mail\\n\\nFirst.\\n\\nSecond.\\n", path="mail.md")
            >>> here = repo.at()
            >>> first = here.navigate(repo.retrieve("first")[0].node.id)
            >>> here.node(first.next).summary, first.passage_count
            ('Second.', 2)
        """
        from ibidem.retrieve.context.navigation import navigation

        node = check_id("id", id, NodeId)
        found = self.graph.node(node)  # raises for what is missing or hidden
        graph = self.graph.seen_by(self.graph.viewer)
        return graph.with_snapshot(lambda snapshot: navigation(snapshot, found.id))

    def schema(self, *, include_tombstoned: bool = False) -> Schema:
        """Returns the labels, edge types and properties of the graph, with counts; reads no nodes.

        Args:
            include_tombstoned: whether nodes hidden by a tombstone are counted.

        Examples:
            >>> import ibidem
            >>> repo = ibidem.init("memory:")
            >>> with repo.transaction() as tx:
            ...     _ = tx.add_node("Fact", summary="tea", props={"year": 2020})
            >>> schema = repo.at().schema()
            >>> schema.labels, [(one.name, dict(one.types)) for one in schema.properties]
            ({'Fact': 1}, [('year', {'number': 1})])
        """
        from ibidem.repo.retrieval import listing

        return listing.schema(self.graph, include_tombstoned=include_tombstoned)

    def communities(
        self,
        *,
        resolution: int | float | str | Fraction = 1,
        levels: int = 1,
        groups: Mapping[str, Iterable[NodeId | str]] | None = None,
    ) -> Communities:
        """Returns what the collection is about: nodes that edges, documents and names join to each
        other more than to others, with the names that tell what each community is about.

        A function of the root, the viewer and the arguments. Every node is read.

        Args:
            resolution: how small the communities are: above 1 smaller, below 1 larger; a fraction
                of integers up to 1,000.
            levels: how often each community is divided again, 1 to 5.
            groups: communities to take instead of looking for any, by name.

        Raises:
            InvalidInputError: an argument is out of its range.

        Examples:
            >>> import ibidem
            >>> repo = ibidem.init("memory:")
            >>> with repo.transaction() as tx:
            ...     for text in ("Ada met Byron", "Byron saw Ada", "Bern is in the Alps",
            ...                  "the Alps are south of Bern"):
            ...         _ = tx.add_node("Fact", summary=text)
            >>> found = repo.at().communities()
            >>> [(one.names, len(one)) for one in found]
            [(('Ada', 'Byron'), 2), (('Alps', 'Bern'), 2)]
        """
        from ibidem.repo.retrieval.communities import communities

        return communities(self.graph, resolution=resolution, levels=levels, groups=groups)

    def neighbours(self, answer: Answer[AnswerItem], *, limit: int = 5) -> list[Neighbour]:
        """Returns the nodes that edges join to the items of an answer and that it does not have,
        those joined to more and better items first.

        Raises:
            InvalidInputError: `limit` is not an integer from 0 to 1,000.

        Examples:
            >>> import ibidem
            >>> repo = ibidem.init("memory:")
            >>> with repo.transaction() as tx:
            ...     queue = tx.add_node("Fact", summary="the queue is full")
            ...     _ = tx.add_edge(queue, "see", tx.add_node("Fact", summary="add workers"))
            >>> answer = repo.retrieve("queue")
            >>> [one.node.summary for one in repo.at().neighbours(answer)]
            ['add workers']
        """
        from ibidem.repo.retrieval.neighbours import neighbours_of

        return neighbours_of(self.graph, answer, limit)

    def paths(
        self,
        starts: NodeId | str | Iterable[NodeId | str],
        path: Iterable[str | tuple[str, str]],
        *,
        limit: int | None = 1000,
        repeats: str = "none",
        as_of: int | datetime | None = None,
        include_tombstoned: bool = False,
    ) -> list[GraphPath]:
        """Returns all paths from nodes along edges of given types.

        Args:
            starts: a node, or several.
            path: steps, each an edge type or (edge type, "out" | "in" | "both"); `*` is any type.
            limit: maximal number of paths, up to 100,000; None for all, an error if there are more
                than that.
            repeats: what may occur twice in a path: `none`, no node; `nodes`, a node but no edge;
                `all`, both.
            as_of: only edges that hold at this time, by their properties `valid_from` and
                `valid_to`; microseconds since 1970 UTC, or an aware datetime.
            include_tombstoned: whether paths may pass hidden nodes.
        """
        from ibidem.repo.retrieval import listing
        from ibidem.repo.retrieval.given_time import given_time

        return listing.paths(
            self.graph,
            starts,
            path,
            limit=limit,
            repeats=repeats,
            as_of=given_time(as_of, "as_of", self.graph),
            include_tombstoned=include_tombstoned,
        )
