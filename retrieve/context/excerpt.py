"""Parts of a text that is too long: its beginning, or what is around the best match.

The beginning ends where a piece of the text ends, else a line, else a word (`pieces.py`). The
longest one that fits is shortened to the last end of a piece in its second half, else of a line or
a word in its last quarter, so a cut loses at most half of what there was room for. Of a pack that
is not the first, only whole pieces are shown.

For an excerpt, the piece with the most and the rarest terms of the question is the focus. It is
shown with as many pieces around it as fit, taken after and before it in turn, and a row of a table
below the header of the table. All of this is integers and follows from the text and the question.

More room never gives less text, in either way.

Spec: packs 7.1, 7.2.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Container, Sequence

from ibidem.index.analysis import analyse_positions, analyser_of
from ibidem.index.analysis.symbols import symbol_positions
from ibidem.retrieve.context.pieces import BLANK, pieces_of
from ibidem.retrieve.lexical.words import terms_of

_GOOD = re.compile(r"\n|(?<=[.!?:;])\s|(?<=[\u3002\uff01\uff1f])")
_LINE = re.compile(r"\n")
_WORD = re.compile(r"\s")

HEADER_CHARS_MAX = 500
"""A longer header is not repeated above its rows."""

_RULE = re.compile(r"(?=.*\|)(?=.*-)[|: \t-]+|\+(?:=+\+)+|=+(?: +=+)+")
"""The line below the header of a table: of pipes and dashes, of a grid, or of columns."""
_BLOCK = re.compile(
    r"^[ \t\r\f\v]*+[^ \t\r\n\f\v][^\n]*(?:\n[ \t\r\f\v]*+[^ \t\r\n\f\v][^\n]*)*", re.MULTILINE
)
"""Lines without a blank one between them."""
_DIRECTIVE = re.compile(
    r"^([ \t]*)\.\. +(?:list|csv)-table::[^\n]*"
    r"(?:\n\1[ \t]+[^ \t\r\n\f\v][^\n]*|\n[ \t\r\f\v]*+(?=\n))*",
    re.MULTILINE,
)
"""A directive with the indented lines below it."""
_OPTIONS = re.compile(r"[^\n]*(?:\n[ \t]+:[^\n]*)*")
_ROW = re.compile(r"(?:\n[ \t\r\f\v]*+(?=\n))*\n([ \t]+)[^\n]*(?:\n\1[ \t]+[^\n]*)*")
"""The next line that is not blank, with those that are indented more."""

Range = tuple[int, int]
"""A half-open range of code points."""


def clipped_text(
    text: str, fits: Callable[[str], bool], *, sentences: bool = False, whole: bool = False
) -> str:
    """Returns the beginning of a text that fits, cut at a border, without white space at its end.

    Args:
        text: any.
        fits: whether a text fits; if one does, all of its beginnings do.
        sentences: whether it ends where one of its sentences does, if that is in the second half.
        whole: with `sentences`, whether it ends there in any case, and is empty if not even the
            first one fits.

    >>> clipped_text("One. Two three four", lambda text: len(text) <= 5)
    'One.'
    >>> clipped_text("One. Two three four", lambda text: len(text) <= 17)
    'One. Two three'
    """
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(text[:middle]) else (low, middle - 1)
    if low == len(text):
        return text
    if sentences:
        before = after = 0
        for start in pieces_of(text, sentences):
            before, after = after, start
            if start > low:
                break
        else:
            before, after = after, len(text)
        ends = [len(text[:start].rstrip()) for start in (after, before)]
        end = next(one for one in ends if one <= low)
        if whole or end * 2 >= low:
            return text[:end]
    for border in (_LINE if sentences else _GOOD, _WORD):
        found = (one.start() for one in border.finditer(text, 0, low + 1))
        ends = [at for at in found if at <= low]  # an empty match can be one further on
        if ends and ends[-1] * 4 >= low * 3:
            return text[: ends[-1]].rstrip()
    return text[:low].rstrip()


def excerpt(
    text: str,
    focus: int,
    is_fit: Callable[..., bool],
    *,
    sentences: bool,
    whole: bool = False,
    start: int = 0,
    header: Range | None = None,
) -> list[Range]:
    """Returns the ranges of an excerpt: the header of a table, if there is one and it fits, and the
    part around the focus; none if nothing fits.

    Args:
        text: what may be shown, which can be an excerpt itself.
        focus: a position in the whole text, as are those returned.
        is_fit: whether ranges fit; if some do, all that they contain do.
        sentences: whether its pieces are sentences.
        whole: whether nothing is shown if the piece with the focus does not fit.
        start: the position of the text in the whole.
        header: of the table that the focus is in, if the text itself lacks it.
    """
    found = header_of(text, focus - start) if header is None else None
    if found is not None and found[1] <= focus - start:
        header = (start + found[0], start + found[1])
        text, start = text[found[1] :], header[1]
    parts = _Parts(text, start, focus, sentences)
    count = len(parts)
    if header is not None:
        if fitting := _largest(count, lambda part: is_fit(header, parts[part])):
            return [header, parts[fitting - 1]]
        count = min(count, 1)
    if fitting := _largest(count, lambda part: is_fit(parts[part])):
        return [parts[fitting - 1]]
    if whole:
        return []
    stop = parts[0][1] if count else focus
    piece = text[focus - start : stop - start]
    size = len(
        clipped_text(piece, lambda some: is_fit((focus, focus + len(some))), sentences=sentences)
    )
    return [(focus, focus + size)] if size else []


def _largest(count: int, is_fit: Callable[[int], bool]) -> int:
    """Returns how many of some things fit, if all before one that fits do."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if is_fit(middle) else (low, middle)
    return low


def focus_of(
    text: str,
    question: str,
    home: str,
    symbols: Container[str] = (),
    *,
    sentences: bool,
    accents: bool = False,
) -> int:
    """Returns the start of the piece of a text that a question is about.

    Args:
        text: any.
        question: its terms are those of the text's analyser.
        home: the home analyser of the text.
        symbols: those that the question is about.
        sentences: whether its pieces are sentences.
        accents: whether the question has the terms of other spellings, too.
    """
    analyser = analyser_of(text, home)
    wanted = set(terms_of(question, analyser, accents=accents))
    found = [(at, term) for term, at, _ in analyse_positions(text, analyser) if term in wanted]
    if symbols:
        found += [(at, one) for one, at, _ in symbol_positions(text) if one in symbols]
        found.sort()
    focus = _best([*pieces_of(text, sentences)], found)
    header = header_of(text, focus)
    if header is None:
        return focus
    stop = header[1]
    below = [stop + one for one in pieces_of(text[stop:], sentences)]
    return _best(below, [one for one in found if one[0] >= stop]) if below else focus


def _best(starts: Sequence[int], found: Sequence[tuple[int, str]]) -> int:
    """Returns the start of the best of some pieces, the first one of several; 0 for none.

    Args:
        found: the terms of the question with their positions, ascending.
    """
    held: list[set[str]] = [set() for _ in starts]
    piece = 0
    for at, term in found:
        while piece + 1 < len(starts) and starts[piece + 1] <= at:
            piece += 1
        held[piece].add(term)
    counts = Counter(term for terms in held for term in terms)
    weights = {term: 1 + (len(held) // count).bit_length() for term, count in counts.items()}

    def score(piece: int) -> int:
        own, near = held[piece], set[str]().union(*held[max(0, piece - 1) : piece + 2])
        return sum(weights[one] * (4 if one in own else 1) for one in near)

    return starts[max(range(len(held)), key=lambda piece: (score(piece), -piece))] if held else 0


def header_of(text: str, at: int, *, chars_max: int = HEADER_CHARS_MAX) -> Range | None:
    """Returns the range of the header of the table that has a position, with what stands before it
    in the text if both are short; None without a table or a header of at most `chars_max`.

    >>> header_of("Ports:\\n\\n| a | b |\\n|---|---|\\n| c | d |", 30)
    (0, 27)
    """
    found = _directive_header(text, at) or _ruled_header(text, at)
    if found is None:
        return None
    if found[1] <= HEADER_CHARS_MAX:
        return 0, found[1]
    return found if found[1] - found[0] <= chars_max else None


def _ruled_header(text: str, at: int) -> Range | None:
    """Returns the lines through the first rule below a line, in the block that has a position."""
    block = _around(_BLOCK, text, at)
    if block is None:
        return None
    stop = block.start()
    for number, line in enumerate(block[0].split("\n")):
        stop += len(line)
        if number and _RULE.fullmatch(line.strip(BLANK)):
            return block.start(), stop
        stop += 1
    return None


def _directive_header(text: str, at: int) -> Range | None:
    """Returns a directive of a table with its options and, if they say so, its first row."""
    directive = _around(_DIRECTIVE, text, at)
    if directive is None:
        return None
    options = _OPTIONS.match(text, directive.start())
    assert options is not None, "BUG: a directive without its first line"
    row = _ROW.match(text, options.end()) if ":header-rows:" in options[0] else None
    return directive.start(), (row or options).end()


def _around(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str] | None:
    """Returns the match that has a position."""
    found = (one for one in pattern.finditer(text) if one.end() > at)
    match = next(found, None)
    return match if match is not None and match.start() <= at else None


class _Parts:
    """Ranges of a text, each of which contains the one before: the piece with a position, then one
    piece more each time, after and before it in turn as long as there are some."""

    def __init__(self, text: str, start: int, focus: int, sentences: bool) -> None:
        """Takes a text, its position in the whole, a position in the whole, and whether its pieces
        are sentences."""
        self._text, self._start = text, start
        self._borders = [*pieces_of(text, sentences), len(text)]
        self._middle = max(0, bisect_right(self._borders, focus - start, 0, len(self)) - 1)

    def __len__(self) -> int:
        return len(self._borders) - 1

    def __getitem__(self, count: int) -> Range:
        after = min((count + 1) // 2, len(self) - 1 - self._middle)
        before = min(count - after, self._middle)
        start = self._borders[self._middle - before]
        shown = self._text[start : self._borders[self._middle + count - before + 1]].rstrip()
        return self._start + start, self._start + start + len(shown)
