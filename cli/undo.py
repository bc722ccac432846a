"""`repo undo`: takes the last operation back."""

from __future__ import annotations

import click

from ibidem.cli import output, shapes
from ibidem.cli.session import Session, author_option, common_options, pass_session


@click.command("undo")
@author_option
@common_options
@pass_session
def command(session: Session, author: str | None) -> None:
    """Take back the last operation: a commit, a branch, a switch, a tag

    Nothing is lost: undo is an operation too, and redo takes it back.

    \b
    Example:
      repo undo
    """
    step(session, "undo", author)


def step(session: Session, verb: str, author: str | None) -> None:
    """Runs `undo` or `redo` and says what it did."""
    with session.open() as repository:
        operation = getattr(repository, verb)(author=session.author(author))
        head = repository.head
    if session.json:
        output.emit(
            verb,
            {
                "operation": str(operation.cid),
                "description": operation.description,
                "head": None if head is None else str(head),
            },
        )
    else:
        output.say(operation.description, shapes.head_line(head))
