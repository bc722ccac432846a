"""`repo tag`: lists, creates and deletes tags."""

from __future__ import annotations

import click

from ibidem.cli.branch import is_changed, rows
from ibidem.cli.render import output
from ibidem.cli.session import Session, at_option, author_option, common_options, pass_session


@click.command("tag")
@click.argument("name", required=False)
@click.option("-d", "--delete", is_flag=True, help="Delete the tag NAME.")
@author_option
@at_option
@common_options
@pass_session
def command(
    session: Session, *, name: str | None, delete: bool, author: str | None, at: str
) -> None:
    """List tags, or create or delete the tag NAME

    A new tag is placed at --at. Tags do not move: creating one that exists is an error.

    \b
    Examples:
      repo tag
      repo tag release-1 --at main~2
    """
    if is_changed(session, "tag", name, delete=delete, author=author, at=at):
        return
    with session.open() as repository:
        tags = {one: str(commit) for one, commit in repository.tags().items()}
    if session.json:
        output.emit("tag-list", {"tags": rows(tags)})
    else:
        output.say(*output.table([(output.one_line(one), target) for one, target in tags.items()]))
