"""`repo branch`: lists, creates and deletes branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibidem.cli.options.common import at_option, author_option, common_options
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from ibidem.repo.refs import Targets


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
    if is_changed(session, "branch", name, delete=delete, author=author, at=at):
        return
    with session.open() as repository:
        current = repository.current_branch
        found = repository.branches()
    branches = {branch: str(commit) for branch, commit in found.items()}
    if session.json:
        refuse_damaged(found)
        output.emit("branch-list", {"current": current, "branches": rows(branches)})
        return
    for branch, target in branches.items():
        mark, shown = ("*", output.strong(branch)) if branch == current else (" ", branch)
        output.say(f"{mark} {shown}  {output.faint(target)}")
    if current not in branches and not found.damaged:
        output.say(f"* {output.strong(current)}  {output.faint('no commit yet')}")
    refuse_damaged(found)


def is_changed(
    session: Session, noun: str, name: str | None, *, delete: bool, author: str | None, at: str
) -> bool:
    """Makes or deletes the branch, tag or ref NAME and says so; False where there is no NAME."""
    if name is None:
        if delete:
            raise click.UsageError(f"--delete needs a {noun} NAME")
        return False
    target = None
    with session.open() as repository:
        signed = session.author(author)
        make, remove = {
            "branch": (repository.branch, repository.delete_branch),
            "tag": (repository.tag, repository.delete_tag),
            "ref": (repository.set_ref, repository.delete_ref),
        }[noun]
        if delete:
            remove(name, author=signed)
        else:
            target = str(make(name, at=at, author=signed))
    if session.json:
        output.emit(noun, {"name": name, "is_deleted": delete, "target": target})
    elif delete:
        output.say(f"deleted {noun} {output.one_line(name)}; repo undo brings it back")
    else:
        output.say(f"{noun} {output.one_line(name)} is at {target}")
    return True


def refuse_damaged(targets: Targets) -> None:
    """Raises the error of a ref that could not be read, after the others were printed."""
    targets.whole()


def rows(targets: dict[str, str]) -> list[dict[str, str]]:
    """Returns names and what they point to as JSON."""
    return [{"name": name, "target": target} for name, target in targets.items()]
