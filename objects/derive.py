"""Derived identifiers: the same key, or the same content at creation, gives the same id anywhere.

Spec: format 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blake3 import blake3

from ibidem.objects import codec
from ibidem.objects.constants import (
    EDGE_ID_DOMAIN,
    NODE_CONTENT_ID_DOMAIN,
    NODE_ID_DOMAIN,
    REF_KEY_DOMAIN,
)
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import ID_BYTES, EdgeId, NodeId


def node_id(namespace: str, key: object) -> NodeId:
    """Returns the id of the node with `key` in `namespace`; `key` is any value of the codec.

    Spec: format 3.

    >>> node_id("", "a") == node_id("", "a"), node_id("", 1) == node_id("", 1.0)
    (True, False)
    """
    if type(namespace) is not str:
        raise InvalidInputError(f"namespace: got {namespace!r:.80}, expected text")
    return NodeId(_digest(NODE_ID_DOMAIN, (namespace, key)))


def content_node_id(fields: Mapping[str, Any]) -> NodeId:
    """Returns the id of a node without a key, from its map (`Node.to_map`); `id` in it is ignored.

    Spec: format 3.
    """
    return NodeId(
        _digest(NODE_CONTENT_ID_DOMAIN, {name: fields[name] for name in fields if name != "id"})
    )


def edge_id(src: NodeId, etype: str, dst: NodeId, key: object = None) -> EdgeId:
    """Returns the id of the edge at this place; `key` tells parallel edges apart.

    Spec: format 3.
    """
    place = (src.raw, etype, dst.raw) if key is None else (src.raw, etype, dst.raw, key)
    return EdgeId(_digest(EDGE_ID_DOMAIN, place))


def ref_key(name: str) -> bytes:
    """Returns the 16 bytes under which the ref `name` stands in `View.refs`.

    Spec: format 3.
    """
    return blake3(REF_KEY_DOMAIN + name.encode()).digest()[:ID_BYTES]


def _digest(domain: bytes, value: object) -> bytes:
    return blake3(domain + codec.encode(value)).digest()[:ID_BYTES]
