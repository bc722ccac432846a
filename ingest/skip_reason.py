"""Decides whether the bytes of a file can become a document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ibidem.ingest.decoded import decoded, is_utf16
from ibidem.ingest.formats import CONVERTED, suffix_of
from ibidem.ingest.secret import has_private_key

if TYPE_CHECKING:
    from ibidem.ingest.formats import Format

_RTF = b"{\\rtf"
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""Bytes that no text has, in whatever encoding of single bytes."""

GOLDEN = b"ibidem retrieval golden "
"""How files of recorded answers begin. They quote questions, so they would be the best answers."""

NO_TEXT = "has no text"
"""Why a picture or a page without text and title is left out: a document that is nothing but the
name of its file would be the best answer to every question with a word of that name."""


def skip_reason(path: str, data: bytes, source_format: Format) -> str | None:
    """Returns why these bytes cannot become a document, None if they can."""
    if is_utf16(data) and source_format.read is not None:
        try:
            data = decoded(data).encode("utf-8")
        except UnicodeDecodeError as error:
            return f"binary (not UTF-16 at byte {error.start})"
    if has_private_key(data):
        return "holds a private key"
    if data.startswith(GOLDEN):
        return "golden answers of retrieval tests"
    if source_format.is_extracted:
        return None
    suffix = suffix_of(path)
    if suffix in CONVERTED and (data.startswith(_RTF) or b"\0" in data):
        return (
            f"{suffix} is not read: convert it, for example with soffice --headless --convert-to "
            f"{CONVERTED[suffix]}"
        )
    place = data.find(b"\0")
    if place >= 0:
        return f"binary (NUL at byte {place})"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        kind = "binary" if _CONTROL.search(data) else "text in another encoding"
        return f"{kind} (not UTF-8 at byte {error.start})"
    return None
