"""Cuts text that is too long for one passage, at places that an edit elsewhere does not move.

Cutting every 4,000 characters would shift every later cut with each inserted word. So within the
window where a cut is allowed, the place is chosen by the smallest hash of the text just before it:
after an edit the cuts fall back into step, usually with the next one.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence

from blake3 import blake3

PASSAGE_CHARS_MAX = 4000
PASSAGE_CHARS_MIN = 1000
ITEMS_CHARS_MIN, ITEMS_CHARS_MAX = 400, 800
"""A list, table or piece of program source with more characters becomes several passages of whole
items, rows or lines, within these limits where they allow it. The limit is that of a pack, which
shows the passages around a hit too."""
TERM_CHARS_MAX = 200
"""A longer term is not a heading as a whole."""
_CONTEXT_CHARS = 48

Finder = Callable[[str, int, int], list[int]]
"""Returns the good places for a cut, ascending, inside a half-open window."""


def at_pattern(pattern: str) -> Finder:
    """Returns a finder of the ends of the matches of `pattern`."""
    compiled = re.compile(pattern)

    def find(source: str, start: int, stop: int) -> list[int]:
        return [match.end() for match in compiled.finditer(source, start, stop)]

    return find


LINES = at_pattern(r"\r\n|\r(?!\n)|\n")
BLANK_LINES = at_pattern(r"\n[ \t\r]*\n")
SENTENCES = at_pattern(
    r"[.!?\u2026][\"'\)\]\u2019\u201d\u00bb]*[ \t\r\n]+|[\u3002\uff01\uff1f]|\r?\n"
)
WORDS = at_pattern(r"[ \t\r\n]+")

PROSE = (SENTENCES, WORDS)
ROWS = (LINES, WORDS)
CODE = (BLANK_LINES, LINES, WORDS)


def split(
    source: str, start: int, stop: int, finders: Sequence[Finder]
) -> Iterator[tuple[int, int]]:
    """Yields ranges that cover `start:stop` without gaps, each at most `PASSAGE_CHARS_MAX` long.

    The first finder that offers a place inside the window decides; if none does, the cut is at the
    maximum length.
    """
    while stop - start > PASSAGE_CHARS_MAX:
        cut = _cut(source, start + PASSAGE_CHARS_MIN, start + PASSAGE_CHARS_MAX, finders)
        yield start, cut
        start = cut
    yield start, stop


def heading_of(term: str) -> str:
    """Returns the heading of a text that describes a term: the term, or what a long one has before
    its parameters; empty if that is long too."""
    if len(term) > TERM_CHARS_MAX:
        term = term.partition("(")[0].rstrip(" ")
    return term if len(term) <= TERM_CHARS_MAX else ""


def of_items(
    source: str,
    start: int,
    stop: int,
    items: Sequence[int],
    rank: Callable[[int], int] = lambda at: 0,
) -> Iterator[tuple[int, int]]:
    """Yields ranges that cover the list or table `start:stop` without gaps, each of whole items.

    A long list would be ranked as one long text, and shown from its beginning, whichever item is
    asked for.

    Args:
        items: where its items or rows begin, ascending.
        rank: a cut is made before an item of the lowest rank within the limits.
    """
    while stop - start > ITEMS_CHARS_MAX:
        first = bisect_right(items, start)
        low = bisect_left(items, start + ITEMS_CHARS_MIN, first)
        high = bisect_right(items, start + ITEMS_CHARS_MAX, low)
        if low < high:
            cut = min(items[low:high], key=lambda at: (rank(at), hash_before(source, at), -at))
        else:
            near = max(first, low - 1)
            if near == len(items) or items[near] >= stop:
                break
            cut = items[near]
        yield start, cut
        start = cut
    yield start, stop


def _cut(source: str, low: int, high: int, finders: Sequence[Finder]) -> int:
    for find in finders:
        places = find(source, low, high)
        if places:
            return min(places, key=lambda place: (hash_before(source, place), -place))
    return high - 1 if source[high - 1 : high + 1] == "\r\n" else high


def hash_before(source: str, place: int) -> bytes:
    """Returns what chooses among good places for a cut: a hash of the text before it."""
    context = source[max(0, place - _CONTEXT_CHARS) : place]
    return blake3(context.encode("utf-8", "surrogatepass")).digest(8)
