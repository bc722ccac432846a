"""`repo branch`: lists, creates and deletes branches."""

from __future__ import annotations

import click

from ibidem.cli.render import output
from ibidem.cli.session import Session, at_option, author_option, common_options, pass_session


@click.command("branch")
@click.argument("name", required=False)
@click.option("-d", "--delete", is_flag=True, help="Delete the branch NAME.")
@author_option
@at_option
@common_options
@pass_session
def command(
    session: Session, *, name: str | None, delete: bool, author: str | None, at: str
) -> None:
    """List branches, or create or delete the branch NAME

    A new branch starts at --at; `repo switch` makes it the current one.

    \b
    Examples:
      repo branch
      repo branch experiment --at main~2
      repo branch -d experiment
    """
    if delete and name is None:
        raise click.UsageError("--delete needs a branch NAME")
    with session.open() as repository:
        if name is None:
            current = repository.current_branch
            branches = {branch: str(commit) for branch, commit in repository.branches().items()}
        elif delete:
            repository.delete_branch(name, author=session.author(author))
        else:
            target = repository.branch(name, at=at, author=session.author(author))
    if name is None:
        _show(session, current, branches)
    elif session.json:
        made = None if delete else str(target)
        output.emit("branch", {"name": name, "is_deleted": delete, "target": made})
    elif delete:
        output.say(f"deleted branch {output.one_line(name)}; repo undo brings it back")
    else:
        output.say(f"branch {output.one_line(name)} is at {target}")


def _show(session: Session, current: str, branches: dict[str, str]) -> None:
    if session.json:
        rows = [{"name": name, "target": target} for name, target in branches.items()]
        output.emit("branch-list", {"current": current, "branches": rows})
        return
    for name, target in branches.items():
        mark, shown = ("*", output.strong(name)) if name == current else (" ", name)
        output.say(f"{mark} {shown}  {output.faint(target)}")
    if current not in branches:
        output.say(f"* {output.strong(current)}  {output.faint('no commit yet')}")
