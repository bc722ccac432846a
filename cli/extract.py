"""`repo thread extract`: makes facts of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibidem.cli.conversations import messages_of, opened, writer_of, writer_option
from ibidem.cli.options.common import common_options
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ibidem.objects.ids import NodeId


@click.command("extract")
@click.argument("thread")
@click.argument("first", type=int)
@click.argument("last", type=int)
@click.argument("facts", nargs=-1, metavar="[FACT]...")
@click.option("--made-by", metavar="NAME", help="What extracted the FACTs, stored with them.")
@writer_option("extracts facts in place of FACT")
@click.option("--rules", is_flag=True, help="Rules extract facts; no model is called.")
@click.option("--user", metavar="NAME", help="Whose messages they are, for --rules.")
@common_options
@pass_session
def command(
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

            writer = writer_of(session, model, "FACT is missing: write the facts")
            found = messages_of(opened(session, repository), thread, first, last)
            facts, made_by = facts_from_messages(found, writer), writer.name
        with repository.stage.transaction() as tx:
            from ibidem.memory.conversation.conversations import Conversations

            ids = Conversations(tx).add_facts(thread, first, last, facts, model=str(made_by))
    what = "repo commit accepts them, repo undo drops them" if ids else "no fact was found"
    _print_facts(session, ids, facts, what)


def _extract_by_rules(
    session: Session, thread: str, first: int, last: int, user: str | None
) -> None:
    from ibidem.memory.conversation.rules import USER

    with session.open() as repository:
        memory = opened(session, repository)
        ids = memory.propose_by_rules(thread, first, last, user=USER if user is None else user)
        revision = repository.at()
        texts = [revision.node(one).summary or "" for one in ids]
    what = "next: repo memory accept ID... makes them facts" if ids else "no new fact was found"
    _print_facts(session, ids, texts, what)


def _print_facts(session: Session, ids: Sequence[NodeId], texts: Sequence[str], what: str) -> None:
    """Prints facts, and what can be done with them."""
    if session.json:
        rows = [{"id": str(one), "text": text} for one, text in zip(ids, texts, strict=True)]
        output.emit("thread-extract", {"facts": rows})
        return
    for one, text in zip(ids, texts, strict=True):
        output.say(f"{one}  {output.one_line(text)}")
    output.note(output.faint(what))
