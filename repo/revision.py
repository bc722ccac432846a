"""A revision: the public face of the graph of one root, to read and to ask.

Reads are those of `repo/graph.py`, questions those of `repo/retrieval`. Nothing here changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.cid import CommitCid, RootCid
    from ibidem.objects.commit import Commit
    from ibidem.objects.config import Config
    from ibidem.objects.edge import Edge
    from ibidem.objects.erasure import Erasure
    from ibidem.objects.ids import EdgeId, NodeId
    from ibidem.objects.location import Location
    from ibidem.objects.node import Node
    from ibidem.objects.root import Root
    from ibidem.objects.vector import Sparse, Vector
    from ibidem.repo.core import Core
    from ibidem.repo.graph import Graph
    from ibidem.repo.retrieval.listing import Page
    from ibidem.retrieve.access.policy import TrustContext
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item
    from ibidem.retrieve.context.pack import Pack
    from ibidem.retrieve.context.prompt import Citation, Prompt
    from ibidem.retrieve.graph.paths import Path
    from ibidem.retrieve.records.item import RecordItem

T = TypeVar("T")


class Revision:
    """The graph of one root, read-only. `commit` is None before the first commit.

    Where the root has a trust policy, nothing of the graph is told before `seen_by` says to whom.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def __repr__(self) -> str:
        commit = "no commit" if self.commit is None else f"commit {self.commit.cid}"
        return f"<{type(self).__name__} {commit}, root {self.root_cid}>"

    @property
    def repository(self) -> Core:
        """The repository that it belongs to."""
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
        """The commit; None where there is none."""
        return self.graph.commit

    @property
    def commit_cid(self) -> CommitCid | None:
        """The CID of the commit; None where there is none."""
        return self.graph.commit_cid

    @property
    def config(self) -> Config:
        """What answers over this root depend on."""
        return self.graph.config

    @property
    def trust(self) -> TrustContext | None:
        """The caller it was opened for; None where no caller was named."""
        return self.graph.trust

    @property
    def erasures(self) -> tuple[Erasure, ...]:
        """What is left out because it was erased since; see `Repository.at(allow_erased=True)`."""
        return self.graph.erasures

    def seen_by(self, trust: TrustContext | None) -> Revision:
        """Returns the graph as a caller sees it; this one where there is no trust policy.

        Raises:
            InvalidInputError: kind `trust-required`: there is a policy, and no context.
        """
        seen = self.graph.seen_by(trust)
        return self if seen is self.graph else Revision(seen)

    # -- reading -------------------------------------------------------------------------------

    def node(self, id: NodeId, *, include_tombstoned: bool = False) -> Node:  # noqa: A002
        """Returns a node.

        Raises:
            NotFoundError: there is no such node; kind `forgotten`: a tombstone hides it.
        """
        return self.graph.node(id, include_tombstoned=include_tombstoned)

    def find_nodes(self, ids: Iterable[NodeId]) -> dict[NodeId, Node]:
        """Returns those of some nodes that are there and not hidden, read in one batch."""
        return self.graph.find_nodes(ids)

    def node_id(self, prefix: str) -> NodeId:
        """Returns the id of the one node whose id begins so; an id as a whole as it stands.

        Args:
            prefix: 4 to 32 hexadecimal digits.

        Raises:
            InvalidInputError: it is something else.
            NotFoundError: no node begins so; kind `ambiguous`: several do.
        """
        return self.graph.node_id(prefix)

    def edge_id(self, prefix: str) -> EdgeId:
        """Returns the id of the one edge whose id begins so; as `node_id`."""
        return self.graph.edge_id(prefix)

    def edge(self, id: EdgeId) -> Edge:  # noqa: A002
        """Returns an edge; raises `NotFoundError` when there is none."""
        return self.graph.edge(id)

    def nodes(self, *, include_tombstoned: bool = False) -> Iterator[Node]:
        """Yields the nodes by id, without those that a tombstone hides."""
        return self.graph.nodes(include_tombstoned=include_tombstoned)

    def edges(self) -> Iterator[Edge]:
        """Yields the edges by id."""
        return self.graph.edges()

    def edges_of(self, id: NodeId) -> list[Edge]:  # noqa: A002
        """Returns the edges that begin or end at a node, by id; `NotFoundError` without one."""
        return self.graph.edges_of(id)

    def vector(self, id: NodeId, model: str) -> Vector | None:  # noqa: A002
        """Returns the vector of a node under a model, None when it has none."""
        from ibidem.objects.vector import Vector

        return self.graph.vector(Vector, id, model)

    def sparse(self, id: NodeId, vocab: str) -> Sparse | None:  # noqa: A002
        """Returns the sparse vector of a node under a vocabulary, None when it has none."""
        from ibidem.objects.vector import Sparse

        return self.graph.vector(Sparse, id, vocab)

    def tombstone(self, id: NodeId) -> str | None:  # noqa: A002
        """Returns why a node is hidden, None when it is not."""
        return self.graph.tombstone(id)

    def content(self, id: NodeId) -> bytes:  # noqa: A002
        """Returns the whole content of a node; empty when it has none."""
        return self.graph.content(id)

    def document(self, id: NodeId) -> str:  # noqa: A002
        """Returns the whole source of a document, a section or a passage, byte for byte."""
        return self.graph.document(id)

    text = document

    def locate(self, id: NodeId) -> Location | None:  # noqa: A002
        """Returns where a passage or section stands in its document, None without one."""
        return self.graph.locate(id)

    def locate_many(self, ids: Sequence[NodeId]) -> list[Location | None]:
        """Returns where each of some parts stands in its document, None for one without."""
        return self.graph.locate_many(ids)

    def log(self) -> Iterator[Commit]:
        """Yields the commit of this revision and those behind it, newest first."""
        return self.graph.log()

    def snapshot(self) -> Snapshot:
        """Returns the index snapshot of this root, made or advanced when it is not there."""
        return self.graph.snapshot()

    def asked(self, question: Callable[[Snapshot], T]) -> T:
        """Returns what a question makes of the snapshot; damaged files of the index are rebuilt."""
        return self.graph.asked(question)

    # -- asking --------------------------------------------------------------------------------

    def retrieve(self, text: str | None = None, **options: Any) -> Answer[Item]:
        """Returns the ranked answer to a question; `retrieve.query.resolve` lists the options."""
        from ibidem.repo.retrieval import retrieve

        return retrieve.retrieve(self.graph.core, self.graph, text=text, **options)

    def retrieve_many(self, questions: Iterable[Mapping[str, Any]]) -> list[Answer[Item]]:
        """Returns the answers to several questions, each given by its options of `retrieve`.

        The answers are those of one by one; questions over the same nodes share what they can.
        """
        from ibidem.repo.retrieval import retrieve

        return retrieve.retrieve_many(self.graph.core, self.graph, questions)

    def packs(self, text: str | None = None, **options: Any) -> Answer[Pack]:
        """Returns hits with what stands around them; `repo.retrieval.context` has the options."""
        from ibidem.repo.retrieval import context

        return context.packs(self.graph.core, self.graph, text, **options)

    def records(self, text: str | None = None, **options: Any) -> Answer[RecordItem]:
        """Returns records and what they are tied to; `repo.retrieval.records` has the options."""
        from ibidem.repo.retrieval import records

        return records.records(self.graph.core, self.graph, text, **options)

    def prompt(
        self,
        question: str,
        packs: Answer[Pack] | None = None,
        *,
        style: str = "qa",
        **options: Any,
    ) -> Prompt:
        """Returns a prompt with numbered sources; see `Repository.prompt`."""
        from ibidem.repo.retrieval import context

        return context.prompt(self, question, packs, style=style, **options)

    def verify_citation(self, citation: Citation) -> bool:
        """Tells whether a citation, of whatever revision, is true for who asks here."""
        from ibidem.repo.retrieval import context

        return context.verify(self.graph.core, citation, trust=self.trust)

    def query(self, **options: Any) -> list[Node]:
        """Returns the nodes that meet `label`, `where` and other conditions of `listing.page`.

        By id, or as `order_by` says; `limit`, `offset` and `after` take a part of them.
        """
        return list(self.page(**options).nodes)

    def page(self, **options: Any) -> Page:
        """Returns what `query` returns, with the count of all and where the next page begins."""
        from ibidem.repo.retrieval import listing

        return listing.page(self.graph, **options)

    def count(self, **conditions: Any) -> int:
        """Returns how many nodes `query` would return without a limit; none is read."""
        from ibidem.repo.retrieval import listing

        return listing.count(self.graph, **conditions)

    def paths(
        self,
        starts: NodeId | Iterable[NodeId],
        path: Iterable[str | tuple[str, str]],
        **options: Any,
    ) -> list[Path]:
        """Returns every way from nodes along edges of given types; see `listing.paths`."""
        from ibidem.repo.retrieval import listing

        return listing.paths(self.graph, starts, path, **options)
