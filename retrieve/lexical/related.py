"""Related words of a question: the terms that may stand for its own in the passages it has found.

Problem: a passage that answers a question shares some of its words, and says the others in its own
way. To look for every related word would read many long posting lists, and find texts about
something else. Idea: the best passages by the question's own words are scored again anyway
(`heading.py`), and there each word counts as itself or as a related one, whichever adds more.

Invariant: nothing is found by a related word alone, and two words for the same do not add up.

Spec: retrieval 4.1.8.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from ibidem.index.analysis import ENGLISH, analyse, analyser_of
from ibidem.index.analysis.related import related_terms
from ibidem.retrieve.lexical.bm25 import Scorer, WeightedTerm, idf
from ibidem.retrieve.lexical.postings import MergedPostings

RELATED_WEIGHT = 0.9
"""A related term has this share of the weight of the question's term, or of its own where that is
smaller. Of 0.5 to 1.0 the best over 280 questions (`docs/design/lexical.md`)."""


class Related(NamedTuple):
    """A term that may stand for one of the question."""

    row: int
    """The position of the question's term among the scorer's."""
    text: str
    postings: MergedPostings
    weight: float


def with_related(scorer: Scorer) -> tuple[Scorer, list[Related]]:
    """Returns a scorer, and of the terms that documents of the view have those that may stand for
    its terms.

    Where related words count, the scorer is given the terms of the question that have some and that
    no document has: they need them most, and by themselves they add 0.0, which changes no sum.

    Spec: retrieval 4.1.8.
    """
    view, statistics, query = scorer.lexical_view, scorer.statistics, scorer.query
    if query.text is None or not query.match.related:
        return scorer, []
    home = scorer.view.snapshot.config.analyser
    if analyser_of(query.text, home, statistics.analysers or (home,)) != ENGLISH:
        return scorer, []
    own = {term.text for term in scorer.terms}
    missing = Counter(
        text for text in analyse(query.text, ENGLISH) if text not in own and related_terms(text)
    )
    terms = [
        WeightedTerm(
            text,
            view.term(text, statistics, query.k1, query.b),
            count * idf(statistics.documents, 0),
        )
        for text, count in missing.items()
    ]
    terms = sorted([*scorer.terms, *terms], key=attrgetter("text"))
    found: list[Related] = []
    for row, term in enumerate(terms):
        for text in related_terms(term.text):
            if text in own:
                continue
            postings = view.term(text, statistics, query.k1, query.b)
            if not postings.frequency:
                continue
            own_weight = idf(statistics.documents, postings.frequency)
            weight = RELATED_WEIGHT * min(term.weight, own_weight)
            found.append(Related(row, text, postings, weight))
    return replace(scorer, terms=terms), found
