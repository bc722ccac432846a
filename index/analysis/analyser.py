"""Text to terms, the same for documents and queries, on every machine and every Python.

An analyser is a name for a frozen function: folding (`fold.py`), word finding (`words.py`) and, for
English, stop words and stems. The terms of each chunk of text between spaces are cached, so that
running text costs one dictionary look-up per word.

Spec: analysis 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain

from ibidem.index.analysis.fold import fold, fold_with_origins, without_accents
from ibidem.index.analysis.stem import stem
from ibidem.index.analysis.stop import STOP_WORDS
from ibidem.index.analysis.words import TERM_MAX, Span, plain_spans, stemmed_spans
from ibidem.objects.errors import ErrorKind, FormatError

UNICODE = "unicode-1"
"""Words of every script, whole: no stemming, no stop words."""
ENGLISH = "english-1"
"""The same, with English endings and stop words removed from words of ASCII letters."""
ANALYSERS = (ENGLISH, UNICODE)
"""Every analyser that this version knows, the default first."""

_CHUNK = re.compile("[^ ]+")
_GENERATION_MAX = 1 << 16
_REMEMBERED_LENGTH_MAX = 64


def analyse(text: str, analyser: str) -> list[str]:
    """Returns the terms of a text in text order, repeats kept.

    If a word and its parts are both terms, they are ordered by their start, the longer first. Any
    text is accepted, lone surrogates included: they separate words. A text of nothing but stop
    words keeps them.

    Raises:
        FormatError: `analyser` is unknown (kind unsupported-semantics).

    Spec: analysis 2.

    >>> analyse("The language's retries", "english-1")
    ['languag', 'retri']
    >>> analyse("CRÈME", "unicode-1") == analyse("crème", "unicode-1")
    True
    """
    remembered, whole = remembered_terms(analyser)
    chunks = folded(text).split()
    terms = list(chain.from_iterable(map(remembered.__getitem__, chunks)))
    if not terms and whole is not None:
        return list(chain.from_iterable(map(whole.__getitem__, chunks)))
    return terms


def analyse_positions(text: str, analyser: str) -> list[tuple[str, int, int]]:
    """Returns the terms of `analyse` with the half-open range of each in the text, in code points.

    Raises:
        FormatError: `analyser` is unknown (kind unsupported-semantics).

    Spec: analysis 2.
    """
    remembered, whole = remembered_terms(analyser)
    plain, origins = fold_with_origins(text)
    found = _positions(plain, origins, len(text), remembered)
    if not found and whole is not None:
        return _positions(plain, origins, len(text), whole)
    return found


def folded(text: str) -> str:
    """Returns a text folded, in chunks between spaces that can be analysed each on its own."""
    # A line feed always separates words, so lines can be folded one at a time: most are ASCII and
    # fold fast.
    plain = fold(text) if text.isascii() else " ".join(map(fold, text.split("\n")))
    # A point before a space ends a sentence: removing it here lets "word." and "word" share a cache
    # entry.
    return plain.replace(". ", " ")


class Remembered(dict[str, tuple[str, ...]]):
    """A cache of the terms of chunks, in two generations of at most `_GENERATION_MAX` chunks.

    A full younger generation becomes the older one; a hit in the older one moves the chunk back.
    """

    def __init__(self) -> None:
        super().__init__()
        self.older: dict[str, tuple[str, ...]] = {}

    def spans(self, chunk: str) -> Iterator[Span]:
        """Yields the terms of a chunk with their ranges."""
        return plain_spans(chunk)

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        terms = self.older.get(chunk)
        if terms is None:
            terms = tuple(term for term, _, _ in self.spans(chunk))
            if len(chunk) > _REMEMBERED_LENGTH_MAX:
                return terms
        if len(self) >= _GENERATION_MAX:
            self.older = dict(self)
            self.clear()
        self[chunk] = terms
        return terms


class _English(Remembered):
    stop_words = STOP_WORDS

    def spans(self, chunk: str) -> Iterator[Span]:
        return stemmed_spans(chunk, _english_stem, self.stop_words, is_english=True)


def _english_stem(term: str) -> str:
    """Returns the stem of a term without its accents; other scripts stay as they are."""
    plain = without_accents(term)[:TERM_MAX]
    return stem(plain) if plain.isascii() and plain.isalpha() else plain


class _EnglishWhole(_English):
    stop_words = frozenset()


@cache
def remembered_terms(analyser: str) -> tuple[Remembered, Remembered | None]:
    """Returns the cache of terms by chunk, and the one for texts of stop words only (None if the
    analyser has no stop words).

    Raises:
        FormatError: `analyser` is unknown (kind unsupported-semantics).
    """
    if analyser == ENGLISH:
        return _English(), _EnglishWhole()
    if analyser == UNICODE:
        return Remembered(), None
    raise FormatError(
        f"analyser: got {analyser!r}, expected one of {', '.join(ANALYSERS)}",
        kind=ErrorKind.UNSUPPORTED_SEMANTICS,
        hint="upgrade ibidem, or choose a known analyser for this repository",
    )


def _positions(
    text: str, origins: list[int], size: int, remembered: Remembered
) -> list[tuple[str, int, int]]:
    """Returns terms with ranges; a range ends at the origin of the next folded character.

    So a character that folds to nothing, such as a trailing vowel sign, belongs to the term before
    it.
    """
    origins = [*origins, size]
    out = []
    for match in _CHUNK.finditer(text):
        at = match.start()
        for term, start, stop in remembered.spans(match[0]):
            covered = origins[at + start : at + stop]
            out.append((term, min(covered), max(*covered, origins[at + stop] - 1) + 1))
    return out
