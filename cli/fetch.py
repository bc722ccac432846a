"""`repo fetch`: copies what a remote has, and moves no branch here."""

from __future__ import annotations

import click

from ibidem.cli.options.copies import include_option, show_report, token
from ibidem.cli.session import Session, author_option, common_options, pass_session


@click.command("fetch")
@click.argument("remote", default="origin")
@click.option("--force", "is_forced", is_flag=True, help="Take branches that were rolled back too.")
@include_option
@author_option
@common_options
@pass_session
def command(
    session: Session, *, remote: str, is_forced: bool, include: tuple[str, ...], author: str | None
) -> None:
    """Copy what REMOTE has, by default origin

    Its branches are then `remotes/REMOTE/heads/NAME` here. A branch that does not come after
    where it was last seen is refused: somebody rolled it back, or rewrote it.

    \b
    Examples:
      repo fetch
      repo fetch backup --include receipts
    """
    with session.open() as repository:
        report = repository.sync.fetch(
            remote,
            include=include,
            is_forced=is_forced,
            token=token(session),
            author=session.author(author),
        )
    show_report(session, "fetch", report)
