"""Reads RDF: Turtle, N-Triples, TriG, N-Quads and JSON-LD.

A resource is a node with its IRI as key; a literal a property, under the last part of the name of
its predicate; a statement about another resource an edge. What `export` writes has the ids of this
library, so its nodes and edges come back as they were.

Nothing is fetched: JSON-LD whose context stands elsewhere is refused. Blank nodes get canonical
names, which depend on what is said of them and not on the file; there is a limit on their number,
because naming them can take long.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import ibidem
from ibidem import ErrorKind, InvalidInputError
from ibidem.adapters.exporting.jsonld import BASE
from ibidem.adapters.importing.row import text_fields
from ibidem.adapters.importing.source import Items, Source, field_of, foreign, json_value, reading
from ibidem.adapters.library import library

SUFFIXES = {
    ".ttl": "turtle",
    ".nt": "nt",
    ".nq": "nquads",
    ".trig": "trig",
    ".jsonld": "json-ld",
}
_NAMESPACE = "rdf"
_FILE_BYTES_MAX = 1 << 30
"""The library holds the whole graph in memory."""
_BLANKS_MAX = 10_000
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_DEFAULT_GRAPH = "urn:x-rdflib:default"
_TEXTS = ("label", "prefLabel", "name", "title", "description", "comment")
_XSD = "http://www.w3.org/2001/XMLSchema#"


def read(source: Source) -> Items:
    """Yields the nodes and edges of a file."""
    form = SUFFIXES.get(source.path.suffix.lower())
    if form is None:
        raise InvalidInputError(
            f"file: got the suffix {source.path.suffix!r}, expected one of {', '.join(SUFFIXES)}"
        )
    with source.open() as stream:
        data = stream.read(_FILE_BYTES_MAX + 1)
    if len(data) > _FILE_BYTES_MAX:
        raise InvalidInputError(
            f"file: more than {_FILE_BYTES_MAX:,} bytes", kind=ErrorKind.LIMIT_EXCEEDED
        )
    if form == "json-ld":
        value = json_value(data)
        _check_contexts(value, source.limits.depth_max)
        if isinstance(value, dict) and _is_ours(value):
            yield from _ours(value)
            return
        data = json.dumps(value).encode()  # so that the library reads what was checked
    rdflib = library("rdflib", "rdf")
    graph = rdflib.Dataset(default_union=True)
    # the library raises errors of many kinds, and RecursionError for deep nesting
    with _without_log(), foreign("rdf", Exception):
        graph.parse(data=data, format=form, publicID="urn:file")
        records = list(_resources(source, rdflib, graph))
    yield from records


@contextmanager
def _without_log() -> Iterator[None]:
    """Keeps the library from logging every IRI that it would not write."""
    log = logging.getLogger("rdflib.term")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _check_contexts(value: Any, depth: int) -> None:
    """Raises an error for a context that would have to be fetched."""
    if depth == 0:
        raise InvalidInputError("json: nested too deep", kind=ErrorKind.LIMIT_EXCEEDED)
    if isinstance(value, dict):
        contexts = [value.get("@context")]
        while contexts:  # lists of lists too, which the library follows
            one = contexts.pop()
            if isinstance(one, list):
                contexts += one
            elif isinstance(one, str):
                raise _fetched("@context", one)
        if "@import" in value:
            raise _fetched("@import", value["@import"])
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _check_contexts(inner, depth - 1)


def _fetched(name: str, value: Any) -> InvalidInputError:
    return InvalidInputError(
        f"{name}: got {str(value)[:80]!r}, expected a context in the file",
        hint="nothing is fetched; put the context into the file",
    )


_TEXT_FIELDS = frozenset(
    ("summary", "context_sentence", "content", "content_base64", "namespace", "tail")
)


# -- what `export` wrote -----------------------------------------------------------------------


def _is_ours(value: dict[str, Any]) -> bool:
    context = value.get("@context")
    return isinstance(context, dict) and context.get("json") == f"{BASE}json"


def _ours(value: dict[str, Any]) -> Items:
    edges: dict[tuple[str, str, str], int] = {}
    described = []
    for index, element in enumerate(field_of(value, "@graph", list, "a list of resources")):
        position = f"resource {index}"
        type_ = element.get("type") if isinstance(element, dict) else None
        with reading(position):
            if type_ == f"{BASE}field:Edge":
                described.append((position, element))
            elif type_ is not None:
                body = {**_fields(element), **_node_names(element, type_)}
                yield position, _parsed("node", body)
            else:
                for edge in _statements(element):
                    edges[edge] = edges.get(edge, 0) + 1
    for position, element in described:
        with reading(position):
            source, target = (
                _node_id(field_of(element, name, str, "a text")) for name in ("source", "target")
            )
            etype = field_of(element, "etype", str, "a text")
            edges[source, etype, target] = edges.get((source, etype, target), 0) - 1
            weight = _plain(element.get("weight"))
            body = {"source": source, "etype": etype, "target": target, "weight": weight}
            yield position, _parsed("edge", {**body, **_fields(element)})
    for (start, etype, end), count in edges.items():
        if count > 0:
            body = {"source": start, "etype": etype, "target": end}
            yield f"edge {start} {etype} {end}", _parsed("edge", body)


def _statements(element: Any) -> Iterator[tuple[str, str, str]]:
    """Yields source, type and target of the edges that a resource states."""
    source = _node_id(field_of(element, "id", str, "a text"))
    for name, target in element.items():
        if name.startswith(f"{BASE}edge:"):
            end = field_of(target, "id", str, "a text")
            yield source, unquote(name[len(f"{BASE}edge:") :]), _node_id(end)


def _node_names(element: dict[str, Any], type_: Any) -> dict[str, Any]:
    id_ = _node_id(field_of(element, "id", str, "a text"))
    return {"id": id_, "ntype": unquote(str(type_)[len(f"{BASE}type:") :])}


def _node_id(iri: str) -> str:
    return iri.removeprefix(f"{BASE}node:")


def _fields(element: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    props = {}
    for name, value in element.items():
        if name in ("key", "children"):
            found[name] = json_value(str(value), name)
        elif name in _TEXT_FIELDS:
            found[name] = value
        elif name.startswith(f"{BASE}prop:"):
            props[unquote(name[len(f"{BASE}prop:") :])] = _plain(value)
    return {**found, "props": props}


def _plain(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    text, type_ = str(value.get("@value")), value.get("@type")
    try:
        if type_ == f"{_XSD}integer":
            return int(text)
        if type_ == f"{_XSD}double":
            return float(text)
    except ValueError as error:
        raise InvalidInputError(f"value: got {text!r:.60}, expected {type_}") from error
    return json_value(text, "value")


def _parsed(form: str, body: dict[str, Any]) -> Any:
    return ibidem.parse_record(json.dumps({form: body}).encode())


# -- any other RDF -----------------------------------------------------------------------------


def _resources(source: Source, rdflib: Any, dataset: Any) -> Items:
    graph = _canonical(rdflib, dataset)
    contexts: dict[str, set[str]] = {}
    for subject, _, _, context in dataset.quads((None, None, None, None)):
        if isinstance(context, rdflib.URIRef) and str(context) != _DEFAULT_GRAPH:
            contexts.setdefault(str(subject), set()).add(str(context))
    about: dict[str, list[tuple[str, Any]]] = {}
    links = []
    for subject, predicate, value in graph:
        is_link = not isinstance(value, rdflib.Literal) and str(predicate) != _TYPE
        statements = about.setdefault(str(subject), [])
        if is_link:
            about.setdefault(str(value), [])
            links.append((str(subject), str(predicate), str(value)))
        else:
            statements.append((str(predicate), value))
    for name in sorted(about):
        statements = sorted(about[name], key=lambda one: (one[0], one[1].n3()))
        record = _resource(source, rdflib, name, statements, sorted(contexts.get(name, ())))
        yield f"resource {name}", record
    for start, predicate, end in sorted(links):
        ends = [ibidem.node_id(_NAMESPACE, one) for one in (start, end)]
        props = {"predicate": predicate}
        edge = ibidem.EdgeRecord(ends[0], _last(predicate), ends[1], 1.0, props, predicate)
        yield f"resource {start}", edge


def _canonical(rdflib: Any, dataset: Any) -> Any:
    """Returns all statements in one graph, in which blank nodes have canonical names.

    Raises:
        InvalidInputError: kind `limit-exceeded`: too many blank nodes.
    """
    graph = rdflib.Graph()
    blanks: set[Any] = set()
    for *triple, _ in dataset.quads((None, None, None, None)):
        graph.add(tuple(triple))
        blanks.update(one for one in triple if isinstance(one, rdflib.BNode))
    if len(blanks) > _BLANKS_MAX:
        raise InvalidInputError(
            f"blank nodes: got {len(blanks):,}, expected at most {_BLANKS_MAX:,}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )
    return library("rdflib.compare", "rdf").to_canonical_graph(graph) if blanks else graph


def _resource(
    source: Source, rdflib: Any, name: str, statements: Iterable[tuple[str, Any]], graphs: list[str]
) -> Any:
    values: dict[str, list[Any]] = {}
    types = []
    for predicate, value in statements:
        if predicate == _TYPE:
            types.append(str(value))
        elif isinstance(value, rdflib.Literal):
            values.setdefault(_last(predicate), []).append(_value(source, value))
    text = next((values[one][0] for one in _TEXTS if isinstance(_first(values, one), str)), None)
    props = {one: listed[0] if len(listed) == 1 else listed for one, listed in values.items()}
    if graphs:
        props["graphs"] = graphs
    if types:
        props["types"] = types
    return ibidem.NodeRecord(
        name=None,
        ntype=_last(types[0]) if types else "Resource",
        props=source.props({**props, "external_id": name}),
        namespace=_NAMESPACE,
        key=name,
        **{"context_sentence": None, **text_fields(text or _last(name))},
    )


def _first(values: dict[str, list[Any]], name: str) -> Any:
    return values[name][0] if name in values else None


def _value(source: Source, literal: Any) -> Any:
    if literal.language:
        source.omit("language of a text")
    value = literal.toPython()
    if isinstance(value, bool | int | float | str):
        return value
    return str(literal)


def _last(iri: str) -> str:
    """Returns the last part of an IRI, its whole text if that is empty."""
    return unquote(iri.rstrip("/#").replace("#", "/").rpartition("/")[2].rpartition(":")[2]) or iri
