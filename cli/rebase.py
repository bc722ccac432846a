"""`repo history rebase`: reapplies the commits of the current branch on top of another."""

from __future__ import annotations

import click

from ibidem.cli.options.common import commit_options, common_options, complete_revision
from ibidem.cli.render import rebased
from ibidem.cli.session import Session, pass_session


@click.command("rebase")
@click.argument("onto", shell_complete=complete_revision)
@click.option("--dry-run", is_flag=True, help="Show the result and write nothing.")
@commit_options
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context, session: Session, *, onto: str, dry_run: bool, author: str | None
) -> None:
    """Reapply the commits of the current branch on top of ONTO

    Each commit keeps its author, time and message. Changes that do not apply are recorded as
    conflicts without stopping the rebase; the exit code is then 1. `repo undo` reverts all of it.

    \b
    Example:
      repo history rebase main
    """
    with session.open() as repository:
        done = repository.rebase(onto, dry_run=dry_run, author=session.author(author))
        rebased.tell(context, session, repository, "history-rebase", done, dry_run=dry_run)
