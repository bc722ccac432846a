"""Runs and conversations as HTML: their steps with requests, answers and receipts, and messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import htpy as h

from ibidem.objects.printable import one_line
from ibidem.pages.comparison import moves_table
from ibidem.pages.html import (
    NOWHERE,
    Links,
    clipped,
    code,
    date,
    facts,
    linked,
    number,
    plural,
    table,
    tag,
)
from ibidem.pages.value import value_text

if TYPE_CHECKING:
    from ibidem.memory.conversation.message import Stored
    from ibidem.memory.conversation.selection import Selection
    from ibidem.objects.ids import NodeId
    from ibidem.repo.runs.compare import StepDifference
    from ibidem.repo.runs.recording import RunSummary
    from ibidem.repo.runs.shape import ReadStep


DETAILS_SHOWN, STEPS_SHOWN = 50, 100
LINE_CHARACTERS = 1000


def runs(found: Sequence[RunSummary], *, links: Links = NOWHERE) -> h.Element:
    """Returns the recorded runs."""
    rows = [
        (
            linked(links.to(f"run/{one.name}"), one_line(one.name)),
            f"{one.step_count:,}",
            None if one.ended is None else date(one.ended),
            tag("error", "failed")
            if one.failure
            else tag("added", "ended")
            if one.ended
            else "open",
        )
        for one in found
    ]
    return table(plural(len(rows), "run"), ("Run", "Steps", "Ended", "Result"), rows)


def run(found: RunSummary) -> h.Element:
    """Returns what a run was."""
    return facts(
        (
            ("steps", f"{found.step_count:,}"),
            ("agent", one_line(found.agent) or None),
            ("task", one_line(found.task) or None),
            ("author", one_line(found.author) or None),
            ("ended", None if found.ended is None else date(found.ended)),
            ("failure", found.failure and one_line(found.failure, width=300)),
            ("last step", code(str(found.tip))),
        )
    )


def steps(found: Iterable[ReadStep | str], *, links: Links = NOWHERE) -> h.Element:
    """Returns steps with their requests and answers; a text stands for an unreadable step."""
    return h.ol(".items")[(h.li[_step(one, links)] for one in found)]


def verdict(counts: Mapping[str, int]) -> h.Element:
    """Returns that every answer of a run was repeated to the byte."""
    words = ", ".join(f"{count:,} {one_line(action)}" for action, count in sorted(counts.items()))
    return h.p(role="status")[
        tag("added", "same"), f" Every recorded answer was repeated to the byte: {words}."
    ]


def differences(found: Sequence[StepDifference], *, links: Links = NOWHERE) -> h.Element:
    """Returns the steps in which two runs differ."""
    if not found:
        return h.p(role="status")["The runs are the same, step for step."]
    return h.ol(".items")[
        (
            h.li[
                h.h3[f"step {one.index}"],
                facts((("before", _line(one.before)), ("after", _line(one.after)))),
                h.ul[(h.li[_line(detail)] for detail in one.details[:DETAILS_SHOWN])],
                moves_table(one.moves, before=links, after=links) if one.moves else None,
            ]
            for one in found[:STEPS_SHOWN]
        )
    ]


def selection(found: Selection, *, links: Links = NOWHERE) -> h.Element:
    """Returns the messages that were chosen for a question, with their scores."""
    rows = [
        (
            linked(links.to(f"node/{one.id}"), f"{one.ord}. {one_line(one.role)}"),
            one_line(one.text, width=200),
            "required" if unit.is_required else number(found.scores.get(one.id, 0.0)),
        )
        for unit in found.units
        for one in unit.messages
    ]
    return table(f"Chosen: {plural(len(rows), 'message')}", ("Message", "Text", "Score"), rows)


def threads(found: Sequence[tuple[NodeId, str, int]], *, links: Links = NOWHERE) -> h.Element:
    """Returns conversations, each by its node and name, with the number of their messages."""
    rows = [
        (linked(links.to(f"thread/{id_}"), one_line(name, width=80)), f"{count:,}")
        for id_, name, count in found
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
                h.p(".text")[clipped(one.text)],
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


def _line(text: str | None) -> str:
    return "the run has ended" if text is None else one_line(text, width=LINE_CHARACTERS)


def _value(name: str, value: object) -> h.Node:
    if value is None or value == {}:
        return None
    return h.details[h.summary[name], h.pre(tabindex="0")[clipped(value_text(value))]]
