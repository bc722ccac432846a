"""`repo bisect`: finds the commit at which an answer lost something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import asking, exits, moves, output, shapes
from ibidem.cli.session import Session, common_options, complete_revision, pass_session

if TYPE_CHECKING:
    from ibidem.repo.bisect import Bisection
    from ibidem.repo.repository import Repository


@click.command("bisect")
@click.option("--query", metavar="TEXT", required=True, help="What is asked at each commit.")
@click.option("--expect", metavar="NODE", required=True, help="Id of a node that should come.")
@click.option("--rank-max", type=int, metavar="N", help="The last rank that will do.")
@click.option(
    "--good",
    metavar="REV",
    shell_complete=complete_revision,
    help="Revision whose answer has it [default: where the node came to be].",
)
@click.option(
    "--bad",
    metavar="REV",
    default="HEAD",
    show_default=True,
    shell_complete=complete_revision,
    help="The last revision to consider.",
)
@asking.question_options
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context,
    session: Session,
    /,
    *,
    query: str,
    expect: str,
    rank_max: int | None,
    good: str | None,
    bad: str,
    **given: Any,
) -> None:
    """Find the first commit at which the answer lacks a node

    Goes along first parents and halves what is left, so of n commits about log2(n) are asked. Ends
    with 1 when no commit is to blame: the answer still has the node, or never had it.

    \b
    Examples:
      repo bisect --query "how do retries work" --expect 4364acf9b54d3abc400fc473a639a07b
      repo bisect --query "retries" --expect 4364acf9b54d3abc400fc473a639a07b --rank-max 3 --good v1
    """
    options = asking.options(session, **given)
    from ibidem.objects.ids import NodeId

    with session.open() as repository:
        found = repository.bisect(
            query, expect=NodeId.parse(expect), rank_max=rank_max, good=good, bad=bad, **options
        )
        lines = [] if session.json else _lines(repository, found)
    if session.json:
        output.emit("bisect", _json(found))
    else:
        output.say(*lines)
    context.exit(exits.OK if found.cause is not None else exits.FAILED)


def _json(found: Bisection) -> dict[str, Any]:
    first, last, cause = found.first_bad, found.last_good, found.cause
    return {
        "first_bad": None if first is None else shapes.commit_json(first),
        "last_good": None if last is None else str(last.cid),
        "cause": None if cause is None else moves.cause_json(cause),
        "commits_count": found.commits_count,
        "evaluations_count": found.evaluations_count,
        "steps": [{"commit": str(step.commit.cid), "holds": step.holds} for step in found.steps],
    }


def _lines(repository: Repository, found: Bisection) -> list[str]:
    from ibidem.repo.telling import cause_lines, commit_line, move_lines

    commits = output.plural(found.commits_count, "commit")
    asked = f"asked {found.evaluations_count} of {commits}"
    if found.first_bad is None:
        return ["the answer has it at every commit that was asked", output.faint(asked)]
    first = commit_line(found.first_bad)
    if found.cause is None:
        return [
            f"already missing at the first commit that could have it: {first}",
            output.faint(asked),
        ]
    head, *rest = cause_lines(repository.store, [found.cause])
    table = [f"  {line}" for line in move_lines(found.cause.moves)]
    return [output.strong(f"first bad {head}"), *rest, *table, output.faint(asked)]
