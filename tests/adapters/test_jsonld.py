"""JSON-LD: ours is read back whole but for vectors, and nothing is ever fetched."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ibidem
from ibidem.adapters import exporting, importing
from ibidem.errors import InvalidInputError


@pytest.fixture
def repo():
    repo = ibidem.init("memory:")
    with repo.transaction(author="ada", time=1) as tx:
        one = tx.add_node(
            "A type/é",
            summary="one",
            key=["k", b"\x00"],
            namespace="n",
            props={"n": 1, "big": 1 << 63, "f": 1e300, "g": 1.0, "ok": True, "b": b"x", "a b": "c"},
            content=b"\x80\x81",
        )
        two = tx.add_node("U", summary="two\x00\r")
        tx.add_edge(one, "cites", two)
        tx.add_edge(one, "cites", two, weight=0.5, props={"z": [1, None]}, key="q")
        tx.add_edge(two, "likes: much", one)
        tx.set_vector(one, model="m", vector=[1, 2, 3])
        tx.ingest(text="# A\n\nhello\n", path="a.md")
    return repo


def export(repo):
    stream = io.BytesIO()
    report = exporting.export(repo, stream, format="jsonld")
    return stream.getvalue(), report


def load(tmp_path, data, name="graph.jsonld"):
    file = tmp_path / name
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    repo = ibidem.init("memory:")
    return repo, importing.load(repo, file)


def test_nodes_and_edges_are_the_same(repo, tmp_path):
    data, report = export(repo)
    assert report.omitted == {"vector: the format has none": 1}
    json.loads(data)
    other, _ = load(tmp_path, data)
    assert list(other.at().nodes()) == list(repo.at().nodes())
    assert list(other.at().edges()) == list(repo.at().edges())
    assert export(other)[0] == data


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_text_is_the_same(tmp_path_factory, text):
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        one = tx.add_node(text, summary=text, props={text: text})
        tx.add_edge(one, text, one)
    other, _ = load(tmp_path_factory.mktemp("jsonld"), export(repo)[0])
    assert other.at().root_cid == repo.at().root_cid


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("{", "not JSON"),
        ('{"@context": "https://example.org/context"}', "expected a context in the file"),
        ('[{"@context": [{}, "x"]}]', "expected a context in the file"),
        ('{"a": {"@context": {"@import": "x"}}}', "expected a context in the file"),
        ('{"a":' * 100 + "1" + "}" * 100, "nested too deep"),
        ("[" * 100_000, "nested too deep"),
        ('{"@context": {"json": "urn:ibidem:json"}}', "@graph: got None"),
        (
            '{"@context": {"json": "urn:ibidem:json"}, "@graph": [{"type": "x", "id": "y"}]}',
            "resource 0: node.ntype: got ''",
        ),
        ('{"@context": {"json": "urn:ibidem:json"}, "@graph": [{}]}', "resource 0: id: got None"),
        ('{"@context": {"json": "urn:ibidem:json"}, "@graph": [1]}', "id: got None"),
    ],
)
def test_bad_input_is_named_and_nothing_is_fetched(tmp_path, data, expected):
    with pytest.raises(InvalidInputError) as caught:
        load(tmp_path, data)
    assert "graph.jsonld: " in str(caught.value)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    "context",
    [
        "http://127.0.0.1:9/x",
        ["http://127.0.0.1:9/x"],
        [[["file:///etc/hostname"]]],
        {"@context": [["http://127.0.0.1:9/x"]]},
        {"@import": "http://127.0.0.1:9/x"},
        [[{"@import": "http://127.0.0.1:9/x"}]],
        {"term": {"@id": "urn:t", "@context": [["http://127.0.0.1:9/x"]]}},
    ],
)
def test_a_context_from_elsewhere_is_refused_however_it_is_nested(context, tmp_path):
    path = tmp_path / "a.jsonld"
    path.write_text(json.dumps({"@context": context, "@id": "urn:a"}))
    with pytest.raises(InvalidInputError, match="expected a context in the file"):
        importing.load(ibidem.init("memory:"), path)
