"""Terms at edit distance 1 of a query term.

Problem: find all terms that differ by one insertion, deletion or replacement. Idea: such a term
shares the characters before the edit. For each position only those characters are tried that some
term of the segment has after that prefix, found by one binary search each in the sorted dictionary
(a walk of an implicit trie). The first character is another case, since a dictionary of several
scripts begins with thousands: one pass over all terms finds those with the same end. Cost: the
branching of the dictionary along the term, and a comparison of lengths for each term. The
intersection of a Levenshtein automaton with a dictionary (Schulz and Mihov, "Fast string correction
with Levenshtein automata", 2002) generalises this to larger distances.

A typo in the ending of a word changes its stem by more than a character. So the terms that the word
is without one of its characters are near too, whatever their distance.

Spec: retrieval 4.1.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ibidem.retrieve.lexical.bm25 import frequency
from ibidem.retrieve.lexical.statistics import Statistics
from ibidem.retrieve.lexical.view import LexicalView
from ibidem.retrieve.lexical.words import Word, shorter_terms
from ibidem.retrieve.protocol import LexicalSegment
from ibidem.retrieve.query.query import Query

_LAST = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def near_terms(
    lexical_view: LexicalView,
    statistics: Statistics,
    words: Collection[Word],
    frequencies: Mapping[str, int],
    query: Query,
    home: str,
) -> dict[Word, list[str]]:
    """Returns the terms that each word of the query brings in, for the words that may bring in any.

    In the spec's order: most documents first, then by text; `fuzzy.terms` of them at most.

    Args:
        lexical_view: the rows of the view.
        statistics: of the view.
        words: of the query.
        frequencies: by form of these, how many documents have it.
        query: has the option `fuzzy`.
        home: the analyser of the root's config.
    """
    fuzzy = query.match.fuzzy
    assert fuzzy is not None, "BUG: asked for near terms without the option"
    expanded: Iterable[Word] = words
    if fuzzy.rare is not None:
        expanded = [
            word
            for word in words
            if frequency(word, frequencies, statistics.documents) < fuzzy.rare
        ]
    expanded = [word for word in expanded if max(map(len, word)) >= fuzzy.length]
    found: dict[Word, list[str]] = {}
    if not expanded:
        return found
    assert query.text is not None, "BUG: words come from a text"
    shorter = shorter_terms(query.text, home, statistics.analysers, expanded)
    for word in expanded:
        ranked: list[tuple[int, str]] = []
        candidates = {
            other
            for text in word
            if len(text) >= fuzzy.length
            for segment in lexical_view.segments
            for other in _terms_near(segment, text)
        } | shorter[word]
        for other in candidates.difference(*words):
            count = lexical_view.term(other, statistics, query.k1, query.b).frequency
            if count:
                ranked.append((-count, other))
        found[word] = [other for _, other in sorted(ranked)[: fuzzy.terms]]
    return found


def _terms_near(segment: LexicalSegment, text: str) -> Iterator[str]:
    """Yields the terms of a segment at edit distance 1, some more than once."""
    for index in range(len(text) + 1):
        prefix = text[:index]
        tails = [text[index:]]
        if index < len(text):
            tails.append(text[index + 1 :])
            if _has(segment, prefix + tails[1]):
                yield prefix + tails[1]
        for other in _with_character_between(segment, prefix, tails):
            if other != text:
                yield other


def _with_character_between(
    segment: LexicalSegment, prefix: str, tails: Sequence[str]
) -> Iterator[str]:
    """Yields the terms of a segment that are a prefix, one character and one of some tails."""
    if not prefix:
        for tail in tails:
            yield from segment.terms_after_one_character(tail)
        return
    for character in _next_characters(segment, prefix):
        for tail in tails:
            if _has(segment, prefix + character + tail):
                yield prefix + character + tail


def _next_characters(segment: LexicalSegment, prefix: str) -> Iterator[str]:
    """Yields the characters that follow `prefix` in the terms of a segment, ascending."""
    code = 0
    while code <= _LAST:
        following = next(iter(segment.terms_from(prefix + chr(code))), None)
        if following is None or not following.startswith(prefix):
            return
        yield following[len(prefix)]
        code = ord(following[len(prefix)]) + 1
        if code in _SURROGATES:
            code = _SURROGATES.stop


def _has(segment: LexicalSegment, text: str) -> bool:
    return next(iter(segment.terms_from(text)), None) == text
