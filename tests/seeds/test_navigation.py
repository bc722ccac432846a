"""From a passage to those around it, against the document read from its nodes."""

from __future__ import annotations

from typing import Any

import pytest

import ibidem
from ibidem.objects.errors import NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.retrieve.access.policy import TrustPolicy, Viewer

TEXT = """Before.

# Tea

One.

## Green

Two.

Three.

## Black

Four.

# Coffee

Five.
"""


def passages(nodes: dict[NodeId, Any], at: NodeId) -> list[NodeId]:
    parts = [part.id for part in nodes[at].children if part.id in nodes]
    if not nodes[at].children:
        return [at]
    return [leaf for part in parts for leaf in passages(nodes, part)]


def check(revision: Any) -> None:
    nodes = {node.id: node for node in revision.nodes()}
    parent = {
        part.id: node.id for node in nodes.values() for part in node.children if part.id in nodes
    }
    [document] = [node.id for node in nodes.values() if node.ntype == "Document"]
    order = passages(nodes, document)
    for node in nodes:
        found = revision.navigate(node)
        mine = passages(nodes, node)
        above = []
        at = node
        while at in parent:
            at = parent[at]
            above.insert(0, at)
        assert found is not None
        start, stop = order.index(mine[0]), order.index(mine[-1]) + 1
        assert found.above == tuple(above)
        assert found.previous == (order[start - 1] if start else None)
        assert found.next == (order[stop] if stop < len(order) else None)
        assert (found.passage_index, found.passage_count) == (start, len(order))
        around = nodes[parent[node]].children if node in parent else nodes[node].children[:0]
        assert found.siblings == (tuple(p.id for p in around if p.id in nodes) or (node,))
        assert found.parts == tuple(p.id for p in nodes[node].children if p.id in nodes)


@pytest.fixture
def repo() -> ibidem.Repository:
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        ibidem.ingest_text(tx, TEXT, path="tea.md")
    return repo


def test_navigation_follows_the_document(repo: ibidem.Repository) -> None:
    check(repo.at())


def test_a_forgotten_passage_is_stepped_over(repo: ibidem.Repository) -> None:
    [three] = [node for node in repo.at().nodes() if node.summary == "Three."]
    with repo.transaction() as tx:
        tx.tombstone(three.id, reason="wrong")
    check(repo.at())
    with pytest.raises(NotFoundError):
        repo.at().navigate(three.id)


def test_a_hidden_passage_is_stepped_over(repo: ibidem.Repository) -> None:
    [three] = [node for node in repo.at().nodes() if node.summary == "Three."]
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
        tx.update_node(three.id, props={**three.props, "level": 4})
    low = repo.as_viewer(Viewer(level=1, scopes=())).at()
    check(low)
    with pytest.raises(NotFoundError):
        low.navigate(three.id)


def test_a_node_without_a_document_has_no_neighbours() -> None:
    repo = ibidem.init("memory:")
    fact = repo.add("tea")
    assert repo.at().navigate(fact) is None
