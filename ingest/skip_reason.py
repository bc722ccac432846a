"""Decides whether the bytes of a file can become a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.ingest.formats import CONVERTED, suffix_of
from ibidem.ingest.secret import has_private_key

if TYPE_CHECKING:
    from ibidem.ingest.formats import Format

_RTF = b"{\\rtf"

GOLDEN = b"ibidem retrieval golden "
"""How files of recorded answers begin. They quote questions, so they would be the best answers."""


def skip_reason(path: str, data: bytes, source_format: Format) -> str | None:
    """Returns why these bytes cannot become a document, None if they can."""
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
        return f"binary (not UTF-8 at byte {error.start})"
    return None
