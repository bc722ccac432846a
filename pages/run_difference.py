"""How two runs of an agent differ, as HTML: each step that differs, with what was asked and
answered in both; of a retrieval, both rankings with lines from old ranks to new ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import htpy as h

from ibidem.objects.printable import one_line
from ibidem.pages import change
from ibidem.pages.html import facts, plural, render

if TYPE_CHECKING:
    from ibidem.repo.history.answer_change import AnswerChange
    from ibidem.repo.runs.compare import StepDifference

DETAILS_SHOWN = 50
"""Values of a step that differ, each on a line."""
LINE_CHARACTERS = 1000


def differences(
    found: Sequence[StepDifference],
    answers: Mapping[int, AnswerChange],
    *,
    before: str,
    after: str,
) -> str:
    """Returns a document of the steps in which two runs differ.

    Args:
        found: the steps, by index.
        answers: how the answer changed, by the index of a step that is a retrieval in both runs.
        before: the name of one run.
        after: the name of the other.
    """
    parts = [
        change.Part(
            f"step {one.index}", _verdict(one), _body(one, answers.get(one.index), (before, after))
        )
        for one in found
    ]
    summary = f"{plural(len(found), 'step')} {'differs' if len(found) == 1 else 'differ'}."
    note = f"Contains the requests and answers of these steps of the runs {before} and {after}."
    return change.report(
        f"Runs {before} and {after}",
        summary if found else "The runs are the same, step for step.",
        parts,
        note=h.p(".muted")[note],
        noun="step",
    )


def _verdict(one: StepDifference) -> str:
    if one.before is None or one.after is None:
        return "one run is over"
    return "asked something else" if one.is_request_changed else "was answered something else"


def _body(one: StepDifference, answer: AnswerChange | None, names: tuple[str, str]) -> str:
    return render(h.div[tuple(_parts(one, answer, names))])


def _parts(
    one: StepDifference, answer: AnswerChange | None, names: tuple[str, str]
) -> Iterator[h.Node]:
    lines = (line or "the run is over" for line in (one.before, one.after))
    yield facts(
        (name, one_line(line, width=LINE_CHARACTERS))
        for name, line in zip(names, lines, strict=True)
    )
    if one.details:
        shown = one.details[:DETAILS_SHOWN]
        more = len(one.details) - len(shown)
        yield h.ul[
            (h.li[one_line(detail, width=LINE_CHARACTERS)] for detail in shown),
            h.li[f"and {more:,} more"] if more else None,
        ]
    if answer is not None:
        yield change.ranking(answer)
