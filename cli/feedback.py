"""`repo memory feedback`: records which items of an answer were right, wrong or not useful."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibidem.cli.options.common import commit_options, common_options
from ibidem.cli.options.ids import node_among, node_at
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import NotFoundError

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.repo.repository import Repository
    from ibidem.retrieve.answer.receipt import Receipt

_SESSION = click.option(
    "--session", "name", help="The session whose last answer is meant [default: the newest answer]."
)
_RECEIPT = click.option("--receipt", help="The receipt of the answer, instead of the last one.")
_REASON = click.option(
    "--reason", default="", metavar="TEXT", help="Why, for the readers of the notes."
)


@click.group("feedback")
def command() -> None:
    """Record feedback on answers; queries with --feedback use it"""


@command.command("vote")
@click.argument("node")
@click.option("--down", is_flag=True, help="Vote against the node.")
@_SESSION
@_RECEIPT
@_REASON
@commit_options
@common_options
@pass_session
def vote_command(
    session: Session,
    *,
    node: str,
    down: bool,
    name: str | None,
    receipt: str | None,
    reason: str,
    author: str | None,
) -> None:
    """Vote for or against NODE as an answer to the last question

    NODE is an id, or a prefix that is unique in the answer. The last vote of an author counts.

    \b
    Examples:
      repo memory feedback vote 01f5a2 --session ada
      repo memory feedback vote 01f5a2 --down --reason "outdated since May"
    """
    from ibidem.memory.recall.feedback import Feedback

    with session.open() as repository:
        found = _answer(repository, name, receipt)
        value, author = -1 if down else 1, session.author(author)
        wanted = _returned(found, node)
        notes = Feedback(repository).vote(found, wanted, value, reason=reason, author=author)
    _say(session, "vote", str(notes))


@command.command("not-useful")
@click.argument("nodes", nargs=-1)
@click.option(
    "--useful", multiple=True, help="A useful node; all others of the answer count as not useful."
)
@_SESSION
@_RECEIPT
@_REASON
@commit_options
@common_options
@pass_session
def not_useful_command(
    session: Session,
    *,
    nodes: tuple[str, ...],
    useful: tuple[str, ...],
    name: str | None,
    receipt: str | None,
    reason: str,
    author: str | None,
) -> None:
    """Mark NODES as not useful for the last question

    Each of NODES is an id, or a prefix that is unique in the answer. The marks count for similar
    questions.

    \b
    Examples:
      repo memory feedback not-useful 01f5a2 77aa
      repo memory feedback not-useful --useful 01f5a2 --session ada
    """
    from ibidem.memory.recall.feedback import Feedback

    with session.open() as repository:
        found = _answer(repository, name, receipt)
        notes = Feedback(repository).not_useful(
            found,
            [_returned(found, node) for node in nodes] or None,
            useful=[_returned(found, node) for node in useful] or None,
            reason=reason,
            author=session.author(author),
        )
    _say(session, "not-useful", str(notes))


@command.command("outcome")
@click.argument("node")
@click.option("--failed", is_flag=True, help="The outcome was bad.")
@commit_options
@common_options
@pass_session
def outcome_command(session: Session, *, node: str, failed: bool, author: str | None) -> None:
    """Record whether using NODE succeeded; queries with --worth use it

    NODE is an id or a unique prefix.

    \b
    Example:
      repo memory feedback outcome 01f5a2 --failed
    """
    with session.open() as repository:
        author = session.author(author)
        wanted = node_at(session, repository, node)
        notes = repository.notes.space().outcome(wanted, not failed, author=author)
    _say(session, "outcome", str(notes))


def _answer(repository: Repository, name: str | None, receipt: str | None) -> Receipt:
    """Returns the receipt of the answer that the options name."""
    from ibidem.memory.recall.query_log import QueryLog
    from ibidem.retrieve.answer.receipt import Receipt

    if receipt is None:
        last = QueryLog(repository.folder).last(name)
        if last is None or last.receipt is None:
            raise NotFoundError(
                "session: no answer is recorded",
                hint="ask with 'repo memory recall', or name a receipt with --receipt",
            )
        receipt = last.receipt
    _, found = repository.receipts.find(receipt)
    if not isinstance(found, Receipt):
        raise NotFoundError("receipt: it is sealed, expected one that contains the question")
    return found


def _returned(found: Receipt, text: str) -> NodeId:
    """Returns the node of an answer that is meant."""
    ids = [item.id for item in found.items]
    return node_among(ids, text, where="of the answer")


def _say(session: Session, kind: str, notes: str) -> None:
    if session.json:
        output.emit("memory-feedback", {"kind": kind, "notes": notes})
    else:
        output.say(f"noted: {kind.replace('-', ' ')}, notes {notes}")
