"""`repo revert`: reverts the change of one commit in a new commit."""

from __future__ import annotations

import click

from ibidem.cli.options.common import commit_options, common_options, complete_revision
from ibidem.cli.render import rebased
from ibidem.cli.session import Session, pass_session


@click.command("revert")
@click.argument("rev", shell_complete=complete_revision)
@click.option("-m", "--message", default="", help="Why.")
@commit_options
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context, session: Session, *, rev: str, message: str, author: str | None
) -> None:
    """Revert the change of the commit REV with a new commit

    The history is not rewritten. Values that were changed again since are recorded as conflicts;
    the exit code is then 1. Tombstones stay: only `repo node untombstone` removes one.

    \b
    Example:
      repo revert HEAD~3 -m "the import was wrong"
    """
    with session.open() as repository:
        done = repository.revert(rev, author=session.author(author), message=message)
        rebased.tell(context, session, repository, "revert", done)
