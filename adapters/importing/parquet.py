"""Reads tables of Parquet and Arrow: those of `export`, and any table with texts or vectors.

A table of `export` has the ids of this library, so nothing is lost. Of any other, the columns are
taken by their names: an id, a type, a text, vectors; with `source` and `target` its rows are edges.
All other columns are properties.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ibidem
from ibidem import InvalidInputError
from ibidem.adapters.importing.row import TEXT_NAMES, node_of, records
from ibidem.adapters.importing.source import Items, Source, foreign
from ibidem.adapters.library import library

SCHEMA_NAME = b"ibidem"
"""The entry in the metadata of a schema that names one of our tables."""
ROWS_AT_ONCE = 1000
_NAMESPACE = "parquet"
_IDS = ("id", "_id", "uuid", "key")
_LABELS = ("label", "ntype", "type")
_EDGE_TYPES = ("etype", "relationship", "relation", *_LABELS)
_SUFFIXES = (".parquet", ".arrow", ".feather", ".ipc")


def read(source: Source) -> Items:
    """Yields the records of a file, or of the files of a folder: nodes before edges."""
    library("pyarrow", "parquet")
    path = source.path
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.suffix.lower() in _SUFFIXES)
    else:
        files = [path]
    with foreign("parquet", Exception):
        for file in sorted(files, key=_is_of_edges):
            yield from _file(source, file)


def rows(source: Source, namespace: str, collection: str, batches: Iterable[Any]) -> Items:
    """Yields the records of the batches of any table."""
    index = 0
    for batch in batches:
        columns = _Columns(source, batch.schema)
        for row in batch.to_pylist():
            position = f"{collection}: row {index}"
            for record in columns.records(namespace, collection, row):
                yield position, record
            index += 1


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Yields the schema and the batches of a file."""
    pyarrow = library("pyarrow", "parquet")
    with path.open("rb") as stream:
        head = stream.read(6)
    if head.startswith(b"ARROW1"):
        with (
            pyarrow.memory_map(str(path)) as mapped,
            library("pyarrow.ipc", "parquet").open_file(mapped) as file,
        ):
            count = file.num_record_batches
            yield file.schema, (file.get_batch(index) for index in range(count))
    else:
        parquet = library("pyarrow.parquet", "parquet")
        with parquet.ParquetFile(path) as file:
            yield file.schema_arrow, file.iter_batches(batch_size=ROWS_AT_ONCE)


def _is_of_edges(path: Path) -> int:
    with _opened(path) as (schema, _):
        kind = (schema.metadata or {}).get(SCHEMA_NAME)
        if kind is not None:
            return 0 if kind == b"nodes" else 1
        return 1 if {"source", "target"} <= set(schema.names) else 0


def _file(source: Source, path: Path) -> Items:
    collection = source.path.stem if source.path.is_dir() else path.stem
    with _opened(path) as (schema, batches):
        metadata = schema.metadata or {}
        kind = metadata.get(SCHEMA_NAME)
        if kind is None:
            yield from rows(source, _NAMESPACE, collection, batches)
            return
        if kind not in _TABLES:
            raise InvalidInputError(
                f"{path.name}: got a table of {kind!r:.40}, expected "
                f"{', '.join(sorted(name.decode() for name in _TABLES))}"
            )
        for line in json.loads(metadata.get(b"ibidem.lines", b"[]")):
            yield path.name, ibidem.parse_record(line.encode())
        index = 0
        for batch in batches:
            for row in batch.to_pylist():
                for record in _TABLES[kind](row, batch.schema):
                    yield f"{path.name}: row {index}", record
                index += 1


def _node(row: dict[str, Any], schema: Any) -> Iterator[Any]:
    given = {name: row.get(name) for name in ("summary", "context_sentence", "namespace", "tail")}
    body = {name: value for name, value in given.items() if value}
    body |= {"id": row["id"], "ntype": row["label"], "props": json.loads(row["props"])}
    for name in ("key", "children"):
        if row.get(name) is not None:
            body[name] = json.loads(row[name])
    node = ibidem.parse_record(json.dumps({"node": body}).encode())
    assert isinstance(node, ibidem.NodeRecord), "BUG: it is parsed as a node"
    fields = {**node.values(), "content": row.get("content")}
    assert node.id is not None, "BUG: the id was parsed"
    yield ibidem.NodeRecord(None, **fields)
    for field in schema:
        if field.name.startswith("vector:") and row[field.name] is not None:
            model = field.name.removeprefix("vector:")
            values = _array(row[field.name], field.type.value_type)
            yield ibidem.VectorRecord(node.id, model, values, row[f"of:{model}"])


def _array(values: list[Any], kind: Any) -> Any:
    import numpy as np

    return np.array(values, dtype=kind.to_pandas_dtype())


def _edge(row: dict[str, Any], _: Any) -> Iterator[Any]:
    body = {name: row[name] for name in ("source", "target", "etype", "weight")}
    body["props"] = json.loads(row["props"])
    if row["key"] is not None:
        body["key"] = json.loads(row["key"])
    yield ibidem.parse_record(json.dumps({"edge": body}).encode())


def _sparse(row: dict[str, Any], _: Any) -> Iterator[Any]:
    node = ibidem.NodeId.parse(row["node"])
    yield ibidem.SparseRecord(node, row["vocab"], row["indices"], row["weights"], row["of"])


def _tombstone(row: dict[str, Any], _: Any) -> Iterator[Any]:
    yield ibidem.TombstoneRecord(ibidem.NodeId.parse(row["node"]), row["reason"])


_TABLES = {b"nodes": _node, b"edges": _edge, b"sparse": _sparse, b"tombstones": _tombstone}


class _Columns:
    """The meanings of the columns of a table, by their names and types."""

    def __init__(self, source: Source, schema: Any) -> None:
        types = library("pyarrow.types", "parquet")
        self._source = source
        names = schema.names
        texts = {
            one.name
            for one in schema
            if types.is_string(one.type) or types.is_large_string(one.type)
        }
        vectors = [one.name for one in schema if _is_vector(one.type)]
        self._vectors = {name: None if len(vectors) == 1 else name for name in vectors}
        self._is_of_edges = {"source", "target"} <= set(names)
        self._id = next((name for name in _IDS if name in names), None)
        labels = _EDGE_TYPES if self._is_of_edges else _LABELS
        self._label = next((name for name in labels if name in texts), None)
        self._text = next((name for name in TEXT_NAMES if name in texts), None)

    def records(self, namespace: str, collection: str, row: dict[str, Any]) -> Iterator[Any]:
        """Yields the records of a row."""
        taken = {self._label, *self._vectors}
        label = (row.get(self._label) if self._label else None) or None
        if self._is_of_edges:
            taken |= {"source", "target", "weight"}
            props = {name: value for name, value in row.items() if name not in taken}
            ends = [node_of(namespace, collection, row[name]) for name in ("source", "target")]
            weight = row.get("weight")
            yield ibidem.EdgeRecord(
                ends[0],
                label or "related",
                ends[1],
                1.0 if weight is None else float(weight),
                self._source.props(props),
            )
            return
        taken |= {self._id, self._text}
        yield from records(
            self._source,
            namespace,
            collection,
            row.get(self._id) if self._id else None,
            row.get(self._text) if self._text else None,
            {name: value for name, value in row.items() if name not in taken},
            {model: row[name] for name, model in self._vectors.items()},
            label=label,
        )


def _is_vector(kind: Any) -> bool:
    types = library("pyarrow.types", "parquet")
    is_list = types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind)
    return bool(is_list and types.is_floating(kind.value_type))
