"""`repo tag`: lists, creates and deletes tags, and refs of one's own."""

from __future__ import annotations

import click

from ibidem.cli.branch import is_changed, refuse_damaged, rows
from ibidem.cli.options.common import at_option, author_option, common_options
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session


@click.command("tag")
@click.argument("name", required=False)
@click.option("-d", "--delete", is_flag=True, help="Delete the tag NAME.")
@click.option("--ref", "is_ref", is_flag=True, help="A ref, refs/NAME, which may move.")
@author_option
@at_option
@common_options
@pass_session
def command(
    session: Session,
    *,
    name: str | None,
    delete: bool,
    is_ref: bool,
    author: str | None,
    at: str,
) -> None:
    """List tags, or create or delete the tag NAME

    A new tag is placed at --at. Tags do not move: creating one that exists is an error. With --ref
    it is a ref of your own, called refs/NAME as a revision, which is created or moved.

    \b
    Examples:
      repo tag
      repo tag release-1 --at main~2
      repo tag --ref deploy/prod --at release-1
    """
    noun = "ref" if is_ref else "tag"
    if is_changed(session, noun, name, delete=delete, author=author, at=at):
        return
    with session.open() as repository:
        found = repository.refs() if is_ref else repository.tags()
        targets = {one: str(commit) for one, commit in found.items()}
    if session.json:
        refuse_damaged(found)
        output.emit(f"{noun}-list", {f"{noun}s": rows(targets)})
    else:
        output.say(*output.table([(output.one_line(one), to) for one, to in targets.items()]))
        refuse_damaged(found)
