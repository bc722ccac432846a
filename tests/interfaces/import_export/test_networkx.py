"""NetworkX reads our GraphML, and we read that of NetworkX."""

from __future__ import annotations

import pytest

import ibidem
from ibidem.adapters import exporting, importing

networkx = pytest.importorskip("networkx")


def test_networkx_reads_what_was_written_and_writes_it_again(tmp_path):
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        one = tx.add_node("T", summary="<one>", props={"n": 1, "f": 0.5, "ok": True, "list": [1]})
        two = tx.add_node("U", summary="two", props={"n": 2})
        tx.add_edge(one, "cites", two, weight=0.25, props={"why": "é"})
    file = tmp_path / "graph.graphml"
    exporting.export(repo, file)
    graph = networkx.read_graphml(file)
    assert graph.is_directed()
    assert graph.nodes[str(one)] == {
        "label": "T",
        "summary": "<one>",
        "props.n": 1,
        "props.f": 0.5,
        "props.ok": True,
        "json.props.list": "[1]",
    }
    assert graph.edges[str(one), str(two)] == {"label": "cites", "weight": 0.25, "props.why": "é"}
    again = tmp_path / "again.graphml"
    networkx.write_graphml_xml(graph, again)
    other = ibidem.init("memory:")
    importing.load(other, again)
    assert other.at().root_cid == repo.at().root_cid


def test_a_graph_of_networkx(tmp_path):
    graph = networkx.karate_club_graph()
    file = tmp_path / "karate.graphml"
    networkx.write_graphml_xml(graph, file)
    repo = ibidem.init("memory:")
    report = importing.load(repo, file)
    assert (report.nodes_added, report.edge_count) == (34, 78)
    assert sum(edge.weight for edge in repo.at().edges()) == graph.size(weight="weight")
