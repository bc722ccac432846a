"""AsciiDoc, LaTeX, Org, POD and manual pages to marks: plain text in which some lines are headings.

A line in a listing is no heading, where the format does not forbid it to look like one. The text
between two headings is cut as plain text is, and that of a manual page, which has few blank lines,
also before the macros that begin a paragraph or an item. A command of POD, such as the name of an
item, is in the passage after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile, takewhile

from ibidem.ingest.mark import Block, Heading, Layout, Mark, merged_into_next
from ibidem.ingest.plain import PARAGRAPH, item_blocks
from ibidem.ingest.split import PASSAGE_CHARS_MAX, PROSE

_TEXT = r"(?P<text>[^\n]{1,300})$"
_LISTING = r"(?P<listing>(?P<sign>[-./+`])(?P=sign){3,})[ \t\r]*$"
_GROUP = r"(?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]*\})*\})"
_HEADINGS = {
    "asciidoc": rf"^(?:{_LISTING}|(?P<mark>={{1,6}}) {_TEXT})",
    "latex": r"\\(?:begin|end)\{(?P<listing>[vV]erbatim|lstlisting|minted|comment)\*?\}"
    r"|^[ \t]*\\(?P<mark>part|chapter|(?:sub){0,2}section)\*?(?:\[[^\]\n]*\])?"
    rf"\{{(?P<text>{_GROUP}{{1,300}})[^\n]*$",
    "man": rf"^\.(?P<mark>S[HhSs])[ \t]+{_TEXT}",
    "org": rf"^(?P<mark>\*{{1,8}} ){_TEXT}",
    "pod": rf"^=(?P<mark>head[1-4])[ \t]+{_TEXT}",
}
"""For each form, a heading or the line that begins or ends a listing."""
_LEVELS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4}
_LEVELS |= {"SH": 2, "Sh": 2, "SS": 3, "Ss": 3, "head1": 2, "head2": 3, "head3": 4, "head4": 5}
"""The levels of marks; that of others is their length. Level 1 gives a document its title."""
_MARKUP = re.compile(r"\\f[BIPR]|\\[A-Za-z]+\*?|[{}\"\\]|[ \t]+:[\w:@]+:[ \t\r]*$")
"""In headings: fonts, commands and tags."""
_MACRO = re.compile(r"^\.(?:[HILPT]?P|Pp|It)\b", re.MULTILINE)
"""What begins a paragraph or an item of a manual page."""
_COMMAND = re.compile(r"=[a-z]")
_COMMANDS_ABOVE = re.compile(r"\A(?:=[a-z][^\n]*(?:\n+|\Z))+")
_LAYOUT_COMMANDS = re.compile(r"(?:=(?:back|cut|encoding|end|over|pod)\b[^\n]*(?:\n|\Z))+")
"""Commands of POD that a reader sees nothing of."""
_TITLE = re.compile(
    r"^[^%\n]*\\title\*?(?:\[[^]\n]*\])?\{(?P<text>(?:[^{}]|\{[^{}]*\}){1,300})\}", re.MULTILINE
)
_TITLE_MARKUP = re.compile(
    r"\\f(?:\[\w*\]|\(..|.)|\\thanks\{[^{}]*\}|^\.(?:(?:Nm|[BIR]{1,2})\b|(?!Nd\b).*)"
    r"|[A-Z]<(?P<kept>[^<>\n]*)>",
    re.MULTILINE,
)
"""In titles: fonts, notes, macros, and the codes of POD around what is kept."""
_TITLE_SIGNS = {"\\[em]": "\u2014", "\\(em": "\u2014", "\\[en]": "\u2013", "\\(en": "\u2013"}
_TITLE_SIGNS |= {"\\[cq]": "\u2019", "\\(cq": "\u2019", "\n.Nd ": "\n- "}


def titled_marks(form: str, source: str, start: int) -> Iterator[Mark]:
    """Yields the headings of a text and the passages between them.

    Args:
        form: a key of `_HEADINGS`.
    """
    marks = _marks(form, source, start)
    return _with_commands(source, marks) if form == "pod" else marks


def _with_commands(source: str, marks: Iterator[Mark]) -> Iterator[Mark]:
    """Yields the marks of POD, with each command in the passage after it, or as layout."""

    def is_command(block: Block) -> bool:
        return _COMMAND.match(source, block.start, block.stop) is not None

    def shown(mark: Mark) -> Mark:
        is_layout = _LAYOUT_COMMANDS.fullmatch(source, mark.start, mark.stop)
        return Layout(mark.start, mark.stop) if is_layout else mark

    return merged_into_next(map(shown, marks), PASSAGE_CHARS_MAX, is_command)


def _marks(form: str, source: str, start: int) -> Iterator[Mark]:
    at = start
    listing: str | None = None
    for match in re.compile(_HEADINGS[form], re.MULTILINE).finditer(source, start):
        if edge := match.groupdict().get("listing"):
            listing = edge if listing is None else None if edge == listing else listing
            continue
        text = " ".join(_MARKUP.sub("", match["text"]).split())
        if text and listing is None:
            yield from _passages(form, source, at, match.start())
            at = match.start() + len(match[0].rstrip())
            mark = match["mark"]
            yield Heading(match.start(), at, _LEVELS.get(mark, len(mark)), text)
    yield from _passages(form, source, at, len(source))


def _passages(form: str, source: str, start: int, stop: int) -> Iterator[Mark]:
    for match in PARAGRAPH.finditer(source, start, stop):
        macros = _MACRO.finditer(source, *match.span()) if form == "man" else ()
        items = [macro.start() for macro in macros]
        yield from item_blocks(source, *match.span(), "paragraph", items, PROSE)


def titled_title(name: str, source: str, marks: Sequence[Mark]) -> str | None:
    """Returns what a text calls itself: LaTeX by its title, a manual page and POD by the first
    paragraph of the section NAME, which also says what they are for.

    Args:
        name: of the format.
    """
    if name == "LaTeX":
        match = _TITLE.search(source)
        text = match["text"] if match else ""
    else:
        text = _below_name(source, marks)
    for sign, shown in _TITLE_SIGNS.items():
        text = text.replace(sign, shown)
    text = _MARKUP.sub("", _TITLE_MARKUP.sub(r"\g<kept>", text))
    return " ".join(text.split()) or None


def _below_name(source: str, marks: Sequence[Mark]) -> str:
    """Returns the first paragraph of the section NAME, empty if there is none."""
    found = dropwhile(
        lambda mark: not (isinstance(mark, Heading) and mark.text.upper() == "NAME"), marks
    )
    next(found, None)
    below = takewhile(lambda mark: not isinstance(mark, Heading), found)
    texts = (source[mark.start : mark.stop] for mark in below if isinstance(mark, Block))
    return next(filter(None, (_COMMANDS_ABOVE.sub("", text) for text in texts)), "")
