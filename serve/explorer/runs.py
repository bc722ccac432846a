"""Runs and conversations: what agents asked and were answered, and what was said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import htpy as h

from ibidem import ALL, Conversations, IbidemError, Node, NotFoundError, Viewer
from ibidem.pages import run as run_page
from ibidem.pages.html import linked
from ibidem.serve.explorer.form import field, form, given
from ibidem.serve.explorer.visit import Page, Visit

if TYPE_CHECKING:
    from ibidem.objects.step import Step
    from ibidem.repo.runs.recording import Recording
    from ibidem.repo.runs.shape import ReadStep

CHOSEN = 20
"""Messages that are chosen for a question."""
RUNS, RUNS_MAX, STEPS = 50, 1_000_000, 50
THREADS, MESSAGES, MESSAGES_MAX = 50, 50, 10_000_000
THREAD = "Thread"


def runs(visit: Visit) -> Page:
    """Returns the recorded runs."""

    start = visit.count("start", default=1, high=RUNS_MAX) - 1

    def listed() -> h.Node:
        found = visit.owned.runs.list(start=start, limit=RUNS + 1, whole=False)
        more = visit.links.to("runs", start=str(start + RUNS + 1))
        return [
            run_page.runs(found[:RUNS], links=visit.links),
            h.p[linked(more, "Further runs")] if len(found) > RUNS else None,
        ]

    return Page("Runs", h.p["Runs are recorded with repo run record."], (listed,))


def run(visit: Visit) -> Page:
    """Returns the steps of a run: the newest, or the newest up to one, since each names the step
    before it.
    """
    runs = visit.owned.runs
    found = runs.open(visit.path["name"])
    last = visit.text("last")
    steps = found.newest(STEPS + 1, last=last or None)
    more = visit.links.to(f"run/{found.name}", last=str(steps[0][0]))
    other = visit.text("other")
    is_whole = len(steps) <= STEPS and not last
    body = [
        run_page.run(found.summary(whole=is_whole)),
        h.p[linked(visit.links.to(f"run/{found.name}", check="1"), "Repeat every answer")],
        form(
            f"/run/{found.name}",
            "Compare with another run",
            field("Compare with the run", "other", other, required="required"),
            submit="Compare",
        ),
        h.p[linked(more, "Earlier steps")] if len(steps) > STEPS else None,
        run_page.steps(_read(found, [one for _, one in steps[-STEPS:]]), links=visit.links),
    ]
    if visit.text("check"):
        return Page(
            f"Run {found.name}", body[:3], (lambda: run_page.verdict(runs.check(found.name)),)
        )
    if other:
        compared = runs.open(other)
        return Page(
            f"Runs {found.name} and {compared.name}",
            body[:3],
            (
                lambda: run_page.differences(
                    runs.differences(found.name, compared.name), links=visit.links
                ),
            ),
        )
    return Page(f"Run {found.name}", body)


def threads(visit: Visit) -> Page:
    """Returns the conversations of a revision."""

    def listed() -> h.Node:
        page = visit.revision().page(label=THREAD, limit=THREADS, after=visit.text("after") or None)
        talks = _conversations(visit)
        found = [(one.id, talks.thread(_name(one), visit.at)) for one in page.nodes]
        more = visit.links.to("threads", after=page.next) if page.next else None
        return [
            run_page.threads(
                [(id_, one.name, one.next_ord) for id_, one in found], links=visit.links
            ),
            h.p[linked(more, "Further conversations")] if more else None,
        ]

    return Page("Conversations", None, (listed,))


def thread(visit: Visit) -> Page:
    """Returns the messages of a conversation. Its name can be any text, so its node stands for it
    in addresses.
    """
    start = visit.count("start", default=1, high=MESSAGES_MAX) - 1
    node = visit.revision().node(visit.path["id"])
    name = _name(node)
    talks = _conversations(visit)
    text = visit.text("text")

    def chosen() -> h.Node:
        selected = talks.select(text, thread=name, limit=CHOSEN, at=visit.at)
        return run_page.selection(selected, links=visit.links)

    def listed() -> h.Node:
        found = talks.messages(name, first=start, limit=MESSAGES + 1, at=visit.at)
        more = None
        if len(found) > MESSAGES:
            more = visit.links.to(f"thread/{node.id}", start=str(found[MESSAGES].ord + 1))
        return [
            run_page.messages(found[:MESSAGES], links=visit.links),
            h.p[linked(more, "Further messages")] if more else None,
        ]

    body = form(
        f"/thread/{node.id}",
        "What a context has of it",
        given("at", visit.text("at")),
        field("What is chosen for the question", "text", text, wide=True),
        submit="Choose",
    )
    return Page(f"Conversation {name}", body, (chosen, listed) if text else (listed,))


def _name(node: Node) -> str:
    """Returns the name of the conversation of a node."""
    if node.ntype != THREAD or node.key is None:
        raise NotFoundError(f"node {node.id} is no conversation")
    return str(node.key[1])


def _conversations(visit: Visit) -> Conversations:
    viewer: Viewer | None = ALL if visit.is_whole else None
    return Conversations(visit.repository, viewer=viewer)


def _read(found: Recording, steps: Sequence[Step]) -> Iterator[ReadStep | str]:
    for step in steps:
        try:
            yield found.read_step(step)
        except IbidemError as error:
            yield f"step {step.index}: {error}"
