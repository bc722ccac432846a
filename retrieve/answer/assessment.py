"""What an answer says of itself: which of the question's words its items have, how its scores lie,
and how sure one may be that it helps.

The confidence is the share, in permille, of the answers that looked like this one and had what
their question asked for among the first ten items. It is read from a table that was fitted on
judged questions and checked on others (`bench/confidence.py` prints both). It is None where nothing
like the answer was judged: a wrong number would be worse than none. All of it is computed from the
answer in integers, so it is the same wherever the answer is.

Spec: retrieval 9.6.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, cast

from ibidem.index.analysis import ENGLISH, analyse, analyser_of
from ibidem.objects.record import record

if TYPE_CHECKING:
    from ibidem.retrieve.answer.item import AnswerItem, Item
    from ibidem.retrieve.query.query import Query

ITEMS = 10
"""The items that the confidence is about."""
TERMS_MIN, TERMS_MAX = 2, 12
"""Questions with fewer terms were not judged; more matching terms than this count as this many."""
TERM_POINTS = 200
"""What a matching term adds to the points of an answer."""
TABLE = (
    (0, 519),
    (768, 562),
    (1033, 641),
    (1126, 675),
    (1209, 718),
    (1383, 781),
    (1670, 818),
    (1820, 935),
)
"""The least points and the confidence from there on, ascending; the first is for any points."""
_LANES = frozenset(("lexical", "mentions"))
_PLAIN = (
    *("labels", "where", "valid", "history", "vector", "sparse", "graph", "community"),
    *("rerank", "mmr", "packs", "recall", "records", "queries", "degraded"),
)
"""Fields of a query that have to be empty: no such question was judged."""


class Assessable(Protocol):
    """An answer, as far as it is read here."""

    @property
    def query(self) -> Query:
        """The question."""

    @property
    def items(self) -> Sequence[AnswerItem]:
        """The items, best first."""

    @property
    def status(self) -> Mapping[str, Any]:
        """The status of each lane that ran."""

    @property
    def dropped_total(self) -> int:
        """How many items were left out."""


@record
class Coverage:
    """How many of the question's terms the items have."""

    covered_count: int
    term_count: int
    missing: tuple[str, ...]
    """The terms that no item has, in the order of the question; as the analyser gives them."""

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

    confidence: int | None
    coverage: Coverage
    scores: Distribution | None
    """None for an answer without items."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the assessment as plain data."""
        coverage, scores = self.coverage, self.scores
        return {
            "confidence": self.confidence,
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
    return Assessment(
        confidence_of(answer),
        coverage_of(answer.query.text or "", texts),
        _distribution([item.score for item in answer.items]),
    )


def coverage_of(question: str, texts: Iterable[str]) -> Coverage:
    """Returns which terms of a question some texts have."""
    wanted = terms_of(question)
    known = frozenset[str]().union(*map(terms_of, texts))
    missing = tuple(term for term in wanted if term not in known)
    return Coverage(len(wanted) - len(missing), len(wanted), missing)


def confidence_of(answer: Assessable) -> int | None:
    """Returns the confidence of an answer in permille, None outside what was judged."""
    points = points_of(answer)
    if points is None:
        return None
    return TABLE[max(0, bisect_right(TABLE, points, key=lambda row: row[0]) - 1)][1]


def points_of(answer: Assessable) -> int | None:
    """Returns the number that the confidence depends on, None outside what was judged.

    An answer has more points if its best item has more of the question's terms, and if the lexical
    scores fall more from the best to the tenth item.
    """
    query, items = answer.query, answer.items[:ITEMS]
    wanted = terms_of(query.text or "")
    if len(wanted) < TERMS_MIN or not _is_judged(query) or not _LANES.issuperset(answer.status):
        return None
    texts = (query.text or "", *(item.rendered for item in items[:1]))
    is_cut = len(items) < ITEMS and answer.dropped_total > 0
    if is_cut or not all(map(_is_english, texts)):
        return None
    lanes = [cast("Item", item).lanes.get("lexical") for item in items]
    scores = [Fraction(0 if lane is None else lane.score) for lane in lanes]
    if not scores or max(scores) <= 0:
        return None
    tenth = min(scores) if len(scores) == ITEMS else Fraction(0)
    known = frozenset(terms_of(items[0].rendered))
    matching = min(TERMS_MAX, sum(term in known for term in wanted))
    return TERM_POINTS * matching + 1000 - int(1000 * tenth / max(scores))


def terms_of(text: str) -> Sequence[str]:
    """Returns the distinct terms of a text under its own analyser, in order."""
    return tuple(dict.fromkeys(analyse(text, analyser_of(text, ENGLISH))))


def _is_english(text: str) -> bool:
    return analyser_of(text, ENGLISH) == ENGLISH


def _is_judged(query: Query) -> bool:
    """Returns whether questions with these options were judged."""
    plain = type(query)(text=query.text, fusion=query.fusion)
    same = ("match", "k1", "b", "include_tombstoned", "metadata", "adjacency")
    return (
        query.fusion.name == "score_normalised"
        and not any(getattr(query, name) for name in _PLAIN)
        and all(getattr(query, name) == getattr(plain, name) for name in same)
    )


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
