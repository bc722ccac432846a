"""Where a query matches in a text: ranges of code points of the unchanged text.

Spec: packs 6.
"""

from __future__ import annotations

from ibidem.index.analysis import analyse, analyse_positions
from ibidem.retrieve.lexical.phrase import phrases_of
from ibidem.retrieve.query.query import Query

SPANS_MAX = 64
"""The largest number of ranges for one hit."""

Span = tuple[int, int]


class Matcher:
    """Finds the phrases of a query or, if it has none, its terms."""

    def __init__(self, query: Query, analyser: str) -> None:
        self._analyser = analyser
        text = query.text or ""
        phrases = phrases_of(text, analyser) if query.match.phrases else []
        self._phrases = phrases or [[term] for term in dict.fromkeys(analyse(text, analyser))]

    def spans(self, text: str) -> tuple[Span, ...]:
        """Returns half-open ranges of code points, ascending, without repeats."""
        if not self._phrases:
            return ()
        found = analyse_positions(text, self._analyser)
        terms = [term for term, _, _ in found]
        by_first: dict[str, list[list[str]]] = {}
        for phrase in self._phrases:
            by_first.setdefault(phrase[0], []).append(phrase)
        spans = {
            (found[at][1], found[at + len(phrase) - 1][2])
            for at, term in enumerate(terms)
            for phrase in by_first.get(term, ())
            if terms[at : at + len(phrase)] == phrase
        }
        return tuple(sorted(spans)[:SPANS_MAX])
