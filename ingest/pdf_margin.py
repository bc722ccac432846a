"""Removes the running headers and footers of PDF pages, and their numbers, from the text.

Such a line is at the edge of its page and repeats on other pages, with the numbers of the pages or
without. Of lines that repeat without one, the first stays. A line that has the number of its page
and words of its own is text: it may be a numbered heading or a footnote.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

EDGE_LINES_MAX = 3
"""The most lines that a header or a footer has."""
PAGES_MIN = 3
"""A line that is on fewer pages is ordinary text."""
_DISTANCE_MAX = 2
"""In pages, to the next page with the same line: left and right pages have headers of their own."""
_WORD = re.compile(r"[^\W_](?:\S*[^\W_])?")
_NUMBER = re.compile(r"[0-9]{1,5}")
_HERE = "#"
"""In the words of a line: the number of its page."""


def without_margins(texts: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Returns the texts of pages without their running lines.

    Args:
        labels: the number of each page by the file, such as "iv"; as many as there are texts.
    """
    pages = [text.split("\n") for text in texts]
    for from_end in (False, True):
        edges = [_edge(lines, from_end=from_end) for lines in pages]
        words = [
            [_WORD.findall(lines[at]) for at in edge]
            for lines, edge in zip(pages, edges, strict=True)
        ]
        _mark_numbers(words, labels)
        for lines, edge, running in zip(pages, edges, _running(words), strict=True):
            for at in sorted((edge[depth] for depth in running), reverse=True):
                del lines[at]
    return ["\n".join(lines) for lines in pages]


def _edge(lines: Sequence[str], *, from_end: bool) -> list[int]:
    """Returns the indices of the first lines with a word, or of the last, outermost first."""
    order = range(len(lines))
    found = (at for at in (reversed(order) if from_end else order) if _WORD.search(lines[at]))
    return list(islice(found, EDGE_LINES_MAX))


def _mark_numbers(pages: Sequence[list[list[str]]], labels: Sequence[str]) -> None:
    """Replaces the number of each page in the words of its lines, if most pages have one."""
    shifts = Counter(
        shift
        for index, lines in enumerate(pages)
        for shift in {
            int(word) - index for words in lines for word in words if _NUMBER.fullmatch(word)
        }
    )
    shift, count = max(shifts.items(), key=lambda item: (item[1], -item[0]), default=(0, 0))
    is_numbered = count >= max(PAGES_MIN, len(pages) / 2)
    for index, lines in enumerate(pages):
        numbers = {str(index + shift)} if is_numbered else set()
        if not labels[index].isdecimal():
            numbers.add(labels[index])
        for words in lines:
            words[:] = [_HERE if word in numbers else word for word in words]


def _running(pages: Sequence[list[list[str]]]) -> Iterator[list[int]]:
    """Yields for each page which of its lines are running ones that are removed."""
    where: dict[tuple[str, ...], list[int]] = {}
    for index, lines in enumerate(pages):
        for key in {tuple(words) for words in lines}:
            where.setdefault(key, []).append(index)
    repeated = {
        key
        for key, found in where.items()
        if len(found) >= PAGES_MIN
        and any(after - before <= _DISTANCE_MAX for before, after in pairwise(found))
    }
    for index, lines in enumerate(pages):
        removed: list[int] = []
        has_number = False
        for depth, words in enumerate(lines):
            key = tuple(words)
            is_number = _HERE in (words[0], words[-1]) and not has_number
            if not is_number and key not in repeated:
                break
            has_number = has_number or is_number
            if where[key][0] != index or key == (_HERE,) or (_HERE in key and len(where[key]) > 1):
                removed.append(depth)
        yield removed
