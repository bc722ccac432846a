"""`repo import`: imports a file that `repo export` wrote, or the data of another program."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ibidem.cli import exits
from ibidem.cli.options.common import commit_options, common_options
from ibidem.cli.options.copies import show_report
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from ibidem.adapters.importing.report import ImportReport

BUNDLE = "car"


@click.command("import")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option(
    "--format",
    "format_",
    metavar="FORMAT",
    help="Format of FILE; by default it is recognised, and car for standard input.",
)
@click.option(
    "--branch",
    metavar="NAME",
    help="Branch that gets the commits; for a CAR file only if it has no refs.",
)
@click.option("--model", metavar="NAME", help="Name of the model of vectors that have none.")
@click.option("--dry-run", is_flag=True, help="Read and count everything, and change nothing.")
@click.option(
    "--batch",
    metavar="N",
    type=click.IntRange(min=1),
    help="Commit after N records, so that an interrupted import goes on from there.",
)
@commit_options
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context,
    session: Session,
    *,
    file: str,
    format_: str | None,
    branch: str | None,
    model: str | None,
    dry_run: bool,
    batch: int | None,
    author: str | None,
) -> None:
    """Import a FILE of `repo export`, or the data of another program

    A CAR file of `repo export` has history: missing branches are created, branches that are behind
    are fast-forwarded, and diverged ones are merged; if that leaves conflicts, the exit code is 1.
    The other formats become one commit: ndjson, chatgpt, claude, mem0, mnem, parquet, chroma,
    lancedb, qdrant, graphml and rdf. What is imported twice changes nothing the second time.
    Everything is checked first; if anything is invalid, nothing changes. `-` reads standard input.

    \b
    Examples:
      repo import all.car
      repo import chatgpt-export.zip --dry-run
      curl https://example.org/facts.car | repo import -
    """
    if file == "-" and format_ not in (None, BUNDLE):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "standard input"
            with path.open("wb") as stream:
                shutil.copyfileobj(sys.stdin.buffer, stream)
            _records(session, path, format_, branch, model, dry_run, batch, author)
        return
    from ibidem.adapters.importing.formats import detect

    found = format_ or (BUNDLE if file == "-" else detect(Path(file)))
    if found != BUNDLE:
        _records(session, Path(file), found, branch, model, dry_run, batch, author)
        return
    if model is not None or dry_run or batch is not None:
        raise click.UsageError("--model, --dry-run and --batch are for other formats than car")
    source = sys.stdin.buffer if file == "-" else Path(file)
    with session.open() as repository:
        report = repository.sync.load(source, branch=branch, author=session.author(author))
    show_report(session, "import", report)
    context.exit(exits.FAILED if report.conflict_count else exits.OK)


def _records(
    session: Session,
    path: Path,
    format_: str | None,
    branch: str | None,
    model: str | None,
    dry_run: bool,
    batch: int | None,
    author: str | None,
) -> None:
    from ibidem.adapters import importing

    with session.open() as repository:
        report = importing.load(
            repository,
            path,
            format=format_,
            model=model,
            branch=branch,
            dry_run=dry_run,
            batch=batch,
            progress=session.meter,
            author="" if dry_run else session.author(author),
        )
    session.meter.stop()
    if session.json:
        output.emit("import", report.to_dict())
    else:
        _show(report)


def _show(report: ImportReport) -> None:
    would = "would be " if report.is_dry_run else ""
    nodes = (
        f"{output.plural(report.nodes_added, 'node')} {would}added, "
        f"{report.nodes_changed:,} changed, {report.nodes_unchanged:,} unchanged"
    )
    has_messages = report.messages_added or report.messages_unchanged
    if not has_messages or report.nodes_added or report.nodes_changed or report.nodes_unchanged:
        output.say(nodes)
    if has_messages:
        added = output.plural(report.messages_added, "message")
        output.say(f"{added} {would}added, {report.messages_unchanged:,} unchanged")
    for count, noun in (
        (report.edge_count, "edge"),
        (report.vector_count, "vector"),
        (report.tombstone_count, "tombstone"),
    ):
        if count:
            output.say(output.plural(count, noun))
    for reason, count in report.omitted.items():
        output.note(f"not carried over: {reason}: {count:,}")
    if report.commits:
        output.say(f"committed {report.commits[-1]}")
    elif not report.is_dry_run:
        output.say("nothing has changed")
