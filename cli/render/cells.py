"""How many cells of a terminal a text takes: two for the wide characters of East Asian scripts,
none for marks that are drawn over the character before them.

Terminals differ about a few characters, such as emoji that are joined; their parts are counted, so
a text never takes more than is counted.
"""

from __future__ import annotations

from unicodedata import category, east_asian_width

_OVER_ANOTHER = frozenset(("Mn", "Me", "Cf"))


def cell_count(text: str) -> int:
    """Returns the cells that a printable text takes.

    >>> cell_count("mill"), cell_count("水車小屋"), cell_count("e\\u0301")
    (4, 8, 1)
    """
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def cut(text: str, *, width: int) -> str:
    """Returns a printable text if it takes at most `width` cells, otherwise its start with an
    ellipsis.

    >>> cut("水車小屋", width=8), cut("水車小屋", width=7), cut("水車小屋", width=6)
    ('水車小屋', '水車小…', '水車…')
    """
    if cell_count(text) <= width:
        return text
    room = width - 1
    for index, character in enumerate(text):
        room -= _cells_of(character)
        if room < 0:
            return text[:index].rstrip() + "…"
    raise AssertionError("BUG: the text was too wide")


def _cells_of(character: str) -> int:
    if character.isascii():
        return 1
    if category(character) in _OVER_ANOTHER:
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
