"""`repo export`: writes a repository, or part of it, to one file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ibidem.cli.options.common import at_option, common_options, complete_label
from ibidem.cli.options.copies import include_option, show_report
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session, read_viewer

BUNDLE = "car"


@click.command("export")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option(
    "--format",
    "format_",
    metavar="FORMAT",
    help="Format of FILE; by default by its suffix, and car for any other.",
)
@click.option("--branch", metavar="NAME", multiple=True, help="Only this branch; may be repeated.")
@click.option("--since", metavar="REV", help="Leave out the history up to and including REV.")
@click.option(
    "--label",
    metavar="TYPE",
    shell_complete=complete_label,
    help="Only nodes of this type at --at, without history.",
)
@click.option("--full", "full", is_flag=True, help="Everything, including the local operation log.")
@click.option(
    "--include-tombstoned", is_flag=True, help="Also write what was forgotten; not in car."
)
@include_option
@click.option(
    "--for",
    "viewer",
    metavar="LEVEL[:SCOPES]",
    help="Only what a viewer with this level and these scopes may see.",
)
@at_option
@common_options
@pass_session
def command(
    session: Session,
    *,
    file: str,
    format_: str | None,
    include_tombstoned: bool,
    branch: tuple[str, ...],
    since: str | None,
    label: str | None,
    full: bool,
    include: tuple[str, ...],
    at: str,
    viewer: str | None,
) -> None:
    """Export the repository, or one state of it, to the new FILE

    In the format car, the file holds every branch and tag with its history. `-` writes to standard
    output. With --label it holds one commit with the nodes of one type, with --for one with what a
    viewer may see, and nothing of the rest. With --since, whoever imports it must have REV. Indexes
    are never in it, the local log only with --full.

    The other formats hold the graph at --at without history: ndjson (everything), parquet (a
    folder), graphml and jsonld. The same root gives the same bytes.

    \b
    Examples:
      repo export all.car
      repo export week.car --branch main --since main@{2026-01-01T00:00:00Z}
      repo export facts.car --label Fact
      repo export east.car --for low:east
      repo export graph.ndjson
    """
    if format_ is None and file != "-":
        from ibidem.adapters.exporting.exporter import format_of

        format_ = format_of(file)
    if format_ not in (None, BUNDLE):
        if branch or since or full or include:
            raise click.UsageError("--branch, --since, --full and --include are for the format car")
        _graph(session, file, format_, at, label, include_tombstoned, viewer)
        return
    if include_tombstoned:
        raise click.UsageError("--include-tombstoned is for other formats than car")
    is_part = label is not None or viewer is not None
    if is_part and (branch or since or full or include):
        raise click.UsageError("--label and --for write one state, without the other options")
    if not is_part and at != "HEAD":
        raise click.UsageError("--at goes with --label and --for; see --branch and --since")
    target = sys.stdout.buffer if file == "-" else Path(file)
    with session.open() as repository:
        if is_part:
            report = repository.sync.export_part(
                target, at=at, label=label, viewer=read_viewer(viewer)
            )
        else:
            report = repository.sync.export(
                target, branches=branch, since=since, include=include, full=full
            )
    show_report(session, "export", report, to_stderr=file == "-")


def _graph(
    session: Session,
    file: str,
    format_: str | None,
    at: str,
    label: str | None,
    include_tombstoned: bool,
    viewer: str | None,
) -> None:
    from ibidem.adapters import exporting
    from ibidem.repo.viewer.exposure import not_permitted

    caller = session.caller()
    if caller is not None and not caller.everything:
        raise not_permitted("repo export")
    with session.open() as repository:
        report = exporting.export(
            repository,
            sys.stdout.buffer if file == "-" else Path(file),
            format=format_,
            at=at,
            label=label,
            include_tombstoned=include_tombstoned,
            viewer=read_viewer(viewer),
        )
    if session.json and file != "-":
        output.emit("export", report.to_dict())
        return
    tell = output.note if file == "-" else output.say
    counts = (
        (report.node_count, "node"),
        (report.edge_count, "edge"),
        (report.vector_count, "vector"),
        (report.tombstone_count, "tombstone"),
    )
    tell(", ".join(output.plural(count, noun) for count, noun in counts if count) or "no nodes")
    for reason, count in report.omitted.items():
        output.note(f"not carried over: {reason}: {count:,}")
