"""Derived identifiers: the same key, or the same content at creation, gives the same id anywhere.

Spec: format 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from ibidem.objects import codec
from ibidem.objects.constants import (
    EDGE_ID_DOMAIN,
    EVENT_ID_DOMAIN,
    EVENT_PLACE_BYTES,
    NODE_ACT_ID_DOMAIN,
    NODE_CONTENT_ID_DOMAIN,
    NODE_ID_DOMAIN,
    REF_KEY_DOMAIN,
)
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import ID_BYTES, EdgeId, NodeId

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid


def node_id(namespace: str, key: object) -> NodeId:
    """Returns the id of the node with `key` in `namespace`; `key` is any value of the codec.

    Spec: format 3.

    >>> node_id("", "a") == node_id("", "a"), node_id("", 1) == node_id("", 1.0)
    (True, False)
    """
    if type(namespace) is not str:
        raise InvalidInputError(f"namespace: got {namespace!r:.80}, expected text")
    try:
        return NodeId(_digest(NODE_ID_DOMAIN, (namespace, key)))
    except InvalidInputError as error:
        field, _, problem = str(error).partition("]")
        name = {"[1": "key", "[0": "namespace"}.get(field)
        if name is None:
            raise
        raise InvalidInputError(f"{name}{problem}", kind=error.kind) from error


def content_node_id(fields: Mapping[str, Any]) -> NodeId:
    """Returns the id of a node without a key, derived from its map (`Node.to_map`), whose `id` is
    ignored.

    Spec: format 3.
    """
    return NodeId(_digest(NODE_CONTENT_ID_DOMAIN, _without_id(fields)))


def act_node_id(act: Sequence[object], time: int, index: int, fields: Mapping[str, Any]) -> NodeId:
    """Returns the id of a node that is added as new even if an equal node exists.

    The id begins with the time and the index, so ids sort in the order in which nodes were added.

    Args:
        act: identifies the author and the root to which the node is added; any values of the codec.
        time: when the node is added, in microseconds since 1970 UTC; earlier times count as 1970.
        index: how many nodes the same act added as new before this one; the id begins with at most
            the largest value that fits into 2 bytes.
        fields: the node's map (`Node.to_map`); `id` in it is ignored.

    Spec: format 3.
    """
    digest = _digest(NODE_ACT_ID_DOMAIN, (list(act), time, index, _without_id(fields)))
    return NodeId(_counted(max(0, time) // 1000, 6) + _counted(index, 2) + digest[:8])


def event_node_id(
    position: int, head: CommitCid | None, index: int, fields: Mapping[str, Any]
) -> NodeId:
    """Returns the id of an event, which begins with its position, so ids sort in the order of
    events.

    Args:
        position: of the event in the history of the notes, from 0; larger values are capped at the
            largest encodable one.
        head: the notes head to which the event is added, None for the first.
        index: how many events precede it in its commit.
        fields: the node's map (`Node.to_map`); `id` in it is ignored.

    Spec: memory 1.
    """
    digest = _digest(EVENT_ID_DOMAIN, (head, index, _without_id(fields)))
    return NodeId(_counted(position, EVENT_PLACE_BYTES) + digest[: ID_BYTES - EVENT_PLACE_BYTES])


def edge_id(src: NodeId, etype: str, dst: NodeId, key: object = None) -> EdgeId:
    """Returns the id of the edge from `src` to `dst` of this type; `key` distinguishes parallel
    edges.

    Spec: format 3.
    """
    position = (src.raw, etype, dst.raw) if key is None else (src.raw, etype, dst.raw, key)
    return EdgeId(_digest(EDGE_ID_DOMAIN, position))


def ref_key(name: str) -> bytes:
    """Returns the 16-byte key of the ref `name` in `View.refs`.

    Spec: format 3.
    """
    return blake3(REF_KEY_DOMAIN + name.encode()).digest()[:ID_BYTES]


def _counted(count: int, size: int) -> bytes:
    """Returns a count in `size` bytes, big-endian; a larger count becomes the largest that fits."""
    return min(count, (1 << 8 * size) - 1).to_bytes(size, "big")


def _without_id(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in fields if name != "id"}


def _digest(domain: bytes, value: object) -> bytes:
    return blake3(domain + codec.encode(value)).digest()[:ID_BYTES]
