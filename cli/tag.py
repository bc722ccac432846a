"""`repo tag`: lists, creates and deletes tags."""

from __future__ import annotations

import click

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
    if delete and name is None:
        raise click.UsageError("--delete needs a tag NAME")
    target = None
    with session.open() as repository:
        if name is None:
            tags = repository.tags()
        elif delete:
            repository.delete_tag(name, author=session.author(author))
        else:
            target = repository.tag(name, at=at, author=session.author(author))
    if name is None:
        _show(session, {tag: str(commit) for tag, commit in tags.items()})
    elif session.json:
        made = None if target is None else str(target)
        output.emit("tag", {"name": name, "is_deleted": delete, "target": made})
    elif delete:
        output.say(f"deleted tag {output.one_line(name)}; repo undo brings it back")
    else:
        output.say(f"tag {output.one_line(name)} is at {target}")


def _show(session: Session, tags: dict[str, str]) -> None:
    if session.json:
        rows = [{"name": name, "target": target} for name, target in tags.items()]
        output.emit("tag-list", {"tags": rows})
    else:
        output.say(
            *output.table([(output.one_line(name), target) for name, target in tags.items()])
        )
