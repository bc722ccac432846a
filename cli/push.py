"""`repo push`: moves refs of a remote to where they stand here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibidem.cli.options.copies import show_report, token
from ibidem.cli.session import Session, author_option, common_options, pass_session

if TYPE_CHECKING:
    from ibidem.objects.cid import Cid


@click.command("push")
@click.argument("remote", default="origin")
@click.argument("ref", nargs=-1)
@click.option("-d", "--delete", metavar="REF", multiple=True, help="Delete REF there.")
@click.option("--force", "is_forced", is_flag=True, help="A ref may lose commits there.")
@click.option(
    "--expect",
    metavar="REF=CID",
    multiple=True,
    help="With --force: where REF stands there, `none` for nowhere; by default where last seen.",
)
@author_option
@common_options
@pass_session
def command(
    session: Session,
    *,
    remote: str,
    ref: tuple[str, ...],
    delete: tuple[str, ...],
    is_forced: bool,
    expect: tuple[str, ...],
    author: str | None,
) -> None:
    """Move refs of REMOTE, by default origin, to where they stand here

    REF is a branch, or a full name such as tags/v1; by default the current branch. All move, or
    none. A branch there only moves forwards; --force lets it lose commits, if it still stands
    where it was last seen from here.

    \b
    Examples:
      repo push
      repo push origin main tags/v1
      repo push origin --delete experiment --force
    """
    expected = dict(_expectation(text) for text in expect)
    with session.open() as repository:
        report = repository.sync.push(
            remote,
            ref,
            delete=delete,
            is_forced=is_forced,
            expect=expected,
            token=token(session),
            author=session.author(author),
        )
    show_report(session, "push", report)


def _expectation(text: str) -> tuple[str, Cid | None]:
    from ibidem.objects.cid import CommitCid

    name, sign, cid = text.partition("=")
    if not sign:
        raise click.UsageError(f"--expect: got {text!r}, expected REF=CID or REF=none")
    full_name = name if "/" in name else f"heads/{name}"
    return full_name, None if cid == "none" else CommitCid.parse(cid)
