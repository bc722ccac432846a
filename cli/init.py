"""`repo init`: creates an empty repository."""

from __future__ import annotations

from pathlib import Path

import click

from ibidem.cli.render import output
from ibidem.cli.session import (
    Session,
    author_option,
    color_option,
    json_option,
    pass_session,
)


@click.command("init")
@click.argument("path", type=click.Path(path_type=Path), default=".")
@author_option
@json_option
@color_option
@pass_session
def command(session: Session, path: Path, author: str | None) -> None:
    """Create an empty repository in PATH

    \b
    Example:
      repo init knowledge
    """
    import ibidem

    with ibidem.init(
        path.resolve(), author=session.author(author), clock=session.clock()
    ) as repository:
        folder = repository.folder
    if session.json:
        output.emit("init", {"path": str(folder)})
    else:
        output.say(f"created an empty repository in {folder}")
        output.note(output.faint("next: repo commit PATH -m MESSAGE, or repo demo to look around"))
