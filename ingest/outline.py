"""The tree of parts of one source: nested sections, passages, and every character between them.

Invariant: walking the tree and joining each child's `lead`, the child's own source and finally
`tail` gives the source back, character for character. A section's source begins with its heading,
which sits in the lead of its first child (in its tail when it has none). Layout after the last part
of a section belongs to the next part, so that appending text changes no finished section.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from ibidem.ingest.mark import Block, Heading, Layout, Mark
from ibidem.ingest.plain import table_header
from ibidem.objects.record import record


@record
class Passage:
    """A leaf: its source is `text`."""

    text: str
    format: str
    language: str | None = None
    targets: tuple[str, ...] = ()
    header: str = ""
    """Of the table that it continues."""


@record
class Section:
    """A heading and its content. `children` pairs each part with the source before it."""

    heading: str
    level: int
    children: tuple[tuple[str, Passage | Section], ...]
    tail: str


@record
class Outline:
    """The tree of one whole source."""

    children: tuple[tuple[str, Passage | Section], ...]
    tail: str


def outline(source: str, marks: Iterable[Mark]) -> Outline:
    """Returns the tree that `marks` describe; headings nest by level, and levels may be skipped."""
    builder = _Builder(source)
    for mark in marks:
        builder.add(mark)
    return builder.finish()


def source_of(part: Outline | Section | Passage) -> str:
    """Returns the source text of a part: the inverse of `outline`."""
    pieces: list[str] = []
    stack: list[Outline | Section | Passage | str] = [part]
    while stack:
        match stack.pop():
            case str(text):
                pieces.append(text)
            case Passage(text=text):
                pieces.append(text)
            case Outline(children=children, tail=tail) | Section(children=children, tail=tail):
                stack.append(tail)
                for lead, child in reversed(children):
                    stack.append(child)
                    stack.append(lead)
    return "".join(pieces)


@record(frozen=False)
class _Open:
    """A section that is still being filled; `start` is where the lead of its first child begins."""

    heading: Heading | None
    start: int
    child_start: int
    children: list[tuple[str, Passage | Section]] = field(default_factory=list)


class _Builder:
    __slots__ = ("_done", "_open", "_source", "_table", "_table_header")

    def __init__(self, source: str) -> None:
        self._source = source
        self._done = 0
        self._open = [_Open(None, 0, 0)]
        self._table = ""
        self._table_header: str | None = None

    def add(self, mark: Mark) -> None:
        if isinstance(mark, Layout):
            return  # it is in the lead of the next part
        if isinstance(mark, Block):
            text = self._source[mark.start : mark.stop]
            lead = self._lead(mark.start)
            header = ""
            if mark.continues:
                header = self._header()
            elif mark.format != "blank":  # such as what a row has at its end
                self._table, self._table_header = text, None
            part = Passage(text, mark.format, mark.language, mark.targets, header)
            self._open[-1].children.append((lead, part))
        else:
            self._close(mark.level)
            if not isinstance(mark, Heading):
                return
            self._open.append(_Open(mark, mark.start, self._done))
        self._done = mark.stop

    def finish(self) -> Outline:
        self._close(0)
        document = self._open[0]
        tail = self._source[self._done if document.children else 0 :]
        return Outline(tuple(document.children), tail)

    def _header(self) -> str:
        """Returns the header of the table whose first block was added last."""
        if self._table_header is None:
            self._table_header = table_header(self._table)
        return self._table_header

    def _lead(self, stop: int) -> str:
        """The source before a child that begins at `stop`, in the innermost open section."""
        parent = self._open[-1]
        return self._source[self._done if parent.children else parent.start : stop]

    def _close(self, level: int) -> None:
        """Closes every open section of `level` or deeper."""
        while True:
            section = self._open[-1]
            heading = section.heading
            if heading is None or heading.level < level:
                return
            self._open.pop()
            parent = self._open[-1]
            before = section.child_start if parent.children else parent.start
            lead = self._source[before : heading.start]
            tail = "" if section.children else self._source[heading.start : heading.stop]
            closed = Section(heading.text, heading.level, tuple(section.children), tail)
            parent.children.append((lead, closed))
