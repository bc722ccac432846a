"""`repo init`: creates an empty repository."""

from __future__ import annotations

from pathlib import Path

import click

from ibidem.cli.render import output
from ibidem.cli.session import (
    FOLDER,
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

    If there is one already, it stays as it is.

    \b
    Example:
      repo init knowledge
    """
    import ibidem

    is_new = not (path / FOLDER).is_dir()
    if is_new:
        opened = ibidem.init(path.resolve(), author=session.author(author), clock=session.clock())
    else:
        opened = ibidem.open(path.resolve(), clock=session.clock())
    with opened as repository:
        folder = repository.folder
    if session.json:
        output.emit("init", {"path": str(folder), "is_new": is_new})
    elif not is_new:
        output.say(f"there is a repository in {folder} already; nothing was changed")
    else:
        output.say(f"created an empty repository in {folder}")
        output.note(output.faint("next: repo commit PATH -m MESSAGE, or repo demo to look around"))
