"""What an answer says of itself: which of the question's words its items have, and how its scores
lie.

All of it is computed from the answer in exact numbers, so it is the same wherever the answer is.

Spec: retrieval 9.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from ibidem.index.analysis import ENGLISH, analyse, analyse_positions, analyser_of
from ibidem.index.analysis.accents import first_words, spelt_terms
from ibidem.objects.record import record

if TYPE_CHECKING:
    from ibidem.retrieve.answer.item import AnswerItem
    from ibidem.retrieve.query.query import Query


class Assessable(Protocol):
    """An answer, as far as it is read here."""

    @property
    def query(self) -> Query:
        """The question."""

    @property
    def items(self) -> Sequence[AnswerItem]:
        """The items, best first."""


@record
class Coverage:
    """How many of the question's terms the items have."""

    covered_count: int
    term_count: int
    missing: tuple[str, ...]
    """The terms that no item has, in the order of the question; as its own analyser gives them."""

    @property
    def permille(self) -> int:
        """The share of the terms that some item has; 1000 for a question without terms."""
        return 1000 * self.covered_count // self.term_count if self.term_count else 1000


@record
class Distribution:
    """How the scores of the items lie."""

    count: int
    highest: float
    median: float
    """The score of the item in the middle, the later one of two."""
    lowest: float
    lead: int
    """How much the best score is above the second, in permille of the best; 1000 without a second
    one or if the best is not positive."""


@record
class Assessment:
    """What an answer says of itself."""

    coverage: Coverage
    scores: Distribution | None
    """None for an answer without items."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the assessment as plain data."""
        coverage, scores = self.coverage, self.scores
        return {
            "coverage": {
                "permille": coverage.permille,
                "covered_count": coverage.covered_count,
                "term_count": coverage.term_count,
                "missing": list(coverage.missing),
            },
            "scores": None
            if scores is None
            else {
                "count": scores.count,
                "highest": scores.highest,
                "median": scores.median,
                "lowest": scores.lowest,
                "lead": scores.lead,
            },
        }


def assess(answer: Assessable) -> Assessment:
    """Returns what an answer says of itself."""
    texts = [item.rendered for item in answer.items]
    query = answer.query
    return Assessment(
        coverage_of(query.text or "", texts, accents=query.match.accents),
        _distribution([item.score for item in answer.items]),
    )


def coverage_of(question: str, texts: Iterable[str], *, accents: bool = False) -> Coverage:
    """Returns which terms of a question some texts have.

    Each text has its own analyser, under which a word of the question is another term, or with
    `accents` any of those of its spellings. A word that is a stop word in one of these languages is
    none.
    """
    known: dict[str, set[str]] = {}
    for text in texts:
        analyser = analyser_of(text, ENGLISH)
        known.setdefault(analyser, set()).update(analyse(text, analyser))
    wanted = list(dict.fromkeys(_words(question, tuple(known), accents=accents)))
    missing = tuple(
        term
        for term, forms in wanted
        if all(held.isdisjoint(form) for form, held in zip(forms, known.values(), strict=True))
    )
    return Coverage(len(wanted) - len(missing), len(wanted), missing)


def _words(
    question: str, analysers: Sequence[str], *, accents: bool
) -> Iterator[tuple[str, tuple[frozenset[str], ...]]]:
    """Yields each word of a question: its term under the question's own analyser, and its terms
    under each of the others."""
    others = [
        {(start, stop): term for term, start, stop in analyse_positions(question, one)}
        for one in analysers
    ]
    words = analyse_positions(question, analyser_of(question, ENGLISH))
    spelt = first_words(question[start:stop] for _, start, stop in words) if accents else ()
    for term, start, stop in words:
        if all((start, stop) in found for found in others):
            forms = [frozenset((found[start, stop],)) for found in others]
            if question[start:stop] in spelt:
                more = [spelt_terms(question[start:stop], one) for one in analysers]
                forms = [one | two for one, two in zip(forms, more, strict=True)]
            yield term, tuple(forms)


def _distribution(scores: Sequence[float]) -> Distribution | None:
    if not scores:
        return None
    ordered = sorted(scores, reverse=True)
    best = Fraction(ordered[0])
    lead = 1000
    if len(ordered) > 1 and best > 0:
        lead = int(1000 * (best - Fraction(ordered[1])) / best)
    return Distribution(
        len(ordered), ordered[0], ordered[len(ordered) // 2], ordered[-1], min(lead, 1000)
    )
