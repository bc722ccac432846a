"""The numbers of list items in a Word document, which its text does not have.

An item names a list and a level in it. A level has a form such as "%1.%2", where "%1" is the number
of the last item of the first level, and a format such as letters. Lists that are of one kind count
on, unless one says where it starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ibidem.ingest.archive import Archive
from ibidem.ingest.extraction import one_line
from ibidem.ingest.html_tree import Element
from ibidem.objects.record import record

_PART = "word/numbering.xml"
_FORM_CHARS_MAX = 40
_LETTERS_MAX = 26 * 4
"""The last number that is written in letters, where "aaaa" follows "zzz"."""
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_ROMAN_MAX = 3999
_NUMBER = re.compile(r"%([1-9])")
_UNNUMBERED = frozenset({"bullet", "none"})


@record
class _Level:
    """How the items of one level are numbered."""

    style: str
    form: str
    start: int


class Numbering:
    """Counts the items of all lists of a document."""

    def __init__(self, archive: Archive) -> None:
        """Reads how the lists of a document are numbered."""
        self._levels: dict[str, dict[int, _Level]] = {}
        self._kinds: dict[str, str] = {}
        self._starts: dict[str, dict[int, int]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        """The number of the last item, by the kind of its list and its level."""
        lists = archive.xml(_PART).find("w:numbering") if _PART in archive else None
        for part in () if lists is None else lists.children:
            if isinstance(part, str):
                continue
            if part.tag == "w:abstractnum":
                kind = part.attributes.get("w:abstractnumid", "")
                self._levels[kind] = {
                    integer(level, "w:ilvl"): _level(level) for level in _below(part, "w:lvl")
                }
            elif part.tag == "w:num":
                name = part.attributes.get("w:numid", "")
                self._kinds[name] = _value(part, "w:abstractnumid")
                self._starts[name] = {
                    integer(one, "w:ilvl"): integer(start, "w:val")
                    for one in _below(part, "w:lvloverride")
                    for start in _below(one, "w:startoverride")
                }

    def mark(self, name: str, level: int) -> str:
        """Counts an item; returns its number in the form of its list, "-" if it has none.

        Args:
            name: the id of its list.
            level: its level, from 0.
        """
        kind = self._kinds.get(name, "")
        levels = self._levels.get(kind, {})
        if level not in levels or levels[level].style in _UNNUMBERED:
            return "-"
        counts = self._counts.setdefault(kind, {})
        counts |= {at: start - 1 for at, start in self._starts.pop(name, {}).items()}
        counts[level] = counts.get(level, levels[level].start - 1) + 1
        for deeper in [at for at in counts if at > level]:
            del counts[deeper]
        form = levels[level].form
        return one_line(_NUMBER.sub(lambda found: _shown(found, levels, counts), form)) or "-"


def integer(part: Element, name: str) -> int:
    """Returns a number that an attribute has, else 0."""
    text = part.attributes.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 9 else 0


def number_text(number: int, style: str) -> str:
    """Returns a number in a style of Word, such as "upperRoman": in digits, if that is no style of
    letters or would be long.

    >>> number_text(4, "upperRoman"), number_text(28, "lowerLetter"), number_text(4, "decimal")
    ('IV', 'bb', '4')
    """
    text = str(number)
    if style.endswith("Letter") and 0 < number <= _LETTERS_MAX:
        text = chr(ord("a") + (number - 1) % 26) * (1 + (number - 1) // 26)
    elif style.endswith("Roman") and 0 < number <= _ROMAN_MAX:
        text = ""
        for value, digits in _ROMAN:
            count, number = divmod(number, value)
            text += digits * count
    return text.upper() if style.startswith("upper") else text


def _shown(found: re.Match[str], levels: Mapping[int, _Level], counts: Mapping[int, int]) -> str:
    one = levels.get(int(found[1]) - 1)
    return "" if one is None else number_text(counts.get(int(found[1]) - 1, one.start), one.style)


def _level(part: Element) -> _Level:
    return _Level(
        _value(part, "w:numfmt"),
        _value(part, "w:lvltext")[:_FORM_CHARS_MAX],
        next((integer(start, "w:val") for start in _below(part, "w:start")), 0),
    )


def _value(part: Element, tag: str) -> str:
    return next((one.attributes.get("w:val", "") for one in _below(part, tag)), "")


def _below(part: Element, tag: str) -> Iterator[Element]:
    """Yields the children of a name; walks of all that is below would read it once a level."""
    return (one for one in part.children if isinstance(one, Element) and one.tag == tag)
