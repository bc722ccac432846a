"""Reads GraphML, as NetworkX, Gephi and yEd write it, and that of `export`.

The parser is that of the standard library, and refuses what hostile XML is made of: a document
type, with which entities come, and elements that are nested too deep. Nothing outside the file is
read. Hyperedges, ports and nested graphs are counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any
from xml.parsers import expat

import ibidem
from ibidem import ErrorKind, InvalidInputError
from ibidem.adapters.importing.row import TEXT_NAMES, node_of, text_fields
from ibidem.adapters.importing.source import Items, Source, json_value, reading

_NAMESPACE = "graphml"
_READ_BYTES = 1 << 16
_LABELS = ("label", "type", "ntype", "labels")
_FIELDS = ("context_sentence", "content", "content_base64", "namespace", "tail", "key", "children")
_DEPTH_MAX = 16
"""Of XML elements; GraphML without nested graphs needs five."""
_JSON = "json."
_PROPS = "props."


def read(source: Source) -> Items:
    """Yields a record for each node and edge."""
    with source.open() as stream:
        reader = _Reader(source)
        for kind, line, attributes, data in reader.elements(stream):
            position = f"line {line}: {kind} {attributes.get('id', '')}".rstrip()
            with reading(position):
                if kind == "node":
                    yield position, _node(source, attributes, data)
                else:
                    for record in _edge(source, reader, attributes, data):
                        yield position, record


def _node(source: Source, attributes: dict[str, str], data: dict[str, Any]) -> Any:
    id_ = _required(attributes, "id")
    props, rest = _split(data)
    if _is_ours(id_, data):
        fields = {name: rest[name] for name in ("summary", *_FIELDS) if name in rest}
        body = {"id": id_, "ntype": rest.get("label"), "props": props, **fields}
        return ibidem.parse_record(json.dumps({"node": body}).encode())
    collection = source.path.stem
    label = next((rest.pop(name) for name in _LABELS if rest.get(name)), None)
    text = next((rest.pop(name) for name in TEXT_NAMES if isinstance(rest.get(name), str)), None)
    return ibidem.NodeRecord(
        name=None,
        ntype=str(label or "Node"),
        props=source.props({**rest, **props, "external_id": id_}),
        namespace=_NAMESPACE,
        key=[collection, id_],
        **{"context_sentence": None, **text_fields(text or id_)},
    )


def _edge(
    source: Source, reader: _Reader, attributes: dict[str, str], data: dict[str, Any]
) -> Iterator[Any]:
    ends = [_required(attributes, name) for name in ("source", "target")]
    props, rest = _split(data)
    label = next((rest.pop(name) for name in _LABELS if rest.get(name)), "related")
    weight = rest.pop("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise InvalidInputError(f"weight: got {weight!r:.60}, expected a number")
    if all(_is_id(end) for end in ends) and reader.is_ours:
        body = {"source": ends[0], "etype": label, "target": ends[1], "weight": float(weight)}
        body |= {"props": props, **({"key": rest["key"]} if "key" in rest else {})}
        yield ibidem.parse_record(json.dumps({"edge": body}).encode())
        return
    nodes = [node_of(_NAMESPACE, source.path.stem, end) for end in ends]
    found = source.props({**rest, **props})
    key = attributes.get("id")
    directed = attributes.get("directed") or reader.directed
    if directed in ("false", "undirected"):
        source.omit("missing direction of an edge: it leads from its source to its target")
    yield ibidem.EdgeRecord(nodes[0], str(label), nodes[1], float(weight), found, key)


def _is_id(text: str) -> bool:
    """Returns whether a text has the form of our ids."""
    return len(text) == 32 and set(text) <= set("0123456789abcdef")


def _is_ours(id_: str, data: dict[str, Any]) -> bool:
    has_label = "label" in data or f"{_JSON}label" in data
    return _is_id(id_) and has_label and _names_ours(data)


def _names_ours(names: Any) -> bool:
    own = {"label", "summary", "weight", *_FIELDS}
    return all(one in own or one.startswith((_PROPS, _JSON)) for one in names)


def _split(data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the properties and the other values."""
    props, rest = {}, {}
    for given, value in data.items():
        name = given
        if name.startswith(_JSON):
            name, value = name.removeprefix(_JSON), json_value(str(value), given)
        if name.startswith(_PROPS):
            props[name.removeprefix(_PROPS)] = value
        else:
            rest[name] = value
    return props, rest


def _required(attributes: dict[str, str], name: str) -> str:
    if not attributes.get(name):
        raise InvalidInputError(f"{name}: missing")
    return attributes[name]


class _Reader:
    """Collects elements while a file is parsed in pieces."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._parser = parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse
        parser.buffer_text = True
        self.directed = ""
        self.is_ours = True
        """Whether all attributes so far are those of `export`."""
        self._path: list[str] = []
        self._keys: dict[str, tuple[str, str]] = {}
        self._defaults: dict[str, dict[str, Any]] = {"node": {}, "edge": {}}
        self._ready: list[tuple[str, int, dict[str, str], dict[str, Any]]] = []
        self._element: tuple[str, int, dict[str, str], dict[str, Any]] | None = None
        self._data: str | None = None
        self._key: tuple[str, str, str, str] | None = None
        self._pieces: list[str] = []
        self._size = 0

    def elements(
        self, stream: IO[bytes]
    ) -> Iterator[tuple[str, int, dict[str, str], dict[str, Any]]]:
        """Yields nodes and edges: kind, line, attributes, data by name."""
        size = 0
        try:
            while data := stream.read(_READ_BYTES):
                size += len(data)
                if size > self._source.limits.unpacked_bytes_max:
                    raise _too_large("file", self._source.limits.unpacked_bytes_max)
                self._parser.Parse(data, False)
                yield from self._ready
                self._ready.clear()
            self._parser.Parse(b"", True)
        except (expat.ExpatError, LookupError, UnicodeError) as error:  # an unknown encoding
            raise InvalidInputError(f"not XML: {error}") from error
        yield from self._ready

    def _refuse(self, *_: Any) -> None:
        raise InvalidInputError(
            "xml: got a document type, expected none: it could declare entities"
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if not self._path and name != "graphml":
            raise InvalidInputError(f"xml: got <{name[:60]}>, expected <graphml>")
        if len(self._path) >= _DEPTH_MAX:
            raise InvalidInputError(
                f"xml: nested deeper than {_DEPTH_MAX} elements", kind=ErrorKind.LIMIT_EXCEEDED
            )
        self._path.append(name)
        match name:
            case "key":
                title = attributes.get("attr.name") or attributes.get("id", "")
                type_ = attributes.get("attr.type", "string")
                self._key = (attributes.get("id", ""), title, type_, attributes.get("for", "all"))
                self._keys[self._key[0]] = (title, type_)
                if not _names_ours([title]):
                    self.is_ours = False
            case "graph":
                self.directed = self.directed or attributes.get("edgedefault", "")
                if self._path.count("graph") > 1:
                    self._source.omit("nesting of graphs")
            case "node" | "edge":
                self._flush()
                line = self._parser.CurrentLineNumber
                self._element = (name, line, attributes, {})
            case "data":
                self._data, self._pieces, self._size = attributes.get("key", ""), [], 0
            case "default":
                self._pieces, self._size = [], 0
            case "hyperedge" | "port":
                self._source.omit(name)

    def _text(self, text: str) -> None:
        if self._path[-1] in ("data", "default"):
            self._size += len(text)
            limit = self._source.limits.element_bytes_max
            if self._size > limit:
                raise _too_large("data", limit)
            self._pieces.append(text)

    def _end(self, name: str) -> None:
        self._path.pop()
        match name.rpartition(":")[2]:
            case "node" | "edge":
                self._flush()
            case "data" if self._data is not None:
                if self._element is not None:
                    title, type_ = self._keys.get(self._data, (self._data, "string"))
                    self._element[3][title] = _value(title, type_, "".join(self._pieces))
                self._data = None
            case "default" if self._key is not None:
                value = _value(self._key[1], self._key[2], "".join(self._pieces))
                for kind, values in self._defaults.items():
                    if self._key[3] in (kind, "all"):
                        values[self._key[1]] = value
            case "key":
                self._key = None

    def _flush(self) -> None:
        if self._element is not None:
            kind, line, attributes, data = self._element
            self._ready.append((kind, line, attributes, {**self._defaults[kind], **data}))
            self._element = None


def _value(name: str, type_: str, text: str) -> Any:
    try:
        match type_:
            case "int" | "long":
                return int(text)
            case "float" | "double":
                return float(text)
            case "boolean":
                return {"true": True, "1": True, "false": False, "0": False}[text.strip().lower()]
    except (ValueError, KeyError) as error:
        raise InvalidInputError(f"{name}: got {text!r:.60}, expected {type_}") from error
    return text


def _too_large(name: str, limit: int) -> InvalidInputError:
    return InvalidInputError(f"{name}: more than {limit:,} bytes", kind=ErrorKind.LIMIT_EXCEEDED)
