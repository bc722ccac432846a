"""Reads the memories of mem0: what `Memory.get_all` returns, and exports of the same form.

A memory becomes a record of type `Semantic`, which `repo.records` finds, with its user, agent and
run; a relation an edge between two nodes of type `Entity`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ibidem
from ibidem.adapters.importing.json_stream import elements
from ibidem.adapters.importing.source import Items, Source, field_of, microseconds, reading

_OWNERS = {"user_id": "user", "agent_id": "agent", "run_id": "session"}
"""Fields that say whose a memory is, and the properties of records for them."""
_KNOWN = frozenset(("id", "memory", "created_at", "updated_at", "score", *_OWNERS))
_LISTS = ("results", "memories")


def is_memory(value: Any) -> bool:
    """Returns whether a value has the form of a memory, or of a list of memories."""
    if not isinstance(value, dict):
        return False
    return isinstance(value.get("memory"), str) or any(
        isinstance(value.get(name), list) for name in _LISTS
    )


def read(source: Source) -> Items:
    """Yields a record for each memory, and two nodes and an edge for each relation."""
    for index, value in elements(source):
        listed = [name for name in _LISTS if isinstance(value, dict) and name in value]
        if not listed:
            yield from _located(f"memory {index}", _memory(source, value))
            continue
        for number, memory in enumerate(field_of(value, listed[0], list, "a list of memories")):
            yield from _located(f"memory {number}", _memory(source, memory))
        for number, relation in enumerate(value.get("relations") or []):
            yield from _located(f"relation {number}", _relation(relation))


def _located(position: str, records: Iterator[Any]) -> Items:
    with reading(position):
        for record in records:
            yield position, record


def _memory(source: Source, value: Any) -> Iterator[ibidem.NodeRecord]:
    id_ = field_of(value, "id", str, "a text")
    text = field_of(value, "memory", str, "a text")
    others = {name: one for name, one in value.items() if name not in _KNOWN}
    owners = {_OWNERS[name]: value[name] for name in _OWNERS if value.get(name)}
    times = {
        name: microseconds(value.get(field))
        for name, field in (("time", "created_at"), ("updated_at", "updated_at"))
    }
    props = source.props({**others, **owners, **times, "external_id": id_})
    yield ibidem.NodeRecord(None, "Semantic", text, None, props, namespace="mem0", key=id_)


def _relation(value: Any) -> Iterator[Any]:
    source = field_of(value, "source", str, "a text")
    name = "target" if isinstance(value, dict) and "target" in value else "destination"
    target = field_of(value, name, str, "a text")
    etype = field_of(value, "relationship", str, "a text")
    ends = []
    for entity in (source, target):
        key = ["entity", entity]
        yield ibidem.NodeRecord(
            None, "Entity", entity, None, {"external_id": entity}, namespace="mem0", key=key
        )
        ends.append(ibidem.node_id("mem0", key))
    yield ibidem.EdgeRecord(ends[0], etype, ends[1])
