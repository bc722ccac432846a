"""PDF to text, by `pypdf`: one section per page. Scanned pages have no text."""

from __future__ import annotations

import io
import re

from ibidem.ingest.extraction import Extraction, Writer, one_line
from ibidem.objects.errors import ErrorKind, InvalidInputError

PAGES_MAX = 20_000


def extract(data: bytes) -> Extraction:
    """Returns the text of all pages."""
    import logging

    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    writer = Writer()
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise InvalidInputError("PDF: needs a password", hint="save it without one")
        if len(reader.pages) > PAGES_MAX:
            raise InvalidInputError(
                f"PDF: {len(reader.pages)} pages, expected at most {PAGES_MAX}",
                kind=ErrorKind.LIMIT_EXCEEDED,
            )
        empty = 0
        for number, page in enumerate(reader.pages, 1):
            text = page.extract_text()
            if text.strip():
                writer.heading(1, f"Page {number}")
                for paragraph in re.split(r"\n[ \t]*\n", text):
                    writer.block("paragraph", paragraph)
            else:
                empty += 1
        if empty:
            writer.warnings.append(f"{empty} of {len(reader.pages)} pages have no text")
        title, author = _metadata(reader)
    except (
        PyPdfError,
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        ArithmeticError,
        AssertionError,
        OSError,
        NotImplementedError,
    ) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"PDF: {type(error).__name__}: {error}") from error
    return writer.finish(title, {"author": author} if author else {})


def _metadata(reader: object) -> tuple[str | None, str]:
    found = getattr(reader, "metadata", None)
    title, author = getattr(found, "title", None), getattr(found, "author", None)
    return (
        title if isinstance(title, str) else None,
        one_line(author) if isinstance(author, str) else "",
    )
