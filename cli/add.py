"""`repo add`: stages documents and JSON lines for the next commit."""

from __future__ import annotations

from pathlib import Path

import click

from ibidem.cli import exits
from ibidem.cli.options import sources
from ibidem.cli.options.common import common_options
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session


@click.command("add")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@sources.missing_options
@click.option("--strict", is_flag=True, help="Stage nothing if any file or line is invalid.")
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context,
    session: Session,
    *,
    paths: tuple[Path, ...],
    prune: bool,
    ignore_removal: bool,
    overwrite: bool,
    strict: bool,
) -> None:
    """Stage files, folders, or JSON lines from standard input (-)

    Files become documents with sections and passages; `repo commit --help` names the formats.
    .ndjson and .jsonl files and standard input hold one node, edge or vector per line. Unchanged
    files are skipped. An invalid file is reported and skipped, and the exit code is then 1.

    \b
    Examples:
      repo add notes/ README.md
      repo add --prune notes/
      producer | repo add -
    """
    with session.open() as repository:
        report, _ = sources.ingest_paths(
            session,
            repository,
            repository.stage.transaction,
            paths,
            folder=session.root(),
            prune=prune,
            ignore_removal=ignore_removal,
            overwrite=overwrite,
            strict=strict,
        )
    if session.json:
        output.emit("add", sources.report_json(report))
    else:
        sources.note_trouble(report)
        output.say(*sources.report_lines(report))
    context.exit(exits.FAILED if report.errors else exits.OK)
