"""Gives the fonts of a PDF a plausible space, by which `pypdf` tells the gaps between words.

TeX writes no space characters: it moves on between words. `pypdf` takes a move of half a space for
a gap, and asks the font how wide a space is. A font without that character answers with the width
of whatever has its code, often twice as wide, and all words of a line would run together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypdf import PdfReader

SPACE = 250
"""The width of a space in most fonts, in thousandths of their size."""
SPACE_MAX = 400
"""Only a font whose characters all have one width has a wider space."""
_UNUSED_CODE = 0xFFFF
_MAPPING = b"\n1 beginbfchar\n<FFFF> <0020>\nendbfchar\n"


def add_spaces(reader: PdfReader) -> None:
    """Changes the fonts of all pages, in memory."""
    from pypdf.errors import PyPdfError

    done: set[int] = set()
    for page in reader.pages:
        for font in _fonts(page):
            if id(font) not in done:
                done.add(id(font))
                try:
                    if font.get("/Subtype") == "/Type0":
                        _add_space(font)
                    else:
                        _narrow_space(font)
                except (PyPdfError, ValueError, TypeError, LookupError, AttributeError):
                    continue  # a broken font stays as it is


def _fonts(page: Any) -> Iterator[Any]:
    fonts = _entry(_entry(page, "/Resources"), "/Font")
    for name in fonts if isinstance(fonts, dict) else ():
        if isinstance(font := _entry(fonts, name), dict):
            yield font


def _entry(holder: Any, name: str) -> Any:
    value = holder.get(name) if isinstance(holder, dict) else None
    return None if value is None else value.get_object()


def _add_space(font: Any) -> None:
    """Adds a space to a font of two-byte codes; its own comes before it, if it has one."""
    from pypdf.generic import (
        ArrayObject,
        DecodedStreamObject,
        NameObject,
        NumberObject,
        StreamObject,
    )

    mapping, descendants = _entry(font, "/ToUnicode"), _entry(font, "/DescendantFonts")
    if not isinstance(mapping, StreamObject) or not isinstance(descendants, list):
        return
    inner = descendants[0].get_object() if descendants else None
    widths = _entry(inner, "/W") or ArrayObject()
    if isinstance(inner, dict) and isinstance(widths, list):
        extended = DecodedStreamObject()
        head, end, tail = mapping.get_data().rpartition(b"endcmap")
        extended.set_data(head + _MAPPING + end + tail if end else tail + _MAPPING)
        font[NameObject("/ToUnicode")] = extended
        space = (NumberObject(_UNUSED_CODE), ArrayObject([NumberObject(SPACE)]))
        inner[NameObject("/W")] = ArrayObject([*widths, *space])


def _narrow_space(font: Any) -> None:
    """Makes the space of a font narrower that has none as wide."""
    from pypdf.generic import ArrayObject, NameObject, NumberObject

    widths, first = _entry(font, "/Widths"), _entry(font, "/FirstChar")
    if not isinstance(widths, list) or not isinstance(first, int):
        return
    numbers = [width.get_object() for width in widths]
    at = ord(" ") - first
    if (
        0 <= at < len(numbers)
        and all(isinstance(number, int | float) for number in numbers)
        and numbers[at] > SPACE_MAX
        and len({number for number in numbers if number}) > 1
    ):
        numbers[at] = NumberObject(SPACE)
        font[NameObject("/Widths")] = ArrayObject(numbers)
