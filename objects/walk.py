"""The typed walk over every block reachable from given links; visitors define what is done with
each.

Garbage collection, `repo fsck` and copies are visitors of this one walk. The walk knows which kind
of block each link must lead to, so a block of another kind is detected, and a visitor that does not
need the bytes of a block can prevent it from being read. It is depth first and reads ahead, many
blocks at once; `read_blocks` reads all blocks of a store in this way, whether or not a link leads
to them. From an operation the walk follows the link to its view. `previous` in a view or a ref
points back to objects that an older operation holds and is not followed, so that discarded history
can be deleted.

Spec: format 9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress, islice, repeat
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ibidem.objects import codec
from ibidem.objects.block import Map, in_version
from ibidem.objects.cid import RAW_PREFIX, Cid
from ibidem.objects.errors import CorruptError, FormatError, IbidemError, NotFoundError
from ibidem.objects.fields import TABLES
from ibidem.objects.links import check_kind, links, links_in
from ibidem.objects.root import FAMILIES
from ibidem.objects.tree.block import EMPTY_TREE, decode

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.tree.columns import Block

BATCH_BLOCKS = 128
"""Number of blocks that are read together."""
TREE = "tree"
BLOB = "blob"
ANY = "any"
"""Any kind: the block itself names its kind."""
RAW_CODEC = RAW_PREFIX[1]
"""The byte of a CID that distinguishes raw blocks from others."""
LEAVES = frozenset((BLOB, *(kind for kind, table in TABLES.items() if not table.links)))
"""Kinds that need no other block."""
KEYED = frozenset(("node", "edge"))
"""Kinds of values that contain the key under which a tree stores them."""
_TARGETS = {"heads": "commit", "tags": "commit", "remotes": "commit", "notes": "commit"}
_TARGETS |= {"runs": "step", "receipts": "receipt"}


class Link(NamedTuple):
    """A link to a needed block: its CID, the kind that it must have, and the owner that needs
    it."""

    raw: bytes
    """The CID's 36 bytes."""
    kind: str
    of: str = ""
    """For a tree: the kind of its values."""
    owner: str = ""
    """The nearest named object that needs it."""
    key: bytes = b""
    """The key under which a tree stores it, if the block must agree with the key."""
    level: int = -1
    """For a block within a tree: its level."""


class Visitor(Protocol):
    """The actions of a walk."""

    def enter(self, link: Link) -> bool:
        """Returns whether to read the block of a link; called as soon as the link is found."""
        ...

    def block(self, link: Link, block: bytes) -> Iterable[Link]:
        """Processes a block; returns the links to follow, in general those of `expand`."""
        ...

    def missing(self, link: Link, error: NotFoundError | CorruptError) -> None:
        """Records that a block is missing or damaged; may raise."""
        ...


def walk(
    source: Source, starts: Iterable[Link], visitor: Visitor, *, batch: int = BATCH_BLOCKS
) -> None:
    """Passes to a visitor every block that is reachable from `starts`, depth first.

    Args:
        batch: largest number of blocks to read together; raw blocks, which may be large, are read
            one at a time.
    """
    enter = visitor.enter
    waiting = [link for link in starts if enter(link)]
    waiting.reverse()
    ahead: dict[bytes, bytes | IbidemError] = {}
    while waiting:
        link = waiting.pop()
        block = ahead.pop(link.raw, None)
        if block is None:
            raws = _next(link.raw, waiting, ahead, batch)
            ahead.update(zip(raws, read_many(source, [Cid(raw) for raw in raws]), strict=True))
            block = ahead.pop(link.raw)
        if isinstance(block, bytes):
            found = [below for below in visitor.block(link, block) if enter(below)]
            found.reverse()
            waiting += found
        elif isinstance(block, (NotFoundError, CorruptError)):
            visitor.missing(link, block)
        else:
            raise block


def _next(
    first: bytes, waiting: list[Link], ahead: dict[bytes, bytes | IbidemError], batch: int
) -> list[bytes]:
    """Returns the CIDs of the blocks to read next, starting with `first`."""
    raws = {first: None}
    if first[1] != RAW_CODEC:
        for link in islice(reversed(waiting), batch - 1):
            if link.raw in ahead:
                break
            if link.raw[1] != RAW_CODEC:
                raws[link.raw] = None
    return list(raws)


def read_many(source: Source, cids: Sequence[Cid]) -> Sequence[bytes | IbidemError]:
    """Returns the blocks in the order of `cids`, read together; an error in place of one that
    cannot be read."""
    try:
        return source.get_many(cids)
    except IbidemError as error:
        return [error] if len(cids) == 1 else [_read(source, cid) for cid in cids]


def read_blocks(
    source: Source, cids: Iterable[Cid], *, batch: int = BATCH_BLOCKS
) -> Iterator[tuple[Cid, bytes | IbidemError]]:
    """Yields blocks with their CIDs, read in batches; an error in place of one that cannot be
    read."""
    waiting = iter(cids)
    while wanted := list(islice(waiting, batch)):
        yield from zip(wanted, read_many(source, wanted), strict=True)


def _read(source: Source, cid: Cid) -> bytes | IbidemError:
    try:
        return source.get(cid)
    except IbidemError as error:
        return error


def target_kind(ref_name: str) -> str | None:
    """Returns the kind of block that a ref with that full name points to; None if no ref may have
    that name."""
    return _TARGETS.get(ref_name.partition("/")[0])


def expand(link: Link, block: bytes) -> Iterator[Link]:
    """Yields the links to the blocks that a block needs.

    Raises:
        FormatError: a kind or version that this program does not know.
        CorruptError: not a block of the kind that the link requires.
    """
    if link.raw[1] == RAW_CODEC:
        _expect(link, BLOB)
        return
    if link.kind == TREE:
        yield from links_below(link, decode(block))
        return
    fields = codec.decode(block)
    kind = check_kind(fields)
    _expect(link, kind)
    if kind == TREE:
        raise CorruptError(f"{link.kind}: got a tree, expected a value")
    fields = in_version(fields)
    owner = f"{kind} {Cid(link.raw)}" if kind in ("commit", "operation") else link.owner
    follow = _FOLLOWED.get(kind)
    if follow is not None:
        yield from follow(fields, owner)
    elif kind not in LEAVES:
        for cid in links_in(fields):
            yield Link(cid.raw, BLOB if cid.is_raw else ANY, "", owner)


def block_links(block: bytes, owner: str = "") -> Iterator[Link]:
    """Yields the links to the blocks that a block of any kind needs; raises as `links` does."""
    for cid in links(block):
        yield Link(cid.raw, BLOB if cid.is_raw else ANY, "", owner)


def _expect(link: Link, found: str) -> None:
    if link.kind not in (ANY, found):
        raise CorruptError(kind_problem(found, link.kind))


def kind_problem(found: object, expected: str) -> str:
    """Returns the message for a block of one kind where another kind is expected."""
    return f"got a block of kind {found!r:.80}, expected {expected!r} in its place"


def wrong_target(found: str, target: Cid, expected: Sequence[str]) -> str:
    """Returns the message for a ref that points to a block of a kind that it must not point to."""
    return f"it points to the {found} {target}, expected a {' or '.join(expected)} as its name says"


def links_below(link: Link, tree: Block, select: Iterable[object] | None = None) -> Iterator[Link]:
    """Yields the links of a tree block, in the order of its keys.

    Args:
        link: the link to the block.
        tree: the block.
        select: for each entry, whether to yield its link; by default all.
    """
    if tree.level:
        kind, of, level, is_keyed = TREE, link.of, tree.level - 1, True
    else:
        kind, of, level, is_keyed = link.of, "", -1, link.of in KEYED
    keys: Iterable[bytes] = tree.key_list if is_keyed else repeat(b"", tree.size)
    entries = zip(tree.cid_list(), keys, strict=True)
    for raw, key in entries if select is None else compress(entries, select):
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
    # The target is followed whatever its kind: `view_check` compares it with the ref's name.
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


_FOLLOWED: Mapping[str, Callable[[Map, str], Iterator[Link]]] = {
    "operation": _operation,
    "view": _view,
    "ref": _ref,
    "commit": _commit,
    "root": _root,
}
"""The function that follows the links of a block, for each kind whose links must lead to known
kinds."""
EMPTY_RAW = EMPTY_TREE.raw
"""The empty tree reads as empty whether or not its block is here."""
