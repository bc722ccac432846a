"""Runs and conversations: what agents asked and were answered, and what was said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import htpy as h

from ibidem import ALL, Conversations, IbidemError, Viewer
from ibidem.pages import run as run_page
from ibidem.pages.html import linked
from ibidem.serve.explorer.visit import Page, Visit

if TYPE_CHECKING:
    from ibidem.objects.step import Step
    from ibidem.repo.runs.recording import Recording
    from ibidem.repo.runs.shape import ReadStep

RUNS, STEPS, STEPS_MAX = 100, 50, 100_000
THREADS, MESSAGES, MESSAGES_MAX = 50, 50, 10_000_000
THREAD = "Thread"


def runs(visit: Visit) -> Page:
    """Returns the recorded runs."""

    def listed() -> h.Node:
        found = visit.owned.runs.list()
        return [
            run_page.runs(found[-RUNS:], links=visit.links),
            h.p[f"{len(found) - RUNS:,} earlier runs are not listed."]
            if len(found) > RUNS
            else None,
        ]

    return Page("Runs", h.p["Runs are recorded with repo run record."], listed)


def run(visit: Visit) -> Page:
    """Returns the steps of a run."""
    found = visit.owned.runs.open(visit.path["name"])
    start = visit.count("start", default=1, high=STEPS_MAX) - 1
    steps = found.steps
    more = visit.links.to(f"run/{found.name}", start=str(start + STEPS + 1))
    body = [
        run_page.run(found.summary()),
        run_page.steps(_read(found, steps[start : start + STEPS]), links=visit.links),
        h.p[linked(more, "Further steps")] if len(steps) > start + STEPS else None,
    ]
    return Page(f"Run {found.name}", body)


def threads(visit: Visit) -> Page:
    """Returns the conversations of a revision."""
    revision = visit.revision()
    page = revision.page(label=THREAD, limit=THREADS, after=visit.text("after") or None)
    talks = _conversations(visit)
    found = [talks.thread(str(one.key[1]), visit.at) for one in page.nodes if one.key is not None]
    more = visit.links.to("threads", after=page.next) if page.next else None
    return Page(
        "Conversations",
        [
            run_page.threads([(one.name, one.next_ord) for one in found], links=visit.links),
            h.p[linked(more, "Further conversations")] if more else None,
        ],
    )


def thread(visit: Visit) -> Page:
    """Returns the messages of a conversation."""
    start = visit.count("start", default=1, high=MESSAGES_MAX) - 1
    name = visit.path["name"]
    talks = _conversations(visit)
    found = talks.messages(name, first=start, limit=MESSAGES + 1, at=visit.at)
    more = None
    if len(found) > MESSAGES:
        more = visit.links.to(f"thread/{name}", start=str(found[MESSAGES].ord + 1))
    return Page(
        f"Conversation {name}",
        [
            run_page.messages(found[:MESSAGES], links=visit.links),
            h.p[linked(more, "Further messages")] if more else None,
        ],
    )


def _conversations(visit: Visit) -> Conversations:
    viewer: Viewer | None = ALL if visit.is_whole else None
    return Conversations(visit.repository, viewer=viewer)


def _read(found: Recording, steps: Sequence[Step]) -> Iterator[ReadStep | str]:
    for step in steps:
        try:
            yield found.read_step(step)
        except IbidemError as error:
            yield f"step {step.index}: {error}"
