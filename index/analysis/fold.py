"""Folds text by frozen tables, never by the tables of the running interpreter.

The folded text holds word characters, marks, `_`, `.`, `'` and spaces; only spaces separate. It is
compatibility decomposed, case folded except for ASCII letters (whose case tells the parts of an
identifier) and canonically ordered, so that all canonically equivalent texts fold to the same.
Hangul syllables are composed. Code points that are unassigned in Unicode 14.0 separate words.

Spec: analysis 3.
"""

from __future__ import annotations

import re
import struct
from array import array
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from pathlib import Path

SEPARATOR, WORD, MARK, REMOVED = 0, 1, 2, 3

_KEPT_ASCII = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.'")
ASCII_FOLD = {code: chr(code) if chr(code) in _KEPT_ASCII else " " for code in range(128)}
"""The fold of ASCII text, which needs no table file: 128 entries for `str.translate`."""

ASCII_FOLD_BYTES = "".join(ASCII_FOLD.values()).encode().ljust(256)
"""The same for `bytes.translate`, which takes a fifth of the time."""

ASCII_LOWER = {code: chr(code + 32) for code in range(ord("A"), ord("Z") + 1)}

_LEAD, _VOWEL, _TRAIL, _SYLLABLE = 0x1100, 0x1161, 0x11A7, 0xAC00
_VOWEL_COUNT, _TRAIL_COUNT = 21, 28
_JAMO = "[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|[\uac00-\ud7a3][\u11a8-\u11c2]"
# The dot that lower-casing a Turkish or Lithuanian capital leaves on an i, which has one already.
_DOT = "\u0307"
_DOTTED_I = re.compile(f"[iI]{_DOT}")
_BEYOND_BMP = re.compile("[\U00010000-\U0010ffff]")


def fold(text: str) -> str:
    """Returns the folded form of any text, lone surrogates included."""
    if text.isascii():
        return text.translate(ASCII_FOLD)
    folded = text.translate(_replacements())
    if folded.isascii():
        return folded
    ordered = _mark_runs(folded).sub(_order_match, folded)
    if _DOT in ordered:
        ordered = _DOTTED_I.sub("i", ordered)
    return re.sub(_JAMO, _compose_match, ordered)


def fold_with_origins(text: str) -> tuple[str, list[int]]:
    """Returns `fold(text)`, and for each of its code points the index in `text` that it came
    from."""
    if text.isascii():
        return text.translate(ASCII_FOLD), list(range(len(text)))
    replacements = _replacements()
    pairs = [
        (char, index) for index, source in enumerate(text) for char in replacements[ord(source)]
    ]
    pairs = _sub_pairs(pairs, _mark_runs("".join(char for char, _ in pairs)), _order)
    pairs = _sub_pairs(pairs, _DOTTED_I, lambda found: [("i", found[0][1])])
    pairs = _sub_pairs(pairs, re.compile(_JAMO), _compose)
    return "".join(char for char, _ in pairs), [index for _, index in pairs]


def is_mark(char: str) -> bool:
    """Whether a code point of folded text is a mark, so that no word begins with it."""
    return not char.isascii() and _tables().kind(ord(char)) == MARK


class _Tables:
    """The parsed table file, searched by bisection; callers cache the lookups."""

    def __init__(self, data: bytes) -> None:
        range_count, fold_count = struct.unpack_from("<II", data)
        at = 8
        self.starts = _numbers(data, at, range_count)
        at += 4 * range_count
        self.kinds = data[at : at + range_count]
        self.combining_classes = data[at + range_count : at + 2 * range_count]
        at += 2 * range_count
        self.codes = _numbers(data, at, fold_count)
        at += 4 * fold_count
        self.offsets = _numbers(data, at, fold_count + 1)
        self.texts = data[at + 4 * (fold_count + 1) :]

    def kind(self, code: int) -> int:
        return self.kinds[bisect_right(self.starts, code) - 1]

    def combining_class(self, code: int) -> int:
        return self.combining_classes[bisect_right(self.starts, code) - 1]

    def replacement(self, code: int) -> str:
        index = bisect_right(self.codes, code) - 1
        if index >= 0 and self.codes[index] == code:
            return self.texts[self.offsets[index] : self.offsets[index + 1]].decode()
        match self.kind(code):
            case 0:
                return " "
            case 3:
                return ""
        return chr(code)

    def ordered_marks(self, stop: int) -> str:
        """Returns a character class of all code points below `stop` with a combining class other
        than 0."""
        stops = [*self.starts[1:], 0x110000]
        ranges = zip(self.starts, stops, self.combining_classes, strict=True)
        return "".join(
            f"{chr(first)}-{chr(last - 1)}"
            for first, last, combining in ranges
            if combining and last <= stop
        )


class _Replacements(dict[int, str]):
    """A table for `str.translate` that is filled on first use of each code point; Unicode bounds
    it."""

    def __missing__(self, code: int) -> str:
        found = self[code] = _tables().replacement(code)
        return found


@cache
def _tables() -> _Tables:
    return _Tables(Path(__file__).with_name("unicode-14.bin").read_bytes())


@cache
def _replacements() -> dict[int, str]:
    return _Replacements(ASCII_FOLD)


def _mark_runs(text: str) -> re.Pattern[str]:
    """Returns the pattern of runs of ordered marks; it is 30 times faster without astral ones."""
    return _mark_pattern(0x110000 if _BEYOND_BMP.search(text) else 0x10000)


@cache
def _mark_pattern(stop: int) -> re.Pattern[str]:
    marks = f"[{_tables().ordered_marks(stop)}]"
    # The class is written twice, not as {2,}, so that the engine can look for the first character
    # alone.
    return re.compile(f"{marks}{marks}+")


@cache
def _combining_class(char: str) -> int:
    return _tables().combining_class(ord(char))


def _numbers(data: bytes, at: int, count: int) -> array[int]:
    numbers = array("I")
    assert numbers.itemsize == 4, "BUG: an array of 'I' holds 4 bytes an item everywhere"
    numbers.frombytes(data[at : at + 4 * count])
    if struct.pack("=H", 1) != struct.pack("<H", 1):
        numbers.byteswap()
    return numbers


_Pair = tuple[str, int]


def _order(pairs: list[_Pair]) -> list[_Pair]:
    return sorted(pairs, key=lambda pair: _combining_class(pair[0]))


def _compose(pairs: list[_Pair]) -> list[_Pair]:
    codes = [ord(char) for char, _ in pairs]
    if codes[0] >= _SYLLABLE:
        # A syllable that already has a trailing consonant takes no second one.
        if (codes[0] - _SYLLABLE) % _TRAIL_COUNT:
            return pairs
        return [(chr(codes[0] + codes[1] - _TRAIL), pairs[0][1])]
    code = _SYLLABLE + ((codes[0] - _LEAD) * _VOWEL_COUNT + codes[1] - _VOWEL) * _TRAIL_COUNT
    if len(codes) == 3:
        code += codes[2] - _TRAIL
    return [(chr(code), pairs[0][1])]


def _order_match(match: re.Match[str]) -> str:
    return "".join(sorted(match[0], key=_combining_class))


def _compose_match(match: re.Match[str]) -> str:
    return "".join(char for char, _ in _compose([(char, 0) for char in match[0]]))


def _sub_pairs(
    pairs: list[_Pair], pattern: re.Pattern[str], change: Callable[[list[_Pair]], list[_Pair]]
) -> list[_Pair]:
    """Does what `pattern.sub` does, on code points that remember their origin."""
    out: list[_Pair] = []
    at = 0
    for match in pattern.finditer("".join(char for char, _ in pairs)):
        out += pairs[at : match.start()]
        out += change(pairs[match.start() : match.end()])
        at = match.end()
    return out + pairs[at:]
