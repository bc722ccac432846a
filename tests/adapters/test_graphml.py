"""GraphML: ours is read back whole but for vectors, and hostile XML is refused."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ibidem
from ibidem.adapters import exporting, importing
from ibidem.errors import ErrorKind, InvalidInputError

HEAD = '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'


@pytest.fixture
def repo():
    repo = ibidem.init("memory:")
    with repo.transaction(author="ada", time=1) as tx:
        one = tx.add_node(
            "T",
            summary='<one> & "two"\n',
            key=["k", b"\x00"],
            namespace="n",
            props={"n": 1, "mixed": 1, "big": 1 << 63, "f": 1.0, "ok": True, "b": b"x"},
            content=b"\x80\x81",
        )
        two = tx.add_node("U", summary="two\x00\r", props={"mixed": "text", "n": 2})
        tx.add_edge(one, "cites", two, weight=0.5, props={"z": [1, None]}, key="q")
        tx.set_vector(one, model="m", vector=[1, 2, 3])
        tx.ingest(text="# A\n\nhello\n", path="a.md")
    return repo


def export(repo):
    stream = io.BytesIO()
    report = exporting.export(repo, stream, format="graphml")
    return stream.getvalue(), report


def load(tmp_path, data, **options):
    file = tmp_path / "graph.graphml"
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    repo = ibidem.init("memory:")
    return repo, importing.load(repo, file, **options)


def test_nodes_and_edges_are_the_same(repo, tmp_path):
    data, report = export(repo)
    assert report.omitted == {"vector: the format has none": 1}
    other, _ = load(tmp_path, data)
    assert list(other.at().nodes()) == list(repo.at().nodes())
    assert list(other.at().edges()) == list(repo.at().edges())
    assert export(other)[0] == data


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_text_is_the_same(tmp_path_factory, text):
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        tx.add_node("T", summary=text, props={"p": text})
    other, _ = load(tmp_path_factory.mktemp("graphml"), export(repo)[0])
    assert list(other.at().nodes()) == list(repo.at().nodes())


FOREIGN = f"""{HEAD}
<key id="d0" for="node" attr.name="label" attr.type="string"/>
<key id="d1" for="node" attr.name="age" attr.type="int"><default>7</default></key>
<key id="d2" for="edge" attr.name="weight" attr.type="double"/>
<graph edgedefault="undirected">
<edge source="a" target="b"><data key="d2">0.5</data></edge>
<node id="a"><data key="d0">Person</data><data key="d1">36</data></node>
<node id="b"><port name="x"/></node>
<hyperedge/>
</graph></graphml>"""


def test_a_graph_of_another_program(tmp_path):
    repo, report = load(tmp_path, FOREIGN)
    assert report.format == "graphml"
    assert report.omitted == {
        "hyperedge": 1,
        "missing direction of an edge: it leads from its source to its target": 1,
        "port": 1,
    }
    a = repo.at().node(ibidem.node_id("graphml", ["graph", "a"]))
    b = repo.at().node(ibidem.node_id("graphml", ["graph", "b"]))
    assert (a.ntype, a.summary, dict(a.props)) == ("Person", "a", {"age": 36, "external_id": "a"})
    assert (b.ntype, dict(b.props)) == ("Node", {"age": 7, "external_id": "b"})
    (edge,) = repo.at().edges()
    assert (edge.src, edge.dst, edge.etype, edge.weight) == (a.id, b.id, "related", 0.5)
    head = repo.head
    importing.load(repo, tmp_path / "graph.graphml")
    assert repo.head == head


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (HEAD, "not XML"),
        (f"{BOMB}<graphml>&b;</graphml>", "got a document type, expected none"),
        (f"{OUTSIDE}<graphml>&a;</graphml>", "got a document type, expected none"),
        ("<svg/>", "got <svg>, expected <graphml>"),
        (HEAD + "<graph>" * 100_000, "nested deeper than 16 elements"),
        (HEAD + "<graph><node/></graph></graphml>", "line 1: node: id: missing"),
        (HEAD + '<graph><edge source="a"/></graph></graphml>', "line 1: edge: target: missing"),
        (FOREIGN.replace("36", "x"), "age: got 'x', expected int"),
        (FOREIGN.replace("36", "9" * 5000), "expected int"),
        (b"\xff\xfe\x00", "not XML"),
    ],
)
def test_bad_input_is_named(tmp_path, data, expected):
    with pytest.raises(InvalidInputError) as caught:
        load(tmp_path, data, format="graphml")
    assert expected in str(caught.value)
    assert "graph.graphml" in str(caught.value)


def test_limits(tmp_path):
    for limits in (
        importing.ImportLimits(unpacked_bytes_max=100),
        importing.ImportLimits(element_bytes_max=5),
    ):
        with pytest.raises(InvalidInputError) as caught:
            load(tmp_path, FOREIGN, limits=limits)
        assert caught.value.kind is ErrorKind.LIMIT_EXCEEDED
