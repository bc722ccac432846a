"""Where a query matches in a text: ranges of code points of the unchanged text.

Spec: packs 6.
"""

from __future__ import annotations

from functools import cache

from ibidem.index.analysis import analyse_positions, analyser_of
from ibidem.index.analysis.symbols import symbol_positions
from ibidem.retrieve.lexical.words import phrases_of, query_symbols, terms_of
from ibidem.retrieve.query.query import Query

SPANS_MAX = 64
"""The largest number of ranges for one hit."""

Span = tuple[int, int]


class Matcher:
    """Finds the phrases of a query or, if it has none, its terms, by the analyser of each text, and
    its symbols."""

    def __init__(self, query: Query) -> None:
        self._symbols = query_symbols(query)
        text = query.text or ""

        @cache
        def phrases(analyser: str) -> list[tuple[str, ...]]:
            found = phrases_of(text, analyser) if query.match.phrases else ()
            terms = dict.fromkeys(terms_of(text, analyser, accents=query.match.accents))
            return [phrase for phrase in found if phrase] or [(term,) for term in terms]

        self._phrases = phrases

    def spans(self, text: str, home: str) -> tuple[Span, ...]:
        """Returns half-open ranges of code points, ascending, without repeats; `home` is the home
        analyser of the text."""
        analyser = analyser_of(text, home)
        phrases = self._phrases(analyser)
        found = analyse_positions(text, analyser)
        terms = tuple(term for term, _, _ in found)
        by_first: dict[str, list[tuple[str, ...]]] = {}
        for phrase in phrases:
            by_first.setdefault(phrase[0], []).append(phrase)
        spans = {
            (found[at][1], found[at + len(phrase) - 1][2])
            for at, term in enumerate(terms)
            for phrase in by_first.get(term, ())
            if terms[at : at + len(phrase)] == phrase
        }
        if self._symbols:
            spans |= {
                (start, stop)
                for symbol, start, stop in symbol_positions(text)
                if symbol in self._symbols
            }
        return tuple(sorted(spans)[:SPANS_MAX])
