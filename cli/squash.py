"""`repo squash`: combines the last commits of a branch into one."""

from __future__ import annotations

import click

from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, author_option, common_options, pass_session


@click.command("squash")
@click.argument("base", required=False)
@click.option(
    "-m", "--message", default="", help="Commit message [default: that of the last commit]."
)
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
    """Combine the commits after BASE into one with the same state

    Without BASE, combines all commits of the branch. The graph itself does not change; `repo undo`
    restores the commits until `repo gc` deletes them.

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
        output.say(f"combined into {made.cid}; repo undo restores the commits")
