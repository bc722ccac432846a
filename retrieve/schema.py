"""The schema of a graph: its labels, edge types and properties, with counts and types of values.

Nothing is declared in a graph, so its schema is what its nodes have. It is counted from the index
over one view, so it is the same whoever wrote what, and a restricted caller gets that of what they
may see.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ibidem.index.segments.property_keys import (
    BOOLEAN,
    BYTES,
    END,
    LINK,
    NULL,
    NUMBER,
    TEXT,
)
from ibidem.objects.record import record
from ibidem.retrieve.filter import NodeSet

NESTED = "nested"
"""The type of maps, lists of lists and empty lists, which have no scalar value."""
_TAGS = {
    "null": NULL,
    "boolean": BOOLEAN,
    "number": NUMBER,
    "text": TEXT,
    "bytes": BYTES,
    "link": LINK,
}
"""The first byte of the keys of values, by type, ascending."""


@record
class PropertySchema:
    """One property of nodes."""

    name: str
    count: int
    """The number of nodes that have it."""
    types: Mapping[str, int]
    """By type, the number of nodes with a value of it; a list counts by its members."""
    labels: Mapping[str, int]
    """By label, the number of nodes that have it."""


@record
class Schema:
    """The labels, edge types and properties of a graph, each by name."""

    labels: Mapping[str, int]
    """The number of nodes of each label."""
    edge_types: Mapping[str, int]
    """The number of edges of each type."""
    properties: tuple[PropertySchema, ...]


def schema_of(view: NodeSet) -> Schema:
    """Returns the schema of a view; no node is read."""
    snapshot = view.snapshot
    nodes = {name: snapshot.label(name) & view.members for name in snapshot.labels()}
    nodes = {name: members for name, members in sorted(nodes.items()) if members}
    edges: dict[str, int] = {}
    for segment in snapshot.edges:
        for etype, count in zip(segment.etypes, segment.etype_counts().tolist(), strict=True):
            edges[etype] = edges.get(etype, 0) + count
    properties = []
    for name in sorted(snapshot.property_names()):
        having = snapshot.exists(name) & view.members
        if having:
            labels = {label: len(having & members) for label, members in nodes.items()}
            types = _types(view, name, len(having))
            found = PropertySchema(name, len(having), types, _positive(labels))
            properties.append(found)
    counts = {name: len(members) for name, members in nodes.items()}
    return Schema(counts, _positive(dict(sorted(edges.items()))), tuple(properties))


def _types(view: NodeSet, name: str, having_count: int) -> dict[str, int]:
    """Returns the number of nodes with a value of each type."""
    order = view.snapshot.property_order(name)
    is_member = view.flags()[order.ordinals]
    starts = [order.find(tag)[0] for tag in (*_TAGS.values(), END)]
    found = {
        kind: len(np.unique(order.ordinals[is_member & _between(order.ranks, start, stop)]))
        for kind, start, stop in zip(_TAGS, starts, starts[1:], strict=False)
    }
    scalar_count = len(np.unique(order.ordinals[is_member]))
    return _positive({**found, NESTED: having_count - scalar_count})


def _between(ranks: np.ndarray, start: int, stop: int) -> np.ndarray:
    return (ranks >= start) & (ranks < stop)


def _positive(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}
