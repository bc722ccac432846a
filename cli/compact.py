"""`repo thread compact`: puts summaries in place of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibidem.cli.conversations import (
    compacted_line,
    compaction,
    messages_of,
    opened,
    report,
    writer_of,
    writer_option,
)
from ibidem.cli.options.common import commit_options, common_options
from ibidem.cli.options.viewer import level_option
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from ibidem.memory.conversation.conversations import Conversations


@click.command("compact")
@click.argument("thread", required=False)
@click.argument("first", type=int, required=False)
@click.argument("last", type=int, required=False)
@click.argument("text", required=False)
@click.option(
    "--over",
    type=int,
    metavar="TOKENS",
    help="Compact threads with more tokens [default: `repo config`, compact_over].",
)
@click.option("--dry-run", is_flag=True, help="Show what would be summarised and write nothing.")
@click.option("--made-by", metavar="NAME", help="Author or model of TEXT, stored with it.")
@writer_option("writes the summary in place of TEXT")
@level_option("summary")
@click.option(
    "--scope",
    metavar="SCOPE",
    help="Scope of the summary, in place of the messages' one; empty for none.",
)
@commit_options
@common_options
@pass_session
def command(
    session: Session,
    *,
    thread: str | None,
    first: int | None,
    last: int | None,
    text: str | None,
    over: int | None,
    dry_run: bool,
    made_by: str | None,
    model: str | None,
    level: int | str | None,
    scope: str | None,
    author: str | None,
) -> None:
    """Add TEXT as a summary of messages FIRST to LAST of THREAD

    Without TEXT a language model writes it. The messages are sent to the model once; its text and
    its name are stored, and nothing is sent again.

    Without FIRST and LAST, THREAD, or every thread, is compacted if it has more tokens than --over:
    one summary stands for all but its last messages (`repo config`, compact_recent). A language
    model writes it; if none is configured, it consists of sentences of the messages.

    \b
    Examples:
      repo thread compact --over 8000 --dry-run
      repo thread compact support-17 0 9 "The printer burnt; a new one was sent."
      repo thread compact support-17 0 9 --model ollama:llama3.2
    """
    if text is not None and model is not None:
        raise click.UsageError("TEXT and --model: got both, expected one of them")
    if text is None and made_by is not None:
        raise click.UsageError("--made-by needs TEXT")
    if first is None:
        if level is not None or scope is not None:
            raise click.UsageError("--level and --scope need FIRST and LAST")
        _compact_grown(session, thread, over, model, author, dry_run=dry_run)
        return
    if thread is None or last is None:
        raise click.UsageError("expected FIRST and LAST, or neither")
    if over is not None or dry_run:
        raise click.UsageError("--over and --dry-run are for a call without FIRST and LAST")
    with session.open() as repository:
        memory = opened(session, repository, None, author)
        if text is None:
            text, made_by = _summary(session, memory, thread, first, last, model)
        written = memory.compact(
            thread,
            first,
            last,
            text,
            model=made_by,
            scope=scope,
            level=level,
        )
    report(session, "compact", written)


def _compact_grown(
    session: Session,
    thread: str | None,
    over: int | None,
    model: str | None,
    author: str | None,
    *,
    dry_run: bool,
) -> None:
    with session.open() as repository:
        memory = opened(session, repository, None, author)
        rule = compaction(session, memory, over, model)
        if rule is None:
            raise click.UsageError(
                "--over is missing: give it, or `repo config set compact_over TOKENS`"
            )
        names = [thread] if thread is not None else [one.name for one in memory.threads()]
        rows = []
        for name in names:
            if dry_run:
                found = memory.outgrown(rule, name)
                ords = [at for one in found for at in range(one.ord, one.last + 1)]
            else:
                ords = list(memory.compact_by(rule, name).ords)
            if ords:
                rows.append({"thread": name, "first": ords[0], "last": ords[-1]})
    if session.json:
        output.emit("thread-compacted", {"compacted": rows, "is_dry_run": dry_run})
        return
    for row in rows:
        output.say(compacted_line(row))
    would = "would be " if dry_run else ""
    output.note(f"{would}summarised: a part of {output.plural(len(rows), 'thread')}")


def _summary(
    session: Session, memory: Conversations, thread: str, first: int, last: int, model: str | None
) -> tuple[str, str]:
    """Returns what the language model writes about messages, and its name."""
    from ibidem.memory.conversation.summary import summary_of

    writer = writer_of(session, model, "TEXT is missing: write the summary")
    return summary_of(messages_of(memory, thread, first, last), writer), writer.name
