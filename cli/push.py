"""`repo push`: updates the refs of a remote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibidem.cli.options.common import author_option, common_options
from ibidem.cli.options.copies import show_report, token
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from ibidem.objects.cid import Cid


@click.command("push")
@click.argument("remote", default="origin")
@click.argument("ref", nargs=-1)
@click.option("-d", "--delete", metavar="REF", multiple=True, help="Delete REF on the remote.")
@click.option("--force", "force", is_flag=True, help="Allow a ref to lose commits.")
@click.option(
    "--expect",
    metavar="REF=CID",
    multiple=True,
    help=(
        "With --force: the expected commit of REF on the remote, or `none` [default: the last "
        "known]."
    ),
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
    force: bool,
    expect: tuple[str, ...],
    author: str | None,
) -> None:
    """Upload commits and update the refs of REMOTE

    REMOTE defaults to origin. REF is a branch, or a full name such as tags/v1; it defaults to the
    current branch. Either all refs are updated or none. Only fast-forwards are accepted; --force
    also allows a branch to lose commits, if it is still at the commit last known here.

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
            force=force,
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
