"""A copy of a repository as a graph of values that can be changed, and written with new hashes.

A CAR is read into blocks whose links are references to other blocks. So a change in one block needs
nothing else: when the copy is written, every block is encoded after those that it links to, and
every CID above a change follows. Trees are held as their entries and cut anew.

`Copy.is_repaired` says whether what follows from other fields is put right as well: ids that derive
from keys, the order of lists that must ascend, the keys of trees. A changed copy is then refused
only for what was changed on purpose.

Written from `spec/format.md` (2 to 6) and `spec/sync.md` (2, 3), without the code that is tested:
that code may have the same mistake, and its modules may move.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

from blake3 import blake3

CBOR, RAW = b"\x01\x71\x1e\x20", b"\x01\x55\x1e\x20"
CID_BYTES = 36
BLOCK_BYTES_MAX = 1 << 20
Path = tuple[Any, ...]
"""From the value of a block to a place in it: keys of maps and indices of lists."""
Paths = list[tuple[Path, Any]]


class Unwritable(Exception):
    """The copy has no form in bytes: a block over the limit, a number out of range, a cycle."""


class Link:
    """A link to a block that is not in the copy."""

    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        self.raw = raw


class Ref:
    """A link to a block of the copy."""

    __slots__ = ("block",)

    def __init__(self, block: Block) -> None:
        self.block = block


class Block:
    """A block: its value with references for links, or the bytes of a raw block."""

    __slots__ = ("cid", "value")

    def __init__(self, value: Any, cid: bytes = b"") -> None:
        self.value = value
        self.cid = cid
        """As it was read; empty for a block that was made since."""

    @property
    def kind(self) -> str:
        """What it is: `raw`, `tree`, or the kind that it states."""
        if isinstance(self.value, bytes):
            return "raw"
        kind = self.value.get("kind") if isinstance(self.value, dict) else None
        return kind if isinstance(kind, str) else "other"


class Tree(Block):
    """A tree: `value` maps keys to references or links; its blocks are made when it is written."""

    __slots__ = ("keyed",)

    def __init__(self, entries: dict[bytes, Any], cid: bytes = b"", keyed: str = "") -> None:
        super().__init__(entries, cid)
        self.keyed = keyed
        """What the keys follow from: `id`, `name`, `cid`, or nothing."""

    @property
    def kind(self) -> str:
        """`tree`."""
        return "tree"


class Copy:
    """The blocks of a CAR from its root on."""

    def __init__(self, root: Block) -> None:
        self.root = root
        self.is_repaired = True
        self.sign: Callable[[bytes], bytes] | None = None
        """Returns a signature of a message; of all blocks that have one, where it is set."""
        self.extra: list[Block] = []
        """Blocks that nothing links to and that are sent all the same."""

    @classmethod
    def read(cls, data: bytes) -> Copy:
        """Reads a CAR with one root."""
        root, blocks = read_car(data)
        return cls(_Reader(blocks).block(root))

    def blocks(self) -> list[Block]:
        """Returns every block, the root first, each once."""
        seen: dict[int, Block] = {}
        waiting = [*reversed(self.extra), self.root]
        while waiting:
            block = waiting.pop()
            if id(block) in seen:
                continue
            seen[id(block)] = block
            waiting.extend(reversed([ref.block for ref in refs_in(block.value)]))
        return list(seen.values())

    def of_kind(self, *kinds: str) -> list[Block]:
        """Returns the blocks of some kinds."""
        return [block for block in self.blocks() if block.kind in kinds]

    def write(self) -> bytes:
        """Returns the CAR; raises `Unwritable`."""
        writer = Writer(self)
        try:
            root = writer.cid(self.root)
            for block in self.extra:
                writer.cid(block)
        except (RecursionError, struct.error, UnicodeEncodeError, OverflowError) as error:
            raise Unwritable(str(error)) from error
        return write_car(root, writer.blocks)


class _Reader:
    def __init__(self, blocks: dict[bytes, bytes]) -> None:
        self._blocks = blocks
        self._made: dict[bytes, Block] = {EMPTY_TREE: Tree({}, EMPTY_TREE)}

    def block(self, cid: bytes) -> Block:
        made = self._made.get(cid)
        if made is not None:
            return made
        data = self._blocks[cid]
        if cid.startswith(RAW):
            block: Block = Block(data, cid)
        else:
            value = decode(data)
            if isinstance(value, dict) and value.get("kind") == "tree":
                entries = {key: self._link(at) for key, at in self._entries(value)}
                block = Tree(entries, cid)
            else:
                block = Block(self._linked(value), cid)
        self._made[cid] = block
        _set_keyed(block)
        return block

    def _link(self, cid: bytes) -> Ref | Link:
        return Ref(self.block(cid)) if cid in self._blocks or cid == EMPTY_TREE else Link(cid)

    def _linked(self, value: Any) -> Any:
        if isinstance(value, Link):
            return self._link(value.raw)
        if isinstance(value, list):
            return [self._linked(item) for item in value]
        if isinstance(value, dict):
            return {name: self._linked(item) for name, item in value.items()}
        return value

    def _entries(self, fields: dict[str, Any]) -> Iterator[tuple[bytes, bytes]]:
        cids, keys = fields["cids"], fields["keys"]
        size = len(cids) // CID_BYTES
        width = len(keys) // size if size else 0
        for at in range(size):
            cid = cids[at * CID_BYTES : (at + 1) * CID_BYTES]
            if fields["level"]:
                yield from self._entries(decode(self._blocks[cid]))
            else:
                yield keys[at * width : (at + 1) * width], cid


def _set_keyed(block: Block) -> None:
    """Remembers of the trees of a root or view what their keys follow from."""
    for kind, name, keyed in (
        *(("root", "nodes", "id"), ("root", "edges", "id")),
        *(("view", "refs", "name"), ("view", "erasures", "cid")),
    ):
        if block.kind == kind and isinstance(ref := block.value.get(name), Ref):
            tree = ref.block
            if isinstance(tree, Tree) and tree.value:
                tree.keyed = keyed


class Writer:
    """Encodes blocks after those that they link to; `blocks` has them by CID."""

    def __init__(self, copy: Copy) -> None:
        self._copy = copy
        self._done: dict[int, bytes] = {}
        self._open: set[int] = set()
        self._keep: list[Block] = []  # an id is of one object only as long as it lives
        self.blocks: dict[bytes, bytes] = {}

    def cid(self, block: Block) -> bytes:
        """Returns the CID of a block, with all below it written."""
        known = self._done.get(id(block))
        if known is not None:
            return known
        if id(block) in self._open:
            raise Unwritable("a block that links to itself")
        self._open.add(id(block))
        if isinstance(block, Tree):
            cid = self._tree(block)
        elif isinstance(block.value, bytes):
            cid = self._put(block.value, RAW)
        else:
            if self._copy.is_repaired:
                self._repair(block)
            cid = self._put(encode(block.value, self.cid), CBOR)
        self._done[id(block)] = cid
        self._keep.append(block)
        return cid

    def _put(self, data: bytes, prefix: bytes = CBOR) -> bytes:
        if prefix == CBOR and len(data) > BLOCK_BYTES_MAX:
            raise Unwritable("a block over the limit")
        cid = cid_of(data, prefix)
        self.blocks[cid] = data
        return cid

    def _repair(self, block: Block) -> None:
        value = block.value
        if not isinstance(value, dict):
            return
        match block.kind:
            case "node" if _is_key(value.get("key")):
                value["id"] = _derived(b"ibidem:node:1\x00", value["key"], self.cid)
            case "edge" if all(name in value for name in ("src", "etype", "dst")):
                named = [value[name] for name in ("src", "etype", "dst")]
                key = [value["key"]] if "key" in value else []
                value["id"] = _derived(b"ibidem:edge:1\x00", named + key, self.cid)
            case "conflict":
                for name in ("sides", "nodes"):
                    self._ascend(value, name)
            case "bundle" | "push":
                for name in ("requires", "erasures"):
                    self._ascend(value, name)
        if self._copy.sign is not None and "signature" in value:
            rest = {name: item for name, item in value.items() if name != "signature"}
            domain = f"ibidem:{block.kind}:1\x00".encode()
            value["signature"] = self._copy.sign(domain + encode(rest, self.cid))

    def _ascend(self, value: dict[str, Any], name: str) -> None:
        links = value.get(name)
        if isinstance(links, list) and all(isinstance(link, Ref | Link) for link in links):
            by_cid = {self._raw(link): link for link in links}
            value[name] = [by_cid[cid] for cid in sorted(by_cid)]

    def _raw(self, link: Ref | Link) -> bytes:
        return link.raw if isinstance(link, Link) else self.cid(link.block)

    def _tree(self, tree: Tree) -> bytes:
        entries = {}
        for key, link in tree.value.items():
            cid = self._raw(link)
            entries[self._key(tree, key, link, cid)] = cid
        rows = [(key, entries[key], 1) for key in sorted(entries)]
        if len({len(key) for key, _, _ in rows}) > 1:
            raise Unwritable("keys of several widths")
        level = 0
        while True:
            rows = [self._tree_block(level, part) for part in _parts(level, rows)]
            if len(rows) == 1:
                return rows[0][1]
            level += 1

    def _key(self, tree: Tree, key: bytes, link: Ref | Link, cid: bytes) -> bytes:
        if not self._copy.is_repaired or isinstance(link, Link):
            return key
        if tree.keyed == "cid":
            return cid[4:20]
        value = link.block.value
        named = value.get(tree.keyed) if isinstance(value, dict) and tree.keyed else None
        if isinstance(named, bytes) and len(named) == 16:
            return named
        if isinstance(named, str):
            return blake3(b"ibidem:ref:1\x00" + named.encode()).digest()[:16]
        return key

    def _tree_block(self, level: int, part: list[tuple[bytes, bytes, int]]) -> Any:
        fields: dict[str, Any] = {
            "v": 1,
            "kind": "tree",
            "level": level,
            "keys": b"".join(key for key, _, _ in part),
            "cids": b"".join(cid for _, cid, _ in part),
        }
        if level:
            fields["counts"] = struct.pack(f">{len(part)}Q", *(count for _, _, count in part))
        cid = self._put(encode(fields, self.cid))
        return (part[-1][0] if part else b"", cid, sum(count for _, _, count in part))


def _is_key(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)


def _derived(domain: bytes, value: Any, cid: Callable[[Block], bytes]) -> bytes:
    return blake3(domain + encode(value, cid)).digest()[:16]


def _parts(level: int, rows: list[Any]) -> Iterator[list[Any]]:
    """Yields the rows of a level, cut into blocks."""
    order = [(_hash(level, key), key) for key, _, _ in rows]
    ends = [at for at, (number, _) in enumerate(order) if number < 1 << 58]
    ends = sorted({*ends, len(rows) - 1}) if rows else []
    cuts, start = set(ends), 0
    for end in ends:
        waiting = [(start, end)]
        while waiting:
            first, last = waiting.pop()
            if last - first + 1 > 256:
                split = min(range(first, last), key=order.__getitem__)
                cuts.add(split)
                waiting += [(first, split), (split + 1, last)]
        start = end + 1
    start = 0
    for cut in sorted(cuts):
        yield rows[start : cut + 1]
        start = cut + 1
    if not rows:
        yield []


def _hash(level: int, key: bytes) -> int:
    bits = (1 << 64) - 1
    state = 0x9E3779B97F4A7C15 * (level + 1) & bits
    for at in range(0, len(key), 8):
        state ^= int.from_bytes(key[at : at + 8], "little")
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & bits
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB & bits
        state ^= state >> 31
    return state


# Values


def refs_in(value: Any) -> Iterator[Ref]:
    """Yields every reference in a value, in order."""
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from refs_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from refs_in(item)


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yields every place in a value but its own, with what stands there."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for step, item in items:
        yield (*path, step), item
        yield from places(item, (*path, step))


def put(value: Any, path: Path, item: Any) -> None:
    """Sets what stands at a place."""
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = item


def drop(value: Any, path: Path) -> None:
    """Takes away what stands at a place."""
    for step in path[:-1]:
        value = value[step]
    del value[path[-1]]


# Bytes


def encode(value: Any, cid: Callable[[Block], bytes] | None = None) -> bytes:
    """Returns canonical DAG-CBOR; `cid` gives the CID of what a reference leads to."""
    out: list[bytes] = []
    _encode(value, cid, out)
    return b"".join(out)


def _encode(value: Any, cid: Callable[[Block], bytes] | None, out: list[bytes]) -> None:
    if value is None or value is True or value is False:
        out.append(b"\xf6" if value is None else b"\xf5" if value else b"\xf4")
    elif isinstance(value, int):
        if not -(1 << 64) <= value < 1 << 64:
            raise Unwritable(f"integer {value}")
        out.append(_head(0, value) if value >= 0 else _head(1, -1 - value))
    elif isinstance(value, float):
        out.append(b"\xfb" + struct.pack(">d", value))
    elif isinstance(value, bytes):
        out += (_head(2, len(value)), value)
    elif isinstance(value, str):
        data = value.encode()
        out += (_head(3, len(data)), data)
    elif isinstance(value, list):
        out.append(_head(4, len(value)))
        for item in value:
            _encode(item, cid, out)
    elif isinstance(value, dict):
        out.append(_head(5, len(value)))
        for name in sorted(value, key=lambda name: (len(name.encode()), name.encode())):
            _encode(name, cid, out)
            _encode(value[name], cid, out)
    else:
        if isinstance(value, Link):
            raw = value.raw
        else:
            assert isinstance(value, Ref), f"no value: {value!r:.80}"
            assert cid is not None, "a reference where none can be"
            raw = cid(value.block)
        out.append(b"\xd8\x2a" + _head(2, len(raw) + 1) + b"\x00" + raw)


def _head(major: int, argument: int) -> bytes:
    if argument < 24:
        return bytes((major << 5 | argument,))
    width = next(width for width in (1, 2, 4, 8) if argument < 1 << 8 * width)
    return bytes((major << 5 | 23 + width.bit_length(),)) + argument.to_bytes(width, "big")


def decode(block: bytes) -> Any:
    """Returns the value in canonical DAG-CBOR that was written by the code under test."""
    value, stop = _item(block, 0)
    if stop != len(block):
        raise ValueError("bytes after the value")
    return value


def _item(block: bytes, at: int) -> tuple[Any, int]:
    major, low = block[at] >> 5, block[at] & 31
    at += 1
    if major == 7:
        if low == 27:
            return struct.unpack_from(">d", block, at)[0], at + 8
        return {20: False, 21: True, 22: None}[low], at
    argument = low
    if low >= 24:
        width = 1 << low - 24
        argument, at = int.from_bytes(block[at : at + width], "big"), at + width
    if major < 2:
        return argument if major == 0 else -1 - argument, at
    if major < 4:
        data = block[at : at + argument]
        if len(data) < argument:
            raise ValueError("ends early")
        return data if major == 2 else data.decode(), at + argument
    if major == 6:
        data, at = _item(block, at)
        return Link(data[1:]), at
    if major == 4:
        items = []
        for _ in range(argument):
            item, at = _item(block, at)
            items.append(item)
        return items, at
    fields = {}
    for _ in range(argument):
        name, at = _item(block, at)
        fields[name], at = _item(block, at)
    return fields, at


def read_car(data: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """Returns the root of a CAR with one root, and its blocks by CID."""
    size, at = _varint(data, 0)
    header, at = decode(data[at : at + size]), at + size
    (root,) = header["roots"]
    blocks = {}
    while at < len(data):
        size, at = _varint(data, at)
        blocks[data[at : at + CID_BYTES]] = data[at + CID_BYTES : at + size]
        at += size
    return root.raw, blocks


def write_car(root: bytes, blocks: dict[bytes, bytes]) -> bytes:
    """Returns a CAR of blocks in ascending order of their CIDs."""
    header = encode({"roots": [Link(root)], "version": 1})
    out = [_to_varint(len(header)), header]
    for cid in sorted(blocks):
        out += (_to_varint(CID_BYTES + len(blocks[cid])), cid, blocks[cid])
    return b"".join(out)


def cid_of(data: bytes, prefix: bytes = CBOR) -> bytes:
    """Returns the CID of a block."""
    return prefix + blake3(data).digest()


def cid_text(cid: bytes) -> str:
    """Returns a CID as people write it."""
    from base64 import b32encode

    return "b" + b32encode(cid).decode().lower().rstrip("=")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def _to_varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


EMPTY_TREE_BLOCK = encode({"v": 1, "cids": b"", "keys": b"", "kind": "tree", "level": 0})
EMPTY_TREE = CBOR + blake3(EMPTY_TREE_BLOCK).digest()
