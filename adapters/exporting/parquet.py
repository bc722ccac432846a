"""Writes a folder of Parquet tables: nodes with their vectors, edges, sparse vectors, tombstones.

Properties, keys and children are text in JSON, as in JSON lines; the vectors of each model are a
column of lists of a fixed size. The bytes are the same with the same version of pyarrow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import ibidem
from ibidem.adapters.exporting.records import Graph
from ibidem.adapters.library import library

IS_FOLDER = True
ROWS_AT_ONCE = 10_000


def write(graph: Graph, folder: Path) -> None:
    """Writes one file for each table that has rows, and always that of the nodes."""
    pa = library("pyarrow", "parquet")
    models = graph.models()
    vectors = [
        column
        for name, model in models.items()
        for column in (
            (f"vector:{name}", pa.list_(getattr(pa, _COMPONENTS[model.dtype])(), model.dim)),
            (f"of:{name}", pa.binary()),
        )
    ]
    lines: list[Any] = [ibidem.ConfigRecord(graph.config())]
    lines += [ibidem.ModelRecord(name, model) for name, model in models.items()]
    texts = [ibidem.format_record(line).decode().rstrip("\n") for line in lines]
    more = {"ibidem.lines": json.dumps(texts)}
    sparse = [("indices", pa.list_(pa.uint32())), ("weights", pa.list_(pa.float32()))]
    gone = ({"node": str(one.node), "reason": one.reason} for one in graph.tombstones())
    for kind, fields, rows in (
        ("nodes", [*_NODE, *vectors], _nodes(graph)),
        ("edges", _EDGE, map(_edge, graph.edges())),
        ("sparse", [*_SPARSE, *sparse], map(_sparse, graph.sparse_vectors())),
        ("tombstones", _TOMBSTONE, gone),
    ):
        schema = pa.schema(fields, {"ibidem": kind, **(more if kind == "nodes" else {})})
        _write(folder / f"{kind}.parquet", schema, rows, is_needed=kind == "nodes")


_COMPONENTS = {"f32": "float32", "f16": "float16", "i8": "int8"}
_NODE = [
    *((name, "string") for name in ("id", "label", "summary", "context_sentence")),
    ("content", "binary"),
    *((name, "string") for name in ("props", "namespace", "key", "children", "tail")),
]
_EDGE = [
    *((name, "string") for name in ("source", "etype", "target")),
    ("weight", "float64"),
    *((name, "string") for name in ("props", "key")),
]
_SPARSE = [("node", "string"), ("vocab", "string"), ("of", "binary")]
_TOMBSTONE = [("node", "string"), ("reason", "string")]


def _nodes(graph: Graph) -> Iterator[dict[str, Any]]:
    for node in graph.nodes():
        line = json.loads(ibidem.format_record(node))["node"]
        row = {name: line.get(name) for name in ("id", "summary", "context_sentence", "namespace")}
        row |= {"label": node.ntype, "tail": node.tail or None, "content": node.content}
        row["props"] = _json(line.get("props", {}))
        row["key"] = _json(line["key"]) if "key" in line else None
        row["children"] = _json(line["children"]) if "children" in line else None
        assert node.id is not None, "BUG: an exported node has an id"
        for vector in graph.vectors_of(node.id):
            row[f"vector:{vector.model}"] = list(vector.values)
            row[f"of:{vector.model}"] = vector.of
        yield row


def _edge(record: ibidem.EdgeRecord) -> dict[str, Any]:
    line = json.loads(ibidem.format_record(record))["edge"]
    return {
        **{name: line[name] for name in ("source", "etype", "target")},
        "weight": record.weight,
        "props": _json(line.get("props", {})),
        "key": _json(line["key"]) if "key" in line else None,
    }


def _sparse(record: ibidem.SparseRecord) -> dict[str, Any]:
    return {
        "node": str(record.node),
        "vocab": record.vocab,
        "indices": list(record.indices),
        "weights": list(record.weights),
        "of": record.of,
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _write(
    path: Path, schema: Any, rows: Iterable[dict[str, Any]], *, is_needed: bool = False
) -> None:
    waiting = iter(rows)
    some = list(islice(waiting, ROWS_AT_ONCE))
    if not some and not is_needed:
        return
    table, parquet = library("pyarrow", "parquet").Table, library("pyarrow.parquet", "parquet")
    with parquet.ParquetWriter(path, schema) as writer:
        while some:
            writer.write_table(table.from_pylist(some, schema=schema))
            some = list(islice(waiting, ROWS_AT_ONCE))
