"""`repo prune`: drops the history before a revision."""

from __future__ import annotations

import click

from ibidem.cli.render import output
from ibidem.cli.session import Session, author_option, common_options, pass_session


@click.command("prune")
@click.argument("revision")
@click.option(
    "--drop-signatures",
    is_flag=True,
    help="Drop signatures, which are not valid for rewritten commits.",
)
@author_option
@common_options
@pass_session
def command(session: Session, *, revision: str, drop_signatures: bool, author: str | None) -> None:
    """Drop the history before REVISION on all branches and tags

    On every branch and tag that descends from REVISION, the later commits are rewritten with the
    same states, so their CIDs change; kept receipts and runs replay as before. `repo undo` reverts
    it, until `repo gc` deletes the old commits.

    \b
    Example:
      repo prune main~100
    """
    with session.open() as repository:
        done = repository.history.prune(
            revision, drop_signatures=drop_signatures, author=session.author(author)
        )
    if session.json:
        output.emit(
            "prune",
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
