"""`repo undo`: undoes the last operation, or discards staged changes."""

from __future__ import annotations

import click

from ibidem.cli.options.common import author_option, common_options
from ibidem.cli.render import changes, output, rebased, shapes
from ibidem.cli.session import Session, pass_session


@click.command("undo")
@click.option("--staged", is_flag=True, help="Discard all staged changes instead.")
@author_option
@common_options
@pass_session
def command(session: Session, *, staged: bool, author: str | None) -> None:
    """Undo the last operation, such as a commit, or discard what is staged

    Nothing is lost: an undo is an operation too, and `repo redo` reverts it. Tombstones stay: only
    `repo node untombstone` removes one. Staged changes are in no operation: --staged discards them.

    \b
    Examples:
      repo undo
      repo undo --staged
    """
    if not staged:
        step(session, "undo", author)
        return
    if author is not None:
        raise click.UsageError("--staged and --author exclude each other: nothing is signed")
    with session.open() as repository:
        dropped = list(repository.stage.changes())
        repository.stage.clear()
    if session.json:
        output.emit("undo-staged", {"dropped": changes.counts_json(dropped)})
    else:
        output.say(f"dropped: {changes.summary(dropped)}" if dropped else "nothing was staged")


def step(session: Session, verb: str, author: str | None) -> None:
    """Runs `undo` or `redo` and reports the result."""
    with session.open() as repository:
        history, signed = repository.history, session.author(author)
        done = history.undo(author=signed) if verb == "undo" else history.redo(author=signed)
        head, staged = repository.head, list(repository.stage.changes())
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
        operated = operation.description.removeprefix("redo ").removeprefix("undo ")
        word = "undone" if verb == "undo" else "redone"
        output.say(f"{word}: {operated.replace(' heads/', ' ')}", shapes.head_line(head))
        if staged:
            output.note(
                f"still staged: {changes.summary(staged)}",
                "hint: 'repo undo --staged' discards what is staged",
            )
        rebased.tell_kept(done.kept)
