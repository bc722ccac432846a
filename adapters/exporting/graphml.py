"""Writes GraphML, as NetworkX, Gephi and yEd read it: nodes and edges with their properties.

A property is an attribute of its own if all its values have one of the types of GraphML; otherwise
its values are text in JSON, in an attribute `json.NAME`. Vectors are not written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import IO, Any
from xml.sax.saxutils import escape, quoteattr

import ibidem
from ibidem.adapters.exporting.records import Graph

_TYPES = {str: "string", bool: "boolean", int: "long", float: "double"}
_LONG_MAX = 1 << 63
NAMESPACE = "http://graphml.graphdrawing.org/xmlns"


def write(graph: Graph, stream: IO[bytes]) -> None:
    """Writes the graph; it is read twice, first for the types of properties."""
    types = _Types()
    for node in graph.nodes():
        types.add("node", _node_values(node))
    for edge in graph.edges():
        types.add("edge", _edge_values(edge))
    graph.restart()
    _line(stream, '<?xml version="1.0" encoding="UTF-8"?>')
    _line(stream, f'<graphml xmlns="{NAMESPACE}">')
    for (kind, name), (id_, type_) in types.keys().items():
        _line(
            stream,
            f'<key id="{id_}" for="{kind}" attr.name={quoteattr(name)} attr.type="{type_}"/>',
        )
    _line(stream, '<graph edgedefault="directed">')
    for node in graph.nodes():
        _element(stream, f'<node id="{node.id}"', types.data("node", _node_values(node)), "node")
    for edge in graph.edges():
        head = f'<edge source="{edge.source}" target="{edge.target}"'
        _element(stream, head, types.data("edge", _edge_values(edge)), "edge")
    _line(stream, "</graph>")
    _line(stream, "</graphml>")
    graph.omit_vectors()


def _node_values(node: ibidem.NodeRecord) -> dict[str, Any]:
    found: dict[str, Any] = {"label": node.ntype}
    line = json.loads(ibidem.format_record(node))["node"]
    for name in ("summary", "context_sentence", "content", "content_base64", "namespace", "tail"):
        if name in line:
            found[name] = line[name]
    for name in ("key", "children"):
        if name in line:
            found[f"json.{name}"] = _json(line[name])
    return found | _props(line)


def _edge_values(edge: ibidem.EdgeRecord) -> dict[str, Any]:
    line = json.loads(ibidem.format_record(edge))["edge"]
    found: dict[str, Any] = {"label": edge.etype, "weight": edge.weight}
    if "key" in line:
        found["json.key"] = _json(line["key"])
    return found | _props(line)


def _props(line: Mapping[str, Any]) -> dict[str, Any]:
    return {f"props.{name}": value for name, value in line.get("props", {}).items()}


class _Types:
    """The attributes that are needed, with the one type of their values."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], str | None] = {}
        self._ids: dict[tuple[str, str], tuple[str, str]] = {}

    def add(self, kind: str, values: Mapping[str, Any]) -> None:
        """Takes note of the types of the values of a node or an edge."""
        for name, value in values.items():
            type_ = _type_of(value)
            if self._found.setdefault((kind, name), type_) != type_:
                self._found[kind, name] = None

    def keys(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Returns by kind and attribute its id and type."""
        return {
            (kind, name if type_ else f"json.{name}"): (f"d{index}", type_ or "string")
            for index, ((kind, name), type_) in enumerate(sorted(self._found.items(), key=_first))
        }

    def data(self, kind: str, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yields the id of the attribute and the text for each value."""
        ids = self._ids = self._ids or self.keys()
        for name, value in sorted(values.items()):
            if self._found[kind, name] is None:
                yield ids[kind, f"json.{name}"][0], _json(value)
            else:
                text = str(value).lower() if isinstance(value, bool) else str(value)
                yield ids[kind, name][0], text


def _first(entry: tuple[tuple[str, str], Any]) -> tuple[str, str]:
    return entry[0]


def _type_of(value: Any) -> str | None:
    if type(value) is int and not -_LONG_MAX <= value < _LONG_MAX:
        return None
    if type(value) is str and not _is_xml(value):
        return None
    return _TYPES.get(type(value))


def _is_xml(text: str) -> bool:
    """Returns whether XML can hold a text as it is: it has no control characters, and a line break
    is always a line feed."""
    return text.isprintable() or all(
        one in "\t\n" or (one >= " " and one not in "\ufffe\uffff") for one in text
    )


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))  # ASCII: safe in XML


def _element(stream: IO[bytes], head: str, data: Iterator[tuple[str, str]], name: str) -> None:
    inner = "".join(f'<data key="{id_}">{escape(text)}</data>' for id_, text in data)
    _line(stream, f"{head}>{inner}</{name}>")


def _line(stream: IO[bytes], text: str) -> None:
    stream.write(text.encode("utf-8") + b"\n")
