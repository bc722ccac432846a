"""Removes the running headers and footers of PDF pages, and their numbers, from the text.

Such a line is at the edge of its page and repeats on other pages, with the numbers of the pages or
without. Of lines that repeat without one, the first stays. A line that has the number of its page
and words of its own is text: it may be a numbered heading or a footnote. So is one of a single word
and the number, such as "Lesson 3", unless the word means a page or stands on another page alone or
after the number, as the title in a header does.

In a book the header may be the titles of its chapter and section, and so another one on each page.
Bookmarks name them: a line above the text of two titles, or of a chapter that began on a
page before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise

from ibidem.ingest.html_tree import words

EDGE_LINES_MAX = 3
"""The most lines that a header or a footer has."""
PAGES_MIN = 3
"""A line that is on fewer pages is ordinary text."""
_DISTANCE_MAX = 2
"""In pages, to the next page with the same line: left and right pages have headers of their own."""
_LETTER = re.compile(r"[^\W_]")
_BARE = re.compile(r"[^\W_](?:\S*[^\W_])?")
"""A word without the marks around it."""
_NUMBER = re.compile(r"[0-9]{1,5}")
_PAGE = words(
    "oldal p pag page pages pagina página pg s sayfa seite sida side sivu str strana stránka strona"
)
"""Words for a page, in lower case."""
_WORD = re.compile(r"\w+")
_TITLE_CHARS_MAX = 300
"""A line with more characters is text."""
_NUMBER_WORDS_MAX = 4
"""The most words before a title, such as "Appendix B" or "2 10 1"."""
_CUT = ("\u2026", "...")
"""What ends a title that is too long for its line."""
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
        found = [
            [[word for word in lines[at].split() if _LETTER.search(word)] for at in edge]
            for lines, edge in zip(pages, edges, strict=True)
        ]
        _mark_numbers(found, labels)
        for lines, edge, running in zip(pages, edges, _running(found), strict=True):
            for at in sorted((edge[depth] for depth in running), reverse=True):
                del lines[at]
    return ["\n".join(lines) for lines in pages]


def without_titles(texts: Sequence[str], titles: Mapping[int, Sequence[str]]) -> list[str]:
    """Returns the texts of pages without headers that are titles of chapters and sections.

    Args:
        titles: those that begin on each page, which counts from 0.
    """
    found: list[str] = []
    earlier: set[str] = set()
    for index, text in enumerate(texts):
        new = {" ".join(_words(title)) for title in titles.get(index, ())}
        lines = text.split("\n")
        for at in _edge(lines, from_end=False)[:1]:
            if len(lines[at]) <= _TITLE_CHARS_MAX and _has_titles(lines[at], earlier, new):
                del lines[at]
        found.append("\n".join(lines))
        earlier |= new
    return found


def _has_titles(line: str, earlier: set[str], new: set[str]) -> bool:
    """Returns whether a line has the titles of a chapter and of a section, or of a chapter that
    began earlier, each after its number."""
    words = _words(line)
    ends: set[str] = set()
    for start in _title_starts(words):
        for stop in range(start + 1, len(words) + 1):
            chapter = " ".join(words[start:stop])
            if stop == len(words) and chapter in earlier:
                return True
            if chapter in earlier or chapter in new:
                rest = words[stop:]
                ends.update(" ".join(rest[at:]) for at in _title_starts(rest))
    if not ends.isdisjoint(earlier) or not ends.isdisjoint(new):
        return True
    begins = tuple(ends) if line.rstrip().endswith(_CUT) else ()
    return bool(begins) and any(one.startswith(begins) for one in chain(earlier, new))


def _title_starts(words: Sequence[str]) -> Iterator[int]:
    """Yields each index of a word before which is a number, at most with a word before it."""
    for start in range(1, min(len(words), _NUMBER_WORDS_MAX + 1)):
        number = words[1:start] if start > 1 and words[0].isalpha() else words[:start]
        if all(word.isdecimal() or len(word) == 1 for word in number):
            yield start


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _edge(lines: Sequence[str], *, from_end: bool) -> list[int]:
    """Returns the indices of the first lines with a word, or of the last, outermost first."""
    order = range(len(lines))
    found = (at for at in (reversed(order) if from_end else order) if _LETTER.search(lines[at]))
    return list(islice(found, EDGE_LINES_MAX))


def _mark_numbers(pages: Sequence[list[list[str]]], labels: Sequence[str]) -> None:
    """Replaces the number of each page in the words of its lines, if most pages have one."""
    shifts = Counter(
        shift
        for index, lines in enumerate(pages)
        for shift in {
            int(bare) - index
            for line in lines
            for bare in map(_bare, line)
            if _NUMBER.fullmatch(bare)
        }
    )
    shift, count = max(shifts.items(), key=lambda item: (item[1], -item[0]), default=(0, 0))
    is_numbered = count >= max(PAGES_MIN, len(pages) / 2)
    for index, lines in enumerate(pages):
        numbers = {str(index + shift)} if is_numbered else set()
        if not labels[index].isdecimal():
            numbers.add(labels[index])
        for line in lines:
            line[:] = [_HERE if _bare(word) in numbers else word for word in line]


def _bare(word: str) -> str:
    """Returns a word without the marks around it.

    >>> _bare("(3)"), _bare("2.1."), _bare("C++")
    ('3', '2.1', 'C')
    """
    match = _BARE.search(word)
    return "" if match is None else match[0]


def _is_heading(key: tuple[str, ...], where: Container[tuple[str, ...]]) -> bool:
    """Returns whether a line is the heading of a numbered part: "Lesson 3" on page 3."""
    if len(key) != 2 or key[0] == _HERE or key[1] != _HERE:
        return False
    word = key[0]
    is_title = (word,) in where or (_HERE, word) in where
    return not is_title and _bare(word).lower() not in _PAGE and _bare(word).isalpha()


def _running(pages: Sequence[list[list[str]]]) -> Iterator[list[int]]:
    """Yields for each page which of its lines are running ones that are removed."""
    where: dict[tuple[str, ...], list[int]] = {}
    for index, lines in enumerate(pages):
        for key in set(map(tuple, lines)):
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
        for depth, line in enumerate(lines):
            key = tuple(line)
            if _is_heading(key, where):
                break
            is_number = _HERE in (line[0], line[-1]) and not has_number
            if not is_number and key not in repeated:
                break
            has_number = has_number or is_number
            if where[key][0] != index or key == (_HERE,) or (_HERE in key and len(where[key]) > 1):
                removed.append(depth)
        yield removed
