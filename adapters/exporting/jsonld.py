"""Writes JSON-LD, as RDF programs read it: a resource for each node, a property for each edge.

The context stands in the file, so nothing has to be fetched to read it. Properties whose values are
texts, numbers or truths are literals; every other value is text in JSON. What an edge has besides
its ends (weight, properties, key) is a resource of its own, that names the edge. Vectors are not
written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import IO, Any
from urllib.parse import quote

import ibidem
from ibidem.adapters.exporting.records import Graph

BASE = "urn:ibidem:"
"""The beginning of the names of nodes (`node:`), types (`type:`), properties (`prop:`), types of
edges (`edge:`), and of the fields of this library."""
CONTEXT = {
    "@version": 1.1,
    "id": "@id",
    "type": "@type",
    "json": f"{BASE}json",
    **{
        name: f"{BASE}field:{name}"
        for name in (
            *("summary", "context_sentence", "content", "content_base64", "namespace", "tail"),
            *("key", "children", "props", "weight"),
        )
    },
    **{name: {"@id": f"{BASE}field:{name}", "@type": "@id"} for name in ("source", "target")},
    "etype": f"{BASE}field:etype",
}


def write(graph: Graph, stream: IO[bytes]) -> None:
    """Writes one object, with an element of `@graph` on each line."""
    head = json.dumps(CONTEXT, sort_keys=True, separators=(",", ":"))
    stream.write(b'{"@context":' + head.encode() + b',"@graph":[\n')
    is_first = True
    for element in chain(map(_node, graph.nodes()), _edges(graph)):
        line = json.dumps(element, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        stream.write((b"" if is_first else b",\n") + line.encode("utf-8"))
        is_first = False
    stream.write(b"\n]}\n")
    graph.omit_vectors()


def _node(node: ibidem.NodeRecord) -> dict[str, Any]:
    line = json.loads(ibidem.format_record(node))["node"]
    found = {"id": f"{BASE}node:{node.id}", "type": _iri("type", node.ntype)}
    for name in ("summary", "context_sentence", "content", "content_base64", "namespace", "tail"):
        if name in line:
            found[name] = line[name]
    for name in ("key", "children"):
        if name in line:
            found[name] = _json(line[name])
    return found | _props(line)


def _edges(graph: Graph) -> Iterator[dict[str, Any]]:
    for edge in graph.edges():
        line = json.loads(ibidem.format_record(edge))["edge"]
        ends = {name: f"{BASE}node:{line[name]}" for name in ("source", "target")}
        iri = _iri("edge", edge.etype)
        yield {"id": ends["source"], iri: {"id": ends["target"]}}
        if edge.weight != 1 or "key" in line or "props" in line:
            found: dict[str, Any] = {**ends, "type": f"{BASE}field:Edge", "etype": edge.etype}
            found["weight"] = {"@value": repr(float(edge.weight)), "@type": f"{_XSD}double"}
            if "key" in line:
                found["key"] = _json(line["key"])
            yield found | _props(line)


_XSD = "http://www.w3.org/2001/XMLSchema#"


def _props(line: Mapping[str, Any]) -> dict[str, Any]:
    return {_iri("prop", name): _literal(value) for name, value in line.get("props", {}).items()}


def _literal(value: Any) -> Any:
    """Returns a value in JSON-LD; numbers have their type and their text, as JSON-LD itself writes
    some of them in another way."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return {"@value": str(value), "@type": f"{_XSD}integer"}
    if isinstance(value, float):
        return {"@value": repr(value), "@type": f"{_XSD}double"}
    return {"@value": _json(value), "@type": f"{BASE}json"}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _iri(kind: str, name: str) -> str:
    return f"{BASE}{kind}:{quote(name, safe='')}"
