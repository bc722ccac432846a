"""`repo switch`: switches to another branch."""

from __future__ import annotations

import click

from ibidem.cli.render import output, shapes
from ibidem.cli.session import (
    Session,
    author_option,
    common_options,
    complete_revision,
    pass_session,
)


@click.command("switch")
@click.argument("name", shell_complete=complete_revision)
@click.option("-c", "--create", is_flag=True, help="Create the branch first, at the current head.")
@author_option
@common_options
@pass_session
def command(session: Session, *, name: str, create: bool, author: str | None) -> None:
    """Switch to the branch NAME

    Files stay as they are: what differs from the branch counts as a change of the file, until `repo
    checkout . --force` takes the documents of the branch.

    \b
    Examples:
      repo switch main
      repo switch -c experiment
    """
    with session.open() as repository:
        who = session.author(author)
        if create:
            repository.branch(name, author=who)
        repository.switch(name, author=who)
        head = repository.head
    if session.json:
        output.emit("switch", {"branch": name, "head": None if head is None else str(head)})
    else:
        output.say(f"on branch {output.one_line(name)}, {shapes.head_line(head)}")
