"""A revision: the public, read-only API of the graph of one root. Reads are delegated to
`repo/graph.py`, queries to `repo/retrieval`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import update_wrapper
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, Unpack

from ibidem.repo.graph import Graph

if TYPE_CHECKING:
    from datetime import datetime

    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.cid import CommitCid, RootCid
    from ibidem.objects.commit import Commit
    from ibidem.objects.config import Config
    from ibidem.objects.erasure import Erasure
    from ibidem.objects.ids import NodeId
    from ibidem.objects.node import Node
    from ibidem.objects.root import Root
    from ibidem.objects.vector import Sparse, Vector
    from ibidem.repo.core import Core
    from ibidem.repo.retrieval.listing import Page
    from ibidem.repo.retrieval.signature import (
        ListingConditions,
        ListingOptions,
        PacksOptions,
        PathOptions,
        QuestionOptions,
        RecordsOptions,
        RetrieveOptions,
    )
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item
    from ibidem.retrieve.context.pack import Pack
    from ibidem.retrieve.context.prompt import Citation, Prompt
    from ibidem.retrieve.graph.paths import Path
    from ibidem.retrieve.records.item import RecordItem

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


class Revision:
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
    def erasures(self) -> tuple[Erasure, ...]:
        """Erasures whose entries are left out; see `Repository.at(allow_erased=True)`."""
        return self.graph.erasures

    def seen_by(self, viewer: Viewer | None) -> Revision:
        """Returns the graph as a caller sees it; the same graph if there is no trust policy.

        Raises:
            InvalidInputError: kind `viewer-required`: there is a policy, and no caller was given.
        """
        seen = self.graph.seen_by(viewer)
        return self if seen is self.graph else Revision(seen)

    # -- reading -------------------------------------------------------------------------------

    node = _read(Graph.node)
    find_nodes = _read(Graph.find_nodes)
    node_id = _read(Graph.node_id)
    edge_id = _read(Graph.edge_id)
    edge = _read(Graph.edge)
    nodes = _read(Graph.nodes)
    edges = _read(Graph.edges)
    edges_of = _read(Graph.edges_of)

    def vector(self, id: NodeId, model: str) -> Vector | None:  # noqa: A002
        """Returns the vector of a node under a model, None if it has none."""
        from ibidem.objects.vector import Vector

        return self.graph.vector(Vector, id, model)

    def sparse(self, id: NodeId, vocab: str) -> Sparse | None:  # noqa: A002
        """Returns the sparse vector of a node under a vocabulary, None if it has none."""
        from ibidem.objects.vector import Sparse

        return self.graph.vector(Sparse, id, vocab)

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

    def retrieve(self, text: str | None = None, **options: Unpack[RetrieveOptions]) -> Answer[Item]:
        """Returns the ranked answer to a question; `docs/question-options.md` has the options."""
        from ibidem.repo.retrieval import retrieve

        return retrieve.retrieve(self.graph.core, self.graph, text=text, **options)

    def retrieve_many(self, questions: Iterable[QuestionOptions]) -> list[Answer[Item]]:
        """Returns the answers to several questions, each given by its options of `retrieve`. The
        answers are the same as one by one; questions over the same nodes share work.
        """
        from ibidem.repo.retrieval import retrieve

        return retrieve.retrieve_many(self.graph.core, self.graph, questions)

    def packs(self, text: str | None = None, **options: Unpack[PacksOptions]) -> Answer[Pack]:
        """Returns hits with their surrounding text; `repo.retrieval.context` has the options."""
        from ibidem.repo.retrieval import context

        return context.packs(self.graph.core, self.graph, text, **options)

    def records(
        self, text: str | None = None, **options: Unpack[RecordsOptions]
    ) -> Answer[RecordItem]:
        """Returns records and their relations; `repo.retrieval.records` has the options."""
        from ibidem.repo.retrieval import records

        return records.records(self.graph.core, self.graph, text, **options)

    def prompt(
        self,
        text: str,
        packs: Answer[Pack] | None = None,
        *,
        style: str = "qa",
        **options: Unpack[PacksOptions],
    ) -> Prompt:
        """Returns a prompt with numbered sources; see `Repository.prompt`."""
        from ibidem.repo.retrieval import context

        return context.prompt(self, text, packs, style=style, **options)

    def verify_citation(self, citation: Citation) -> bool:
        """Returns whether a citation of any revision matches the text visible to this caller."""
        from ibidem.repo.retrieval import context

        return context.verify(self.graph.core, citation, viewer=self.viewer)

    def query(self, **options: Unpack[ListingOptions]) -> list[Node]:
        """Returns the nodes that match `label`, `where` and other conditions of `listing.page`.
        Ordered by id or `order_by`; `limit`, `offset` and `after` select a page.
        """
        return list(self.page(**options).nodes)

    def page(self, **options: Unpack[ListingOptions]) -> Page:
        """Returns the result of `query` with the total count and the cursor of the next page."""
        from ibidem.repo.retrieval import listing

        return listing.page(self.graph, **options)

    def count(self, **conditions: Unpack[ListingConditions]) -> int:
        """Returns how many nodes `query` would return without a limit; reads no nodes."""
        from ibidem.repo.retrieval import listing

        return listing.count(self.graph, **conditions)

    def paths(
        self,
        starts: NodeId | Iterable[NodeId],
        path: Iterable[str | tuple[str, str]],
        **options: Unpack[PathOptions],
    ) -> list[Path]:
        """Returns all paths from nodes along edges of given types; see `listing.paths`."""
        from ibidem.repo.retrieval import listing

        return listing.paths(self.graph, starts, path, **options)
