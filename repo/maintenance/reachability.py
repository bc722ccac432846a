"""What a repository holds on to: from the cells of its store down to every block, by kind.

The walk knows what each link must lead to, so a block of another kind in its place is noticed, and
values without links of their own are not read when nobody asks for their bytes. It follows the
operations that are kept, each with its view; `previous` in a view or a ref points back to what an
older operation holds, and is not followed: so that history which was given up can go.

Spec: format 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import NamedTuple

from ibidem.objects import codec
from ibidem.objects.block import Map
from ibidem.objects.cid import Cid
from ibidem.objects.errors import CorruptError, FormatError
from ibidem.objects.fields import TABLES
from ibidem.objects.links import check_kind, links_in
from ibidem.objects.root import FAMILIES
from ibidem.objects.tree.block import EMPTY_TREE, decode

TREE = "tree"
BLOB = "blob"
ANY = "any"
"""Whatever kind the block says it is."""
LEAVES = frozenset((BLOB, *(kind for kind, table in TABLES.items() if not table.links)))
"""Kinds that need no other block."""
KEYED = frozenset(("node", "edge"))
"""Kinds of values that say which key they stand under."""
_TARGETS = {"heads": "commit", "tags": "commit", "remotes": "commit", "notes": "commit"}
_TARGETS |= {"runs": "step", "receipts": "receipt"}


class Link(NamedTuple):
    """One block that is needed, what it must be, and for what."""

    raw: bytes
    """The CID's 36 bytes."""
    kind: str
    of: str = ""
    """Of a tree: the kind of its values."""
    owner: str = ""
    """The nearest thing with a name that needs it."""
    key: bytes = b""
    """The key in a tree that it stands under, where the block must agree with it."""
    level: int = -1
    """Of a block within a tree: its level."""


def target_kind(ref_name: str) -> str | None:
    """Returns the kind of block that a ref of that full name points to; None for no such name."""
    return _TARGETS.get(ref_name.partition("/")[0])


def expand(link: Link, block: bytes) -> Iterator[Link]:
    """Yields what a block needs.

    Raises:
        FormatError: a kind or version that this program does not know.
        CorruptError: not a block of the kind that the link says.
    """
    if link.raw[1] == 0x55:
        _expect(link, BLOB)
        return
    if link.kind == TREE:
        yield from _tree(link, block)
        return
    fields = codec.decode(block)
    kind = check_kind(fields)
    _expect(link, kind)
    if kind == TREE:
        raise CorruptError(f"{link.kind}: got a tree, expected a value")
    owner = f"{kind} {Cid(link.raw)}" if kind in ("commit", "operation") else link.owner
    walk = _WALKS.get(kind)
    if walk is not None:
        yield from walk(fields, owner)
    elif kind not in LEAVES:
        for cid in links_in(fields):
            yield Link(cid.raw, BLOB if cid.is_raw else ANY, "", owner)


def _expect(link: Link, found: str) -> None:
    if link.kind not in (ANY, found):
        raise CorruptError(f"block: got kind {found!r}, expected {link.kind!r}")


def _tree(link: Link, block: bytes) -> Iterator[Link]:
    found = decode(block)
    if found.level:
        kind, of, level, is_keyed = TREE, link.of, found.level - 1, True
    else:
        kind, of, level, is_keyed = link.of, "", -1, link.of in KEYED
    keys: Iterable[bytes] = found.key_list if is_keyed else repeat(b"", found.size)
    for raw, key in zip(found.cid_list(), keys, strict=True):
        yield Link(raw, kind, of, link.owner, key, level)


def _link(value: object, name: str, kind: str, owner: str, of: str = "") -> Link:
    if not isinstance(value, Cid):
        raise CorruptError(f"{name}: got {value!r:.80}, expected a link")
    return Link(value.raw, kind, of, owner)


def _operation(fields: Map, owner: str) -> Iterator[Link]:
    yield _link(fields.get("view"), "operation.view", "view", owner)


def _view(fields: Map, owner: str) -> Iterator[Link]:
    yield _link(fields.get("refs"), "view.refs", TREE, owner, "ref")
    yield _link(fields.get("erasures"), "view.erasures", TREE, owner, "erasure")


def _ref(fields: Map, owner: str) -> Iterator[Link]:
    name = fields.get("name")
    if not isinstance(name, str) or target_kind(name) is None:
        raise FormatError(f"ref.name: got {name!r:.80}, expected one of {sorted(_TARGETS)}")
    # What is there is followed, whatever it is: that it is what the name says is `view_check`'s.
    yield _link(fields.get("target"), "ref.target", ANY, name)


def _commit(fields: Map, owner: str) -> Iterator[Link]:
    yield _link(fields.get("root"), "commit.root", "root", owner)
    for parent in fields.get("parents", ()):
        yield _link(parent, "commit.parents", "commit", owner)


def _root(fields: Map, owner: str) -> Iterator[Link]:
    for family in FAMILIES:
        value = fields.get(family.name)
        trees = (value or {}).values() if family.is_named else (value,)
        for tree in trees:
            yield _link(tree, f"root.{family.name}", TREE, owner, family.kind)


_WALKS = {
    "operation": _operation,
    "view": _view,
    "ref": _ref,
    "commit": _commit,
    "root": _root,
}
EMPTY_RAW = EMPTY_TREE.raw
"""The empty tree reads as empty whether or not its block is here."""
