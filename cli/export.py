"""`repo export`: writes a repository, or part of it, to one file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ibidem.cli.options.copies import include_option, show_report
from ibidem.cli.options.trust import trust_of, trust_option
from ibidem.cli.session import Session, at_option, common_options, pass_session


@click.command("export")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--branch", metavar="NAME", multiple=True, help="Only this branch; may be repeated.")
@click.option("--since", metavar="REV", help="Leave out the history up to and including REV.")
@click.option("--label", metavar="TYPE", help="Only nodes of this type at --at, without history.")
@click.option(
    "--full", "is_full", is_flag=True, help="Everything, including the local operation log."
)
@include_option
@trust_option
@at_option
@common_options
@pass_session
def command(
    session: Session,
    *,
    file: str,
    branch: tuple[str, ...],
    since: str | None,
    label: str | None,
    is_full: bool,
    include: tuple[str, ...],
    at: str,
) -> None:
    """Export the repository to the new FILE, in CAR format

    The file contains every branch and tag with its history. `-` writes to standard output. --label
    exports a single commit with the nodes of one type, --trust a single commit with the nodes that
    a caller may see. A file written with --since can be imported only where REV exists. Indexes are
    never exported, the local log only with --full.

    \b
    Examples:
      repo export all.car
      repo export week.car --branch main --since main@{2026-01-01T00:00:00Z}
      repo export facts.car --label Fact
    """
    is_part = label is not None or session.trust is not None
    if is_part and (branch or since or is_full or include):
        raise click.UsageError(
            "--label and --trust export a single state and exclude the other options"
        )
    if not is_part and at != "HEAD":
        raise click.UsageError("--at needs --label or --trust; see --branch and --since")
    target = sys.stdout.buffer if file == "-" else Path(file)
    with session.open() as repository:
        if is_part:
            trust = trust_of(session)
            report = repository.sync.export_part(target, at=at, label=label, trust=trust)
        else:
            report = repository.sync.export(
                target, branches=branch, since=since, include=include, is_full=is_full
            )
    show_report(session, "export", report, to_stderr=file == "-")
