"""The tables of all block kinds: the fields of each kind of block and the values that they may
hold.

This is section 5 of the format as data. The constructor of a value, `Block.decode`, `to_map`,
`links`, erasure, JSON and the text of a node all read these tables, so a new field is a row here
and an attribute of its class, and is checked, written, followed, shown and erased like the others.

Spec: format 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any

from ibidem.objects.block import frozen, require, typed_id, typed_link
from ibidem.objects.child import Child
from ibidem.objects.cid import (
    CID_BYTES,
    BlobCid,
    Cid,
    CommitCid,
    OperationCid,
    ReceiptCid,
    ResultCid,
    RootCid,
    StepCid,
    TreeCid,
    ViewCid,
)
from ibidem.objects.constants import (
    CONFLICT_LINKS_MAX,
    CONTENT_INLINE_BYTES_MAX,
    CONTENT_PARTS_MAX,
    DIGEST_BYTES,
    DOCUMENT_BYTES_MAX,
    INTEGER_MAX,
    STEP_PARTS_MAX,
    TIME_MAX,
    TIME_MIN,
)
from ibidem.objects.errors import CorruptError, ErrorKind, FormatError, InvalidInputError
from ibidem.objects.ids import ID_BYTES, EdgeId, NodeId, StableId
from ibidem.objects.numpy_value import numpy_value
from ibidem.objects.table import Field, Table, Type

REQUIRES_KNOWN: frozenset[str] = frozenset(("trust",))
"""Features that a root or view may require of its reader and that this program supports."""


# -- checks: (kind, field, value) to the value that is kept -------------------------------------


def _text(owner: str, name: str, value: Any) -> Any:
    require(type(value) is str, owner, name, value, "text")
    return value


def _name(owner: str, name: str, value: Any) -> Any:
    require(type(value) is str and value, owner, name, value, "text that is not empty")
    return value


def _bytes(owner: str, name: str, value: Any) -> Any:
    require(type(value) is bytes, owner, name, value, "bytes")
    return value


def _block_bytes(owner: str, name: str, value: Any) -> Any:
    require(type(value) is bytes and value, owner, name, value, "the bytes of a block, or nothing")
    return value


def _digest(owner: str, name: str, value: Any) -> Any:
    require(is_digest(value), owner, name, value, f"{DIGEST_BYTES} bytes")
    return value


def is_digest(value: object) -> bool:
    """Returns whether a value is bytes of the length of a blake3 digest."""
    return type(value) is bytes and len(value) == DIGEST_BYTES


def require_time(owner: str, value: object, name: str = "time") -> None:
    """Raises unless `value` is int64 microseconds since 1970 UTC."""
    valid = type(value) is int and TIME_MIN <= value <= TIME_MAX
    require(valid, owner, name, value, "an integer, microseconds since 1970 UTC")


def _time(owner: str, name: str, value: Any) -> Any:
    require_time(owner, value, name)
    return value


def require_sequence(owner: str, value: object, name: str = "seq") -> None:
    """Raises unless `value` is a count."""
    valid = type(value) is int and 0 <= value <= INTEGER_MAX
    require(valid, owner, name, value, "an integer from 0 to 2^64-1")


def _count(owner: str, name: str, value: Any) -> Any:
    require_sequence(owner, value, name)
    return value


def _read_positive(owner: str, name: str, value: Any) -> Any:
    if value == 0:
        raise CorruptError(f"{owner}.{name}: got {value!r:.80}, expected an integer above 0")
    return value


def _version(owner: str, name: str, value: Any) -> Any:
    require(
        type(value) is int and 1 <= value <= INTEGER_MAX, owner, name, value, "a version from 1"
    )
    return value


def _flag(owner: str, name: str, value: Any) -> Any:
    require(type(value) is bool, owner, name, value, "true or false")
    return value


def _read_flag(owner: str, name: str, value: object) -> Any:
    if value is not True:
        raise CorruptError(f"{owner}.{name}: got {value!r:.80}, expected true, or no field")
    return value


def checked_links(owner: str, name: str, value: object, cls: type[Cid]) -> tuple[Any, ...]:
    """Returns `value` as a tuple of distinct `cls`, or raises `InvalidInputError`."""
    require(isinstance(value, (tuple, list)), owner, name, value, f"a tuple of {cls.__name__}")
    links: tuple[Any, ...] = tuple(value)  # type: ignore[arg-type]
    for link in links:
        require(type(link) is cls, owner, name, link, f"a {cls.__name__}")
    require(len(set(links)) == len(links), owner, name, links, "each link once")
    return links


def read_links(owner: str, name: str, value: object, cls: type[Cid]) -> tuple[Any, ...]:
    """Returns a decoded list of links as a tuple of `cls`."""
    if type(value) is not list:
        raise CorruptError(f"{owner}.{name}: got {value!r:.80}, expected a list of links")
    return tuple(typed_link(owner, name, link, cls) for link in value)


def _json_link(link: Cid | None) -> str | None:
    return None if link is None else str(link)


def _json_links(links: tuple[Cid, ...]) -> list[str]:
    return [str(link) for link in links]


def link_to(cls: type[Cid]) -> Type:
    """Returns the type of a link to one block."""

    def check(owner: str, name: str, value: Any) -> Any:
        require(type(value) is cls, owner, name, value, f"a {cls.__name__}")
        return value

    return Type(check, cls, read=partial(typed_link, cls=cls), json=_json_link)


def links_to(cls: type[Cid]) -> Type:
    """Returns the type of a list of distinct links."""
    read = partial(read_links, cls=cls)
    return Type(partial(checked_links, cls=cls), read=read, json=_json_links)


def _id_of(cls: type[StableId], article: str) -> Type:
    def check(owner: str, name: str, value: Any) -> Any:
        require(type(value) is cls, owner, name, value, f"{article} {cls.__name__}")
        return value

    return Type(check, cls, read=partial(typed_id, cls=cls), write=attrgetter("raw"), json=str)


def checked_requires(owner: str, name: str, requires: tuple[str, ...]) -> tuple[str, ...]:
    """Returns `requires` as a tuple of ascending, distinct texts, or raises `InvalidInputError`."""
    names = tuple(requires)
    valid = all(type(each) is str and each for each in names) and list(names) == sorted(set(names))
    require(valid, owner, name, requires, "distinct texts in ascending order")
    return names


def _read_requires(owner: str, name: str, value: object) -> tuple[str, ...]:
    if type(value) is not list:
        raise CorruptError(f"{owner}.{name}: got {value!r:.80}, expected a list of texts")
    names = checked_requires(owner, name, tuple(value))
    for feature in value:
        if feature not in REQUIRES_KNOWN:
            raise FormatError(
                f"{owner}.{name}: got {feature!r:.80}, expected one of {sorted(REQUIRES_KNOWN)}",
                hint="a newer release of ibidem may read it",
            )
    return names


def check_part_count(field_name: str, count: int, count_max: int) -> None:
    """Raises `InvalidInputError`, kind `limit-exceeded`, if a field names more than `count_max` raw
    blocks.

    A raw block has at most CONTENT_PART_BYTES, so this bounds the content before any of it is read.
    """
    if count > count_max:
        raise InvalidInputError(
            f"{field_name}: got {count} raw blocks, expected at most {count_max}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )


def _content_of(part_count_max: int) -> Type:
    """Returns the type of bytes that are stored in raw blocks if they are long."""

    def check(owner: str, name: str, value: Any) -> Any:
        if type(value) is bytes:
            if len(value) > CONTENT_INLINE_BYTES_MAX:
                raise InvalidInputError(
                    f"{owner}.{name}: got {len(value)} bytes, "
                    f"expected at most {CONTENT_INLINE_BYTES_MAX} inline",
                    hint="use split_content, which makes raw blocks of longer content",
                )
            return value or None
        if not isinstance(value, (tuple, list)):
            raise InvalidInputError(
                f"{owner}.{name}: got {type(value).__name__}, expected bytes or a tuple of BlobCid"
            )
        for part in value:
            require(type(part) is BlobCid, owner, name, part, "a BlobCid")
        check_part_count(f"{owner}.{name}", len(value), part_count_max)
        return tuple(value) or None

    return Type(check, read=_read_content, json=lambda content: content is not None)


def _read_content(owner: str, name: str, value: object) -> Any:
    if type(value) is list:
        return tuple(typed_link(owner, name, part, BlobCid) for part in value)
    return value


def _key(owner: str, name: str, key: object) -> tuple[str, Any]:
    if isinstance(key, (tuple, list)) and len(key) == 2 and type(key[0]) is str:
        return key[0], key[1]
    raise InvalidInputError(f"{owner}.{name}: got {key!r:.80}, expected (namespace text, key)")


def _json_key(key: tuple[str, Any] | None) -> dict[str, Any] | None:
    return None if key is None else {"namespace": key[0], "key": key[1]}


def _read_key(owner: str, name: str, value: object) -> Any:
    if type(value) is not list:
        raise CorruptError(
            f"{owner}.{name}: got {value!r:.80}, expected a list of namespace and key"
        )
    return value


def _children(owner: str, name: str, children: tuple[Child, ...]) -> tuple[Child, ...]:
    require(isinstance(children, (tuple, list)), owner, name, children, "a tuple of Child")
    listed: set[NodeId] = set()
    size_bytes = 0
    for child in children:
        require(type(child) is Child, owner, name, child, "a Child")
        require(child.id not in listed, owner, name, child.id, "each part once")
        listed.add(child.id)
        size_bytes += child.size_bytes
    if size_bytes > DOCUMENT_BYTES_MAX:
        raise InvalidInputError(
            f"{owner}.{name}: got parts of {size_bytes} bytes together, "
            f"expected at most {DOCUMENT_BYTES_MAX}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )
    return tuple(children)


def _read_children(owner: str, name: str, rows: object) -> tuple[Child, ...]:
    if type(rows) is not list:
        raise CorruptError(f"{owner}.{name}: got {rows!r:.80}, expected a list")
    children = []
    for row in rows:
        if type(row) is not list or len(row) != 4:
            raise CorruptError(
                f"{owner}.{name}: got {row!r:.80}, expected [id, lead, size_bytes, size_lines]"
            )
        children.append(
            Child(typed_id("node.children", "id", row[0], NodeId), row[1], row[2], row[3])
        )
    return tuple(children)


def _write_children(children: tuple[Child, ...]) -> list[tuple[bytes, str, int, int]]:
    return [(child.id.raw, child.lead, child.size_bytes, child.size_lines) for child in children]


def _json_children(children: tuple[Child, ...]) -> list[str]:
    return [str(child.id) for child in children]


def _leads(rows: Any) -> Iterator[bytes]:
    return (lead.encode() for _, lead, _, _ in rows)


def _weight(owner: str, name: str, value: Any) -> float:
    number = numpy_value(value)
    value = value if number is None else number
    if type(value) is int and abs(value) <= 1 << 53:
        value = float(value)
    require(type(value) is float and math.isfinite(value), owner, name, value, "a finite number")
    return value  # type: ignore[no-any-return]


def _read_weight(owner: str, name: str, value: object) -> Any:
    if value is None or (type(value) is float and value == 1.0):
        raise CorruptError(
            f"{owner}.{name}: got {value}, expected the field to be left out at its default",
            kind=ErrorKind.NON_CANONICAL,
        )
    if type(value) is not float:
        raise CorruptError(f"{owner}.{name}: got {value!r:.80}, expected a float")
    return value


def _read_value(owner: str, name: str, value: object) -> Any:
    if value is None:
        raise CorruptError(
            f"{owner}.{name}: got None, expected the field to be left out",
            kind=ErrorKind.NON_CANONICAL,
        )
    return value


def _trees(owner: str, name: str, value: Any) -> Mapping[str, TreeCid]:
    trees = frozen(owner, name, value)
    for model, tree in trees.items():
        valid = model and type(tree) is TreeCid
        require(valid, owner, name, (model, tree), "a name and a TreeCid")
    return trees


def _read_trees(owner: str, name: str, value: object) -> dict[str, TreeCid]:
    if type(value) is not dict:
        raise CorruptError(f"{owner}.{name}: got {value!r:.80}, expected a map of links")
    return {
        model: typed_link(owner, f"{name}[{model!r:.80}]", tree, TreeCid)
        for model, tree in value.items()
    }


def _is_block(link: object) -> bool:
    return isinstance(link, Cid) and not link.is_raw


def _block_link(owner: str, name: str, value: Any) -> Any:
    require(_is_block(value), owner, name, value, "a link to a block, or nothing")
    return value


def _block_links(owner: str, name: str, value: Any) -> tuple[Cid, ...]:
    valid = isinstance(value, (tuple, list)) and all(_is_block(link) for link in value)
    require(valid, owner, name, value, "links to blocks")
    links = tuple(Cid(link.raw) for link in value)
    valid = len(links) <= CONFLICT_LINKS_MAX and all(a.raw < b.raw for a, b in pairwise(links))
    require(valid, owner, name, links, f"at most {CONFLICT_LINKS_MAX} links, ascending")
    return links


def _names(owner: str, name: str, value: Any) -> tuple[str, ...]:
    valid = isinstance(value, (tuple, list)) and all(type(each) is str for each in value)
    require(valid, owner, name, value, "names of fields")
    names: tuple[str, ...] = tuple(value)
    valid = all(names) and all(a < b for a, b in pairwise(names))
    require(valid, owner, name, names, "distinct names in ascending order")
    return names


def _read_names(owner: str, name: str, value: object) -> tuple[str, ...]:
    if type(value) is not list:
        raise CorruptError(f"{owner}.{name}: got {value!r:.80}, expected a list of texts")
    return tuple(value)


def _cids(owner: str, name: str, value: Any) -> tuple[Cid, ...]:
    found = tuple(value)
    valid = all(isinstance(cid, Cid) for cid in found) and found == tuple(sorted(set(found)))
    require(found and valid, owner, name, found, "one or more CIDs, ascending, each once")
    return found


def _read_cids(owner: str, name: str, column: object) -> tuple[Cid, ...]:
    if type(column) is not bytes or len(column) % CID_BYTES:
        raise CorruptError(
            f"{owner}.{name}: got {column!r:.80}, expected a multiple of {CID_BYTES} bytes"
        )
    starts = range(0, len(column), CID_BYTES)
    return tuple(Cid(column[start : start + CID_BYTES]) for start in starts)


def _models(owner: str, name: str, value: Any) -> Mapping[str, bytes]:
    models = frozen(owner, name, value)
    for model, digest in models.items():
        require(is_digest(digest), owner, f"{name}.{model:.40}", digest, f"{DIGEST_BYTES} bytes")
    return models


def _rows(owner: str, name: str, value: Any) -> tuple[Any, ...]:
    require(
        isinstance(value, (tuple, list)) and all(map(_is_row, value)),
        owner,
        name,
        value,
        "rows of 16 bytes, a link, a float, 32 bytes, a map of lanes, and for several roots a "
        "position",
    )
    return tuple(value)


def _is_row(row: object) -> bool:
    return (
        isinstance(row, (tuple, list))
        and len(row) in (5, 6)
        and type(row[0]) is bytes
        and len(row[0]) == ID_BYTES
        and isinstance(row[1], Cid)
        and not row[1].is_raw
        and type(row[2]) is float
        and is_digest(row[3])
        and isinstance(row[4], Mapping)
        and (len(row) == 5 or (type(row[5]) is int and row[5] >= 0))
    )


# -- types ---------------------------------------------------------------------------------------

TEXT = Type(_text, str)
NAME = Type(_name, str, is_filled=True)
BYTES = Type(_bytes, bytes)
BLOCK_BYTES = Type(_block_bytes, bytes, is_filled=True)
DIGEST = Type(_digest)
TIME = Type(_time)
COUNT = Type(_count)
POSITIVE = Type(_count, read=_read_positive)
VERSION = Type(_version)
FLAG = Type(_flag, bool, read=_read_flag)
MAP = Type(frozen, write=dict, json=dict)
ANY = Type()
"""A field that the value checks itself, because the check depends on other fields."""
NODE_ID, EDGE_ID = _id_of(NodeId, "a"), _id_of(EdgeId, "an")
TREE = link_to(TreeCid)
TREES = Type(_trees, read=_read_trees, write=dict)
"""Trees by the name of a model or vocabulary."""
REQUIRES = Type(checked_requires, read=_read_requires)
CONTENT = _content_of(CONTENT_PARTS_MAX)
KEY = Type(_key, read=_read_key, json=_json_key)
"""A namespace and a key in it; the key may be, or contain, the id of another node."""
CHILDREN = Type(
    _children, read=_read_children, write=_write_children, texts=_leads, json=_json_children
)
WEIGHT = Type(_weight, read=_read_weight, is_left_out=(1.0).__eq__, may_be_empty=True)
VALUE = Type(read=_read_value, is_left_out=lambda value: value is None, may_be_empty=True)
"""Any value but None."""
BLOCK_LINK = Type(_block_link, read=partial(typed_link, cls=Cid), json=_json_link)
BLOCK_LINKS = Type(_block_links, read=partial(read_links, cls=Cid), json=_json_links)
NAMES = Type(_names, read=_read_names, json=list)
PAYLOAD = _content_of(STEP_PARTS_MAX)
CIDS = Type(_cids, read=_read_cids, write=lambda cids: b"".join(cid.raw for cid in cids))
"""A column of CIDs, which are not links because the blocks are not needed."""
MODELS = Type(_models, write=dict)
ROWS = Type(_rows)


# -- tables ---------------------------------------------------------------------------------------

NODE = Table(
    "node",
    Field("id", NODE_ID, text=False),
    Field("ntype", NAME, text=False),
    Field("context_sentence", TEXT, optional=True, indexed=True),
    Field("summary", TEXT, optional=True, indexed=True),
    Field("content", CONTENT, optional=True, link=True, indexed=True, json_name="has_content"),
    Field("props", MAP, optional=True),
    Field("key", KEY, optional=True),
    Field("children", CHILDREN, optional=True),
    Field("tail", TEXT, optional=True, json_name=None),
)
EDGE = Table(
    "edge",
    Field("weight", WEIGHT, optional=True),
    Field("key", VALUE, optional=True, text=False),
    Field("id", EDGE_ID, text=False),
    Field("etype", NAME, text=False),
    Field("src", NODE_ID, text=False, json_name="source"),
    Field("dst", NODE_ID, text=False, json_name="target"),
    Field("props", MAP, optional=True),
)
VECTOR = Table(
    "vector",
    Field("dtype", ANY, text=False),
    Field("dim", ANY, text=False),
    Field("of", ANY, text=False),
    Field("data", ANY, text=False),
)
SPARSE = Table(
    "sparse",
    Field("indices", ANY, text=False),
    Field("weights", ANY, text=False),
    Field("of", DIGEST, text=False),
)
TOMBSTONE = Table("tombstone", Field("reason", TEXT, optional=True))
CONFLICT = Table(
    "conflict",
    Field("deleted", FLAG, optional=True, json_name="is_deleted"),
    Field("what", ANY, text=False),
    Field("base", BLOCK_LINK, optional=True, link=True),
    Field("nodes", BLOCK_LINKS, optional=True, link=True),
    Field("sides", BLOCK_LINKS, link=True),
    Field("fields", NAMES, optional=True),
)
ROOT = Table(
    "root",
    Field("requires", REQUIRES, optional=True, text=False),
    Field("nodes", TREE, link=True),
    Field("edges", TREE, link=True),
    Field("vectors", TREES, optional=True, link=True),
    Field("sparse", TREES, optional=True, link=True),
    Field("tombstones", TREE, link=True),
    Field("conflicts", TREE, link=True),
    Field("config", MAP, optional=True),
)
COMMIT = Table(
    "commit",
    Field("root", link_to(RootCid), link=True),
    Field("parents", links_to(CommitCid), optional=True, link=True),
    Field("author", TEXT, optional=True),
    Field("time", TIME),
    Field("message", TEXT, optional=True),
    Field("agent", TEXT, optional=True),
    Field("task", TEXT, optional=True),
    Field("signature", BYTES, optional=True, text=False, json_name=None),
)
REF = Table(
    "ref",
    Field("name", NAME),
    Field("target", ANY, link=True),
    Field("seq", COUNT),
    Field("previous", ANY, optional=True, link=True),
)
VIEW = Table(
    "view",
    Field("requires", REQUIRES, optional=True, text=False),
    Field("refs", TREE, link=True),
    Field("head", TEXT),
    Field("erasures", TREE, link=True),
    Field("seq", COUNT),
    Field("previous", link_to(ViewCid), optional=True, link=True),
)
OPERATION = Table(
    "operation",
    Field("view", link_to(ViewCid), link=True),
    Field("parents", links_to(OperationCid), optional=True, link=True),
    Field("author", TEXT, optional=True),
    Field("time", TIME),
    Field("description", TEXT, optional=True),
)
RECEIPT = Table(
    "receipt",
    Field("root", link_to(RootCid), link=True),
    Field("result", link_to(ResultCid)),
    Field("commit", link_to(CommitCid), optional=True),
    Field("notes_head", link_to(CommitCid), optional=True, link=True),
    Field("semantics", VERSION),
    Field("query", MAP),
    Field("models", MODELS),
    Field("items", ROWS),
    Field("rerank", MAP, optional=True),
    Field("text_digest", DIGEST, optional=True, text=False),
    Field("agent", TEXT, optional=True),
    Field("task", TEXT, optional=True),
    is_record=True,
)
STEP = Table(
    "step",
    Field("root", link_to(RootCid), optional=True, link=True),
    Field("answer", PAYLOAD, optional=True, link=True),
    Field("receipt", link_to(ReceiptCid), optional=True, link=True),
    Field("request", PAYLOAD, optional=True, link=True),
    Field("previous", link_to(StepCid), optional=True, link=True),
    Field("action", NAME),
    Field("index", COUNT),
    Field("time", TIME),
    Field("name", TEXT, optional=True),
    Field("commit", BLOCK_BYTES, optional=True),
    Field("start", POSITIVE, optional=True),
    is_record=True,
)
ERASURE = Table(
    "erasure",
    Field("node", NODE_ID, text=False),
    Field("cids", CIDS, text=False),
    Field("reason", TEXT, optional=True),
    Field("author", TEXT, optional=True),
    Field("time", TIME),
    Field("signature", BYTES, optional=True, text=False),
)
TABLES = {
    table.kind: table
    for table in (
        NODE,
        EDGE,
        VECTOR,
        SPARSE,
        TOMBSTONE,
        ERASURE,
        CONFLICT,
        ROOT,
        COMMIT,
        REF,
        VIEW,
        OPERATION,
        RECEIPT,
        STEP,
    )
}
"""Tables by kind; blocks of trees and results have forms of their own."""
