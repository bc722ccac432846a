"""A revision as a restricted viewer gets it.

Reads and queries are delegated to the revision opened for the viewer, which contains only visible
nodes; the commit, the trees and the index are not exposed.

Spec: trust 6.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from ibidem.repo.revision import Revision
from ibidem.repo.viewer.exposure import Proxy, not_permitted

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid, RootCid
    from ibidem.objects.config import Config
    from ibidem.objects.erasure import Erasure
    from ibidem.objects.ids import EdgeId
    from ibidem.retrieve.access.policy import TrustPolicy, Viewer

T = TypeVar("T")
P = ParamSpec("P")


def _read(
    method: Callable[Concatenate[Revision, P], T],
) -> Callable[Concatenate[ViewerRevision, P], T]:
    """Returns a method of `Revision` as one of `ViewerRevision` that delegates to it."""

    def read(self: ViewerRevision, /, *args: P.args, **options: P.kwargs) -> T:
        # By its name, since a staged revision has some of its own.
        found: T = getattr(self._revision, method.__name__)(*args, **options)
        return found

    update_wrapper(read, method)
    return read


class ViewerRevision(Proxy):
    """The graph of one root as a viewer sees it, read-only."""

    proxy_of = "Revision"

    def __init__(self, revision: Revision) -> None:
        self._revision = revision

    def __repr__(self) -> str:
        return f"<ViewerRevision root {self.root_cid}>"

    @property
    def root_cid(self) -> RootCid:
        """The CID of the root."""
        return self._revision.root_cid

    @property
    def commit_cid(self) -> CommitCid | None:
        """The CID of the commit; None where there is none."""
        return self._revision.commit_cid

    @property
    def config(self) -> Config:
        """The config, on which answers over this root depend."""
        return self._revision.config

    @property
    def viewer(self) -> Viewer | None:
        """The viewer."""
        return self._revision.viewer

    @property
    def trust_policy(self) -> TrustPolicy | None:
        """How levels and scopes are read from nodes."""
        return self._revision.trust_policy

    is_restricted = True
    erasures: tuple[Erasure, ...] = ()

    def seen_by(self, viewer: Viewer | None) -> ViewerRevision:
        """Returns this object if the viewer is the same.

        Raises:
            InvalidInputError: kind `not-permitted`: another viewer.
        """
        if viewer not in (None, self.viewer):
            raise not_permitted("another viewer")
        return self

    node = _read(Revision.node)
    find_nodes = _read(Revision.find_nodes)
    node_id = _read(Revision.node_id)
    edge_id = _read(Revision.edge_id)
    edge = _read(Revision.edge)
    nodes = _read(Revision.nodes)
    edges = _read(Revision.edges)
    edges_of = _read(Revision.edges_of)
    vector = _read(Revision.vector)
    vectors = _read(Revision.vectors)
    sparse = _read(Revision.sparse)
    sparse_vectors = _read(Revision.sparse_vectors)
    tombstone = _read(Revision.tombstone)
    content = _read(Revision.content)
    document = _read(Revision.document)
    locate = _read(Revision.locate)
    locate_many = _read(Revision.locate_many)
    newest = _read(Revision.newest)
    moment = _read(Revision.moment)
    is_visible = _read(Revision.is_visible)
    retrieve = _read(Revision.retrieve)
    retrieve_many = _read(Revision.retrieve_many)
    packs = _read(Revision.packs)
    stream_packs = _read(Revision.stream_packs)
    prompt = _read(Revision.prompt)
    context = _read(Revision.context)
    records = _read(Revision.records)
    verify_citation = _read(Revision.verify_citation)
    query = _read(Revision.query)
    page = _read(Revision.page)
    count = _read(Revision.count)
    schema = _read(Revision.schema)
    navigate = _read(Revision.navigate)
    paths = _read(Revision.paths)
    neighbours = _read(Revision.neighbours)

    def is_edge_visible(self, id: EdgeId | str) -> bool:  # noqa: A002
        """Returns whether both ends of an edge are visible."""
        try:
            self.edge(id)
        except LookupError:
            return False
        return True
