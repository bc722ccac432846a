"""`repo gc`: deletes unreferenced blocks."""

from __future__ import annotations

import click

from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, author_option, common_options, pass_session


@click.command("gc")
@click.option("--dry-run", is_flag=True, help="Only count.")
@click.option(
    "--keep-operations",
    metavar="N",
    type=click.IntRange(min=1),
    help="Give up undo beyond the newest N operations, and what only they held [default: 10000].",
)
@author_option
@common_options
@pass_session
def command(
    session: Session, *, dry_run: bool, keep_operations: int | None, author: str | None
) -> None:
    """Delete unreferenced blocks

    What a branch, a tag, a kept receipt, a run, the stage or an operation of the log leads to
    stays. The log is bounded here: operations before the newest N are given up, and what only they
    held goes; with a log that is shorter, only what never became visible does. Others may read and
    write meanwhile. Something of a newer version stops it before anything is deleted.

    \b
    Examples:
      repo gc --dry-run
      repo gc --keep-operations 100
    """
    from ibidem.repo.operation_log import OPERATIONS_KEPT

    with session.open() as repository:
        report = repository.maintenance.gc(
            keep_operations=OPERATIONS_KEPT if keep_operations is None else keep_operations,
            is_dry_run=dry_run,
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
        f"{report.kept_count:,} blocks are needed",
    )
    if report.operation_count:
        output.say(f"{output.plural(report.operation_count, 'operation')} of the log given up")
