"""Runs and conversations as HTML: their steps with requests, answers and receipts, and messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import htpy as h

from ibidem.objects.printable import one_line
from ibidem.pages.html import NOWHERE, Links, code, date, facts, linked, plural, table, tag
from ibidem.pages.value import value_text

if TYPE_CHECKING:
    from ibidem.memory.conversation.message import Stored
    from ibidem.repo.runs.recording import RunSummary
    from ibidem.repo.runs.shape import ReadStep

VALUE_CHARACTERS = 4000
"""Of a request or an answer that are shown."""


def runs(found: Sequence[RunSummary], *, links: Links = NOWHERE) -> h.Element:
    """Returns the recorded runs."""
    rows = [
        (
            linked(links.to(f"run/{one.name}"), one_line(one.name)),
            f"{one.step_count:,}",
            one_line(one.agent),
            one_line(one.author),
            None if one.ended is None else date(one.ended),
            tag("error", "failed")
            if one.failure
            else tag("added", "ended")
            if one.ended
            else "open",
        )
        for one in found
    ]
    return table(
        plural(len(rows), "run"), ("Run", "Steps", "Agent", "Author", "Ended", "Result"), rows
    )


def run(found: RunSummary) -> h.Element:
    """Returns what a run was."""
    return facts(
        (
            ("agent", one_line(found.agent)),
            ("task", one_line(found.task)),
            ("author", one_line(found.author)),
            ("ended", None if found.ended is None else date(found.ended)),
            ("failure", found.failure and one_line(found.failure, width=300)),
            ("last step", code(str(found.tip))),
        )
    )


def steps(found: Iterable[ReadStep | str], *, links: Links = NOWHERE) -> h.Element:
    """Returns steps with their requests and answers; a text stands for an unreadable step."""
    return h.ol(".items")[(h.li[_step(one, links)] for one in found)]


def threads(found: Sequence[tuple[str, int]], *, links: Links = NOWHERE) -> h.Element:
    """Returns conversations with the number of their messages."""
    rows = [
        (linked(links.to(f"thread/{name}"), one_line(name, width=80)), f"{count:,}")
        for name, count in found
    ]
    return table(plural(len(rows), "conversation"), ("Conversation", "Messages"), rows)


def messages(found: Sequence[Stored], *, links: Links = NOWHERE) -> h.Element:
    """Returns messages in order."""
    return h.ol(".items")[
        (
            h.li[
                h.h3[
                    f"{one.ord}. {one_line(one.role)} ",
                    linked(links.to(f"node/{one.id}"), date(one.created_at)),
                ],
                h.p(".text")[one.text],
            ]
            for one in found
        )
    ]


def _step(found: ReadStep | str, links: Links) -> h.Node:
    if isinstance(found, str):
        return h.p[tag("error"), f" {one_line(found)}"]
    step = found.step
    return [
        h.h3[f"{step.index}. {one_line(step.action)} {one_line(step.name)}"],
        facts(
            (
                ("time", date(step.time)),
                ("receipt", None if step.receipt is None else code(str(step.receipt))),
                (
                    "commit",
                    None
                    if found.commit is None
                    else linked(
                        links.to(f"commit/{found.commit.cid}"), code(str(found.commit.cid))
                    ),
                ),
            )
        ),
        _value("Request", found.request),
        _value("Answer", found.answer),
    ]


def _value(name: str, value: object) -> h.Node:
    if value is None or value == {}:
        return None
    text = value_text(value)
    more = "…" if len(text) > VALUE_CHARACTERS else ""
    return h.details[h.summary[name], h.pre(tabindex="0")[text[:VALUE_CHARACTERS] + more]]
