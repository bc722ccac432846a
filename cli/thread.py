"""`repo thread`: stores conversations, selects messages from them and summarises them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import embedders
from ibidem.cli.options import dates
from ibidem.cli.options.viewer import level_option, viewer_of, viewer_option
from ibidem.cli.render import answer, output, shapes
from ibidem.cli.session import (
    Session,
    at_option,
    commit_options,
    common_options,
    pass_session,
)
from ibidem.objects.errors import IbidemError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ibidem.embed.language_model import LanguageModel
    from ibidem.memory.conversation.changes import Written
    from ibidem.memory.conversation.compaction import Compaction
    from ibidem.memory.conversation.conversations import Conversations
    from ibidem.memory.conversation.message import Stored, ThreadInfo
    from ibidem.memory.conversation.passages import Passage
    from ibidem.objects.ids import NodeId
    from ibidem.repo.repository import Repository

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
        found = _memory(session, repository).threads(at)
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
        memory = _memory(session, repository)
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
        memory = _memory(session, repository, model, author)
        written = (memory.save if save else memory.append)(thread, given)
        grown = [] if written.commit is None else _compacted_after(session, memory, thread)
    _report(session, "append", written, compacted=grown)


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
        found = _memory(session, repository, model).select(
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


@command.command("compact")
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
@click.option(
    "--model",
    metavar="MODEL",
    help="Language model that writes the summary in place of TEXT: openai:NAME or ollama:NAME "
    "[default: `repo config`, language_model].",
)
@level_option("summary")
@click.option(
    "--scope",
    metavar="SCOPE",
    help="Scope of the summary, in place of the messages' one; empty for none.",
)
@commit_options
@common_options
@pass_session
def compact(
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
        memory = _memory(session, repository, None, author)
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
    _report(session, "compact", written)


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
        memory = _memory(session, repository, None, author)
        rule = _compaction(session, memory, over, model)
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
        output.say(_compacted_line(row))
    would = "would be " if dry_run else ""
    output.note(f"{would}summarised: a part of {output.plural(len(rows), 'thread')}")


def _compacted_line(row: Mapping[str, Any]) -> str:
    return f"{output.one_line(row['thread'])}: {row['first']} to {row['last']}"


def _compacted_after(session: Session, memory: Conversations, thread: str) -> list[dict[str, Any]]:
    """Compacts a thread to which messages were just appended; what fails is said, since the
    messages are stored."""
    rule = None if memory.at().is_restricted else _compaction(session, memory)
    if rule is None:
        return []
    try:
        ords = memory.compact_by(rule, thread).ords
    except IbidemError as error:
        output.note(f"warning: not compacted: {error}")
        return []
    return [{"thread": thread, "first": ords[0], "last": ords[-1]}] if ords else []


def _compaction(
    session: Session, memory: Conversations, over: int | None = None, model: str | None = None
) -> Compaction | None:
    """Returns how threads are compacted; None if nothing says from how many tokens on."""
    from ibidem.memory.conversation.compaction import RECENT_DEFAULT, Compaction
    from ibidem.retrieve.query.settings import of_conversations

    own = of_conversations(memory.at().config)
    tokens = own.get("compact_over") if over is None else over
    if tokens is None:
        return None
    recent = own.get("compact_recent", RECENT_DEFAULT)
    name = model or session.settings().get("language_model")
    if not name:
        return Compaction.of_sentences(over_tokens=tokens, recent=recent)
    writer = embedders.language_model(session.environment, name)
    return Compaction.by(writer, over_tokens=tokens, recent=recent)


@command.command("extract")
@click.argument("thread")
@click.argument("first", type=int)
@click.argument("last", type=int)
@click.argument("facts", nargs=-1, metavar="[FACT]...")
@click.option("--made-by", metavar="NAME", help="What extracted the FACTs, stored with them.")
@click.option(
    "--model",
    metavar="MODEL",
    help="Language model that extracts facts in place of FACT: openai:NAME or ollama:NAME "
    "[default: `repo config`, language_model].",
)
@click.option("--rules", is_flag=True, help="Rules extract facts; no model is called.")
@click.option("--user", metavar="NAME", help="Whose messages they are, for --rules.")
@common_options
@pass_session
def extract(
    session: Session,
    *,
    thread: str,
    first: int,
    last: int,
    facts: tuple[str, ...],
    made_by: str | None,
    model: str | None,
    rules: bool,
    user: str | None,
) -> None:
    """Stage facts from messages FIRST to LAST of THREAD, to be accepted

    Without FACT a language model extracts them. The messages are sent to the model once; each fact
    is staged with the messages that it is from and the name of the model. `repo status` lists them,
    `repo node remove` drops one, `repo undo` all of them, and `repo commit` accepts the rest.

    With --rules, what users say of themselves in plain words ("I live in Graz", "I prefer tea over
    coffee", "remember that ...") is committed as proposals, which no question finds. `repo memory
    proposals` lists them, and `repo memory accept` accepts.

    \b
    Examples:
      repo thread extract support-17 0 9 --rules --user ada
      repo thread extract support-17 0 9 --model ollama:llama3.2
      repo thread extract support-17 0 9 "Ada uses a Brother printer." --made-by bob
    """
    if user is not None and not rules:
        raise click.UsageError("--user needs --rules")
    if rules:
        if facts or model is not None or made_by is not None:
            raise click.UsageError("--rules: got it beside FACT or a model, expected it alone")
        _extract_by_rules(session, thread, first, last, user)
        return
    if facts and model is not None:
        raise click.UsageError("FACT and --model: got both, expected one of them")
    if bool(facts) != (made_by is not None):
        raise click.UsageError("FACT and --made-by: got one, expected both or none")
    with session.open() as repository:
        if not facts:
            from ibidem.memory.conversation.extracted_facts import facts_from_messages

            writer = _language_model(session, model, "FACT is missing: write the facts")
            found = _in_range(_memory(session, repository), thread, first, last)
            facts, made_by = facts_from_messages(found, writer), writer.name
        with repository.stage.transaction() as tx:
            from ibidem.memory.conversation.conversations import Conversations

            ids = Conversations(tx).add_facts(thread, first, last, facts, model=str(made_by))
    if session.json:
        rows = [{"id": str(one), "text": fact} for one, fact in zip(ids, facts, strict=True)]
        output.emit("thread-extract", {"facts": rows})
        return
    for one, fact in zip(ids, facts, strict=True):
        output.say(f"{one}  {output.one_line(fact)}")
    what = "repo commit accepts them, repo undo drops them" if ids else "no fact was found"
    output.note(output.faint(what))


def _extract_by_rules(
    session: Session, thread: str, first: int, last: int, user: str | None
) -> None:
    from ibidem.memory.conversation.rules import USER

    with session.open() as repository:
        memory = _memory(session, repository)
        ids = memory.propose_by_rules(thread, first, last, user=USER if user is None else user)
        revision = repository.at()
        texts = [revision.node(one).summary or "" for one in ids]
    if session.json:
        rows = [{"id": str(one), "text": text} for one, text in zip(ids, texts, strict=True)]
        output.emit("thread-extract", {"facts": rows})
        return
    for one, text in zip(ids, texts, strict=True):
        output.say(f"{one}  {output.one_line(text)}")
    what = "next: repo memory accept ID... makes them facts" if ids else "no new fact was found"
    output.note(output.faint(what))


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
        memory = _memory(session, repository, None, author)
        written = memory.clear(thread) if before is None else memory.purge(thread, before)
    _report(session, "clear", written)


def _summary(
    session: Session, memory: Conversations, thread: str, first: int, last: int, model: str | None
) -> tuple[str, str]:
    """Returns what the language model writes about messages, and its name."""
    from ibidem.memory.conversation.summary import summary_of

    writer = _language_model(session, model, "TEXT is missing: write the summary")
    return summary_of(_in_range(memory, thread, first, last), writer), writer.name


def _in_range(memory: Conversations, thread: str, first: int, last: int) -> list[Stored]:
    messages = memory.messages(thread, first=max(first, 0), limit=max(last - first + 1, 1))
    return [one for one in messages if first <= one.ord <= last]


def _language_model(session: Session, model: str | None, what: str) -> LanguageModel:
    name = model or session.settings().get("language_model")
    if not name:
        raise click.UsageError(
            f"{what}, or name a model with --model or `repo config set language_model NAME --local`"
        )
    return embedders.language_model(session.environment, name)


def _memory(
    session: Session,
    repository: Repository,
    model: str | None = None,
    author: str | None = None,
) -> Conversations:
    from ibidem.memory.conversation.conversations import Conversations

    embedder = embedders.embedder(session.environment, model) if model else None
    return Conversations(
        repository, embedder=embedder, author=session.author(author), viewer=viewer_of(session)
    )


def _read_lines() -> list[Any]:
    found: list[Any] = []
    for number, line in enumerate(sys.stdin, 1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except ValueError as error:
                raise InvalidInputError(f"line {number}: invalid JSON: {error}") from error
    return found


def _report(
    session: Session,
    name: str,
    written: Written,
    *,
    compacted: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    commit = None if written.commit is None else str(written.commit.cid)
    if session.json:
        fields: dict[str, Any] = {"commit": commit, "ords": list(written.ords)}
        if compacted is not None:
            fields["compacted"] = compacted
        output.emit(f"thread-{name}", fields)
        return
    said = {"append": "kept", "compact": "summarised", "clear": "hidden"}[name]
    count = output.plural(len(written.ords), "message")
    output.say("nothing changed" if commit is None else f"{said}: {count}")
    for row in compacted or ():
        output.say(f"summarised: {_compacted_line(row)}")


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
