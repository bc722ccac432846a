"""`repo gc`: deletes unreferenced blocks."""

from __future__ import annotations

import click

from ibidem.cli.options.common import author_option, common_options
from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, pass_session


@click.command("gc")
@click.option("--dry-run", is_flag=True, help="Only count.")
@click.option(
    "--keep-operations",
    metavar="N",
    type=click.IntRange(min=1),
    help="Keep the newest N operations for undo, and drop older ones [default: 10000].",
)
@author_option
@common_options
@pass_session
def command(
    session: Session, *, dry_run: bool, keep_operations: int | None, author: str | None
) -> None:
    """Delete unreferenced blocks

    Blocks that are reachable from a branch, a tag, a kept receipt, a run, the stage or an operation
    of the log are kept. The operation log is truncated to the newest N operations, and blocks that
    only older ones referenced are deleted. Other processes may read and write meanwhile. Data of a
    newer format version stops the collection before anything is deleted.

    \b
    Examples:
      repo gc --dry-run
      repo gc --keep-operations 100
    """
    from ibidem.repo.operation_log import OPERATIONS_KEPT

    with session.open() as repository:
        report = repository.maintenance.gc(
            keep_operations=OPERATIONS_KEPT if keep_operations is None else keep_operations,
            dry_run=dry_run,
            author=session.author(author),
        )
    if session.json:
        output.emit(
            "gc",
            shapes.fields_json(
                report,
                *("is_dry_run", "block_count", "size_bytes", "counts", "kept_count"),
                *("operation_count", "snapshot_count"),
            ),
        )
        return
    verb = "would delete" if report.is_dry_run else "deleted"
    counts = ", ".join(output.plural(count, kind) for kind, count in report.counts.items())
    output.say(
        f"{verb} {output.plural(report.block_count, 'block')}, {report.size_bytes:,} bytes"
        + (f": {counts}" if counts else ""),
        f"{report.kept_count:,} blocks kept",
    )
    if report.operation_count:
        output.say(f"{output.plural(report.operation_count, 'operation')} dropped from the log")
