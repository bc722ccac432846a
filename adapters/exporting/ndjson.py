"""Writes JSON lines, which hold the whole graph: an import of them gives the same root."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import IO, Any

import ibidem
from ibidem.adapters.exporting.records import Graph


def write(graph: Graph, stream: IO[bytes]) -> None:
    """Writes a line for each record."""
    models = (ibidem.ModelRecord(name, model) for name, model in graph.models().items())
    records: Iterator[Any] = chain(
        [ibidem.ConfigRecord(graph.config())],
        models,
        graph.nodes(),
        graph.edges(),
        graph.vectors(),
        graph.sparse_vectors(),
        graph.tombstones(),
    )
    for record in records:
        stream.write(ibidem.format_record(record))
