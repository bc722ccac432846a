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
    quiet_option,
)


@click.command("init")
@click.argument("path", default=".")
@author_option
@json_option
@color_option
@quiet_option
@pass_session
def command(session: Session, path: str, author: str | None) -> None:
    """Create an empty repository in PATH

    PATH is a folder, or a URL such as s3://bucket/prefix. If there is a repository already, it
    stays as it is.

    \b
    Examples:
      repo init knowledge
      repo init s3://team/knowledge
    """
    import ibidem
    from ibidem.repo.maintenance import checkup
    from ibidem.repo.opening import is_taken, location_of

    address = path if "://" in path else str(Path(path).resolve())
    is_new = not is_taken(location_of(address))
    if is_new:
        opened = ibidem.init(address, author=session.author(author), clock=session.clock())
    else:
        opened = ibidem.open(address, clock=session.clock())
    with opened as repository:
        shown = repository.core.shown
        notes = checkup.notes(repository.core.store) if is_new else ()
    for note in notes:
        output.note(f"note: {note}")
    if session.json:
        output.emit("init", {"path": shown, "is_new": is_new})
    elif not is_new:
        output.say(f"there is a repository in {shown} already; nothing was changed")
    else:
        output.say(f"created an empty repository in {shown}")
        output.note(output.faint("next: repo commit PATH -m MESSAGE, or repo demo to look around"))
