"""Where a text may be cut: the pieces that it consists of; and which of it is sentences of prose.

A piece is a row of a table, a line of code, or a sentence. Prose that is wrapped by hand is one
line, however many line feeds it has, and is divided where its sentences end; everything else is
divided between its lines. Pieces follow from the text alone.

Questions that were recorded before sentences counted have lines alone as pieces.

Spec: packs 7.1 to 7.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

PIECE_CHARS_MAX = 300
"""A longer sentence is divided between lines or words."""
SENTENCE_CHARS_MIN = 40
"""A shorter one is no piece: `e.g. ` and `1. ` only look like the end of a sentence."""
WRAPPED_CHARS_MIN = 40
"""The next line never continues a shorter one, which is a row, an address or a verse."""

BLANK = " \t\r\f\v"
_CLAUSE = re.compile(r"(?<=[.!?:;])[ \t]+|(?<=[\u3002\uff01\uff1f])")
_SMALL = "a-z\u00df-\u00f6\u00f8-\u00ff\u03ac-\u03ce\u0430-\u045f"
"""The small letters of the most common alphabets."""
_STOPS = ".!?\u061f\u06d4\u2026"
"""What ends a sentence if white space follows."""
_WIDE_STOPS = "\u0964\u0965\u3002\uff01\uff1f"
"""What ends a sentence whatever follows."""
_CLOSING = "\"')\\]*_`\u00bb\u2019\u201d\u300b\u300d\u300f\uff09"
_SENTENCE = re.compile(
    rf"(?<![ \t\n.(][^ \t\n])[{_STOPS}][{_CLOSING}]*[ \t\r\n\f\v]++(?![{_SMALL}])"
    rf"|[{_WIDE_STOPS}][{_CLOSING}]*"
)
"""The end of a sentence, but not after a single letter or digit, nor before a small letter."""
_WORD = re.compile(rf"[{_SMALL}]+(?:[-'\u2019][{_SMALL}]+)*[.,;:!?)\"\u2019\u201d]*(?:[ \t]|\Z)")
"""A word that a line of prose goes on with: a row, a record and most code begin otherwise."""
QUOTES = r"(?:>[ \t]?)+"
"""What each line of a quotation begins with, as a pattern."""
_QUOTES = re.compile(QUOTES)
_MARK = re.compile(r"(?:[-*+>\u2022]|#+|\.\.|(?:[0-9]+|[A-Za-z])[.)]|:[^:`]+:)(?:[ \t]+|$)")
"""What an item of a list, a heading, a directive or a field begins with."""
_OPENER = re.compile(
    r":[ \t\r\f\v]*\Z|(?:\A|\n)[ \t\r\f\v]*(?:`{3,}|~{3,})[ \t]*[^ \t`~\r\f\v][^`\n]*\Z"
)
"""The end of a line that says that something follows: a colon, or a fence with a language."""
_COLUMNS = re.compile(r"\t|   |\|")
_OPEN = tuple("([{=\\;:")
"""What a line ends with that the next one does not continue as a sentence."""
_ITEM = re.compile(rf"{QUOTES}|(?:[-*+\u2022]|(?:[0-9]+|[A-Za-z])[.)])[ \t]+")
"""What stands before a sentence and is no part of it: quotes, or the mark of an item of a list."""
_PROSE = re.compile(
    rf"(?:[\"'(\[*_`:\u00ab\u2018\u201c\u00bf\u00a1]|(?![{_SMALL}])[^\W_]).*"
    rf"[{_STOPS}{_WIDE_STOPS}][{_CLOSING}]*",
    re.DOTALL,
)
"""A text that begins and ends as a sentence does."""
_LANGUAGE_WORD = re.compile(r"[\"'(\[*_]*+(?:[0-9A-Za-z'-]|[^\0-\x7f])++[\"')\]*_.,;:!?]*+")
"""A word of a language, not of code: no sign of ASCII is within it."""


def pieces_of(text: str, sentences: bool) -> Iterator[int]:
    """Yields the start of each piece of a text, ascending.

    Args:
        text: any.
        sentences: whether wrapped lines are one, which is divided where its sentences end. If not,
            each line is a piece, and a long one is divided after each of `.!?:;`.

    >>> list(pieces_of("* a\\n  b\\n\\n* c\\n", True)), list(pieces_of("", True))
    ([0, 9], [])
    >>> text = "A sentence that goes on until the line is\\nfull. Its next sentence\\n\\n| a | b |"
    >>> [text[at:][:4] for at in pieces_of(text, True)]
    ['A se', 'Its ', '| a ']
    """
    lines, ends = (_wrapped, _sentence_ends) if sentences else (_lines, _clause_ends)
    least = PIECE_CHARS_MAX // 2 if sentences else 0
    begun, depth, is_open = -1, 0, False
    for at, line in lines(text):
        if not line.strip(BLANK):
            continue
        indent = _indent(line)
        is_below = begun >= 0 and (indent > depth or is_open)
        if not is_below or at + len(line) + 1 - begun > PIECE_CHARS_MAX:
            begun, depth = at, indent
            yield at
        is_open = sentences and _OPENER.search(line) is not None
        for cut in _cuts(line, ends(line), least):
            begun, depth = at + cut, indent
            yield begun


def prose_of(text: str) -> Iterator[tuple[int, int]]:
    """Yields the start and the end of each sentence of prose in a text, ascending.

    That is a part of a line, with those that continue it, that begins with no small letter, ends
    with a full stop, a question mark or an exclamation mark, closes the brackets that it opens, and
    has at least two words of a language for each other word. Tables, headings, directives and
    fields have none, and the mark of an item of a list is no part of its first sentence.

    >>> text = "* It shows a page. See ``render(page)``::\\n\\n    View.render(page)"
    >>> [text[start:end] for start, end in prose_of(text)]
    ['It shows a page.']
    """
    for at, line in _wrapped(text):
        begin = _indent(line)
        item = _ITEM.match(line, begin)
        begin = item.end() if item else begin
        first = line[begin:].partition("\n")[0].strip(BLANK)
        if _MARK.match(first) or _COLUMNS.search(first):
            continue
        ends = (one.end() for one in _SENTENCE.finditer(line, begin))
        for end in chain(ends, (len(line),)):
            sentence = line[begin:end].rstrip()
            if (
                _PROSE.fullmatch(sentence)
                and sentence.count("(") == sentence.count(")")
                and has_words(sentence)
            ):
                yield at + begin, at + begin + len(sentence)
            begin = end


def has_words(text: str) -> bool:
    """Returns whether a text has at least two words of a language for each other word.

    >>> has_words("Opening a gate"), has_words("gate.open(width=3)")
    (True, False)
    """
    words = text.split()
    return 3 * sum(_LANGUAGE_WORD.fullmatch(word) is not None for word in words) >= 2 * len(words)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    while at <= len(text):
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        yield at, text[at:stop]
        at = stop + 1


def _wrapped(text: str) -> Iterator[tuple[int, str]]:
    """Yields the lines of a text, those that continue one joined to it."""
    start = stop = 0
    last: str | None = None
    for at, line in _lines(text):
        if last is not None and not _continues(last, line):
            yield start, text[start:stop]
            start = at
        stop, last = at + len(line), line
    yield start, text[start:stop]


def _continues(line: str, after: str) -> bool:
    """Returns whether the line after a line goes on with it."""
    own, other = line.strip(BLANK), after.strip(BLANK)
    if len(line.rstrip(BLANK)) < WRAPPED_CHARS_MIN or own.endswith(_OPEN):
        return False
    depth = _indent(line)
    if quotes := _QUOTES.match(own):
        if not other.startswith(quotes[0]):
            return False
        own, other = own[quotes.end() :].strip(BLANK), other[quotes.end() :].strip(BLANK)
    elif mark := _MARK.match(own):
        depth += len(mark[0])
    if _COLUMNS.search(own) or _COLUMNS.search(other):
        return False
    return _indent(after) == depth and _WORD.match(other) is not None


def _sentence_ends(line: str) -> Iterator[int]:
    last = 0
    for found in _SENTENCE.finditer(line):
        if found.end() - last >= SENTENCE_CHARS_MIN:
            last = found.end()
            yield last


def _clause_ends(line: str) -> Iterator[int]:
    if len(line) > PIECE_CHARS_MAX:
        yield from (found.end() for found in _CLAUSE.finditer(line))


def _cuts(line: str, ends: Iterable[int], least: int) -> Iterator[int]:
    """Yields where a line is divided, at its ends and where a part is too long, without the start
    and the end of the line.

    Args:
        line: without its end.
        ends: where it is divided, ascending.
        least: the fewest code points before a line feed or space at which a longer part is divided.
    """
    at = 0
    for end in chain(ends, (len(line),)):
        while end - at > PIECE_CHARS_MAX:
            low, room = at + least, at + PIECE_CHARS_MAX
            at = line.rfind("\n", low, room) + 1 or line.rfind(" ", low, room) + 1 or room
            yield at
        if at < end < len(line):
            yield end
        at = end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
