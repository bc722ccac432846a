"""`repo unstage`: discards staged changes."""

from __future__ import annotations

import click

from ibidem.cli.render import changes, output
from ibidem.cli.session import Session, common_options, pass_session


@click.command("unstage")
@common_options
@pass_session
def command(session: Session) -> None:
    """Discard all staged changes

    \b
    Example:
      repo unstage
    """
    with session.open() as repository:
        dropped = list(repository.stage.changes())
        repository.stage.clear()
    if session.json:
        output.emit("unstage", {"dropped": changes.counts_json(dropped)})
    else:
        output.say(f"dropped: {changes.summary(dropped)}" if dropped else "nothing was staged")
