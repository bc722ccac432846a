"""Bisect: the commit since which the answer to a question lacks a node."""

from __future__ import annotations

import htpy as h

from ibidem import ALL, NotFoundError
from ibidem.pages import bisection as bisection_page
from ibidem.pages.html import linked
from ibidem.serve.explorer.ask import question_fields, question_options
from ibidem.serve.explorer.edits import changed_texts
from ibidem.serve.explorer.form import field, form
from ibidem.serve.explorer.visit import AT, Page, Visit

RANK_MAX = 100


def bisect(visit: Visit) -> Page:
    """Returns the search for the first commit whose answer lacks a node, and what it changed."""
    good, bad = visit.text("good"), visit.text("bad") or AT
    text, expect = visit.text("text"), visit.text("expect")
    question = form(
        "/bisect",
        "Find the commit",
        question_fields(visit),
        field("Node, by its id or the start of it", "expect", expect, required="required"),
        field(
            "Lowest good rank", "rank_max", visit.text("rank_max"), inputmode="numeric", size="4"
        ),
        field("Good, such as a tag", "good", good, size="14"),
        field("Bad", "bad", bad, size="14"),
        submit="Find",
    )
    if not text or not expect:
        about = "Searches the commits for the first one whose answer lacks a node."
        return Page("Find the commit", [question, h.p[about]])
    repository, options = visit.owned, question_options(visit)
    rank_max = visit.count("rank_max", default=RANK_MAX, high=RANK_MAX)
    try:
        wanted = visit.revision(good or bad).node_id(expect)
    except NotFoundError:
        wanted = visit.revision(bad).node_id(expect)

    def searched() -> h.Node:
        found = repository.history.bisect(
            text,
            expect=wanted,
            rank_max=rank_max,
            good=good or None,
            bad=bad,
            viewer=ALL,
            **options,
        )
        lines = None if found.cause is None else changed_texts(visit, found.cause)
        return bisection_page.search(found, links=visit.links, lines=lines)

    link = linked(visit.links.to(f"node/{wanted}", at=good or bad), str(wanted))
    body = [question, h.p["Since when does the answer lack the node ", link, "?"]]
    return Page(f"Find the commit: {text}", body, (searched,))
