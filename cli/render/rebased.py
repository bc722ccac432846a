"""The report of `rebase`, `cherry-pick` and `revert` on the commits that they created."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibidem.cli import exits
from ibidem.cli.render import conflicts, output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ibidem.cli.session import Session
    from ibidem.objects.ids import NodeId
    from ibidem.repo.merge.rebase import AppliedCommits
    from ibidem.repo.repository import Repository

SHOWN_MAX = 20


def tell(
    context: click.Context,
    session: Session,
    repository: Repository,
    name: str,
    done: AppliedCommits,
    *,
    dry_run: bool = False,
) -> None:
    """Prints the report, and exits with 1 if there are conflicts."""
    if session.json:
        found = conflicts.merge_json(done.outcome, done.changes, done.conflicts)
        found["commits"] = conflicts.commits_json(done.commits)
        found["dropped"] = conflicts.commits_json(done.dropped)
        found["tombstones_kept"] = [str(node) for node in done.kept]
        output.emit(name, {**found, "is_dry_run": dry_run})
    else:
        for commit in done.commits:
            output.say(f"commit {commit.cid}  {output.one_line(commit.message, width=60)}")
        for commit in done.dropped:
            message = output.one_line(commit.message, width=60)
            reason = "tombstones stay" if done.kept else "its change is already present"
            output.say(f"dropped {commit.cid}  {message}  ({reason})")
        output.say(*conflicts.merge_lines(repository, done.outcome, done.changes, done.conflicts))
        if done.conflicts:
            output.note(output.faint(conflicts.NEXT))
        tell_kept(done.kept)
    context.exit(exits.FAILED if done.conflicts else exits.OK)


def tell_kept(nodes: Sequence[NodeId]) -> None:
    """Lists the nodes that a tombstone still hides although the change would have removed it."""
    if not nodes:
        return
    stays = "a tombstone remains" if len(nodes) == 1 else "tombstones stay"
    output.note(f"{stays} on {output.plural(len(nodes), 'node')}: hidden nodes stay hidden")
    output.note(*(f"  {node}" for node in nodes[:SHOWN_MAX]))
    if len(nodes) > SHOWN_MAX:
        output.note(f"  and {len(nodes) - SHOWN_MAX:,} more; --json has all")
    output.note("hint: 'repo node untombstone ID' and 'repo commit' show a node again")
