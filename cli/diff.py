"""`repo diff`: what lies between two revisions, or between the head and what is staged."""

from __future__ import annotations

import click

from ibidem.cli import changes, exits, output
from ibidem.cli.session import Session, common_options, pass_session


@click.command("diff")
@click.argument("before", required=False)
@click.argument("after", required=False)
@click.option("--limit", type=click.IntRange(min=0), help="Changes to list at most.")
@click.option("--exit-code", is_flag=True, help="End with 1 when there is a difference.")
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context,
    session: Session,
    *,
    before: str | None,
    after: str | None,
    limit: int | None,
    exit_code: bool,
) -> None:
    """Show what changed between two revisions

    Without AFTER, up to the head; without both, what is staged and not committed.

    \b
    Examples:
      repo diff
      repo diff main~1
      repo diff release-1 main --json
    """
    with session.open() as repository:
        if before is None:
            found = list(repository.staged_changes())
        else:
            found = list(repository.diff(before, after or "HEAD"))
        lines = [] if session.json else changes.change_lines(repository.store, found, limit=limit)
    if session.json:
        output.emit(
            "diff",
            {
                "counts": changes.counts_json(found),
                "changes": [changes.change_json(change) for change in found[:limit]],
            },
        )
    else:
        output.say(*lines, changes.summary(found))
    context.exit(exits.FAILED if exit_code and found else exits.OK)
