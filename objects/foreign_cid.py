"""Describes a CID of another system in words: its codec and its hash function.

Every CID of this format begins with one of two fixed prefixes, so nothing here is needed to read a
repository. A CID that is refused usually comes from another content-addressed system, such as IPFS;
the names in the table of `multiformats` then tell the user more than its bytes. The package is
loaded only when there is such a CID to describe.
"""

from __future__ import annotations

_TEXT_CHARACTERS_MIN = 46
"""A version 0 CID has this many characters, any other more: shorter text is a name, not a CID."""
_V0_PREFIX = b"\x12\x20"
_V0_BYTES = 34
_SHA2_256 = 0x12
_DAG_PB = 0x70


def describe(raw: bytes) -> str | None:
    """Returns a description of a binary CID, None if the bytes are not one; a truncated digest is
    accepted.

    >>> describe(bytes.fromhex("01701220") + bytes(32))
    'a version 1 cid of codec dag-pb, hash sha2-256 of 32 bytes'
    >>> describe(b"main") is None
    True
    """
    if raw[:2] == _V0_PREFIX and len(raw) == _V0_BYTES:
        return _described(0, _DAG_PB, _SHA2_256, 32)
    if raw[:1] != b"\x01":
        return None
    from multiformats import varint

    try:
        codec, _, rest = varint.decode_raw(raw[1:])
        function, _, rest = varint.decode_raw(rest)
        size_bytes, _, _ = varint.decode_raw(rest)
    except ValueError:
        return None
    return _described(1, codec, function, size_bytes)


def describe_text(text: str) -> str | None:
    """Returns a description of a CID in any multibase, None if the text is not a CID.

    >>> describe_text("QmbWqxBEKC3P8tqsKc98xmWNzrzDtRLMiMPL8wBuTGsMnR")
    'a version 0 cid of codec dag-pb, hash sha2-256 of 32 bytes'
    >>> describe_text("main") is None
    True
    """
    if len(text) < _TEXT_CHARACTERS_MIN:
        return None
    from multiformats import multibase

    is_v0 = text.startswith("Qm") and len(text) == _TEXT_CHARACTERS_MIN
    try:
        return describe(multibase.decode(f"z{text}" if is_v0 else text))
    except (ValueError, KeyError):
        return None


def _described(version: int, codec: int, function: int, size_bytes: int) -> str:
    return (
        f"a version {version} cid of codec {_name(codec)}, "
        f"hash {_name(function)} of {size_bytes} bytes"
    )


def _name(code: int) -> str:
    from multiformats import multicodec

    try:
        return str(multicodec.get(code=code).name)
    except KeyError:
        return f"0x{code:x}"
