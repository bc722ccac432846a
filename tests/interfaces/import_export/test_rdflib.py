"""rdflib reads our JSON-LD, and RDF of others becomes nodes and edges."""

from __future__ import annotations

import warnings

import pytest

import ibidem
from ibidem.adapters import exporting, importing
from ibidem.errors import IbidemError, InvalidInputError

rdflib = pytest.importorskip("rdflib")

TURTLE = """@prefix ex: <http://example.org/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
ex:ada a foaf:Person ; foaf:name "Ada"@en ; ex:age 36 ; ex:half 0.5e0 ; foaf:knows ex:bob ;
    ex:home [ ex:city "London" ] .
ex:bob foaf:name "Bob", "Robert" .
"""


def load(tmp_path, text, name):
    file = tmp_path / name
    file.write_text(text, "utf-8")
    repo = ibidem.init("memory:")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return repo, importing.load(repo, file)


def test_rdflib_reads_what_was_written(tmp_path):
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        one = tx.add_node("Person", summary="Ada", props={"age": 36, "half": 0.5, "ok": True})
        two = tx.add_node("Person", summary="Bob")
        tx.add_edge(one, "knows", two)
        tx.add_edge(one, "cites", two, weight=0.5, props={"why": "x"})
    file = tmp_path / "graph.jsonld"
    exporting.export(repo, file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = rdflib.Graph().parse(file, format="json-ld")
    ada, bob = (rdflib.URIRef(f"urn:ibidem:node:{node}") for node in (one, two))

    def value(name):
        return graph.value(ada, rdflib.URIRef(f"urn:ibidem:{name}"))

    assert graph.value(ada, rdflib.RDF.type) == rdflib.URIRef("urn:ibidem:type:Person")
    assert str(value("field:summary")) == "Ada"
    assert [value(f"prop:{name}").toPython() for name in ("age", "half", "ok")] == [36, 0.5, True]
    for name in ("knows", "cites"):
        assert (ada, rdflib.URIRef(f"urn:ibidem:edge:{name}"), bob) in graph
    weights = list(graph.objects(None, rdflib.URIRef("urn:ibidem:field:weight")))
    assert [weight.toPython() for weight in weights] == [0.5]
    assert len(graph) == 2 * 2 + 3 + 2 + 6


def test_turtle(tmp_path):
    repo, report = load(tmp_path, TURTLE, "people.ttl")
    assert report.format == "rdf"
    assert report.omitted == {"language of a text": 1}
    ada = repo.at().node(ibidem.node_id("rdf", "http://example.org/ada"))
    assert (ada.ntype, ada.summary) == ("Person", "Ada")
    assert dict(ada.props) == {
        "age": 36,
        "external_id": "http://example.org/ada",
        "half": 0.5,
        "name": "Ada",
        "types": ["http://xmlns.com/foaf/0.1/Person"],
    }
    bob = repo.at().node(ibidem.node_id("rdf", "http://example.org/bob"))
    assert bob.props["name"] == ["Bob", "Robert"]
    edges = {edge.etype: edge.dst for edge in repo.at().edges_of(ada.id)}
    assert edges["knows"] == bob.id
    assert repo.at().node(edges["home"]).props["city"] == "London"
    assert report.nodes_added == 3


def test_the_form_of_the_file_does_not_matter(tmp_path):
    repo, _ = load(tmp_path, TURTLE, "people.ttl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = rdflib.Graph().parse(data=TURTLE, format="turtle")
        for form, suffix in (("nt", "nt"), ("json-ld", "jsonld"), ("turtle", "ttl")):
            text = graph.serialize(format=form)
            other, _ = load(tmp_path, text, f"again.{suffix}")
            assert other.at().root_cid == repo.at().root_cid, form


def test_named_graphs(tmp_path):
    text = '<urn:a> <urn:p> <urn:b> <urn:graph> .\n<urn:b> <urn:name> "B" .\n'
    repo, _ = load(tmp_path, text, "graph.nq")
    assert repo.at().node(ibidem.node_id("rdf", "urn:a")).props["graphs"] == ["urn:graph"]
    assert repo.at().node(ibidem.node_id("rdf", "urn:b")).props["name"] == "B"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<a", "a.ttl"),
        ("<a> <b>", "a.nt"),
        ("(" * 100_000, "a.ttl"),
        ('{"@context": "http://127.0.0.1:9/x", "@id": "a"}', "a.jsonld"),
    ],
)
def test_bad_input_is_an_error_of_ours(tmp_path, text, name):
    with pytest.raises(IbidemError, match=name):
        load(tmp_path, text, name)


def test_too_many_blank_nodes(tmp_path):
    text = "\n".join(f"_:b{number} <urn:p> _:b{number + 1} ." for number in range(10_001))
    with pytest.raises(InvalidInputError, match="blank nodes: got"):
        load(tmp_path, text, "a.nt")
