"""Reads a repository of mnem: its file (redb), or a CAR of its blocks.

Every block is compared with its CID before anything is imported. The state of the current branch is
carried over: nodes and edges with their ids, vectors, sparse vectors, and tombstones, which mnem
keeps in the view. History is counted.
"""

from __future__ import annotations

import hashlib
from base64 import b32encode
from collections.abc import Iterator
from typing import IO, Any

import cbor2
import numpy as np
from blake3 import blake3

import ibidem
from ibidem import CorruptError, ErrorKind, InvalidInputError
from ibidem.adapters.importing.redb import MAGIC, RedbFile
from ibidem.adapters.importing.source import Items, Source

_ANCHOR = bytes.fromhex("000000000000700080006d6e656d0001")
"""The id of the node that every repository of mnem begins with."""
_LINK = 42
_HASHES: dict[bytes, Any] = {b"\x12\x20": hashlib.sha256, b"\x1e\x20": blake3}
_CID_BYTES = 36
_HEADER_BYTES_MAX = 1 << 20
_VARINT_BYTES_MAX = 9
_DEPTH_MAX = 32
_DTYPES = {"f16": "<f2", "f32": "<f4", "f64": "<f8", "i8": "|i1"}


def read(source: Source) -> Items:
    """Yields the records of the current state."""
    with source.open() as stream:
        blocks = _Blocks(stream, source)
        head = blocks.head()
        view = {} if head is None else blocks.object(head, "view")
        commit_cid = _first_head(blocks, view)
        if commit_cid is None:
            return
        commit = blocks.object(commit_cid, "commit")
        _count_history(source, blocks, view, commit_cid)
        yield from _graph(source, blocks, commit)
        for tombstone in view.get("tombstones") or []:
            id_ = tombstone.get("node_id") if isinstance(tombstone, dict) else None
            node = _node_id("tombstone", id_)
            if node in blocks.nodes:
                reason = str(tombstone.get("reason") or "")
                yield f"tombstone {node}", ibidem.TombstoneRecord(node, reason)
            else:
                source.omit("tombstone of a node that is not there")


def _first_head(blocks: _Blocks, view: dict[str, Any]) -> bytes | None:
    """Returns the commit that mnem reads: the first head of the view; in a CAR of a commit, its
    root."""
    if not view:
        return blocks.commit
    heads = view.get("heads")
    if not isinstance(heads, list):
        raise _corrupt("view", f"heads: got {heads!r:.60}, expected a list of links")
    return _link("view.heads", heads[0]) if heads else None


def _count_history(source: Source, blocks: _Blocks, view: dict[str, Any], commit: bytes) -> None:
    for name, target in (view.get("refs") or {}).items():
        if not isinstance(target, dict) or target.get("kind") != "normal":
            source.omit(f"ref with a conflict: {name}")
        elif _link(f"ref {name}", target.get("target")) != commit:
            source.omit(f"ref to another commit: {name}")
    reached, waiting = {commit}, [commit]
    while waiting:
        for parent in blocks.object(waiting.pop(), "commit").get("parents") or []:
            cid = _link("commit.parents", parent)
            if cid not in reached and cid in blocks:
                reached.add(cid)
                waiting.append(cid)
    source.omit("earlier commit", len(reached) - 1)


def _graph(source: Source, blocks: _Blocks, commit: dict[str, Any]) -> Items:
    sidecars = {
        name: dict(blocks.tree(_link(f"commit.{name}", commit[name])))
        for name in ("embeddings", "sparse")
        if commit.get(name) is not None
    }
    for key, cid in blocks.tree(_link("commit.nodes", commit.get("nodes"))):
        if key == _ANCHOR:
            continue
        if cid not in blocks:
            source.omit("node without its block, as an export with --scrub has it")
            continue
        value = blocks.object(cid, "node")
        node = _node_id("node", value.get("id"))
        position = f"node {node}"
        yield position, _node(source, node, value)
        blocks.nodes.add(node)
        bucket = blake3(cid).digest()[:16]
        for name, buckets in sidecars.items():
            if bucket in buckets:
                found = blocks.object(buckets[bucket], "embedding_bucket", "sparse_bucket")
                for vector in _vectors(source, node, name, found):
                    yield position, vector
    for _, cid in blocks.tree(_link("commit.edges", commit.get("edges"))):
        value = blocks.object(cid, "edge")
        edge = value.get("id")
        ends = [_node_id(f"edge.{name}", value.get(name)) for name in ("src", "dst")]
        props = source.props(_plain(value.get("props") or {}))
        yield (
            f"edge {edge.hex() if isinstance(edge, bytes) else edge}",
            ibidem.EdgeRecord(ends[0], str(value.get("etype")), ends[1], 1.0, props, edge),
        )


def _node(source: Source, node: ibidem.NodeId, value: dict[str, Any]) -> ibidem.NodeRecord:
    content = value.get("content")
    return ibidem.NodeRecord(
        None,
        str(value.get("ntype")),
        value.get("summary"),
        value.get("context_sentence"),
        source.props(_plain(value.get("props") or {})),
        bytes(content) if content else None,
        id=node,
    )


def _vectors(
    source: Source, node: ibidem.NodeId, name: str, bucket: dict[str, Any]
) -> Iterator[Any]:
    for entry in bucket.get("entries") or []:
        try:
            if name == "sparse":
                sparse = entry["sparse"]
                yield ibidem.SparseRecord(
                    node, entry["vocab_id"], sparse["indices"], sparse["values"]
                )
                continue
            vector = entry["embedding"]
            values = np.frombuffer(vector["vector"], _DTYPES[vector["dtype"]])
            if values.dtype.itemsize == 8:
                source.omit("precision of a vector of float64")
                values = values.astype(np.float32)
            yield ibidem.VectorRecord(node, entry["model"], values)
        except (KeyError, TypeError, ValueError) as error:
            raise _corrupt(f"vector of node {node}", f"{error!r}") from error


class _Blocks:
    """The blocks of a file: each was compared with its CID, and is read again when it is needed."""

    def __init__(self, stream: IO[bytes], source: Source) -> None:
        self._stream = stream
        self._size_max = source.limits.element_bytes_max
        self._bounds: dict[bytes, tuple[int, int]] = {}
        self._operations: list[bytes] = []
        self.commit: bytes | None = None
        """The root of a CAR, if that is a commit."""
        self.nodes: set[ibidem.NodeId] = set()
        if stream.read(len(MAGIC)) == MAGIC:
            file = RedbFile(stream)
            for cid, start, size in file.table("mnem_objects"):
                self.add(cid, start, size)
            self._operations = [cid for cid, _, _ in file.table("mnem_op_heads")]
        else:
            stream.seek(0)
            roots = list(_car(stream, self))
            if roots:
                kind = self.object(roots[0], "operation", "commit", "view")["_kind"]
                if kind == "commit":
                    self.commit = roots[0]
                else:
                    self._operations = roots[:1]

    def __contains__(self, cid: bytes) -> bool:
        return cid in self._bounds

    def head(self) -> bytes | None:
        """Returns the view of the newest operation, None if there is none.

        Raises:
            CorruptError: writers at the same time have left several.
        """
        if not self._operations:
            return None
        if len(self._operations) > 1:
            raise InvalidInputError(
                f"operations: got {len(self._operations)} heads, expected 1",
                hint="open the repository once with mnem, which merges them",
            )
        found = self.object(self._operations[0], "operation", "view")
        if found["_kind"] == "view":
            return self._operations[0]
        return _link("operation.view", found.get("view"))

    def tree(self, cid: bytes, depth: int = 0) -> Iterator[tuple[bytes, bytes]]:
        """Yields keys and links of a tree in order."""
        if depth > _DEPTH_MAX:
            raise _corrupt(f"tree {_text(cid)}", "it is too deep")
        chunk = self.object(cid, "tree")
        if chunk.get("leaf"):
            for entry in chunk.get("entries") or []:
                if not isinstance(entry, list) or len(entry) != 2:
                    raise _corrupt(f"tree {_text(cid)}", "expected entries of key and link")
                yield entry[0], _link("tree", entry[1])
        else:
            for child in chunk.get("children") or []:
                yield from self.tree(_link("tree", child), depth + 1)

    def object(self, cid: bytes, *kinds: str) -> dict[str, Any]:
        """Returns the object of a block, of one of these kinds."""
        if cid not in self._bounds:
            raise _corrupt(f"block {_text(cid)}", "it is not in the file")
        try:
            found = cbor2.loads(self._read(*self._bounds[cid]))
        except (cbor2.CBORDecodeError, RecursionError, ValueError) as error:
            raise _corrupt(f"block {_text(cid)}", f"not DAG-CBOR: {error}") from error
        if not isinstance(found, dict) or found.get("_kind") not in kinds:
            raise _corrupt(f"block {_text(cid)}", f"expected one of kind {' or '.join(kinds)}")
        return found

    def add(self, cid: bytes, start: int, size: int) -> None:
        """Registers a block of the file, after comparing it with its CID."""
        if size > self._size_max:
            raise InvalidInputError(
                f"block {_text(cid)}: {size:,} bytes, expected at most {self._size_max:,}",
                kind=ErrorKind.LIMIT_EXCEEDED,
            )
        data = self._read(start, size)
        function = _HASHES.get(cid[2:4])
        if function is None or len(cid) != _CID_BYTES or cid[:2] != b"\x01\x71":
            raise _corrupt(f"block {_text(cid)}", "expected DAG-CBOR with SHA2-256 or BLAKE3")
        if function(data).digest() != cid[4:]:
            raise CorruptError(
                f"block {_text(cid)}: it has other bytes than its CID says",
                kind=ErrorKind.HASH_MISMATCH,
            )
        self._bounds[cid] = (start, size)

    def _read(self, start: int, size: int) -> bytes:
        self._stream.seek(start)
        data = self._stream.read(size)
        if len(data) != size:
            raise _corrupt("file", "it ends in a block")
        return data


def _car(stream: IO[bytes], blocks: _Blocks) -> Iterator[bytes]:
    """Registers the sections of a CAR, and yields its roots."""
    size = _varint(stream)
    if size is None or not 0 < size <= _HEADER_BYTES_MAX:
        raise _corrupt("car", f"a header of {size} bytes")
    try:
        header = cbor2.loads(stream.read(size))
        version, roots = header["version"], [_link("car.roots", one) for one in header["roots"]]
    except (cbor2.CBORDecodeError, RecursionError, KeyError, TypeError, ValueError) as error:
        raise _corrupt("car", f"its header: {error}") from error
    if version != 1:
        raise _corrupt("car", f"got version {version!r:.20}, expected 1")
    start = stream.tell()
    while (size := _varint(stream)) is not None:
        cid = stream.read(_CID_BYTES)
        start = stream.tell()
        if size < len(cid):
            raise _corrupt("car", f"a section of {size} bytes, expected at least a CID")
        blocks.add(cid, start, size - len(cid))
        stream.seek(start + size - len(cid))
    yield from roots


def _varint(stream: IO[bytes]) -> int | None:
    value = 0
    for index in range(_VARINT_BYTES_MAX):
        byte = stream.read(1)
        if not byte:
            if index:
                raise _corrupt("car", "it ends in a length")
            return None
        value |= (byte[0] & 0x7F) << 7 * index
        if byte[0] < 0x80:
            return value
    raise _corrupt("car", "a length of more than 9 bytes")


def _link(where: str, value: Any) -> bytes:
    """Returns the CID that a link names."""
    if (
        not isinstance(value, cbor2.CBORTag)
        or value.tag != _LINK
        or not isinstance(value.value, bytes)
        or value.value[:1] != b"\0"
    ):
        raise _corrupt(where, f"got {value!r:.60}, expected a link")
    return value.value[1:]


def _node_id(where: str, value: Any) -> ibidem.NodeId:
    if not isinstance(value, bytes) or len(value) != 16:
        raise _corrupt(where, f"got the id {value!r:.60}, expected 16 bytes")
    return ibidem.NodeId(value)


def _plain(value: Any) -> Any:
    """Returns a value with the text of each link in its place: it leads out of this repository."""
    if isinstance(value, cbor2.CBORTag):
        inner = value.value
        return _text(inner[1:]) if isinstance(inner, bytes) else str(inner)
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value


def _text(cid: bytes) -> str:
    return "b" + b32encode(cid).decode("ascii").lower().rstrip("=")


def _corrupt(where: str, text: str) -> CorruptError:
    return CorruptError(f"{where}: {text}", kind=ErrorKind.CORRUPT)
