"""Blocks and places in documents as JSON; imports nothing, because commands need it first."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ibidem.objects.commit import Commit
    from ibidem.objects.edge import Edge
    from ibidem.objects.location import Location
    from ibidem.objects.node import Node


def block_json(value: Node | Edge | Commit) -> dict[str, Any]:
    """Returns a block as JSON, by its table of fields; content as a boolean (present or not), parts
    by their ids, times in microseconds since 1970 UTC.
    """
    return {"cid": str(value.cid), **value.TABLE.json(value)}


def location_json(location: Location | None) -> dict[str, Any] | None:
    """Returns the source of a passage as JSON: its document, headings, bytes and lines."""
    if location is None:
        return None
    from ibidem.objects.plain import fields_of

    names = ("source", "heading_path", "byte_start", "byte_stop", "line_start", "line_stop")
    return {"document": str(location.document_id), **fields_of(location, *names)}


def json_default(value: object) -> object:
    """Returns what JSON has no type for: links and bytes as DAG-JSON has them, in an object with
    the key `/`.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        body = base64.b64encode(bytes(value)).decode("ascii").rstrip("=")
        return {"/": {"bytes": body}}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence | frozenset | set):
        return list(value)
    return str(value)
