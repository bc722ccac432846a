"""The report of `--retrieval-report`: which answers changed, in one file for a pull request.

A test reports each check as plain texts, which a process of pytest-xdist can send; the process that
runs the session writes the file. The file depends on the answers alone: it has no time, no path
outside the project, and the order of tests does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from ibidem.pages import change, change_markdown
from ibidem.repo.history.answer_change import AnswerChange, answer_change, is_restricted
from ibidem.repo.history.compare import compare, placed
from ibidem.testing.golden import write_below
from ibidem.testing.judge import OTHER_QUESTION, changed_facts

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.testing.golden import Check
    from ibidem.testing.judge import Responsible
    from ibidem.testing.quality import QualityReport

TITLE = "Answers of retrieval"
NOTE = (
    "Contains the questions, the texts of items that differ, and the commits that changed them, "
    "as far as the caller of each question may see them."
)
SAME, CHANGED, NEW, BELOW = "same", "changed", "new", "below the gate"


class Reported(TypedDict):
    """One check of a test, as plain data."""

    test: str
    title: str
    """The question."""
    outcome: str
    """SAME, CHANGED, NEW or BELOW."""
    verdict: str
    """The same in some words."""
    html: str
    """What to show of it; empty if it is the same."""
    markdown: str


def same(test: str, title: str) -> Reported:
    """Returns the report of an answer that is as recorded."""
    return Reported(test=test, title=title, outcome=SAME, verdict=SAME, html="", markdown="")


def changed(
    test: str,
    check: Check,
    result: Answer[Any],
    store: Source,
    *,
    found: Responsible | None,
    question_changes: Iterable[str] = (),
) -> Reported:
    """Returns the report of an answer that is not as recorded.

    Args:
        test: the name of the test and of the check.
        check: the recorded answer.
        result: the new answer.
        store: has the blocks of the new answer.
        found: the responsible commit, if it was searched.
        question_changes: how the question differs from the recorded one.
    """
    other = "; ".join(question_changes)
    notes = [f"{OTHER_QUESTION}: {other}"] if other else []
    if found is not None:
        notes.append(found.note)
    note = "; ".join(notes) or None
    facts = [("test", test), ("mode", str(check.mode["name"]))]
    facts += [(name, f"{old} → {new}") for name, old, new in changed_facts(check, result)]
    facts += [("root", f"{check.root} → {result.root}")] * (check.root != result.root)
    what = answer_change(
        store,
        compare(check.items, placed(result)),
        question=result.query.text,
        before="recorded",
        after="now",
        causes=() if found is None or found.cause is None else (found.cause,),
        facts=facts,
        note=note,
        viewer=result.query.viewer,
        has_older_texts=check.query.viewer == result.query.viewer
        or not is_restricted(result.query.viewer),
    )
    verdict = f"{'other question, ' if other else ''}{what.summary}"
    return _reported(test, CHANGED, verdict, what)


def new(test: str, result: Answer[Any], store: Source) -> Reported:
    """Returns the report of an answer that has no golden."""
    what = answer_change(
        store,
        compare((), placed(result)),
        question=result.query.text,
        before="nothing recorded",
        after="now",
        facts=[("test", test), ("root", str(result.root))],
        viewer=result.query.viewer,
    )
    return _reported(test, NEW, f"new, {len(result.items)} items", what)


def below(test: str, report: QualityReport) -> Reported:
    """Returns the report of judged questions that do not reach their gates."""
    text = report.text()
    return Reported(
        test=test,
        title=test,
        outcome=BELOW,
        verdict=f"quality {BELOW}",
        html=change.text_section(text),
        markdown=change_markdown.text_section(text),
    )


def write(path: Path, checks: Iterable[Reported]) -> None:
    """Writes the report of a session, as Markdown if the file's name ends so, else as HTML.

    Raises:
        StorageError: a disk error.
    """
    listed = sorted(checks, key=lambda check: (check["test"], check["html"]))
    is_markdown = path.suffix == ".md"
    shown = [check for check in listed if check["outcome"] != SAME]
    parts = [
        change.Part(check["title"], check["verdict"], check["markdown" if is_markdown else "html"])
        for check in shown
    ]
    page = change_markdown.report if is_markdown else change.report
    text = page(TITLE, _summary(listed), parts, note=NOTE if parts else None)
    write_below(path, text.encode())


def _reported(test: str, outcome: str, verdict: str, what: AnswerChange) -> Reported:
    return Reported(
        test=test,
        title=what.question or test,
        outcome=outcome,
        verdict=verdict,
        html=change.section(what),
        markdown=change_markdown.section(what),
    )


def _summary(checks: Iterable[Mapping[str, object]]) -> str:
    outcomes = [check["outcome"] for check in checks]
    answers = len(outcomes) - outcomes.count(BELOW)
    parts = [f"{outcomes.count(CHANGED)} of {answers} answers changed"]
    if outcomes.count(NEW):
        parts.append(f"{outcomes.count(NEW)} without a golden answer")
    if outcomes.count(BELOW):
        parts.append(f"{outcomes.count(BELOW)} quality gates not reached")
    return ", ".join(parts) + "."
