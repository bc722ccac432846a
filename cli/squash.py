"""`repo squash`: folds the commits of a branch into one."""

from __future__ import annotations

import click

from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, author_option, common_options, pass_session


@click.command("squash")
@click.argument("base", required=False)
@click.option("-m", "--message", default="", help="What it says [default: as the last].")
@click.option("--branch", metavar="NAME", help="Branch [default: the current one].")
@author_option
@common_options
@pass_session
def command(
    session: Session,
    *,
    base: str | None,
    message: str,
    branch: str | None,
    author: str | None,
) -> None:
    """Fold the commits after BASE into one with the same state

    Without BASE, all commits of the branch. The graph stays as it is; undo brings the commits back
    as long as garbage was not collected.

    \b
    Examples:
      repo squash main~5 -m "the week's edits"
      repo squash -m "begin anew"
    """
    with session.open() as repository:
        made = repository.history.squash(
            base, branch=branch, message=message, author=session.author(author)
        )
    if session.json:
        output.emit("squash", {"commit": shapes.block_json(made)})
    else:
        output.say(f"folded into {made.cid}; repo undo brings the commits back")
