"""`repo fsck`: verifies all data of a repository and repairs what can be repaired."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ibidem.cli import exits
from ibidem.cli.options.common import common_options
from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from ibidem.repo.maintenance.report import FsckReport

SHOWN_MAX = 50


@click.command("fsck")
@click.option("--repair", is_flag=True, help="Repair what can be repaired.")
@click.option(
    "--from",
    "source",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="With --repair: a copy of the repository to take missing blocks from.",
)
@click.option("--deep", is_flag=True, help="Also read every block with a second library (slow).")
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context, session: Session, *, repair: bool, source: Path | None, deep: bool
) -> None:
    """Verify the integrity of all data in the repository

    Reads every page, block, tree, ref, log entry, receipt and index file; `repo doctor` is the
    quick check. Erased data is counted, not reported as a fault. Exits with 12 if data is damaged,
    with 1 if only derived data is.

    With --repair, missing and damaged blocks are copied from the repository at --from, and
    damaged parts of the index, the embedding cache and the receipt log are removed.

    With --deep, each block is also decoded by dag-cbor, which shares no code with this program;
    a block on which the two disagree is reported. This is many times slower.

    \b
    Examples:
      repo fsck
      repo fsck --deep
      repo fsck --repair --from ../backup
    """
    if source is not None and not repair:
        raise click.UsageError("--from needs --repair")
    from ibidem.repo.maintenance.folder import fsck_folder, repair_folder

    address = session.address()
    report = fsck_folder(address, deep=deep, progress=session.meter)
    if repair and not report.is_clean:
        report = repair_folder(address, report, source, progress=session.meter)
    if session.json:
        output.emit("fsck", report_json(report))
    else:
        _show(report)
    if not report.is_data_whole:
        context.exit(exits.CORRUPT)
    context.exit(exits.OK if report.is_clean else exits.FAILED)


def report_json(report: FsckReport) -> dict[str, object]:
    """Returns a report in the schema `ibidem/fsck/1`."""
    return {
        **shapes.fields_json(
            report,
            *("is_clean", "is_data_whole", "notes", "repaired", "block_count", "size_bytes"),
            *("unreachable_count", "erased_count", "counts"),
        ),
        "faults": [
            {
                **shapes.fields_json(fault, "kind", "where", "detail", "cid"),
                "needed_by": fault.needed_by or None,
            }
            for fault in report.faults
        ],
    }


def _show(report: FsckReport) -> None:
    for text in report.repaired:
        output.say(f"{output.good('mended')} {text}")
    for fault in report.faults[:SHOWN_MAX]:
        output.say(f"{output.bad(str(fault.kind).ljust(9))} {output.one_line(str(fault))}")
    if len(report.faults) > SHOWN_MAX:
        output.say(f"… and {len(report.faults) - SHOWN_MAX:,} more; --json has all")
    for text in report.notes:
        output.say(f"{output.faint('note'.ljust(9))} {text}")
    read = f"{output.plural(report.block_count, 'block')}, {report.size_bytes:,} bytes"
    output.say(
        f"read {read}; {report.unreachable_count:,} unreferenced, {report.erased_count:,} erased"
    )
    if report.is_clean:
        output.say("no damage found")
