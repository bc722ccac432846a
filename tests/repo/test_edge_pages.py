"""Pages of the edges of a node: what they hold, and which blocks they read."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from ibidem.errors import InvalidInputError
from ibidem.objects.cid import Cid
from ibidem.objects.config import Config
from ibidem.objects.edge import Edge
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.root import EDGES
from ibidem.repo.bootstrap import bootstrapped
from ibidem.repo.core import Core
from ibidem.repo.repository import Repository
from ibidem.repo.revision import Revision
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer
from ibidem.store.memory import MemoryStore


class CountingStore(MemoryStore):
    """Counts the blocks that are read."""

    read_count = 0

    def get(self, cid: Cid) -> bytes:
        self.read_count += 1
        return super().get(cid)

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        return [self.get(cid) for cid in cids]


def hub_of(
    count: int, policy: TrustPolicy | None = None
) -> tuple[Repository, CountingStore, NodeId]:
    """Returns a repository with a node of so many edges in and out, and one edge to itself."""
    store = CountingStore()
    bootstrapped(store, Config.default(), "", lambda: 0)
    repo = Repository(Core(store, None, lambda: 0))
    with repo.transaction() as tx:
        if policy is not None:
            tx.set_trust_policy(policy)
        hub = tx.add_node("Hub", key="hub", props={"level": 0})
        tx.add_edge(hub, "self", hub)
        for number in range(count):
            other = tx.add_node("Leaf", key=str(number), props={"level": number % 2})
            tx.add_edge(*((hub, "to", other) if number % 3 else (other, "from", hub)))
    return repo, store, hub


def pages(at: Revision, node: NodeId, limit: int) -> list[Edge]:
    found: list[Edge] = []
    while page := at.edges_of(node, limit=limit, after=found[-1].id if found else None):
        assert len(page) <= limit
        found += page
    return found


@pytest.mark.parametrize("count", [0, 3, 200, 900])
@pytest.mark.parametrize("limit", [1, 7, 128, 5_000])
def test_pages_are_all_edges_by_id(count: int, limit: int) -> None:
    repo, _, hub = hub_of(count)
    at = repo.at()
    whole = [edge for edge in at.edges() if hub in (edge.src, edge.dst)]
    assert at.edges_of(hub) == whole
    assert len(whole) == count + 1
    assert pages(at, hub, limit) == whole
    assert at.edges_of(hub, limit=0) == []
    assert at.edges_of(hub, limit=2, after=EdgeId(b"\xff" * 16)) == []


def test_a_page_follows_edits_of_the_graph() -> None:
    repo, _, hub = hub_of(600)
    last = repo.at().edges_of(hub, limit=50)[-1]
    for turn in range(12):  # as many parts of the index, with dead rows in the older ones
        at = repo.at()
        gone, changed = at.edges_of(hub, limit=30, after=last.id)[::29]
        with repo.transaction() as tx:
            tx.remove_edge(gone.id)
            tx.update_edge(changed.id, weight=0.5)
            for number in range(20):
                tx.add_edge(hub, "to", tx.add_node("Leaf", key=f"later {turn} {number}"))
        at = repo.at()
        whole = [edge for edge in at.edges() if hub in (edge.src, edge.dst)]
        assert at.edges_of(hub) == pages(at, hub, 97) == whole
        page = at.edges_of(hub, limit=30, after=last.id)
        assert page == [edge for edge in whole if edge.id > last.id][:30]


def test_a_page_reads_its_own_blocks() -> None:
    reads = {}
    for count in (500, 8_000):
        repo, store, hub = hub_of(count)
        at = repo.at()
        last = at.edges_of(hub, limit=100)[-1]
        store.read_count = 0
        assert len(at.edges_of(hub, limit=100, after=last.id)) == 100
        reads[count] = store.read_count
        height = at.graph._tree(EDGES).height
        # the node and its tombstone, the leaves of a hundred neighbouring edges, and these
        assert store.read_count <= 2 * height + 100 + 4
    assert reads[8_000] <= reads[500] + 4


def test_pages_of_a_restricted_caller_have_the_visible_edges() -> None:
    repo, _, hub = hub_of(900, TrustPolicy())
    whole = repo.at(viewer=ALL)
    at = repo.at(viewer=Viewer(level=0, scopes=()))
    visible = [
        edge
        for edge in whole.edges_of(hub)
        if all(whole.node(end).props["level"] == 0 for end in (edge.src, edge.dst))
    ]
    assert len(visible) == 451
    assert at.edges_of(hub) == pages(at, hub, 7) == pages(at, hub, 300) == visible


def test_what_is_no_page_is_refused() -> None:
    repo, _, hub = hub_of(3)
    refused: list[tuple[str, Callable[[], object]]] = [
        ("limit", lambda: repo.at().edges_of(hub, limit=-1)),
        ("limit", lambda: repo.at().edges_of(hub, limit=True)),
        ("after", lambda: repo.at().edges_of(hub, after="x")),
        ("after", lambda: repo.at().edges_of(hub, after=hub)),  # type: ignore[arg-type]
    ]
    for field, call in refused:
        with pytest.raises(InvalidInputError, match=f"^{field}: "):
            call()
