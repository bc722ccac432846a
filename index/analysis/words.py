"""Folded text to terms: where words begin and end, identifiers, and scripts that write no spaces.

Folded text is cut at spaces into chunks; everything here depends on one chunk alone, so that its
terms can be remembered. A chunk is cut at `.` (not between digits) and `'` into words; a word that
is an identifier gives itself and its parts; runs of scripts written without spaces give overlapping
pairs.

Spec: analysis 4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from ibidem.index.analysis.fold import ASCII_LOWER, is_mark

TERM_MAX = 64
"""Longest term in code points; a longer word is cut to its first 64."""

Span = tuple[str, int, int]
"""A term with its half-open range in the chunk, in code points."""

_WORD = re.compile(r"[^.']+(?:(?<=[0-9])\.(?=[0-9])[^.']+)*")
_CONTRACTION = re.compile(r"'(?:[sStTdDmM]|[lL][lL]|[rR][eE]|[vV][eE])(?![^.'])")
_CAMEL_PART = r"[A-Z]{2,}s?[0-9]*(?![a-z])|[A-Z]?[a-z]+[0-9]*|[A-Z]+(?![a-z])[0-9]*"
_CAMEL_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*\Z")
_CAMEL_STEP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")
_PLAIN = re.compile(r"[^_.]+")
_DUNDER = re.compile(r"__[^_](?:.*[^_])?__\Z")

# One character of these stands for a word or most of one: Han, Hangul syllables and jamo, and other
# logographs.
_LOGOGRAPHIC_RANGES = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\U00012000-\U0001254f\U00013000-\U0001343f\U00014400-\U0001467f"
    "\U00016fe0-\U00018d8f\U0001b170-\U0001b2ff\U00020000-\U0003fffd"
)
# These write syllables or letters, without spaces: Thai, Lao, Myanmar, Khmer, Tai, Javanese,
# Balinese, kana, bopomofo.
_UNSPACED_RANGES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f\u3031-\u3035\u3040-\u312f"
    "\u31a0-\u31bf\u31f0-\u31ff\ua980-\ua9ff\uaa60-\uaadf\U0001aff0-\U0001b16f"
)
_MARK, _SPACED, _UNSPACED, _LOGOGRAPH = range(4)


class _CharClasses(dict[str, int]):
    """The class of each character met so far, bounded by the size of Unicode."""

    def __missing__(self, char: str) -> int:
        if is_mark(char):
            found = _MARK
        elif _one_of(_LOGOGRAPHIC_RANGES).match(char):
            found = _LOGOGRAPH
        else:
            found = _UNSPACED if _one_of(_UNSPACED_RANGES).match(char) else _SPACED
        self[char] = found
        return found


@cache
def _one_of(ranges: str) -> re.Pattern[str]:
    """Returns a pattern whose compiling costs milliseconds, so only once it is needed."""
    return re.compile(f"[{ranges}]")


_CHAR_CLASSES = _CharClasses()


def folded_words(chunk: str) -> Iterator[str]:
    """Yields the words of a chunk, before any is divided further."""
    return map(_lower, _WORD.findall(chunk))


def plain_spans(chunk: str) -> Iterator[Span]:
    """Yields the terms of a chunk in order of their start, longer ones first."""
    if is_one_word(chunk):
        yield chunk.lower(), 0, len(chunk)
        return
    for match in _WORD.finditer(chunk):
        yield from _word_spans(match[0], match.start())


def stemmed_spans(
    chunk: str, stem: Callable[[str], str], stop_words: frozenset[str], *, is_english: bool
) -> Iterator[Span]:
    """Yields the terms of a chunk as `plain_spans` does, without stop words and as their stems.

    In English, `'s` and other contracted endings are dropped; a word before `n't` is an auxiliary
    and treated as a stop word.

    Args:
        chunk: of folded text.
        stem: gives the stem of a term of any script, not empty.
        stop_words: terms that are left out.
        is_english: whether words may be contracted.
    """
    if is_one_word(chunk):
        word = chunk.lower()
        if word not in stop_words:
            yield stem(word), 0, len(chunk)
        return
    stop = 0
    for match in _WORD.finditer(chunk):
        if match.start() < stop:
            continue
        word, stop = match[0], match.end()
        contraction = _CONTRACTION.match(chunk, stop) if is_english else None
        if contraction is not None and contraction[0] in ("'t", "'T"):
            contraction = contraction if word[-1] in "nN" and len(word) > 1 else None
            if contraction is not None:
                word = "" if stop_words else word[:-1]
        if contraction is not None:
            stop = contraction.end()
        for term, start, end in _word_spans(word, match.start()):
            if term not in stop_words:
                yield stem(term), start, end


def is_one_word(chunk: str) -> bool:
    """Returns whether a chunk is certainly one word without parts: the common case, which is given
    in one step what the general one gives."""
    return chunk.isascii() and chunk.isalpha() and chunk[1:].islower() and len(chunk) <= TERM_MAX


def _word_spans(word: str, at: int) -> Iterator[Span]:
    if word.isascii():
        yield from _identifier_spans(word, at)
        return
    classes = [_CHAR_CLASSES[char] for char in word]
    if max(classes) < _UNSPACED:
        yield from _identifier_spans(word, at)
        return
    starts = [index for index, kind in enumerate(classes) if kind != _MARK or index == 0]
    first = 0
    for unit, start in enumerate(starts):
        is_last = unit + 1 == len(starts)
        if is_last or (classes[start] >= _UNSPACED) != (classes[starts[unit + 1]] >= _UNSPACED):
            bounds = [*starts[first : unit + 1], len(word) if is_last else starts[unit + 1]]
            if classes[start] >= _UNSPACED:
                yield from _pair_spans(word, bounds, classes, at)
            else:
                yield from _identifier_spans(word[bounds[0] : bounds[-1]], at + bounds[0])
            first = unit + 1


def _identifier_spans(word: str, at: int) -> Iterator[Span]:
    """Yields a word, and after it its parts if underscores, points or capitals divide it.

    Underscores around a word are no part of it, except two on both sides, as in `__init__`: that is
    a term of its own.
    """
    if word.startswith("__") and _DUNDER.match(word):
        yield _lower(word), at, at + len(word)
    start, stop = 0, len(word)
    while start < stop and (word[start] == "_" or is_mark(word[start])):
        start += 1
    while start < stop and word[stop - 1] == "_":
        stop -= 1
    word, at = word[start:stop], at + start
    if not word:
        return
    yield _lower(word), at, at + len(word)
    if len(word) > TERM_MAX or (word.islower() and "_" not in word and "." not in word):
        return
    parts = [
        (part[0], piece.start() + part.start())
        for piece in _PLAIN.finditer(word)
        for part in _part_pattern(piece[0]).finditer(piece[0])
    ]
    if len(parts) > 1:
        for part, offset in parts:
            skipped = 0
            while skipped < len(part) and is_mark(part[skipped]):
                skipped += 1
            if skipped < len(part):
                yield _lower(part[skipped:]), at + offset + skipped, at + offset + len(part)


def _part_pattern(piece: str) -> re.Pattern[str]:
    is_camel = _CAMEL_WORD.match(piece) is not None and _CAMEL_STEP.search(piece) is not None
    return _camel_part() if is_camel else _PLAIN


@cache
def _camel_part() -> re.Pattern[str]:
    """Returns a pattern whose compiling costs a millisecond, so only once it is needed."""
    return re.compile(_CAMEL_PART)


def _pair_spans(word: str, bounds: list[int], classes: list[int], at: int) -> Iterator[Span]:
    """Yields pairs of neighbouring characters, each with its marks, and single logographs.

    Character i of the run, marks included, is `word[bounds[i] : bounds[i + 1]]`.
    """
    count = len(bounds) - 1
    for index in range(count):
        start, stop = bounds[index], bounds[index + 1]
        if index + 1 < count:
            pair_stop = bounds[index + 2]
            yield word[start:pair_stop][:TERM_MAX], at + start, at + pair_stop
        if count == 1 or classes[start] == _LOGOGRAPH:
            yield word[start:stop][:TERM_MAX], at + start, at + stop


def _lower(word: str) -> str:
    lowered = word.lower() if word.isascii() else word.translate(ASCII_LOWER)
    return lowered[:TERM_MAX]
