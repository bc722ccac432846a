"""`repo merge`: merges another revision into the current branch."""

from __future__ import annotations

import click

from ibidem.cli import exits
from ibidem.cli.options.common import commit_options, common_options, complete_revision
from ibidem.cli.render import conflicts, output, shapes
from ibidem.cli.session import Session, pass_session


@click.command("merge")
@click.argument("rev", shell_complete=complete_revision)
@click.option("-m", "--message", default="", help="Why.")
@click.option("--dry-run", is_flag=True, help="Show the result and write nothing.")
@commit_options
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context,
    session: Session,
    *,
    rev: str,
    message: str,
    dry_run: bool,
    author: str | None,
) -> None:
    """Merge the revision REV into the current branch

    Changes are merged property by property. If both sides changed the same property differently, a
    conflict is recorded: the branch has one of the values and remains usable, and `repo status`
    lists the conflicts to resolve. The exit code is then 1.

    \b
    Examples:
      repo merge experiment --dry-run
      repo merge experiment -m "keep the retry queue"
    """
    with session.open() as repository:
        merged = repository.merge(
            rev, dry_run=dry_run, author=session.author(author), message=message
        )
        documents = [] if dry_run else conflicts.document_conflicts(repository)
        own = repository.core.commit_cid_of(rev) == repository.head
        branch = repository.current_branch
        lines = conflicts.merge_lines(
            repository, merged.outcome, merged.changes, merged.conflicts, documents
        )
    if session.json:
        made = None if merged.commit is None else shapes.block_json(merged.commit)
        found = conflicts.merge_json(merged.outcome, merged.changes, merged.conflicts)
        output.emit("merge", {**found, "commit": made, "is_dry_run": dry_run})
    elif str(merged.outcome) == "unchanged":
        what = "is the head itself" if own else "is contained in it"
        where = f"{output.one_line(branch)} is up to date"
        output.say(f"{where}: {output.one_line(rev)} {what}, nothing to merge")
    else:
        if merged.commit is not None:
            output.say(f"commit {merged.commit.cid}")
        output.say(*lines)
        if merged.conflicts:
            output.note(*conflicts.help_lines(merged.conflicts, documents))
    context.exit(exits.FAILED if merged.conflicts else exits.OK)
