"""`repo history`: rewrites the history of branches."""

from __future__ import annotations

import click

from ibidem.cli import rebase
from ibidem.cli.options.common import author_option, commit_options, common_options
from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, pass_session


@click.group("history")
def command() -> None:
    """Rewrite the history: combine, reapply or drop commits"""


command.add_command(rebase.command)


@command.command("squash")
@click.argument("base", required=False)
@click.option(
    "-m", "--message", default="", help="Commit message [default: that of the last commit]."
)
@click.option("--branch", metavar="NAME", help="Branch [default: the current one].")
@commit_options
@common_options
@pass_session
def squash(
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
      repo history squash main~5 -m "the week's edits"
      repo history squash -m "the first state"
    """
    with session.open() as repository:
        made = repository.history.squash(
            base, branch=branch, message=message, author=session.author(author)
        )
    if session.json:
        output.emit("history-squash", {"commit": shapes.block_json(made)})
    else:
        output.say(f"combined into {made.cid}; repo undo restores the commits")


@command.command("prune")
@click.argument("revision")
@click.option(
    "--drop-signatures",
    is_flag=True,
    help="Drop signatures, which are not valid for rewritten commits.",
)
@author_option
@common_options
@pass_session
def prune(session: Session, *, revision: str, drop_signatures: bool, author: str | None) -> None:
    """Drop the history before REVISION on all branches and tags

    On every branch and tag that descends from REVISION, the later commits are rewritten with the
    same states, so their CIDs change; kept receipts and runs replay as before. `repo undo` reverts
    it, until `repo gc` deletes the old commits.

    \b
    Example:
      repo history prune main~100
    """
    with session.open() as repository:
        done = repository.history.prune(
            revision, drop_signatures=drop_signatures, author=session.author(author)
        )
    if session.json:
        output.emit(
            "history-prune",
            {
                "first": str(done.first),
                "moved": [
                    {"name": name, "target": str(cid)} for name, cid in sorted(done.moved.items())
                ],
                "untouched": list(done.untouched),
                "rewritten_count": done.rewritten_count,
                "dropped_count": done.dropped_count,
            },
        )
        return
    output.say(
        f"the history now starts at {done.first}: "
        f"{output.plural(done.rewritten_count, 'commit')} rewritten, "
        f"{output.plural(done.dropped_count, 'commit')} dropped"
    )
    if done.untouched:
        names = ", ".join(output.one_line(name) for name in done.untouched)
        output.say(f"with their own history: {names}")
