"""The schema and the audit of vectors against what a reader of every node would say."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

import ibidem
from ibidem.objects.cid import Cid
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.retrieve.access.policy import TrustPolicy, Viewer

VALUES = (None, True, 1, 1.5, "a", b"\x01", Cid.of(b"a"), ["a", 2], [], {"a": 1}, [[1]], [None, 1])


def kinds(value: Any) -> set[str]:
    found = set()
    for one in value if isinstance(value, (list, tuple)) else [value]:
        match one:
            case None:
                found.add("null")
            case bool():
                found.add("boolean")
            case int() | float():
                found.add("number")
            case str():
                found.add("text")
            case Cid():
                found.add("link")
            case bytes():
                found.add("bytes")
    return found or {"nested"}


def expected(nodes: list[Any]) -> list[tuple[str, int, dict[str, int], dict[str, int]]]:
    found = []
    for name in sorted({name for node in nodes for name in node.props}):
        having = [node for node in nodes if name in node.props]
        types = Counter(kind for node in having for kind in kinds(node.props[name]))
        labels = Counter(node.ntype for node in having)
        found.append((name, len(having), dict(types), dict(labels)))
    return found


def grown(seed: int) -> ibidem.Repository:
    rng = random.Random(seed)
    repo = ibidem.init("memory:")
    with repo.transaction(author="a", time=1) as tx:
        tx.set_trust_policy(TrustPolicy())
    nodes = []
    for step in range(3):
        with repo.transaction(author="a", time=2 + step) as tx:
            for _ in range(8):
                props = {name: rng.choice(VALUES) for name in rng.sample("pqrs", 2)}
                props["level"] = rng.randint(1, 3)
                nodes.append(tx.add_node(rng.choice("ABC"), summary="tea", props=props))
            for one, other in pairwise(nodes):
                if rng.random() < 0.2:
                    tx.add_edge(one, rng.choice(("cites", "likes")), other)
            tx.tombstone(rng.choice(nodes[-8:]), reason="gone")
    return repo


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("viewer", [ibidem.ALL, Viewer(level=2, scopes=())])
def test_the_schema_is_what_the_visible_nodes_have(seed: int, viewer: Viewer) -> None:
    repo = grown(seed)
    revision = repo.at(viewer=viewer)
    for hidden in (False, True):
        nodes = list(revision.nodes(include_tombstoned=hidden))
        schema = revision.schema(include_tombstoned=hidden)
        assert dict(schema.labels) == Counter(node.ntype for node in nodes)
        found = [(p.name, p.count, dict(p.types), dict(p.labels)) for p in schema.properties]
        assert found == expected(nodes)
    edges = Counter(edge.etype for edge in revision.edges())
    assert dict(revision.schema().edge_types) == edges
    if not viewer.everything:
        assert repo.as_viewer(viewer).at().schema() == revision.schema()


def test_an_empty_graph_has_an_empty_schema() -> None:
    schema = ibidem.init("memory:").at().schema()
    assert (schema.labels, schema.edge_types, schema.properties) == ({}, {}, ())


def test_vectors_are_audited_by_their_texts() -> None:
    repo = ibidem.init("memory:")
    with repo.transaction(author="a") as tx:
        current, stale, missing, hidden = (
            tx.add_node("N", summary=text) for text in ("one", "two", "three", "four")
        )
        bare = tx.add_node("N", props={"p": 1})
        for node in (current, stale, hidden, bare):
            tx.set_vector(node, model="m", vector=[1.0, 0.0])
        tx.set_vector(current, model="other", vector=[1.0])
    with repo.transaction(author="a") as tx:
        tx.update_node(stale, summary="two and more")
        tx.tombstone(hidden, reason="gone")
    m, other = repo.maintenance.audit_vectors()
    assert (m.name, m.model.dim, m.vector_count, m.unused_count) == ("m", 2, 4, 2)
    assert (m.current, m.stale, m.missing) == ((current,), (stale,), (missing,))
    assert set(other.missing) == {stale, missing}
    assert repo.maintenance.audit_vectors(model="other") == (other,)
    [before] = repo.maintenance.audit_vectors("main~1", model="m")
    assert set(before.current) == {current, stale, hidden}
    with pytest.raises(InvalidInputError, match="expected one of m, other") as caught:
        repo.maintenance.audit_vectors(model="x")
    assert caught.value.kind is ErrorKind.UNKNOWN_MODEL
