"""`repo pull`: fetches, and takes the remote's branch into the current one."""

from __future__ import annotations

import click

from ibidem.cli.options.copies import include_option, show_report, token
from ibidem.cli.session import Session, author_option, common_options, pass_session


@click.command("pull")
@click.argument("remote", default="origin")
@include_option
@author_option
@common_options
@pass_session
def command(session: Session, *, remote: str, include: tuple[str, ...], author: str | None) -> None:
    """Take what REMOTE has into the current branch, by default from origin

    Where both went on, a commit joins them. What cannot be settled is listed by `repo status`,
    and everything works meanwhile.

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
