"""`repo memory recall`: searches as retrieve does, adapts the amount of text, and records the
answer for feedback.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli.options import question
from ibidem.cli.options.common import at_option, common_options, receipt_options
from ibidem.cli.options.flags import GroupedCommand
from ibidem.cli.options.viewer import viewer_of, viewer_option, viewer_options
from ibidem.cli.render import answer, output
from ibidem.cli.session import Session, pass_session
from ibidem.objects.printable import moment
from ibidem.retrieve.query import checks

if TYPE_CHECKING:
    from ibidem.memory.recall.recall import Recollection

_ID_DIGITS = 8
"""Of an id, which names an item among those of an answer."""


@click.command("recall", cls=GroupedCommand)
@question.question_argument()
@click.option("--session", "name", default="", help="Session that records this as its last answer.")
@click.option(
    "--disclosure",
    type=click.Choice(["chunk", "section", "raw"]),
    help=(
        "Amount of text: nodes, their sections, or whole documents [default: nodes, or sections "
        "if the best node contains few of the query's terms]."
    ),
)
@question.question_options
@viewer_option
@at_option
@receipt_options
@common_options
@pass_session
def command(
    session: Session,
    /,
    *,
    query: str,
    name: str,
    disclosure: str | None,
    at: str,
    **given: Any,
) -> None:
    """Ask, and record the answer, so that feedback can refer to it

    The session record (.ibidem/local) contains no word of QUERY. The receipt, which feedback needs,
    contains QUERY, as with `repo retrieve`; it stays in the receipt log (.ibidem/receipts) until
    newer ones displace it, unless `repo config` has log_questions `never`. No later answer depends
    on either.

    \b
    Examples:
      repo memory recall "how do retries work" --session ada
      repo memory recall "how do retries work" --feedback --recency
      repo memory recall "how do retries work" --disclosure raw
    """
    from ibidem.memory.recall.recall import recall
    from ibidem.repo.retrieval.printed_frame import frame_of_items

    options = question.options(session, text=query, **given)
    viewer = viewer_of(session)
    options |= viewer_options(session)
    with session.open() as repository:
        options["frame"] = frame_of_items(query, options)
        found = recall(repository, query, at=at, session=name, disclosure=disclosure, **options)
        result = found.result
        revision = repository.at(at, viewer=viewer)
        commit = None if revision.commit_cid is None else str(revision.commit_cid)
        receipt = None if result.receipt is None else str(result.receipt.cid)
        if session.json:
            answered = answer.answer_json(result)
        else:
            lines = _lines(found)
    if found.unrecorded is not None:
        output.note(f"warning: {output.one_line(found.unrecorded)}")
    if session.json:
        output.emit(
            "memory-recall",
            {
                "commit": commit,
                "receipt": receipt,
                "erased": [],  # a recall reads a head, and heads reference nothing erased
                "disclosure": str(found.disclosure),
                "is_escalated": found.is_escalated,
                "texts": list(found.texts),
                **answered,
            },
        )
        return
    output.note(*answer.warning_lines(result.warnings), *answer.model_lines(result, options))
    output.say(*lines)
    ids = ", ".join(f"[{rank}] {str(one.id)[:_ID_DIGITS]}" for rank, one in enumerate(result, 1))
    output.note(output.faint(f"shown as {found.disclosure}, items: {ids or 'none'}"))
    output.note(*answer.end_lines(result))


def _lines(found: Recollection) -> list[str]:
    """Returns an answer as lines: the items, or in their place the longer texts around them."""
    if found.disclosure == "chunk":
        return answer.answer_lines(found.result)
    from ibidem.repo.retrieval.printed_frame import INDENT

    lines: list[str] = []
    for text in found.texts:
        lines += [*(f"{INDENT}{line}".rstrip() for line in text.split("\n")), ""]
    return lines


@click.command("slow")
@click.option("-n", "--limit", type=int, default=20, show_default=True, help="Newest to show.")
@common_options
@pass_session
def slow_command(session: Session, /, *, limit: int) -> None:
    """List the slow questions, newest first, in whatever way they were asked

    Each has its time, the way it was asked, its lanes, counts and the names of its options. `repo
    config` has the milliseconds from which on a question is slow (slow_milliseconds). The text of a
    question is there only if log_questions is `always`. Questions of restricted viewers are not
    recorded.

    \b
    Example:
      repo memory slow -n 5
    """
    from ibidem.repo.slow_log import slow_questions

    checks.count("limit", limit)
    with session.open() as repository:
        found = list(slow_questions(repository.folder))[::-1][:limit]
    if session.json:
        output.emit("memory-slow", {"questions": list(map(_slow_json, found))})
        return
    for one in found:
        output.say(*_slow_lines(one))
    output.note(output.plural(len(found), "slow question"))


def _slow_json(one: Mapping[str, Any]) -> dict[str, Any]:
    names = ("operation", "milliseconds", "time", "lanes", "options")
    return {
        **{name: one[name] for name in names},
        "item_count": one["items"],
        "candidate_count": one["candidates"],
        "text": one.get("question"),
    }


def _slow_lines(one: Mapping[str, Any]) -> list[str]:
    lanes = ", ".join(f"{name} {status}" for name, status in one["lanes"].items())
    counts = f"{one['items']} of {output.plural(one['candidates'], 'candidate')}"
    lines = [f"{moment(one['time'])}  {one['milliseconds']:,} ms  {one['operation']}  {counts}"]
    if one.get("question") is not None:
        lines.append(f"    {output.one_line(one['question'])}")
    options = ", ".join(one["options"])
    return [*lines, output.faint(f"    lanes: {lanes}{f'; options: {options}' if options else ''}")]
