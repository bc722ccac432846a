"""Text to terms, the same for documents and queries, on every machine and every Python.

An analyser is a name for a frozen function: folding (`fold.py`), word finding (`words.py`) and, for
a language, its stop words and stems (`language.py`). The terms of each chunk of text between spaces
are cached, so that running text costs one dictionary look-up per word.

A repository names one analyser, and a node may name another. If it is that of a language, it is
for the texts whose stop words say nothing else: `analyser_of` chooses for each text.

Spec: analysis 2 and 7.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Generic, TypeVar

from ibidem.index.analysis.fold import ASCII_FOLD_BYTES, fold, fold_with_origins
from ibidem.index.analysis.language import (
    LANGUAGES,
    languages_by_word,
    stems,
    stop_words,
)
from ibidem.index.analysis.words import Span, folded_words, is_one_word, plain_spans, stemmed_spans
from ibidem.objects.errors import ErrorKind, FormatError

UNICODE = "unicode-1"
"""Words of every script, whole: no stemming, no stop words."""
ENGLISH = "english-1"
"""The same, with English endings, accents and stop words removed."""
ANALYSERS = (ENGLISH, UNICODE, *(f"{name}-1" for name in LANGUAGES))
"""Every analyser that this version knows, the default first; an index stores the position."""
HOME = "analyser"
"""The property of a node that names the home analyser of its text."""
_OTHER_WORDS_MIN = 2
"""So many different words at least say that a text is not in the language of the repository."""

T = TypeVar("T")
_CHUNK = re.compile("[^ ]+")
_REMEMBERED_LENGTH_MAX = 64
_NONE: frozenset[str] = frozenset()


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
    known_terms, whole = remembered_terms(analyser)
    found = _positions(text, known_terms)
    return _positions(text, whole) if not found and whole is not None else found


def folded(text: str) -> str:
    """Returns a text folded, in chunks between spaces that can be analysed each on its own."""
    # A line feed always separates words, so lines can be folded one at a time: most are ASCII and
    # fold fast.
    plain = fold(text) if text.isascii() else " ".join(map(fold, text.split("\n")))
    # A point before a space ends a sentence: removing it here lets "word." and "word" share a cache
    # entry.
    return plain.replace(". ", " ")


def folded_bytes(text: str) -> bytes:
    """Returns the same in UTF-8."""
    if not text.isascii():
        return folded(text).encode()
    return text.encode().translate(ASCII_FOLD_BYTES).replace(b". ", b" ")


def home_of(props: Mapping[str, object], home: str) -> str:
    """Returns the home analyser of a node's text: the one that its properties name, or else the
    repository's, which stays if it is `unicode-1`.

    Spec: analysis 7.

    >>> home_of({"analyser": "german-1"}, "english-1"), home_of({"analyser": "?"}, "english-1")
    ('german-1', 'english-1')
    """
    own = props.get(HOME)
    return own if isinstance(own, str) and own in ANALYSERS and home != UNICODE else home


def has_language(props: Mapping[str, object], summary: str | None) -> bool:
    """Returns whether a part of a document says anything in a language of people, which code does
    not; only such parts have the home of their document.

    Spec: format 5.1.
    """
    return bool(summary) and props.get("format") != "code"


def analyser_of(text: str, home: str, among: Sequence[str] = ANALYSERS) -> str:
    """Returns the analyser of a text: that of the language with most of its stop words.

    Args:
        text: any text.
        home: that of the node (`home_of`), for texts in which no language has more of them than its
            own; `unicode-1` is for all texts.
        among: the analysers to choose from, not empty; the first if `home` is not one of them.

    Spec: analysis 7.

    >>> analyser_of("Der Hund und die Katze", "english-1"), analyser_of("Katze", "english-1")
    ('german-1', 'english-1')
    """
    return analyser_of_chunks(folded(text).split(), home, among)


def analyser_of_chunks(chunks: Sequence[str], home: str, among: Sequence[str] = ANALYSERS) -> str:
    """Returns the same for the chunks of a folded text."""
    if home not in among:
        home = among[0]
    if home == UNICODE:
        return home
    words = Counter(chain.from_iterable(map(_votes().__getitem__, chunks)))
    by_word = languages_by_word()
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for name in by_word[word]:
            counts[f"{name}-1"] += count
    best = max(among, key=lambda one: (counts[one], one == home))
    if counts[best] == counts[home]:
        return home
    its, own = (
        {word for word in words if one.removesuffix("-1") in by_word[word]} for one in (best, home)
    )
    return best if len(its - own) >= max(_OTHER_WORDS_MIN, len(own - its) + 1) else home


class _Generations(dict[str, tuple[T, ...]], Generic[T]):
    """A cache of what is computed from a chunk, in two generations of about `size_max`.

    A full younger generation becomes the older one; a hit in the older one moves the chunk back.
    """

    size_max = 1 << 17
    """Chunks and what belongs to them, counted together: a chunk of a script without spaces has
    many terms."""

    def __init__(self) -> None:
        super().__init__()
        self.older: dict[str, tuple[T, ...]] = {}
        self._size = 0

    def compute(self, chunk: str) -> tuple[T, ...]:
        """Returns what belongs to a chunk."""
        raise NotImplementedError

    def __missing__(self, chunk: str) -> tuple[T, ...]:
        found = self.older.get(chunk)
        if found is None:
            found = self.compute(chunk)
            if len(chunk) > _REMEMBERED_LENGTH_MAX:
                return found
        if self._size >= self.size_max:
            self.older = dict(self)
            self.clear()
            self._size = 0
        self[chunk] = found
        self._size += 1 + len(found)
        return found


class Votes(_Generations[str]):
    """By chunk, those of its words that are stop words of a language in Latin script."""

    def compute(self, chunk: str) -> tuple[str, ...]:
        """Returns them in order."""
        by_word = languages_by_word()
        return tuple(word for word in folded_words(chunk) if word in by_word)


class TermCache(_Generations[str]):
    """By chunk, its terms."""

    def __init__(self) -> None:
        super().__init__()
        self.with_ranges = _SpanCache(self)

    def spans(self, chunk: str) -> Iterator[Span]:
        """Yields the terms of a chunk with their ranges."""
        return plain_spans(chunk)

    def compute(self, chunk: str) -> tuple[str, ...]:
        """Returns the terms in order."""
        return tuple(term for term, _, _ in self.spans(chunk))


class _SpanCache(_Generations[Span]):
    """By chunk, its terms with their ranges."""

    def __init__(self, terms: TermCache) -> None:
        super().__init__()
        self._terms = terms

    def compute(self, chunk: str) -> tuple[Span, ...]:
        """Returns the terms in order."""
        return tuple(self._terms.spans(chunk))


class _Stemmed(TermCache):
    def __init__(self, name: str, *, drops: bool) -> None:
        super().__init__()
        self._stem = stems(name)
        self._is_english = name == "english"
        self._dropped = stop_words(name, in_ascii=True) if drops else _NONE
        self._drops, self._name = drops, name

    def compute(self, chunk: str) -> tuple[str, ...]:
        """Returns the terms in order; those of one word, which most chunks are, in one step."""
        if not is_one_word(chunk):
            return super().compute(chunk)
        word = chunk.lower()
        return () if word in self._dropped else (self._stem(word),)

    def spans(self, chunk: str) -> Iterator[Span]:
        dropped = self._dropped
        if self._drops and not chunk.isascii():
            dropped = stop_words(self._name)
        return stemmed_spans(chunk, self._stem, dropped, is_english=self._is_english)


@cache
def _votes() -> Votes:
    return Votes()


@cache
def remembered_terms(analyser: str) -> tuple[TermCache, TermCache | None]:
    """Returns the cache of terms by chunk, and the one for texts of stop words only (None if the
    analyser has no stop words).

    Raises:
        FormatError: `analyser` is unknown (kind unsupported-semantics).
    """
    if analyser not in ANALYSERS:
        raise FormatError(
            f"analyser: got {analyser!r}, expected one of {', '.join(ANALYSERS)}",
            kind=ErrorKind.UNSUPPORTED_SEMANTICS,
            hint="upgrade ibidem, or choose a known analyser for this repository",
        )
    if analyser == UNICODE:
        return TermCache(), None
    name = analyser.removesuffix("-1")
    return _Stemmed(name, drops=True), _Stemmed(name, drops=False)


def _positions(text: str, known_terms: TermCache) -> list[tuple[str, int, int]]:
    """Returns terms with ranges; a range ends at the origin of the next folded character.

    So a character that folds to nothing, such as a trailing vowel sign, belongs to the term before
    it.
    """
    known = known_terms.with_ranges
    if text.isascii():
        return [
            (term, match.start() + start, match.start() + stop)
            for match in _CHUNK.finditer(fold(text))
            for term, start, stop in known[match[0]]
        ]
    plain, origins = fold_with_origins(text)
    origins.append(len(text))
    out = []
    for match in _CHUNK.finditer(plain):
        at = match.start()
        for term, start, stop in known[match[0]]:
            covered = origins[at + start : at + stop]
            out.append((term, min(covered), max(*covered, origins[at + stop] - 1) + 1))
    return out
