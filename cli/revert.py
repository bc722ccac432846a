"""`repo revert`: takes the change of one commit back, in a new commit."""

from __future__ import annotations

import click

from ibidem.cli.render import rebased
from ibidem.cli.session import (
    Session,
    author_option,
    common_options,
    complete_revision,
    pass_session,
)


@click.command("revert")
@click.argument("rev", shell_complete=complete_revision)
@click.option("-m", "--message", default="", help="Why.")
@author_option
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context, session: Session, *, rev: str, message: str, author: str | None
) -> None:
    """Take the change of the commit REV back, in a new commit on the current branch

    Nothing is rewritten. What was changed again since is recorded as a conflict; the exit code is
    then 1. Tombstones stay: only `repo node untombstone` takes one away.

    \b
    Example:
      repo revert HEAD~3 -m "the import was wrong"
    """
    with session.open() as repository:
        done = repository.revert(rev, author=session.author(author), message=message)
        rebased.tell(context, session, repository.core.store, "revert", done)
