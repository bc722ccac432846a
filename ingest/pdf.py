"""PDF to text, by `pypdf`: one section per page, below those that the bookmarks of the file name.

Scanned pages have no text. A page has no paragraphs, only lines, so its text is cut where a line
ends a sentence. A word that is divided at the end of a line is joined again; it keeps its hyphen if
the file writes it with one elsewhere, or if only its second part has a capital letter first.
"""

from __future__ import annotations

import io
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ibidem.ingest.extraction import Extraction, Writer, clean, one_line
from ibidem.ingest.pdf_font import add_spaces
from ibidem.ingest.pdf_margin import without_margins, without_titles
from ibidem.ingest.split import of_items
from ibidem.objects.errors import ErrorKind, InvalidInputError

if TYPE_CHECKING:
    from pypdf import PdfReader

PAGES_MAX = 20_000
BOOKMARK_LEVEL_MAX = 5

_Titles = dict[int, list[tuple[int, str]]]
"""The level and text of the bookmarks to each page, in order; pages count from 0."""
_WORD = re.compile(r"\w+")
_COMPOUND = re.compile(r"(?<![^\W\d_])[^\W\d_]{2,}+-[^\W\d_]+")
_DIVIDED = re.compile(r"(?<![^\W\d_])([^\W\d_]{2,}+)-\n([^\W\d_]++)(\S*+)[ \n]?")
_NUMBER_CHARS_MAX = 24
"""The most characters before the title in the line of a heading: "Chapter 4. ", "2.10.1 "."""
_LEADER = re.compile(r"(?: ?\.){5,}")
"""The dots between a title and its page in a table of contents, which may be half of its text."""
_LINE_START = re.compile(r"(?<=\n)(?=[^\n])")
_SENTENCE_END = re.compile(r"[.!?:\u2026\u3002\uff01\uff1f][\"')\]\u2019\u201d\u00bb]*[ \t]*\n\Z")
_SENTENCE_END_CHARS = 8


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
            raise InvalidInputError("needs a password", hint="save it without one")
        if len(reader.pages) > PAGES_MAX:
            raise InvalidInputError(
                f"{len(reader.pages)} pages, expected at most {PAGES_MAX}",
                kind=ErrorKind.LIMIT_EXCEEDED,
            )
        add_spaces(reader)
        texts = [_LEADER.sub(" ...", clean(page.extract_text())) for page in reader.pages]
        titles = _titles(reader)
        names = {page: [title for _, title in found] for page, found in titles.items()}
        texts = without_titles(without_margins(texts, _labels(reader)), names)
        compounds = {one.lower() for text in texts for one in _COMPOUND.findall(text)}
        level = 1 + max((level for found in titles.values() for level, _ in found), default=0)
        for index, text in enumerate(texts):
            write_page(writer, index, _undivided(text, compounds), titles.get(index, []), level)
        empty = sum(not text.strip() for text in texts)
        if empty:
            writer.warnings.append(f"{empty} of {len(texts)} pages have no text")
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
        raise InvalidInputError(f"{type(error).__name__}: {error}") from error
    return writer.finish(title, {"author": author} if author else {})


def _labels(reader: PdfReader) -> list[str]:
    """Returns the numbers of the pages by the file; of a broken list those from 1."""
    from pypdf.errors import PyPdfError

    try:
        return [label.strip() for label in reader.page_labels]
    except (PyPdfError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return [str(index + 1) for index in range(len(reader.pages))]


def _titles(reader: PdfReader) -> _Titles:
    """Returns the bookmarks of a file; of a broken list none."""
    from pypdf.errors import PyPdfError

    found: _Titles = {}

    def add(entries: list[Any], level: int) -> None:
        for entry in entries:
            if isinstance(entry, list):
                add(entry, level + 1)
            elif (page := reader.get_destination_page_number(entry)) is not None and page >= 0:
                title = one_line(str(entry.title))
                found.setdefault(page, []).append((min(level, BOOKMARK_LEVEL_MAX), title))

    try:
        add(reader.outline, 1)
    except (PyPdfError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return {}
    return found


def write_page(
    writer: Writer, index: int, text: str, titles: list[tuple[int, str]], page_level: int
) -> None:
    """Writes a page: its text under its number, and each bookmark at the line that it names, else
    above the text."""
    lines = text.split("\n")
    found = _lines_by_title(lines) if titles else {}
    places: dict[int, int] = {}
    last = -1
    for level, title in titles:
        named = found.get(" ".join(_WORD.findall(title.lower())), [])
        following = bisect(named, last)
        if following < len(named):
            last = named[following]
            places[last] = level
        else:
            writer.heading(level, title)
    start = 0
    for at in [*places, len(lines)]:
        body = "\n".join(lines[start:at])
        if body.strip():
            writer.heading(page_level, f"Page {index + 1}")
            for paragraph in re.split(r"\n[ \t]*\n", body):
                for piece in _pieces(paragraph):
                    writer.block("paragraph", piece)
        if at in places:
            writer.heading(places[at], lines[at])
        start = at + 1


def _lines_by_title(lines: Sequence[str]) -> dict[str, list[int]]:
    """Returns the indices of the lines that have the words of a title, with or without a number
    before them."""
    found: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        words = list(_WORD.finditer(line.lower()))
        texts = [word[0] for word in words]
        for count, word in enumerate(words):
            if word.start() > _NUMBER_CHARS_MAX:
                break
            if _is_number(texts[:count]):
                found.setdefault(" ".join(texts[count:]), []).append(at)
    return found


def _is_number(words: Sequence[str]) -> bool:
    """Returns whether words are none or those of a number, such as "Chapter 4" or "2 10 a"."""
    number = words[1:] if len(words) > 1 and words[0].isalpha() else words
    return all(word.isdigit() or len(word) == 1 for word in number)


def _pieces(text: str) -> Iterator[str]:
    """Yields a text in passages, cut after a line that ends a sentence if there is one."""
    items = [match.start() for match in _LINE_START.finditer(text)]

    def rank(at: int) -> int:
        return _SENTENCE_END.search(text, max(0, at - _SENTENCE_END_CHARS), at) is None

    for start, stop in of_items(text, 0, len(text), items, rank):
        yield text[start:stop]


def _undivided(text: str, compounds: set[str]) -> str:
    """Returns a text without the hyphens that only divide words at the ends of lines."""

    def whole(match: re.Match[str]) -> str:
        first, second, rest = match.groups()
        is_name = second[0].isupper() and not first.isupper()
        hyphen = "-" if is_name or f"{first}-{second}".lower() in compounds else ""
        return f"{first}{hyphen}{second}{rest}\n"

    return _DIVIDED.sub(whole, text)


def _metadata(reader: object) -> tuple[str | None, str]:
    found = getattr(reader, "metadata", None)
    title, author = getattr(found, "title", None), getattr(found, "author", None)
    return (
        title if isinstance(title, str) else None,
        one_line(author) if isinstance(author, str) else "",
    )
