"""The typed walker: the links from a block to every block that it needs to be complete.

Garbage collection, export and push follow `links`. It knows each kind, because the columns of a
tree hide their links from a generic walker. An unknown kind or version stops the walk; it is never
treated as a leaf. A `Cid` that a user put into a property may refer to a block that is stored
anywhere: `links` omits it and `property_links` reports it.

Spec: format 9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ibidem.objects import codec
from ibidem.objects.block import Map, version_class, versions_of
from ibidem.objects.cid import CID_BYTES, Cid
from ibidem.objects.constants import FORMAT_VERSION
from ibidem.objects.edge import Edge
from ibidem.objects.errors import CorruptError, FormatError, unknown_version
from ibidem.objects.fields import TABLES
from ibidem.objects.node import Node


def links(block: bytes) -> Iterator[Cid]:
    """Yields the structural links of a DAG-CBOR block, in the order of its table.

    Args:
        block: decoded as trusted; a raw block has no links and is not passed here.

    Raises:
        FormatError: unknown kind or version.
        CorruptError: not a block of ours.
    """
    yield from links_in(codec.decode(block))


def links_in(fields: Map) -> Iterator[Cid]:
    """Yields the same links as `links`, from the fields of a decoded block; raises the same
    errors."""
    kind = check_kind(fields)
    if fields["v"] == FORMAT_VERSION:
        yield from _WALKERS[kind](fields)
    else:
        yield from _field_links(version_class(kind, fields["v"]).TABLE.links)(fields)


def may_link(block: bytes) -> bool:
    """Returns whether a DAG-CBOR block may contain links, without decoding it.

    No version 1 block hides a link except those of trees, and in canonical bytes `v` comes first.
    """
    return _LINK_TAG in block or not block.startswith(_VERSION_1, 1)


def fields_of_kind(block: bytes, *kinds: str) -> Map | None:
    """Returns the fields of a DAG-CBOR block of one of `kinds`, None for a block of another kind.

    Blocks of other kinds are seldom decoded: in canonical bytes a value directly follows its key,
    so a block of the kind contains both as one byte string, wherever the other fields place it.

    Raises:
        CorruptError: the block appears to be of one of the kinds and does not decode.
    """
    for kind in kinds:
        if _MARKS[kind] in block:
            fields = codec.decode(block)
            return fields if type(fields) is dict and fields.get("kind") in kinds else None
    return None


def property_links(value: Node | Edge) -> Iterator[Cid]:
    """Yields the links in properties, key and unknown fields: references, not parts."""
    yield from _nested(dict(value.props))
    yield from _nested(dict(value.extra))
    yield from _nested(value.key)


def check_kind(fields: object) -> str:
    """Returns the kind of a decoded block after checking that its kind and version are readable.

    Raises:
        FormatError: unknown kind or version.
        CorruptError: not a block of ours.
    """
    if (
        type(fields) is not dict
        or type(fields.get("kind")) is not str
        or type(fields.get("v")) is not int
    ):
        raise CorruptError(f"block: got {fields!r:.80}, expected a map with 'kind' and 'v'")
    kind, version = fields["kind"], fields["v"]
    if kind not in _WALKERS:
        raise FormatError(f"kind: got {kind!r:.80}, expected one of {sorted(_WALKERS)}")
    if version != FORMAT_VERSION:
        known = versions_of(kind)
        if version not in known:
            raise unknown_version(f"{kind}.v", version, known or (FORMAT_VERSION,))
    return str(kind)


def _field_links(names: tuple[str, ...]) -> Callable[[Map], Iterator[Cid]]:
    def walk(fields: Map) -> Iterator[Cid]:
        for name in names:
            yield from _nested(fields.get(name))

    return walk


def _tree_links(fields: Map) -> Iterator[Cid]:
    column = fields.get("cids")
    if type(column) is not bytes or len(column) % CID_BYTES:
        raise CorruptError(
            f"tree.cids: got {column!r:.80}, expected a multiple of {CID_BYTES} bytes"
        )
    for start in range(0, len(column), CID_BYTES):
        yield Cid(column[start : start + CID_BYTES])


def _receipt_links(fields: Map) -> Iterator[Cid]:
    yield from _field_links(TABLES["receipt"].links)(fields)
    query = fields.get("query")
    if isinstance(query, dict):
        yield from _nested([query.get("history"), query.get("union")])


def _nested(value: Any) -> Iterator[Cid]:
    if isinstance(value, Cid):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _nested(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _nested(item)


_WALKERS: dict[str, Callable[[Map], Iterator[Cid]]] = {
    **{kind: _field_links(table.links) for kind, table in TABLES.items()},
    "tree": _tree_links,
    "receipt": _receipt_links,
    "result": _nested,
}
_LINK_TAG = b"\xd8\x2a"
_VERSION_1 = codec.encode("v") + codec.encode(1)
_MARKS = {kind: codec.encode("kind") + codec.encode(kind) for kind in _WALKERS}
