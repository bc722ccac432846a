"""CBOR through `cbor2`: it has wheels everywhere, so this engine always works.

`dumps` gets values that `codec` has already checked and sorted; cbor2 then writes minimal heads and
64-bit floats, which is canonical DAG-CBOR.
"""

from __future__ import annotations

from typing import Any

import cbor2

from ibidem.objects.cid import Cid

NAME = "cbor2"
_LINK_TAG = 42
_TAG = cbor2.CBORTag


def link(cid: Cid) -> object:
    """Returns the object that `dumps` writes as a link to `cid`."""
    return _TAG(_LINK_TAG, b"\x00" + cid.raw)


dumps = cbor2.dumps


def loads(block: bytes) -> Any:
    """Returns the value in `block`; links as `Cid`. Errors of the library are not wrapped."""
    return cbor2.loads(block, tag_hook=_read_tag)


def _read_tag(first: object, second: object) -> Cid:
    # cbor2 5 calls with (decoder, tag), cbor2 6 with (tag, immutable).
    tag = second if isinstance(second, _TAG) else first
    value = tag.value  # type: ignore[attr-defined]
    if tag.tag != _LINK_TAG or type(value) is not bytes or value[:1] != b"\x00":  # type: ignore[attr-defined]
        raise ValueError("a tag other than a link")
    return Cid(value[1:])
