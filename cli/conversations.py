"""The conversations of a repository for the commands of `repo thread`: opened for the caller, the
rule by which they are compacted, and what a command reports of its changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import embedders
from ibidem.cli.options.viewer import viewer_of
from ibidem.cli.render import output
from ibidem.cli.session import Function, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ibidem.embed.language_model import LanguageModel
    from ibidem.memory.conversation.changes import Written
    from ibidem.memory.conversation.compaction import Compaction
    from ibidem.memory.conversation.conversations import Conversations
    from ibidem.memory.conversation.message import Stored
    from ibidem.repo.repository import Repository


def writer_option(task: str) -> Callable[[Function], Function]:
    """Returns `--model` for a command that has a language model do what `task` says."""
    return click.option(
        "--model",
        metavar="MODEL",
        help=f"Language model that {task}: openai:NAME or ollama:NAME "
        "[default: `repo config`, language_model].",
    )


def opened(
    session: Session,
    repository: Repository,
    model: str | None = None,
    author: str | None = None,
) -> Conversations:
    """Returns the conversations of a repository.

    Args:
        model: the model of vectors that messages get, and that selects.
        author: of what is committed; None for that of the run.
    """
    from ibidem.memory.conversation.conversations import Conversations

    embedder = embedders.embedder(session.environment, model) if model else None
    return Conversations(
        repository, embedder=embedder, author=session.author(author), viewer=viewer_of(session)
    )


def compaction(
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


def messages_of(memory: Conversations, thread: str, first: int, last: int) -> list[Stored]:
    """Returns the messages of a thread from index `first` to `last`, both included."""
    messages = memory.messages(thread, first=max(first, 0), limit=max(last - first + 1, 1))
    return [one for one in messages if first <= one.ord <= last]


def writer_of(session: Session, model: str | None, what: str) -> LanguageModel:
    """Returns the named language model, or the configured one; `what` says what is missing if
    there is none."""
    name = model or session.settings().get("language_model")
    if not name:
        raise click.UsageError(
            f"{what}, or name a model with --model or `repo config set language_model NAME --local`"
        )
    return embedders.language_model(session.environment, name)


def report(
    session: Session,
    name: str,
    written: Written,
    *,
    compacted: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Prints what a command of that name changed, and the summaries that this led to."""
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
        output.say(f"summarised: {compacted_line(row)}")


def compacted_line(row: Mapping[str, Any]) -> str:
    """Returns the line of one summary that was written: the thread and the messages."""
    return f"{output.one_line(row['thread'])}: {row['first']} to {row['last']}"
