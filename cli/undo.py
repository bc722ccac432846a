"""`repo undo`: undoes the last operation."""

from __future__ import annotations

import click

from ibidem.cli.render import output, rebased, shapes
from ibidem.cli.session import Session, author_option, common_options, pass_session


@click.command("undo")
@author_option
@common_options
@pass_session
def command(session: Session, author: str | None) -> None:
    """Undo the last operation: a commit, a branch, a switch, a tag

    Nothing is lost: an undo is an operation too, and `repo redo` reverts it. Tombstones stay: only
    `repo node untombstone` removes one.

    \b
    Example:
      repo undo
    """
    step(session, "undo", author)


def step(session: Session, verb: str, author: str | None) -> None:
    """Runs `undo` or `redo` and reports the result."""
    with session.open() as repository:
        history, signed = repository.history, session.author(author)
        done = history.undo(author=signed) if verb == "undo" else history.redo(author=signed)
        head = repository.head
    operation = done.operation
    if session.json:
        fields: dict[str, object] = {
            "operation": str(operation.cid),
            "description": operation.description,
            "head": None if head is None else str(head),
        }
        if verb == "undo":
            fields["tombstones_kept"] = [str(node) for node in done.kept]
        output.emit(verb, fields)
    else:
        output.say(operation.description, shapes.head_line(head))
        rebased.tell_kept(done.kept)
