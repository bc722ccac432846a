"""`repo prompt`: builds a prompt from a question and numbered sources, with their citations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import conversations, union
from ibidem.cli.options import question as questions
from ibidem.cli.options.common import at_option, common_options, receipt_options
from ibidem.cli.options.flags import GroupedCommand
from ibidem.cli.options.viewer import viewer_option
from ibidem.cli.render import answer, output, packs
from ibidem.cli.session import Session, pass_session
from ibidem.retrieve.query.options import LIMIT_OF_PACKS
from ibidem.store.files import read_file

if TYPE_CHECKING:
    from ibidem.retrieve.answer.warning import AnswerWarning


@click.command("prompt", cls=GroupedCommand)
@questions.question_argument("question")
@click.option(
    "--style",
    type=click.Choice(["qa", "summarize"]),
    default="qa",
    show_default=True,
    help="Answer the question from the sources, or summarise them.",
)
@click.option(
    "--citations",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the citation of each marker to this file, as JSON.",
)
@click.option(
    "--thread",
    metavar="NAME",
    help="Share the budget between documents, facts and this conversation.",
)
@click.option("--facts", is_flag=True, help="Share the budget between documents and facts.")
@click.option("--user", metavar="NAME", help="Of facts, only those of this user and of nobody.")
@packs.pack_options
@questions.limited(LIMIT_OF_PACKS)
@union.union_options
@viewer_option
@at_option
@receipt_options
@common_options
@pass_session
def command(
    session: Session,
    /,
    *,
    question: str,
    style: str,
    citations: Path | None,
    thread: str | None,
    facts: bool,
    user: str | None,
    others: tuple[str, ...],
    is_all: bool,
    at: str,
    **given: Any,
) -> None:
    """Ask, and build a prompt with numbered sources: for a model

    The sources are the packs found for QUESTION; the options are those of `repo packs`. They are
    delimited by a fence that occurs in none of them, so no text can pass for another source. Every
    marker has a citation that can be verified.

    With --thread or --facts every source has its share of the budget: documents, records that hold,
    and the last messages of the conversation and those that QUESTION is about.

    \b
    Examples:
      repo prompt "how do retries work" --budget 2000
      repo prompt "what changed in the design" --style summarize --expand section
      repo prompt "what changed in the design" --with work --all
      repo prompt "what did we agree on" --thread support --budget 2000
    """
    options = packs.taken(given) | questions.options(session, text=question, **given)
    if thread is not None or facts:
        options["sources"] = {"thread": thread, "user": user}
    elif user is not None:
        raise click.UsageError("--user needs --thread or --facts")
    if citations is not None:
        _check_replaceable(citations)
    with union.source(session, others, is_all=is_all, at=at, thread=thread) as (source, names):
        if thread is not None:
            _check_thread(session, thread, at)
        made = source.prompt(question, style=style, **options)
        found = made.packs
    cited = [
        {**one.to_dict(), **({"repository": names[one.root]} if names else {})}
        for one in made.citations
    ]
    if citations is not None:
        citations.write_text(json.dumps(cited, indent=1) + "\n", encoding="utf-8")
    if session.json:
        output.emit("prompt", {**made.to_dict(), "citations": cited, **union.names_json(names)})
        return
    has_facts = "sources" in options
    warnings = [one for one in found.warnings if not has_facts or _is_of_caller(one, given)]
    output.note(*answer.warning_lines(warnings), *answer.model_lines(found, options))
    if not cited:
        is_there = bool(found.items or found.token_budget_min)
        what = "nothing fits: allow more tokens by --budget" if is_there else "no pack was found"
        output.note(output.faint(f"the prompt has no sources: {what}"))
    output.say(*made.system.splitlines(), "", *made.user.splitlines())
    output.note(*answer.end_lines(found, noun="source"))


def _check_thread(session: Session, thread: str, at: str) -> None:
    """Raises an error if there is no such thread."""
    with session.open() as repository:
        conversations.opened(session, repository).thread(thread, at)


def _check_replaceable(path: Path) -> None:
    """Raises an error for a file that has anything but citations."""
    data = read_file(path)
    with suppress(ValueError, TypeError):
        if not data or all("marker" in one for one in json.loads(data)):
            return
    raise click.UsageError(f"--citations: got {path}, which has no citations; expected a new name")


def _is_of_caller(warning: AnswerWarning, given: Mapping[str, Any]) -> bool:
    """Returns whether a warning is about what the caller wrote: facts are found by labels and a
    property that this command names itself."""
    from ibidem.retrieve.answer.warning import WarningCode

    if warning.code not in (WarningCode.UNKNOWN_LABEL, WarningCode.UNKNOWN_PROPERTY):
        return True
    return any(str(warning.subject) in text for text in (*given["label"], *given["where"]))
