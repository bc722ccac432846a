"""Finds everything that a store holds of some nodes: versions, attachments, edges, and quotations.

All stored blocks are read, reachable or not, because an unreachable version on the disk is as
readable as any other. Blocks shared with other nodes, such as a part of content that two documents
have in common, are reported separately.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING, Any

from ibidem.objects import codec
from ibidem.objects.block import Map, in_version, version_class
from ibidem.objects.cid import Cid
from ibidem.objects.constants import CONTENT_PARTS_MAX
from ibidem.objects.errors import CorruptError, FormatError, IbidemError
from ibidem.objects.fields import KEY, NODE, TABLES
from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.objects.links import links_in
from ibidem.objects.location import document_of
from ibidem.objects.node import Node, join_content
from ibidem.objects.record import record
from ibidem.objects.text import TEXT_FIELDS, node_text, text_digest
from ibidem.objects.tree.block import decode
from ibidem.objects.vector import VECTORS
from ibidem.objects.walk import read_blocks
from ibidem.repo.erasure.substrings import Substrings

if TYPE_CHECKING:
    from ibidem.store.protocol import Store

QUOTE_BYTES_MIN = 16
"""A shorter text occurs in too many places to count as a quotation."""
_RESULT = "result"
"""The kind of a record that has no table."""


@record(frozen=False)
class Copies:
    """Everything stored of some nodes."""

    cids: dict[bytes, set[Cid]] = field(default_factory=dict)
    """By node id, its own blocks: versions, content, vectors, incident edges."""
    edges: set[bytes] = field(default_factory=set)
    """Ids of the edges that start or end at one of the nodes."""
    texts: set[bytes] = field(default_factory=set)
    """Texts of the nodes: summaries, contents, texts in properties."""
    ids: set[bytes] = field(default_factory=set)
    """Values in their keys that have the length of an id. One counts as a text only if no node has
    that id: the key of a passage contains the id of its document, and naming the document does not
    quote the passage.
    """
    digests: set[bytes] = field(default_factory=set)
    """Digests of the texts that may have been embedded."""
    shared: set[Cid] = field(default_factory=set)
    """Content and vectors that other nodes use too; they stay."""
    elsewhere: list[tuple[str, Cid]] = field(default_factory=list)
    """Kind and CID of other blocks that quote the nodes and stay."""

    @property
    def quotations(self) -> Substrings:
        """The texts that are long enough to be searched for elsewhere, also in JSON encoding."""
        texts = [text for text in self.texts if len(text) >= QUOTE_BYTES_MIN]
        return Substrings(form for text in texts for form in _forms(text))


def find_copies(store: Store, ids: set[NodeId], fields: tuple[str, ...] = TEXT_FIELDS) -> Copies:
    """Searches the whole store for the nodes.

    Args:
        store: all of it is read, twice.
        ids: of the nodes.
        fields: the fields that make up a node's text; see `objects.text`.
    """
    found = Copies(cids={node.raw: set() for node in ids})
    attached: dict[Cid, set[bytes]] = {}
    contents: dict[Cid, set[bytes]] = {}
    wanted = Substrings(found.cids)
    for cid, block in _blocks(store):
        if not cid.is_raw and wanted.is_any_in(block):
            _note(found, cid, block, attached, contents)
    for cid, owners in attached.items():
        value = _value_of(store, cid)
        if value.get("kind") in VECTORS:
            for raw in owners:
                found.cids[raw].add(cid)
            _note_parts(value, owners, contents)
    for cid, owners in contents.items():
        for raw in owners:
            found.cids[raw].add(cid)
    _take_texts(found, store, fields)
    _look_elsewhere(found, store)
    return found


def with_parts(store: Store, ids: Collection[NodeId]) -> dict[NodeId, NodeId]:
    """Returns the nodes and, of each document among them, the sections and passages of every stored
    version: the words of a document are in its parts. The values are the nodes that they are erased
    with: their document, or themselves."""
    found = {id_: id_ for id_ in ids}
    wanted = Substrings(id_.raw for id_ in ids)
    for cid, block in _blocks(store):
        if not cid.is_raw and wanted.is_any_in(block):
            fields = _read(block)
            if isinstance(fields, dict) and fields.get("kind") == "node":
                with suppress(CorruptError, FormatError):
                    node = Node.from_map(dict(fields))
                    document = document_of(node)
                    if document is not None and document in ids:
                        found.setdefault(node.id, document)
    return found


def _forms(text: bytes) -> Iterator[bytes]:
    """Yields a text as a block encodes it, and as JSON does, with and without escapes of non-ASCII
    characters.
    """
    yield text
    with suppress(UnicodeDecodeError):
        words = text.decode()
        for is_ascii in (True, False):
            yield json.dumps(words, ensure_ascii=is_ascii)[1:-1].encode()


def _blocks(store: Store) -> Iterator[tuple[Cid, bytes]]:
    for cid, block in read_blocks(store, store.cids()):
        if isinstance(block, bytes):
            yield cid, block  # others were deleted meanwhile, or are damaged: unreadable


def _read(block: bytes) -> Any:
    """Returns a decoded block, upgraded to this version's form if it can be read."""
    return _known(codec.decode(block))


def _known(fields: Any) -> Any:
    if isinstance(fields, dict):
        with suppress(CorruptError, FormatError):
            return in_version(fields)
    return fields


def _value_of(store: Store, cid: Cid) -> Map:
    """Returns the fields of a block; empty if it is raw or unreadable."""
    try:
        return {} if cid.is_raw else codec.decode(store.get(cid))
    except IbidemError:
        return {}


def _note_parts(value: Map, owners: Iterable[bytes], contents: dict[Cid, set[bytes]]) -> None:
    """Records the raw blocks that a block of some nodes links to."""
    for part in links_in(value):
        if part.is_raw:
            contents.setdefault(part, set()).update(owners)


def _note(
    found: Copies,
    cid: Cid,
    block: bytes,
    attached: dict[Cid, set[bytes]],
    contents: dict[Cid, set[bytes]],
) -> None:
    fields = _read(block)
    kind = fields.get("kind") if isinstance(fields, dict) else None
    if kind == "node" and fields["id"] in found.cids:
        found.cids[fields["id"]].add(cid)
        _note_parts(fields, [fields["id"]], contents)
    elif kind == "edge":
        ends = {fields["src"], fields["dst"]} & found.cids.keys()
        for end in ends:
            found.cids[end].add(cid)
            found.edges.add(fields["id"])
        _note_parts(fields, ends, contents)
    elif kind == "tree":
        tree = decode(block)
        if not tree.level and tree.width == ID_BYTES:
            for key, raw in zip(tree.key_list, tree.cid_list(), strict=True):
                if key in found.cids and raw[1] == cid.raw[1]:
                    attached.setdefault(Cid(raw), set()).add(key)


def _take_texts(found: Copies, store: Store, fields: tuple[str, ...]) -> None:
    for raw, cids in found.cids.items():
        for cid in cids:
            written = _value_of(store, cid)
            value = _known(written)
            table = TABLES.get(str(value.get("kind")))
            if value.get("kind") == "node" and value.get("id") == raw:
                with suppress(IbidemError):  # damaged parts are unreadable
                    _take_node(found, value, store, fields)
            elif table is not None:
                found.texts.update(text for _, text in table.texts(value))
            if value is not written:
                own = version_class(value["kind"], written["v"]).TABLE
                found.texts.update(text for _, text in own.texts(written))
    found.texts.discard(b"")
    for text in found.texts:
        with suppress(UnicodeDecodeError):
            found.digests.add(text_digest(text.decode()))


def _take_node(found: Copies, value: Map, store: Store, fields: tuple[str, ...]) -> None:
    """Collects the texts of a node from the map of its fields: a node that exceeds the limits of
    the format does not decode as a `Node`, but can still be erased.
    """
    for one, text in NODE.texts(value):
        is_id = one is not None and one.type is KEY and len(text) == ID_BYTES
        (found.ids if is_id else found.texts).add(text)
    # Content with more parts than a node may have was never assembled or embedded.
    distinct = islice(dict.fromkeys(links_in(value)), CONTENT_PARTS_MAX)
    found.texts.update(map(store.get, distinct))
    with suppress(CorruptError):
        node = Node.from_map(dict(value))
        content = node.content
        if isinstance(content, tuple):
            content = join_content(map(store.get, content))
            found.texts.add(content)
        found.digests.add(text_digest(node_text(node, fields, content)))


def _look_elsewhere(found: Copies, store: Store) -> None:
    """Separates shared blocks, and finds blocks that quote the nodes."""
    own = {cid: raw for raw, cids in found.cids.items() for cid in cids}
    own_raws = {cid.raw for cid in own}
    quotations = found.quotations
    whole = b"\0".join(sorted(found.texts))
    is_part: dict[bytes, bool] = {}
    of_nodes: set[Cid] = set()
    quoting: list[tuple[str, Cid]] = []
    naming: dict[bytes, list[tuple[str, Cid]]] = {raw: [] for raw in sorted(found.ids)}
    for cid, block in _blocks(store):
        if cid in own:
            continue
        kind = "blob"
        context = b""  # of a passage it may be the header of a table, a part of another one's text
        if not cid.is_raw:
            fields = _read(block)
            kind = str(fields.get("kind"))
            if kind == "node":
                naming.pop(fields["id"], None)
                of_nodes.update(links_in(fields))
                context = str(fields.get("context_sentence", "")).encode()
            elif kind == "tree":
                _share(found, block, own_raws)
                continue
        if context not in is_part:
            is_part[context] = len(context) >= QUOTE_BYTES_MIN and context in whole
        if is_part[context] or quotations.is_any_in(block):
            quoting.append((kind, cid))
        else:
            for where in (where for raw, where in naming.items() if raw in block):
                where.append((kind, cid))
    quoting += dict.fromkeys(pair for where in naming.values() for pair in where)
    found.texts.update(naming)
    found.shared.update(of_nodes & own.keys())
    first = next(iter(found.cids))
    for kind, cid in quoting:
        is_record = kind == _RESULT or (kind in TABLES and TABLES[kind].is_record)
        if is_record or (kind == "blob" and cid not in of_nodes):
            found.cids[first].add(cid)
        else:
            found.elsewhere.append((kind, cid))
    for cids in found.cids.values():
        cids -= found.shared


def _share(found: Copies, block: bytes, own: set[bytes]) -> None:
    tree = decode(block)
    if tree.level or own.isdisjoint(tree.cid_list()):
        return
    for key, raw in zip(tree.key_list, tree.cid_list(), strict=True):
        if raw in own and key not in found.cids and key not in found.edges:
            found.shared.add(Cid(raw))
