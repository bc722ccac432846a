"""Terms at edit distance 1 of a query term.

A typo changes the stem of a word by more than a character where it hides the ending. So the terms
that the word is after one edit are near too, whatever their distance: without one of its
characters, with two neighbouring ones swapped, with one letter more, or with another one.

Spec: retrieval 4.1.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from ibidem.retrieve.lexical.bm25 import frequency
from ibidem.retrieve.lexical.statistics import Statistics
from ibidem.retrieve.lexical.view import LexicalView
from ibidem.retrieve.lexical.words import Word, edited_terms
from ibidem.retrieve.query.query import Query


def near_terms(
    lexical_view: LexicalView,
    statistics: Statistics,
    words: Collection[Word],
    frequencies: Mapping[str, int],
    query: Query,
    home: str,
    wide: Mapping[Word, Word],
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
        wide: what words are that have forms of more analysers than the documents mostly have.
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
    edited = edited_terms(query, home, statistics.analysers, expanded, wide)
    own = {form for word in words for form in word}
    for word in expanded:
        ranked: list[tuple[int, str]] = []
        candidates = {
            other
            for text in word
            if len(text) >= fuzzy.length
            for segment in lexical_view.segments
            for other in segment.terms_near(text)
        } | edited[word]
        for other in _held(lexical_view, candidates - own):
            count = lexical_view.term(other, statistics, query.k1, query.b).frequency
            if count:
                ranked.append((-count, other))
        found[word] = [other for _, other in sorted(ranked)[: fuzzy.terms]]
    return found


def _held(lexical_view: LexicalView, terms: Iterable[str]) -> Iterator[str]:
    """Yields those of many terms that any row has; the others leave no trace in a cache."""
    for term in terms:
        if any(segment.term(term) is not None for segment in lexical_view.segments):
            yield term
