"""`repo import`: takes a file of another repository in."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ibidem.cli.options.copies import show_report
from ibidem.cli.session import Session, author_option, common_options, pass_session


@click.command("import")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--branch", metavar="NAME", help="For the commit of a CAR that is not a bundle.")
@author_option
@common_options
@pass_session
def command(session: Session, *, file: str, branch: str | None, author: str | None) -> None:
    """Take the FILE of `repo export` into this repository

    Branches that are missing are made, those that are behind are moved on, and those that went
    another way are merged. Everything is checked first; when anything is wrong, nothing changes.
    `-` reads standard input.

    \b
    Examples:
      repo import all.car
      curl https://example.org/facts.car | repo import -
    """
    source = sys.stdin.buffer if file == "-" else Path(file)
    with session.open() as repository:
        report = repository.sync.load(source, branch=branch, author=session.author(author))
    show_report(session, "import", report)
