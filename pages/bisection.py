"""A bisection as HTML: the commits that were tried, the first to fail, and what it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import htpy as h

from ibidem.pages import change, comparison, html, svg
from ibidem.pages.html import NOWHERE, Links, plural, table, tag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ibidem.repo.history.answer_change import AnswerChange
    from ibidem.repo.history.bisect import Bisection, Step
    from ibidem.repo.history.log import Change


def page(found: Bisection, title: str, effect: AnswerChange | None) -> str:
    """Returns a document on a bisection.

    Args:
        found: the bisection.
        title: what was tested.
        effect: how the first commit that fails changed the answer; None if none is known.
    """
    return html.document(
        title,
        h.p["Contains what was tested, the commits tried, and what the first one to fail changed."],
        _tries(found),
        None if effect is None else change.ranking(effect),
        None if effect is None else change.texts(effect),
    )


def search(
    found: Bisection, *, links: Links = NOWHERE, lines: Mapping[Change, str] | None = None
) -> h.Node:
    """Returns a bisection without its frame.

    Args:
        found: the bisection.
        links: to the commits, and to what changed.
        lines: changes of the graph in words, where they are known.
    """
    cause = found.cause
    return [
        _tries(found, links),
        None
        if cause is None
        else h.section[h.h2["What it changed"], comparison.cause(cause, links=links, lines=lines)],
    ]


def _tries(found: Bisection, links: Links = NOWHERE) -> h.Node:
    tried = f"{plural(len(found.steps), 'commit')} of {found.commits_count:,} tried"
    rows = [
        (str(number), comparison.commit(step.commit, links=links), tag(result(step)))
        for number, step in enumerate(found.steps, 1)
    ]
    return [
        h.p(role="status")[tried + ("" if found.suspects else "; none fails")],
        h.figure[picture(found)] if found.steps else None,
        table(tried, ("Try", "Commit", "Result"), rows) if rows else None,
        h.section[
            h.h2["First to fail" if len(found.suspects) == 1 else "One of these is the first"],
            [h.p[comparison.commit(one, links=links)] for one in found.suspects],
        ]
        if found.suspects
        else None,
    ]


def picture(found: Bisection) -> h.Element:
    """Returns the search as a picture, the oldest commit in the west."""
    return svg.search(found.commits_count, [(step.index, result(step)) for step in found.steps])


def result(step: Step) -> str:
    """Returns how a try ended."""
    return "skipped" if step.holds is None else "holds" if step.holds else "fails"
