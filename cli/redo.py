"""`repo redo`: reverts an undo."""

from __future__ import annotations

import click

from ibidem.cli.options.common import author_option, common_options
from ibidem.cli.session import Session, pass_session
from ibidem.cli.undo import step


@click.command("redo")
@author_option
@common_options
@pass_session
def command(session: Session, author: str | None) -> None:
    """Revert the last undo

    \b
    Example:
      repo redo
    """
    step(session, "redo", author)
