"""The slow, obvious index: every answer computed from a graph's dictionaries, in terms of ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.oracle.graph import edge_holds

from ibidem.index.analysis import analyse, analyser_of, home_of, symbols_of
from ibidem.index.arrays import to_ordinals
from ibidem.index.snapshot import Snapshot
from ibidem.objects import codec
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.text import node_text
from ibidem.store.memory import MemoryStore

from .graphs import MODEL, VALUES, Graph

NAMES = ["a", "b", "aa", "ü", "a\x00", "", "missing"]
BOUNDS: list[Any] = [-(2**64), -7, 0, 1, 1.5, 2**53, 2**53 + 1, 2.0**53, 2.0**64, 10**30, -1e300]
BOUNDS += ["", "a", "a\x00", "b", "é", "\uffff"]


def scalars(node: Node, name: str) -> list[Any]:
    """The values under which a property is found."""
    value = node.props[name]
    members = value if isinstance(value, list) else [value]
    return [member for member in members if not isinstance(member, list | dict)]


def is_number(value: Any) -> bool:
    return type(value) in (int, float)


def inside(value: Any, low: Any, high: Any, low_open: bool, high_open: bool) -> bool:
    bound = high if low is None else low
    if isinstance(bound, str) != isinstance(value, str) or not (
        is_number(value) or isinstance(value, str)
    ):
        return False
    above = low is None or (value > low if low_open else value >= low)
    below = high is None or (value < high if high_open else value <= high)
    return above and below


def terms_of(node: Node, graph: Graph, store: MemoryStore) -> Counter[str]:
    content = node.content
    if isinstance(content, tuple):
        content = b"".join(store.get(cid) for cid in content)
    text = node_text(node, graph.config.fields, content)
    words = analyse(text, analyser_of(text, home_of(node.props, graph.config.analyser)))
    return Counter(words + (symbols_of(text) if words else []))


def length_of(terms: Counter[str]) -> int:
    """Returns how many words a text has: symbols have no length."""
    return sum(
        count
        for term, count in terms.items()
        if not set(term) & set("/:=@-.") and not term.isupper()
    )


def ids_of(snapshot: Snapshot, ordinals: Any) -> list[bytes]:
    raw = snapshot.node_ids(np.asarray(ordinals, dtype=np.uint32))
    assert raw.shape == (len(ordinals), 16)
    return [row.tobytes() for row in raw]


def id_set(snapshot: Snapshot, bitmap: Any) -> set[bytes]:
    return set(ids_of(snapshot, to_ordinals(bitmap)))


def check(snapshot: Snapshot, graph: Graph, store: MemoryStore) -> None:
    """Asserts that the snapshot answers every call as the graph does."""
    check_nodes(snapshot, graph)
    check_properties(snapshot, graph)
    check_lexical(snapshot, graph, store)
    check_vectors(snapshot, graph)
    check_edges(snapshot, graph)
    check_parts(snapshot, graph)


def check_nodes(snapshot: Snapshot, graph: Graph) -> None:
    nodes = graph.nodes
    assert id_set(snapshot, snapshot.live) == set(nodes)
    assert id_set(snapshot, snapshot.tombstoned) == set(graph.tombstones)
    ordinals = to_ordinals(snapshot.live)
    assert not len(ordinals) or int(ordinals[-1]) < snapshot.ordinal_count
    cids = snapshot.node_cids(ordinals[::-1])
    assert [cid.raw for cid in cids] == [
        nodes[raw].cid.raw for raw in ids_of(snapshot, ordinals[::-1])
    ]
    for raw in nodes:
        ordinal = snapshot.ordinal(NodeId(raw))
        assert ordinal is not None
        assert ids_of(snapshot, [ordinal]) == [raw]
    for raw in {*graph.tombstones, b"\xff" * 16} - set(nodes):
        assert snapshot.ordinal(NodeId(raw)) is None
    wanted = sorted({*nodes, *graph.tombstones, b"\xff" * 16})
    found = snapshot.ordinals(np.frombuffer(b"".join(wanted), np.uint8).reshape(-1, 16))
    assert [number if number >= 0 else None for number in found.tolist()] == [
        snapshot.ordinal(NodeId(raw)) for raw in wanted
    ]
    labels = Counter(node.ntype for node in nodes.values())
    assert snapshot.labels() == dict(sorted(labels.items()))
    for label in [*labels, "missing"]:
        assert id_set(snapshot, snapshot.label(label)) == {
            raw for raw, node in nodes.items() if node.ntype == label
        }


def check_properties(snapshot: Snapshot, graph: Graph) -> None:
    nodes = graph.nodes
    assert snapshot.property_names() == sorted(
        {name for node in nodes.values() for name in node.props}
    )
    for name in NAMES:
        having = {raw: node for raw, node in nodes.items() if name in node.props}
        assert id_set(snapshot, snapshot.exists(name)) == set(having)
        for value in VALUES:
            if isinstance(value, list | dict):
                continue
            block = codec.encode(value)
            assert id_set(snapshot, snapshot.equal(name, value)) == {
                raw
                for raw, node in having.items()
                if any(codec.encode(member) == block for member in scalars(node, name))
            }
        for low, high in ranges():
            for low_open, high_open in ((False, False), (True, False), (False, True)):
                found = snapshot.between(name, low, high, low_open=low_open, high_open=high_open)
                assert id_set(snapshot, found) == {
                    raw
                    for raw, node in having.items()
                    if any(
                        inside(member, low, high, low_open, high_open)
                        for member in scalars(node, name)
                    )
                }, (name, low, high, low_open, high_open)


def ranges() -> Iterator[tuple[Any, Any]]:
    for index, low in enumerate(BOUNDS):
        yield low, None
        yield None, low
        high = BOUNDS[(index * 5 + 2) % len(BOUNDS)]
        if isinstance(low, str) == isinstance(high, str):
            yield low, high


def check_lexical(snapshot: Snapshot, graph: Graph, store: MemoryStore) -> None:
    expected = {raw: terms_of(node, graph, store) for raw, node in graph.nodes.items()}
    vocabulary = {term for terms in expected.values() for term in terms}
    lengths: dict[bytes, int] = {}
    postings: dict[bytes, Counter[str]] = {}
    documents = terms = 0
    for segment in snapshot.lexical:
        ids = ids_of(snapshot, segment.ordinals)
        assert (np.diff(segment.ordinals.astype(np.int64)) > 0).all()
        live = [True] * len(ids) if segment.live is None else segment.live.tolist()
        for row, raw in enumerate(ids):
            if live[row]:
                assert raw not in lengths
                lengths[raw] = int(segment.lengths[row])
                postings[raw] = Counter()
        documents += segment.totals[0]
        terms += segment.totals[1]
        for term in [*vocabulary, "nowhere"]:
            rows, frequencies = segment.postings(term) or ((), ())
            assert list(rows) == sorted(set(rows))
            for row, frequency in zip(rows, frequencies, strict=True):
                if live[row]:
                    postings[ids[row]][term] = int(frequency)
    assert postings == expected
    assert lengths == {raw: length_of(found) for raw, found in expected.items()}
    assert documents == sum(bool(found) for found in expected.values())
    assert terms == sum(lengths.values())


def check_vectors(snapshot: Snapshot, graph: Graph) -> None:
    found = {}
    for segment in snapshot.vectors(MODEL):
        rows, digests, cids = (
            column.whole() for column in (segment.rows, segment.digests, segment.cid_digests)
        )
        ids = ids_of(snapshot, segment.ordinals)
        for row, raw in enumerate(ids):
            if segment.live is None or segment.live[row]:
                assert raw not in found
                found[raw] = tuple(column[row].tobytes() for column in (rows, digests, cids))
    assert found == {
        raw: (vector.to_array().tobytes(), vector.of, vector.cid.raw[4:])
        for raw, vector in graph.vectors.get(MODEL, {}).items()
        if raw in graph.nodes
    }
    assert snapshot.vectors("missing") == ()
    weights: dict[bytes, dict[int, float]] = {}
    for part in snapshot.segments("sparse", "v"):
        ids = ids_of(snapshot, part.ordinals)
        live = [True] * len(ids) if part.live is None else part.live.tolist()
        for raw, is_live in zip(ids, live, strict=True):
            if is_live:
                weights[raw] = {}
        for token in range(31):
            rows, values = part.postings(token) or ((), ())
            for row, value in zip(rows, values, strict=True):
                if live[row]:
                    weights[ids[row]][token] = float(value)
    assert weights == {
        raw: dict(zip(*(column.tolist() for column in sparse.to_arrays()), strict=True))
        for raw, sparse in graph.sparse.get("v", {}).items()
        if raw in graph.nodes
    }


def check_edges(snapshot: Snapshot, graph: Graph) -> None:
    for raw in graph.nodes:
        ordinal = snapshot.ordinal(NodeId(raw))
        assert ordinal is not None
        for name, found in (
            ("src", snapshot.outgoing(ordinal)),
            ("dst", snapshot.incoming(ordinal)),
        ):
            other = "dst" if name == "src" else "src"
            expected = [
                (edge.id, edge.cid, edge.etype, edge.weight, getattr(edge, other).raw)
                for _, edge in sorted(graph.edges.items())
                if getattr(edge, name).raw == raw and getattr(edge, other).raw in graph.nodes
            ]
            ends = ids_of(snapshot, found.neighbours)
            weights = found.weights.tolist()
            assert expected == list(
                zip(found.ids(), found.cids(), found.etypes, weights, ends, strict=True)
            )
            for at in (2, 3, 4, 5):
                read = snapshot.outgoing if name == "src" else snapshot.incoming
                held = [id_ for id_, *_ in expected if edge_holds(graph.edges[id_.raw], {"at": at})]
                assert read(ordinal, at=at).ids() == held
                some = np.array([ordinal], np.uint32)
                arcs = [one.arcs(some, outgoing=name == "src", at=at) for one in snapshot.edges]
                known = [
                    end for arc in arcs for end in arc.neighbours.tolist() if end in snapshot.live
                ]
                assert len(known) == len(held)
        ids = sorted({*snapshot.outgoing(ordinal).ids(), *snapshot.incoming(ordinal).ids()})
        for after in (None, *ids[:3]):
            rest = [id_ for id_ in ids if after is None or id_ > after]
            for limit in (1, 2, 1000):
                assert snapshot.edge_ids(ordinal, after=after, limit=limit) == rest[:limit]


def check_parts(snapshot: Snapshot, graph: Graph) -> None:
    parents: dict[bytes, tuple[bytes, int]] = {}
    for raw, node in sorted(graph.nodes.items()):
        ordinal = snapshot.ordinal(NodeId(raw))
        assert ordinal is not None
        found = snapshot.children(ordinal)
        expected = [
            (child.id.raw, position)
            for position, child in enumerate(node.children)
            if child.id.raw in graph.nodes
        ]
        ids = ids_of(snapshot, found.ordinals)
        assert list(zip(ids, found.positions.tolist(), strict=True)) == expected
        for child, position in expected:
            parents.setdefault(child, (raw, position))
    for raw in graph.nodes:
        ordinal = snapshot.ordinal(NodeId(raw))
        assert ordinal is not None
        parent = snapshot.parent(ordinal)
        expected_parent = parents.get(raw)
        assert (parent is None) == (expected_parent is None)
        if parent is not None:
            assert (ids_of(snapshot, parent[:1])[0], parent[1]) == expected_parent
