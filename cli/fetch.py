"""`repo remote fetch`: copies the branches of a remote without moving local ones."""

from __future__ import annotations

import click

from ibidem.cli.options.common import author_option, common_options
from ibidem.cli.options.copies import include_option, show_report, token
from ibidem.cli.session import Session, pass_session


@click.command("fetch")
@click.argument("remote", default="origin")
@click.option("--force", "force", is_flag=True, help="Also accept branches that were rolled back.")
@include_option
@author_option
@common_options
@pass_session
def command(
    session: Session, *, remote: str, force: bool, include: tuple[str, ...], author: str | None
) -> None:
    """Download the branches of REMOTE without merging them

    REMOTE defaults to origin. Its branches are stored as `remotes/REMOTE/heads/NAME`. A branch that
    is not a descendant of its last known commit is rejected: it was rolled back or rewritten.

    \b
    Examples:
      repo remote fetch
      repo remote fetch backup --include receipts
    """
    with session.open() as repository:
        report = repository.sync.fetch(
            remote,
            include=include,
            force=force,
            token=token(session),
            author=session.author(author),
        )
    show_report(session, "remote-fetch", report)
