"""The result of extracting a source that is not text: the extractor's text, with its marks.

The text is stored, so it is written for readers: headings, tables and code as in Markdown. The
marks are recorded while the text is written, and it is never parsed again: a paragraph that happens
to begin with `#` stays a paragraph.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from itertools import chain

from ibidem.ingest.formats import SOURCE_PROPS
from ibidem.ingest.mark import BLANK, Block, Heading, Mark, SectionEnd, merged
from ibidem.ingest.markdown import HEADING_CHARS_MAX, LANGUAGE_CHARS_MAX, markdown_marks
from ibidem.ingest.plain import HEADER_CHARS_MAX, blocks, item_blocks, table_blocks
from ibidem.ingest.split import CODE, ITEMS_CHARS_MAX, PROSE, ROWS, TERM_CHARS_MAX, Finder
from ibidem.objects.constants import DOCUMENT_BYTES_MAX
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.record import record

TARGETS_MAX = 100
"""The number of links of a passage whose targets are kept: the first ones."""

_FINDERS: dict[str, tuple[Finder, ...]] = {"list": ROWS, "code": CODE}
_ITEM = re.compile(r"^(?! )", re.MULTILINE)
"""A line of a list that is not indented begins an item."""
_LINE = re.compile(r"^", re.MULTILINE)
LINK_TEXT = re.compile("\x1c([^\x1c-\x1e]*)\x1d([^\x1c-\x1e]*)\x1e")
"""What `link_text` returns: the text, the target."""
_FENCE = re.compile(r"`{3,}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACES = re.compile(r"[ \t\r\n\f\v\x1f\u00a0]+")


@record
class Extraction:
    """The extracted text of one source, with its marks."""

    text: str
    marks: tuple[Mark, ...]
    title: str | None = None
    props: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    """Properties from the source's metadata, such as the sender of an e-mail."""
    warnings: tuple[str, ...] = ()


@record(frozen=False)
class Writer:
    """Builds text from blocks, with a blank line between two, and records their marks."""

    bytes_max: int = DOCUMENT_BYTES_MAX
    marks: list[Mark] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    level: int = 0
    """Of the section that the next block belongs to."""
    _parts: list[str] = field(default_factory=list)
    _size: int = 0
    _bytes: int = 0

    def heading(self, level: int, text: str) -> None:
        """Opens a section; one without text is left out, and one of too much is a paragraph."""
        text = one_line(text)
        if len(text) > HEADING_CHARS_MAX - 7:
            self.block("paragraph", text)
        elif text:
            start = self._append(f"{'#' * min(level, 6)} {text}")
            self.marks.append(Heading(start, self._size, level, text))
            self.level = level

    def section_end(self, level: int) -> None:
        """Ends the sections of `level` or deeper."""
        self.marks.append(SectionEnd(self._size, self._size, level))
        self.level = min(self.level, level - 1)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Makes one passage of the blocks that are added meanwhile, unless that would be long or a
        section begins or ends among them."""
        first = len(self.marks)
        yield
        found = [mark for mark in self.marks[first:] if isinstance(mark, Block)]
        if 1 < len(found) == len(self.marks) - first:
            whole = merged(found)
            if whole.stop - whole.start <= ITEMS_CHARS_MAX:
                targets = tuple(dict.fromkeys(whole.targets))[:TARGETS_MAX]
                self.marks[first:] = [replace(whole, targets=targets)]

    def block(
        self, kind: str, text: str, language: str | None = None, *, has_links: bool = False
    ) -> None:
        """Adds a passage, or several if it is too long; blank text is left out.

        Args:
            has_links: whether `link_text` marked links, whose targets become those of the passage.
        """
        text = clean(text).strip("\n")
        targets: list[tuple[int, str]] = []
        if has_links:
            text, targets = _without_targets(text)
        if text.strip(BLANK):
            start = self._append(text)
            finders = _FINDERS.get(kind, PROSE)
            if kind == "list":
                items = [match.start() for match in _ITEM.finditer(text)]
                found = item_blocks(text, 0, len(text), kind, items, finders)
            elif kind == "table":
                rows = [match.start() for match in _LINE.finditer(text)]
                found = table_blocks(text, 0, len(text), rows)
            else:
                found = blocks(text, 0, len(text), kind, language, finders)
            for mark in found:
                first, last = (bisect(targets, (at, "")) for at in (mark.start, mark.stop))
                own = dict.fromkeys(target for _, target in targets[first:last])
                self.marks.append(replace(mark, targets=tuple(own)[:TARGETS_MAX]).moved(start))

    def code(self, text: str, language: str | None = None) -> None:
        """Adds a block of code between fences."""
        text = clean(text).strip("\n").rstrip(BLANK)
        if text:
            inner = max((len(run) for run in _FENCE.findall(text)), default=2)
            fence = "`" * (inner + 1)
            language = None if language is None else language[:LANGUAGE_CHARS_MAX]
            self.block("code", f"{fence}{language or ''}\n{text}\n{fence}", language)

    def table(
        self, rows: Iterable[Sequence[str]], *, caption: str = "", has_links: bool = False
    ) -> None:
        """Adds a table; its first row is its header, which a passage of further rows has as
        context. With a header that is too long for that, it is added as `named_rows`.

        Args:
            rows: cells of any text.
            caption: one line, part of the header.
            has_links: as for `block`.
        """
        iterator = iter(rows)
        header = next(iterator, None)
        lines = [caption, ""] if (caption := one_line(caption)) else []
        if header is not None:
            above = f"{_row(header)}\n|{'---|' * max(1, len(header))}"
            if len(LINK_TEXT.sub(r"\1", above)) > HEADER_CHARS_MAX:
                self.named_rows(
                    (
                        {at: cell for at, cell in enumerate(row) if one_line(cell)}
                        for row in chain([header], iterator)
                    ),
                    caption=caption,
                    has_links=has_links,
                )
                return
            lines.append(above)
        lines += self._checked(map(_row, iterator))
        kind = "paragraph" if header is None else "table"
        self.block(kind, "\n".join(lines), has_links=has_links)

    def named_rows(
        self, rows: Iterable[Mapping[int, str]], *, caption: str = "", has_links: bool = False
    ) -> None:
        """Adds a table as a list of its rows, each text after the name of its column.

        Args:
            rows: cells that are not blank by their column, those of the header first.
            has_links: as for `block`.
        """
        self.lines([caption] if caption else [], has_links=has_links)
        self.lines(_with_names(rows), has_links=has_links)

    def lines(self, texts: Iterable[str], *, has_links: bool = False) -> None:
        """Adds a list with an item for each text, a paragraph if there is only one.

        Args:
            has_links: as for `block`.
        """
        items = self._checked(map(one_line, texts))
        if len(items) > 1:
            self.block("list", "\n".join(f"- {item}" for item in items), has_links=has_links)
        else:
            self.block("paragraph", "".join(items), has_links=has_links)

    def markdown(self, text: str, level: int = 0) -> None:
        """Adds a text that is Markdown, with its own headings.

        Args:
            level: the level of the section that it is part of, whose other parts follow; 0 if its
                sections may have what follows.
        """
        text = clean(text).strip("\n")
        if text.strip(BLANK):
            start = self._append(text)
            for mark in markdown_marks(text):
                if isinstance(mark, Heading):
                    mark = replace(mark, level=mark.level + level)
                    self.level = mark.level
                self.marks.append(mark.moved(start))
            if level:
                self.section_end(level + 1)

    def first_heading(self) -> str | None:
        """Returns the first heading of the first level, None if there is none."""
        headings = (mark for mark in self.marks if isinstance(mark, Heading))
        return next((mark.text for mark in headings if mark.level == 1), None)

    def finish(
        self,
        title: str | None = None,
        props: Mapping[str, str | tuple[str, ...]] | None = None,
    ) -> Extraction:
        """Returns the text written so far, with its marks."""
        assert SOURCE_PROPS.issuperset(props or {}), f"BUG: properties {props}"
        text = "".join(self._parts)
        title = one_line(title or "") or None
        return Extraction(text, tuple(self.marks), title, props or {}, tuple(self.warnings))

    def _append(self, text: str) -> int:
        """Adds text and returns where it begins."""
        gap = "\n\n" if self._parts else ""
        start = self._size + len(gap)
        self._bytes += len(gap) + len(text if text.isascii() else text.encode("utf-8"))
        self._check()
        self._parts += (gap, text)
        self._size = start + len(text)
        return start

    def _checked(self, lines: Iterable[str]) -> list[str]:
        """Returns lines, unless they are more than the text may have; then it takes no more."""
        taken: list[str] = []
        size = 0
        for line in lines:
            taken.append(line)
            size += len(line) + 1
            self._check(size)
        return taken

    def _check(self, more: int = 0) -> None:
        if self._bytes + more > self.bytes_max:
            raise InvalidInputError(
                f"text: {self._bytes + more} bytes or more, expected at most {self.bytes_max}",
                kind=ErrorKind.LIMIT_EXCEEDED,
            )


def clean(text: str) -> str:
    """Returns text without the characters that no document may have: NUL, lone surrogates, carriage
    returns."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATE.sub("\ufffd", text.replace("\0", ""))


def one_line(text: str) -> str:
    """Returns text with one space for each run of white space, none at the ends."""
    return _SPACES.sub(" ", clean(text)).strip(" ")


def link_text(text: str, target: str) -> str:
    """Returns a link for `Writer.block`, which shows its text and keeps its target apart. Neither
    may have one of the characters that mark them. A pipe, which would end a cell, is escaped."""
    return f"\x1c{text}\x1d{target.replace('|', '%7C')}\x1e"


def _without_targets(text: str) -> tuple[str, list[tuple[int, str]]]:
    """Returns a text without the targets of its links, and where in it each link begins."""
    pieces: list[str] = []
    targets: list[tuple[int, str]] = []
    size = done = 0
    for match in LINK_TEXT.finditer(text):
        before = text[done : match.start()]
        size += len(before)
        targets.append((size, match[2]))
        size += len(match[1])
        pieces += (before, match[1])
        done = match.end()
    return "".join([*pieces, text[done:]]), targets


def _with_names(rows: Iterable[Mapping[int, str]]) -> Iterator[str]:
    """Yields rows, each text after that of its column in the first row, unless that is too long for
    a name."""
    names: dict[int, str] | None = None
    for row in rows:
        if names is None:
            names = {key: name for key, name in row.items() if len(name) <= TERM_CHARS_MAX}
            yield " | ".join(row.values())
        else:
            yield " | ".join(
                f"{names[key]}: {text}" if key in names else text for key, text in row.items()
            )


def _row(cells: Sequence[str]) -> str:
    texts = (one_line(cell).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(texts)} |"
