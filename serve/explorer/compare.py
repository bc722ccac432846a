"""Compare: one question at two revisions, with the commits that changed its answer."""

from __future__ import annotations

import htpy as h

from ibidem import ALL, Change
from ibidem.pages import comparison as comparison_page
from ibidem.pages.course import course_between
from ibidem.pages.html import linked
from ibidem.serve.explorer.ask import question_fields, question_options
from ibidem.serve.explorer.edits import changed_texts
from ibidem.serve.explorer.form import field, form
from ibidem.serve.explorer.visit import AT, Page, Visit

BEFORE = "HEAD~1"


def compare(visit: Visit) -> Page:
    """Returns how the answer to a question differs between two revisions, and why."""
    before, after = visit.text("before") or BEFORE, visit.text("after") or AT
    question = form(
        "/compare",
        "Question at two revisions",
        question_fields(visit),
        field("Before", "before", before, size="14"),
        field("After", "after", after, size="14"),
        submit="Compare",
    )
    text = visit.text("text")
    if not text:
        since = linked("/bisect", "Since which commit does an answer lack a node?")
        return Page("Compare", [question, h.p[since]])
    repository, options = visit.owned, question_options(visit)
    for rev in (before, after):
        repository.resolve(rev)

    def compared() -> h.Node:
        found = repository.history.compare(text, before=before, after=after, viewer=ALL, **options)
        lines: dict[Change, str] = {}
        for cause in found.causes:
            lines |= changed_texts(visit, cause)
        return [
            comparison_page.comparison(
                found, before=before, after=after, links=visit.links, lines=lines
            ),
            course_between(found, before=before, after=after),
        ]

    return Page(f"Compare: {text}", question, (compared,))
