"""What `rebase`, `cherry-pick` and `revert` say about the commits that they made again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibidem.cli import conflicts, exits, output

if TYPE_CHECKING:
    from ibidem.cli.session import Session
    from ibidem.repo.merge.replant import Replanted
    from ibidem.store.protocol import Store


def tell(
    context: click.Context,
    session: Session,
    store: Store,
    name: str,
    done: Replanted,
    *,
    dry_run: bool = False,
) -> None:
    """Prints what was done, and ends with 1 where it left conflicts."""
    if session.json:
        found = conflicts.merge_json(done.outcome, done.changes, done.conflicts)
        found["commits"] = conflicts.commits_json(done.commits)
        found["dropped"] = conflicts.commits_json(done.dropped)
        output.emit(name, {**found, "is_dry_run": dry_run})
    else:
        for commit in done.commits:
            output.say(f"commit {commit.cid}  {output.one_line(commit.message, width=60)}")
        for commit in done.dropped:
            message = output.one_line(commit.message, width=60)
            output.say(f"dropped {commit.cid}  {message}  (its change is there already)")
        output.say(*conflicts.merge_lines(store, done.outcome, done.changes, done.conflicts))
        if done.conflicts:
            output.note(output.faint(conflicts.NEXT))
    context.exit(exits.FAILED if done.conflicts else exits.OK)
