"""CBOR through `cbrrr`, an optional C extension: the same bytes in less time.

It has no depth limit and follows cycles until memory is exhausted, so `codec` checks values before
`dumps` and foreign blocks before `loads`.
"""

from __future__ import annotations

from typing import Any

from cbrrr import decode_dag_cbor, encode_dag_cbor

from ibidem.objects.cid import Cid

NAME = "cbrrr"


class _Link:
    """A CID to be written: cbrrr writes exactly one class as links, never a subclass."""

    __slots__ = ("_raw",)

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def __bytes__(self) -> bytes:
        return self._raw


def link(cid: Cid) -> object:
    """Returns the object that `dumps` writes as a link to `cid`."""
    return _Link(cid.raw)


def dumps(value: Any) -> bytes:
    """Returns the bytes of a value that `codec` has prepared."""
    block: bytes = encode_dag_cbor(value, cid_type=_Link)
    return block


def loads(block: bytes) -> Any:
    """Returns the value in `block`; links as `Cid`. Errors of the library are not wrapped."""
    return decode_dag_cbor(block, cid_ctor=Cid)
