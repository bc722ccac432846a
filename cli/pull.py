"""`repo pull`: fetches, and merges the remote's branch into the current one."""

from __future__ import annotations

import click

from ibidem.cli import exits
from ibidem.cli.options.common import commit_options, common_options
from ibidem.cli.options.copies import include_option, show_report, token
from ibidem.cli.session import Session, pass_session


@click.command("pull")
@click.argument("remote", default="origin")
@include_option
@commit_options
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context,
    session: Session,
    *,
    remote: str,
    include: tuple[str, ...],
    author: str | None,
) -> None:
    """Fetch from REMOTE and merge into the current branch

    REMOTE defaults to origin. If the branches have diverged, a merge commit is created. Conflicts
    are listed by `repo status`; the branch remains usable meanwhile, and the exit code is 1.

    \b
    Examples:
      repo pull
      repo pull backup
    """
    with session.open() as repository:
        report = repository.sync.pull(
            remote, include=include, token=token(session), author=session.author(author)
        )
    show_report(session, "pull", report)
    context.exit(exits.FAILED if report.conflict_count else exits.OK)
