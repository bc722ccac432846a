"""JSON lines into a graph: references in any order, errors by line, and the rest goes on."""

import io
import json

import pytest

from ibidem.ingest.draft import document_id
from ibidem.ingest.ndjson import ERRORS_MAX
from ibidem.objects.derive import node_id
from ibidem.objects.errors import InvalidInputError

from .graph import Graph

NODES = [
    {"node": {"name": "a", "ntype": "T", "summary": "one", "key": "a"}},
    {"node": {"name": "b", "ntype": "T", "summary": "two", "key": "b", "content": "x" * 10_000}},
    {"node": {"name": "c", "ntype": "U", "summary": "three", "props": {"n": 1}}},
]
REFERRING = [
    {"edge": {"source": "a", "etype": "cites", "target": "b", "weight": 0.5}},
    {"edge": {"source": "b", "etype": "cites", "target": "c", "key": 1, "props": {"p": "q"}}},
    {"vector": {"node": "a", "model": "m", "values": [1, 2, 3]}},
    {"vector": {"node": "c", "model": "m", "base64_f32": "AACAPwAAgD8AAIA/"}},
    {"sparse": {"node": "b", "vocab": "v", "indices": [3, 9], "weights": [0.5, 1.5]}},
]


def feed(graph, *lines, strict=False):
    data = b"\n".join(
        line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines
    )
    return graph.ingest("-", stdin=io.BytesIO(data), strict=strict)


def test_references_may_point_forward_and_backward():
    roots = set()
    for lines in (
        NODES + REFERRING,
        REFERRING + NODES,
        [*REFERRING[:2], *NODES, *REFERRING[2:]],
        NODES[::-1] + REFERRING[::-1],
    ):
        graph = Graph()
        report = feed(graph, *lines)
        assert (report.errors, report.nodes_added, report.edges, report.vectors) == ([], 3, 2, 3)
        roots.add(graph.cid)
    assert len(roots) == 1


def test_the_same_lines_again_change_nothing():
    graph = Graph()
    feed(graph, *NODES, *REFERRING)
    root = graph.cid
    report = feed(graph, *NODES, *REFERRING)
    assert (report.nodes_added, report.nodes_changed, graph.cid) == (0, 0, root)


def test_a_keyed_line_that_differs_replaces_its_node():
    graph = Graph()
    feed(graph, *NODES)
    report = feed(graph, {"node": {"ntype": "T", "summary": "other", "key": "a"}})
    assert (report.nodes_added, report.nodes_changed) == (0, 1)
    assert graph.nodes()[node_id("", "a")].summary == "other"


def test_an_edge_that_differs_takes_the_place_of_the_old_one():
    graph = Graph()
    feed(graph, *NODES, REFERRING[0])
    report = feed(
        graph, *NODES, {"edge": {"source": "a", "etype": "cites", "target": "b", "weight": 2}}
    )
    assert report.errors == []
    assert [edge.weight for edge in graph.edges()] == [2.0]


def test_nodes_of_the_graph_are_referred_to_by_id_and_by_key(tmp_path):
    (tmp_path / "a.md").write_text("text")
    graph = Graph()
    graph.ingest(tmp_path)
    report = feed(
        graph,
        {
            "edge": {
                "source": "new",
                "etype": "from",
                "target": {"namespace": "document", "key": "a.md"},
            }
        },
        {"edge": {"source": {"key": 7}, "etype": "about", "target": str(document_id("a.md"))}},
        {"node": {"name": "new", "ntype": "T"}},
        {"node": {"ntype": "T", "key": 7}},
    )
    assert report.errors == []
    assert {edge.dst for edge in graph.edges()} == {document_id("a.md")}


def test_each_bad_line_is_reported_by_number_and_the_others_count():
    graph = Graph()
    report = feed(
        graph,
        NODES[0],
        b"{oops",
        {"edge": {"source": "a", "etype": "cites", "target": "nowhere"}},
        {"edge": {"source": "a", "etype": "cites", "target": "0" * 32}},
        {"node": {"name": "a", "ntype": "T", "key": "again"}},
        {"vector": {"node": "a", "model": "m", "values": [1, 2]}},
        {"vector": {"node": "b", "model": "m", "values": [1, 2, 3]}},
        {"tombstone": {"node": {"key": "absent"}}},
        {"remove": {"edge": "0" * 32}},
        NODES[1],
    )
    numbers = sorted(int(error.split(":")[0].removeprefix("line ")) for _, error in report.errors)
    assert numbers == [2, 3, 4, 5, 7, 8, 9]
    assert (report.nodes_added, report.vectors, report.edges) == (2, 1, 0)
    assert graph.publications == 1


def test_a_flood_of_bad_lines_gives_a_bounded_report():
    report = feed(Graph(), *[b"x"] * (ERRORS_MAX + 500))
    assert len(report.errors) == ERRORS_MAX + 1
    assert report.errors[-1] == ("-", "500 more lines refused")


def test_removals_and_tombstones_come_last():
    graph = Graph()
    feed(graph, *NODES, *REFERRING)
    report = feed(
        graph,
        {"remove": {"node": "c"}},
        {"tombstone": {"node": "b", "reason": "wrong"}},
        *NODES,
    )
    assert (report.errors, report.nodes_removed, report.tombstones) == ([], 1, 1)
    assert [edge.etype for edge in graph.edges()] == ["cites"]
    assert graph.transaction().is_tombstoned(node_id("", "b"))


def test_a_forgotten_node_is_not_brought_back():
    graph = Graph()
    feed(graph, *NODES, {"tombstone": {"node": "a"}})
    root = graph.cid
    report = feed(graph, {"node": {"ntype": "T", "summary": "again", "key": "a"}})
    assert "tombstone" in report.errors[0][1]
    assert graph.cid == root


def test_strict_names_the_line_and_nothing_is_published():
    graph = Graph()
    with pytest.raises(InvalidInputError, match="-: line 2: json: Expecting"):
        feed(graph, NODES[0], b"{", strict=True)
    assert graph.publications == 0
