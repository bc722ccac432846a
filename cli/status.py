"""`repo status`: shows the current branch, staged changes and conflicts."""

from __future__ import annotations

import click

from ibidem.cli.render import changes, conflicts, output, shapes
from ibidem.cli.session import Session, common_options, pass_session

CHANGES_SHOWN = 20


@click.command("status")
@common_options
@pass_session
def command(session: Session) -> None:
    """Show the current branch, staged changes and open conflicts

    \b
    Example:
      repo status
    """
    with session.open() as repository:
        branch, head = repository.current_branch, repository.head
        staged = list(repository.stage.changes())
        lines = changes.change_lines(repository.core.store, staged, limit=CHANGES_SHOWN)
        open_conflicts = repository.conflicts()
        conflict_lines = conflicts.conflict_lines(repository.core.store, open_conflicts)
    if session.json:
        output.emit(
            "status",
            {
                "branch": branch,
                "head": None if head is None else str(head),
                "staged": changes.counts_json(staged),
                "conflicts": [conflicts.conflict_json(each) for each in open_conflicts],
            },
        )
        return
    output.say(f"on branch {output.one_line(branch)}", shapes.head_line(head))
    if staged:
        output.say("", f"staged: {changes.summary(staged)}")
        output.say(*(f"  {line}" for line in lines))
        output.note(output.faint("next: repo commit -m MESSAGE, or repo unstage"))
    else:
        output.say("nothing is staged")
    if open_conflicts:
        output.say("", f"{output.plural(len(open_conflicts), 'conflict')} to resolve")
        output.say(*(f"  {line}" for line in conflict_lines))
        output.note(output.faint(conflicts.NEXT))
