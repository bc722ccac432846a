"""Quality gates: a test that fails, with a table, if retrieval quality falls below a threshold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.printable import one_line
from ibidem.testing.judgement import Judged, read_judgements
from ibidem.testing.measure import interval, ndcg, recall, reciprocal_rank

if TYPE_CHECKING:
    from ibidem.repo.revision import Revision
    from ibidem.retrieve.answer.item import Item

DEPTH_DEFAULT = 10
WORST_SHOWN = 5
NAMES_SHOWN = 3
Identify = str | Callable[["Item"], str]


@dataclass(frozen=True, slots=True)
class Gates:
    """The thresholds."""

    recall_at: Mapping[int, float]
    """Thresholds by depth."""
    ndcg_at: Mapping[int, float]
    mrr: float | None = None
    bound: str = "mean"
    """`mean`, or `lower` for the lower end of the interval."""

    def __post_init__(self) -> None:
        if self.bound not in ("mean", "lower"):
            raise InvalidInputError(f"bound: got {self.bound!r}, expected 'mean' or 'lower'")
        for name, gates in (("recall_at", self.recall_at), ("ndcg_at", self.ndcg_at)):
            if not isinstance(gates, Mapping):
                raise InvalidInputError(
                    f"{name}: got {gates!r}, expected thresholds by depth, such as {{10: 0.9}}"
                )
        if not self.recall_at and not self.ndcg_at and self.mrr is None:
            raise InvalidInputError("gates: got none, expected recall_at, ndcg_at or mrr")
        for depth in (*self.recall_at, *self.ndcg_at):
            if type(depth) is not int or depth < 1:
                raise InvalidInputError(f"depth: got {depth!r}, expected a number from 1 on")
        for least in (*self.recall_at.values(), *self.ndcg_at.values(), self.mrr or 0):
            if not isinstance(least, int | float) or not 0 <= least <= 1:
                raise InvalidInputError(f"gate: got {least!r}, expected a number from 0 to 1")

    @property
    def depth(self) -> int:
        """Number of documents considered."""
        return max([*self.recall_at, *self.ndcg_at, *([] if self.mrr is None else [DEPTH_DEFAULT])])


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure over all questions."""

    name: str
    least: float
    bound: str
    values: tuple[float, ...]
    """By question, in the order of the judgements."""

    @property
    def mean(self) -> float:
        """The mean over the questions."""
        return fsum(self.values) / len(self.values)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean."""
        return interval(self.values)

    @property
    def is_met(self) -> bool:
        """Whether the gate is reached."""
        return (self.interval[0] if self.bound == "lower" else self.mean) >= self.least


@dataclass(frozen=True, slots=True)
class QualityReport:
    """The result of a measurement."""

    measures: tuple[Measure, ...]
    judged: tuple[Judged, ...]
    rankings: tuple[tuple[str, ...], ...]
    """The distinct documents found, by question."""
    identify: Identify = "id"
    """What names them."""

    @property
    def failed(self) -> tuple[Measure, ...]:
        """The measures below their gates."""
        return tuple(measure for measure in self.measures if not measure.is_met)

    def text(self) -> str:
        """Returns the table, and the worst questions of each gate that is not reached."""
        lines = [
            f"quality over {len(self.judged)} questions",
            f"{len(self.failed)} of {len(self.measures)} gates not reached",
            "",
            f"  {'measure':<12} {'gate':>7} {'mean':>7}   95 % interval",
        ]
        for one in self.measures:
            low, high = one.interval
            verdict = "" if one.is_met else f"   below the gate ({one.bound})"
            lines.append(
                f"  {one.name:<12} {one.least:7.4f} {one.mean:7.4f}   "
                f"{low:.4f} to {high:.4f}{verdict}"
            )
        lines += self._other_names()
        for one in self.failed:
            lines += ["", f"  worst by {one.name}", *self._worst(one)]
        return "\n".join(lines)

    def _other_names(self) -> list[str]:
        """Returns lines on names that are probably not those of the judgements."""
        if any(
            one.grades.keys() & set(found)
            for one, found in zip(self.judged, self.rankings, strict=True)
        ):
            return []
        names = sorted({name for ranking in self.rankings for name in ranking[:1]})
        if not names:
            return []
        shown = ", ".join(one_line(name, width=60) for name in names[:NAMES_SHOWN])
        how = f"identify={self.identify!r}" if isinstance(self.identify, str) else "identify"
        return [
            "",
            f"  no judged document was found; the names of those found, by {how}, are such as",
            f"    {shown}",
        ]

    def _worst(self, measure: Measure) -> list[str]:
        order = sorted(range(len(self.judged)), key=lambda index: measure.values[index])
        lines = []
        for index in order[:WORST_SHOWN]:
            if measure.values[index] == 1:
                break
            judged, ranking = self.judged[index], self.rankings[index]
            positions = ", ".join(
                f"{one_line(document)} at {ranking.index(document) + 1}"
                if document in ranking
                else f"{one_line(document)} not found"
                for document, grade in judged.grades.items()
                if grade > 0
            )
            lines.append(
                f"  {measure.values[index]:7.4f}  {one_line(judged.text, width=60)!r}: {positions}"
            )
        return lines


def measure(
    at: Revision,
    judgements: Path,
    *,
    queries: Path | None,
    gates: Gates,
    identify: Identify,
    options: Mapping[str, Any],
) -> QualityReport:
    """Runs all judged questions at a revision and returns the measures.

    Args:
        at: the revision to query.
        judgements: see `read_judgements`.
        queries: see `read_judgements`.
        gates: the thresholds; they determine the number of documents considered.
        identify: names an item as the judgements do: `id`, `source`, `props.NAME` or a function.
        options: those of `Revision.retrieve`; `limit` is set here, unless given.
    """
    judged = read_judgements(judgements, queries)
    depth = gates.depth
    # Several items may be parts of one document: then all that the lanes return are looked at.
    given = {"limit": depth if identify == "id" else None, "depth": max(depth, 100), **options}
    rankings = []
    for one in judged:
        items = at.retrieve(one.text, **given).items
        rankings.append(tuple(dict.fromkeys(_named(at, item, identify) for item in items)))

    pairs = [(ranking, one.grades) for ranking, one in zip(rankings, judged, strict=True)]
    measures = []
    for k, least in sorted(gates.recall_at.items()):
        values = tuple(recall(ranking, grades, k) for ranking, grades in pairs)
        measures.append(Measure(f"recall@{k}", least, gates.bound, values))
    for k, least in sorted(gates.ndcg_at.items()):
        values = tuple(ndcg(ranking, grades, k) for ranking, grades in pairs)
        measures.append(Measure(f"nDCG@{k}", least, gates.bound, values))
    if gates.mrr is not None:
        values = tuple(reciprocal_rank(ranking, grades) for ranking, grades in pairs)
        measures.append(Measure("MRR", gates.mrr, gates.bound, values))
    return QualityReport(tuple(measures), tuple(judged), tuple(rankings), identify)


def _named(at: Revision, item: Item, identify: Identify) -> str:
    if callable(identify):
        return identify(item)
    if identify == "id":
        return str(item.node.id)
    if identify == "source":
        location = at.locate(item.node.id)
        return str(item.node.id) if location is None or not location.source else location.source
    kind, _, name = identify.partition(".")
    if kind != "props" or not name:
        raise InvalidInputError(
            f"identify: got {identify!r}, expected 'id', 'source', 'props.NAME' or a function"
        )
    return str(item.node.props.get(name, item.node.id))
