"""`repo cherry-pick`: applies the change of one commit to the current branch."""

from __future__ import annotations

import click

from ibidem.cli.options.common import commit_options, common_options, complete_revision
from ibidem.cli.render import rebased
from ibidem.cli.session import Session, pass_session


@click.command("cherry-pick")
@click.argument("rev", shell_complete=complete_revision)
@click.option("-m", "--message", default="", help="Commit message [default: that of REV].")
@commit_options
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context, session: Session, *, rev: str, message: str, author: str | None
) -> None:
    """Apply the change of the commit REV to the current branch

    For a merge commit, this is the change against its first parent. Changes that do not apply are
    recorded as conflicts; the exit code is then 1.

    \b
    Example:
      repo cherry-pick experiment~2
    """
    with session.open() as repository:
        done = repository.cherry_pick(rev, author=session.author(author), message=message)
        rebased.tell(context, session, repository, "cherry-pick", done)
