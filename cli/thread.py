"""`repo thread`: stores conversations and selects messages from them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import compact, extract
from ibidem.cli.conversations import compaction, opened, report
from ibidem.cli.options import dates
from ibidem.cli.options.common import at_option, commit_options, common_options
from ibidem.cli.options.viewer import viewer_option
from ibidem.cli.render import answer, output, shapes
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import IbidemError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ibidem.memory.conversation.conversations import Conversations
    from ibidem.memory.conversation.message import Stored, ThreadInfo
    from ibidem.memory.conversation.passages import Passage
    from ibidem.objects.ids import NodeId

model_option = click.option(
    "--model",
    metavar="MODEL",
    help="Also store vectors of this model, or rank by them; as `repo embed`.",
)


@click.group("thread")
def command() -> None:
    """Store conversations, select messages, and summarise them"""


@command.command("list")
@viewer_option
@at_option
@common_options
@pass_session
def listed(session: Session, *, at: str) -> None:
    """List the threads

    \b
    Example:
      repo thread list
    """
    with session.open() as repository:
        found = opened(session, repository).threads(at)
    if session.json:
        output.emit("thread-list", {"threads": [_thread_json(info) for info in found]})
        return
    rows = [
        (
            output.one_line(info.name),
            output.plural(info.next_ord, "message"),
            output.one_line(info.title, width=60),
        )
        for info in found
    ]
    output.say(*output.table(rows))


@command.command("show")
@click.argument("thread")
@click.option("--raw", is_flag=True, help="Show all messages instead of summaries.")
@click.option(
    "--as-of", metavar="TIME", help="Only messages that exist at this time and have not expired."
)
@viewer_option
@at_option
@common_options
@pass_session
def show(session: Session, *, thread: str, raw: bool, as_of: str | None, at: str) -> None:
    """Show the messages of THREAD, summarised parts as summaries

    \b
    Examples:
      repo thread show support-17
      repo thread show support-17 --raw
    """
    with session.open() as repository:
        memory = opened(session, repository)
        info = memory.thread(thread, at)
        read = memory.messages if raw else memory.view
        found = read(thread, as_of=dates.moment(session.clock(), as_of), at=at)
    if session.json:
        output.emit(
            "thread-show",
            {"thread": _thread_json(info), "messages": [_message_json(one) for one in found]},
        )
        return
    output.say(*_lines(found))


@command.command("append")
@click.argument("thread")
@click.argument("text", required=False)
@click.option("--role", default="user", show_default=True, help="Role of the speaker.")
@click.option(
    "--stdin", is_flag=True, help="Read messages from standard input: one JSON object per line."
)
@click.option(
    "--save", is_flag=True, help="The input is the whole conversation: append only new messages."
)
@model_option
@viewer_option
@commit_options
@common_options
@pass_session
def append(
    session: Session,
    *,
    thread: str,
    text: str | None,
    role: str,
    stdin: bool,
    save: bool,
    model: str | None,
    author: str | None,
) -> None:
    """Append TEXT, or messages from standard input, to THREAD

    `-` for TEXT means --stdin. Each input line has the fields role and text, and optionally
    created_at, expires_at, id, tool_calls, tool_call_id and props. If `repo config` has
    compact_over, a thread with more tokens is then compacted as by `repo thread compact`, but not
    for a restricted viewer.

    \b
    Examples:
      repo thread append support-17 "my printer is on fire"
      repo thread append support-17 --stdin --save < conversation.jsonl
    """
    if text == "-":
        stdin, text = True, None
    if stdin == (text is not None):
        raise click.UsageError("give either TEXT or --stdin")
    if not stdin and not str(text).strip():
        raise click.UsageError("TEXT: got an empty text, expected what was said")
    given = _read_lines() if stdin else [{"role": role, "text": text}]
    with session.open() as repository:
        memory = opened(session, repository, model, author)
        written = (memory.save if save else memory.append)(thread, given)
        grown = [] if written.commit is None else _compacted_after(session, memory, thread)
    report(session, "append", written, compacted=grown)


@command.command("select")
@click.argument("thread")
@click.argument("query", required=False)
@click.option(
    "-n", "--limit", type=int, default=10, show_default=True, help="Maximal number of units."
)
@click.option(
    "--order",
    type=click.Choice(["similarity", "chronological"]),
    default="similarity",
    show_default=True,
    help="Best first, or in order of time.",
)
@click.option(
    "--unit",
    type=click.Choice(["message", "exchange"]),
    default="message",
    show_default=True,
    help="Single messages, or a user's message with the replies to it.",
)
@click.option("--window", type=int, metavar="N", help="Only from the newest N messages.")
@click.option("--as-of", metavar="TIME", help="Time for expiry [default: that of the commit].")
@model_option
@viewer_option
@at_option
@common_options
@pass_session
def select(
    session: Session,
    *,
    thread: str,
    query: str | None,
    limit: int,
    order: str,
    unit: str,
    window: int | None,
    as_of: str | None,
    model: str | None,
    at: str,
) -> None:
    """Select messages of THREAD by QUERY, or the last ones

    \b
    Examples:
      repo thread select support-17 "printer" -n 3
      repo thread select support-17 -n 5
    """
    with session.open() as repository:
        found = opened(session, repository, model).select(
            query,
            thread=thread,
            limit=limit,
            at=at,
            order=order,
            unit=unit,
            window=window,
            as_of=dates.moment(session.clock(), as_of),
        )
    if session.json:
        receipt = None if found.receipt is None else str(found.receipt)
        output.emit(
            "thread-select",
            {
                "receipt": receipt,
                "messages": [
                    _message_json(one) | _passage_json(found.passages.get(one.id))
                    for one in found.messages
                ],
                "warnings": [one.to_dict() for one in found.warnings],
            },
        )
        return
    output.note(*answer.warning_lines(found.warnings))
    if not found.messages:
        output.note(output.faint("no message selected; repo thread list shows the threads"))
    output.say(*_lines(found.messages, found.passages))


command.add_command(compact.command)
command.add_command(extract.command)


@command.command("clear")
@click.argument("thread")
@click.option("--before", type=int, metavar="N", help="Only messages before this index.")
@viewer_option
@commit_options
@common_options
@pass_session
def clear(session: Session, *, thread: str, before: int | None, author: str | None) -> None:
    """Hide the messages of THREAD

    Older revisions still have them; `repo erase` destroys them. Other threads are not changed.

    \b
    Example:
      repo thread clear support-17
    """
    with session.open() as repository:
        memory = opened(session, repository, None, author)
        written = memory.clear(thread) if before is None else memory.purge(thread, before)
    report(session, "clear", written)


def _compacted_after(session: Session, memory: Conversations, thread: str) -> list[dict[str, Any]]:
    """Compacts a thread to which messages were just appended; what fails is said, since the
    messages are stored."""
    rule = None if memory.at().is_restricted else compaction(session, memory)
    if rule is None:
        return []
    try:
        ords = memory.compact_by(rule, thread).ords
    except IbidemError as error:
        output.note(f"warning: not compacted: {error}")
        return []
    return [{"thread": thread, "first": ords[0], "last": ords[-1]}] if ords else []


def _read_lines() -> list[Any]:
    found: list[Any] = []
    for number, line in enumerate(sys.stdin, 1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except ValueError as error:
                raise InvalidInputError(f"line {number}: invalid JSON: {error}") from error
    return found


def _thread_json(info: ThreadInfo) -> dict[str, Any]:
    return shapes.fields_json(info, "name", "next_ord", "summaries", "title")


def _message_json(one: Stored) -> dict[str, Any]:
    return shapes.fields_json(
        one,
        *("id", "thread", "ord", "last", "role", "text", "created_at", "expires_at"),
        *("message_id", "tool_calls", "tool_call_id", "props"),
    )


def _passage_json(passage: Passage | None) -> dict[str, Any]:
    return {} if passage is None else {"passage": [passage.start, passage.stop]}


def _lines(messages: Any, passages: Mapping[NodeId, Passage] | None = None) -> list[str]:
    lines: list[str] = []
    for one in messages:
        position = f"{one.ord}-{one.last}" if one.is_summary else str(one.ord)
        passage = None if passages is None else passages.get(one.id)
        if passage is not None:
            position += f"[{passage.start}:{passage.stop}]"
        text = (one.text if passage is None else passage.text).splitlines() or [""]
        lines.append(
            f"{output.faint(position)} {output.strong(output.one_line(one.role))}: {text[0]}"
            f"  {output.faint(str(one.id))}"
        )
        lines += [f"    {line}" for line in text[1:]]
    return lines
