"""Content identifiers: CIDv1, blake3-256, of a DAG-CBOR or a raw block.

In this program a CID is 36 bytes in a lightweight type, one type per meaning. It never equals plain
`bytes`, so data cannot be mistaken for a link. A CID of another system is rejected; the error names
its codec and its hash function.

Spec: format 2.
"""

from __future__ import annotations

from base64 import b32decode, b32encode
from functools import lru_cache
from typing import Self

from blake3 import blake3

from ibidem.objects.errors import CorruptError, InvalidInputError

DAG_CBOR_PREFIX = b"\x01\x71\x1e\x20"
RAW_PREFIX = b"\x01\x55\x1e\x20"
CID_BYTES = 36
_PREFIXES = (DAG_CBOR_PREFIX, RAW_PREFIX)
_TEXTS_MAX = 1024
"""CIDs whose text is remembered: an index writes those of its roots at each commit."""


class Cid:
    """A link to a block: 36 bytes, `raw`. CIDs are ordered and compared by these bytes, and only
    with other CIDs."""

    __slots__ = ("raw",)
    raw: bytes

    def __init__(self, raw: bytes) -> None:
        if type(raw) is not bytes:
            raise CorruptError(f"cid: got {type(raw).__name__}, expected bytes")
        if len(raw) != CID_BYTES or raw[:4] not in _PREFIXES:
            from ibidem.objects.foreign_cid import describe

            found = describe(raw) or f"{len(raw)} bytes {raw[:8].hex()}…"
            raise CorruptError(
                f"cid: got {found}, expected 36 bytes: version 1, dag-cbor or raw, blake3-256 of "
                "32 bytes"
            )
        self.raw = raw

    @classmethod
    def of(cls, block: bytes) -> Self:
        """Returns the CID of a DAG-CBOR block's bytes."""
        cid = object.__new__(cls)
        cid.raw = DAG_CBOR_PREFIX + blake3(block).digest()
        return cid

    @classmethod
    def parse(cls, text: str) -> Self:
        """Returns the CID written as base32 lower-case text.

        Raises:
            InvalidInputError: `text` is not such a CID.
        """
        body = text[1:]
        if text[:1] != "b" or body != body.lower():
            raise _refused(text, "base32 lower-case text that begins with 'b'")
        try:
            raw = b32decode(body.upper() + "=" * (-len(body) % 8))
            cid = cls(raw)
        except (ValueError, CorruptError) as error:
            raise _refused(text, "a version 1 blake3-256 cid") from error
        if str(cid) != text:
            raise InvalidInputError(f"cid: got {text!r}, expected its canonical form {cid}")
        return cid

    @property
    def is_raw(self) -> bool:
        """Whether the block is raw bytes rather than DAG-CBOR."""
        return self.raw[1] == 0x55

    def __str__(self) -> str:
        return _text(self.raw)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cid) and self.raw == other.raw

    def __lt__(self, other: Cid) -> bool:
        return self.raw < other.raw

    def __hash__(self) -> int:
        return hash(self.raw)


@lru_cache(_TEXTS_MAX)
def _text(raw: bytes) -> str:
    return "b" + b32encode(raw).decode("ascii").lower().rstrip("=")


def _refused(text: str, expected: str) -> InvalidInputError:
    from ibidem.objects.foreign_cid import describe_text

    found = describe_text(text)
    found = repr(text) if found is None else f"{text!r}, {found}"
    return InvalidInputError(f"cid: got {found}, expected {expected}")


class NodeCid(Cid):
    """Links to a node block."""

    __slots__ = ()


class EdgeCid(Cid):
    """Links to an edge block."""

    __slots__ = ()


class VectorCid(Cid):
    """Links to a vector block."""

    __slots__ = ()


class SparseCid(Cid):
    """Links to a sparse vector block."""

    __slots__ = ()


class TombstoneCid(Cid):
    """Links to a tombstone block."""

    __slots__ = ()


class TreeCid(Cid):
    """Links to a tree block, the top of a tree."""

    __slots__ = ()


class RootCid(Cid):
    """Links to a root block: one state of the graph."""

    __slots__ = ()


class ConflictCid(Cid):
    """Links to a conflict block."""

    __slots__ = ()


class CommitCid(Cid):
    """Links to a commit block."""

    __slots__ = ()


class RefCid(Cid):
    """Links to a ref block."""

    __slots__ = ()


class ViewCid(Cid):
    """Links to a view block."""

    __slots__ = ()


class OperationCid(Cid):
    """Links to an operation block."""

    __slots__ = ()


class ReceiptCid(Cid):
    """Links to a receipt block."""

    __slots__ = ()


class ErasureCid(Cid):
    """Links to an erasure block."""

    __slots__ = ()


class StepCid(Cid):
    """Links to a step block: a run up to that step."""

    __slots__ = ()


class ResultCid(Cid):
    """Links to a result block."""

    __slots__ = ()


class PackCid(Cid):
    """Identifies a pack of a retrieval by the contents that it shows; there is no such block."""

    __slots__ = ()


class BlobCid(Cid):
    """Links to a raw block: a part of a node's content."""

    __slots__ = ()

    @classmethod
    def of(cls, block: bytes) -> Self:
        """Returns the CID of a raw block's bytes."""
        return cls(RAW_PREFIX + blake3(block).digest())
