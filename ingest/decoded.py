"""The text of a file: UTF-8, or UTF-16 with a byte order mark, as programs of Windows write it."""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE


def is_utf16(data: bytes) -> bool:
    """Returns whether a file begins with the byte order mark of UTF-16."""
    return data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))


def decoded(data: bytes, errors: str = "strict") -> str:
    """Returns the text of a file, without the byte order mark of UTF-16.

    Args:
        errors: what to do with bytes of another encoding, as for `bytes.decode`.

    Raises:
        UnicodeDecodeError: it is in another encoding, and `errors` is "strict".
    """
    return data.decode("utf-16" if is_utf16(data) else "utf-8", errors)
