"""Chunks of a text: pieces of at most some size that overlap, cut where a reader would pause.

Unlike passages (`split.py`), each chunk repeats a little of the one before, as some indexes need.
"""

from __future__ import annotations

import re

from ibidem.objects.errors import InvalidInputError

SIZE_DEFAULT, OVERLAP_DEFAULT = 1000, 200
_PAUSES = tuple(
    re.compile(one) for one in (r"\n[ \t\r]*\n", r"\n", r"[.!?\u3002\uff01\uff1f]", r"\s")
)
"""Ends of paragraphs, lines, sentences and words, in order of preference."""


def chunks(
    text: str, *, size: int = SIZE_DEFAULT, overlap: int = OVERLAP_DEFAULT
) -> list[tuple[int, int]]:
    """Returns half-open ranges of code points that cover a text in order.

    Args:
        text: any text; an empty text has no chunks.
        size: the most code points in a chunk.
        overlap: the most code points at the end of a chunk that the next one repeats.

    Raises:
        InvalidInputError: `overlap` is not below `size`.
    """
    for name, value, low in (("size", size, 1), ("overlap", overlap, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise InvalidInputError(f"{name}: got {value!r:.40}, expected an integer from {low}")
    if overlap >= size:
        raise InvalidInputError(f"overlap: got {overlap}, expected less than the size, {size}")
    found: list[tuple[int, int]] = []
    start = covered = 0
    while covered < len(text):
        stop = _cut(text, covered, min(len(text), start + size))
        found.append((start, stop))
        start, covered = max(start + 1, stop - overlap), stop
    return found


def _cut(text: str, covered: int, stop: int) -> int:
    """Returns where a chunk ends: after the last pause of the best kind beyond `covered`."""
    if stop == len(text):
        return stop
    for pause in _PAUSES:
        ends = [match.end() for match in pause.finditer(text, covered, stop)]
        if ends:
            return ends[-1]
    return stop
