"""`repo import`: imports a file that `repo export` wrote."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ibidem.cli.options.copies import show_report
from ibidem.cli.session import Session, author_option, common_options, pass_session


@click.command("import")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option(
    "--branch", metavar="NAME", help="Branch for the commit of a CAR file that has no refs."
)
@author_option
@common_options
@pass_session
def command(session: Session, *, file: str, branch: str | None, author: str | None) -> None:
    """Import a FILE written by `repo export`

    Missing branches are created, branches that are behind are fast-forwarded, and diverged ones are
    merged. Everything is checked first; if anything is invalid, nothing changes. `-` reads standard
    input.

    \b
    Examples:
      repo import all.car
      curl https://example.org/facts.car | repo import -
    """
    source = sys.stdin.buffer if file == "-" else Path(file)
    with session.open() as repository:
        report = repository.sync.load(source, branch=branch, author=session.author(author))
    show_report(session, "import", report)
