"""`repo log`: the commits that led to a revision, newest first."""

from __future__ import annotations

from itertools import islice

import click

from ibidem.cli import output, shapes
from ibidem.cli.session import Session, at_option, common_options, pass_session


@click.command("log")
@click.option("-n", "--limit", type=click.IntRange(min=0), help="Commits at most.")
@click.option("--oneline", is_flag=True, help="One line a commit.")
@at_option
@common_options
@pass_session
def command(session: Session, *, limit: int | None, oneline: bool, at: str) -> None:
    """Show the commits that led to a revision, newest first

    \b
    Examples:
      repo log --oneline -n 20
      repo log --at main~3
    """
    with session.open() as repository:
        commits = list(islice(repository.log(at), limit))
    if session.json:
        output.emit("log", {"commits": [shapes.commit_json(commit) for commit in commits]})
    elif oneline:
        rows = [
            (
                shapes.short(commit.cid),
                output.moment(commit.time),
                output.one_line(commit.author, width=20),
                output.one_line(commit.message or "(no message)", width=72),
            )
            for commit in commits
        ]
        output.say(*output.table(rows))
    else:
        for place, commit in enumerate(commits):
            output.say(*([""] if place else []), *shapes.commit_lines(commit))
