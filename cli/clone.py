"""`repo clone`: copies a repository."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import click

from ibidem.cli.options.common import author_option, color_option, json_option, quiet_option
from ibidem.cli.options.copies import address_options, include_option, show_report, token
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session


@click.command("clone")
@click.argument("location")
@click.argument("folder", required=False)
@include_option
@address_options
@author_option
@json_option
@color_option
@quiet_option
@pass_session
def command(
    session: Session,
    *,
    location: str,
    folder: str | None,
    include: tuple[str, ...],
    token_file: str | None,
    is_plain_allowed: bool,
    author: str | None,
) -> None:
    """Copy the repository at LOCATION into the new FOLDER

    LOCATION is the URL of a `repo serve --remote`, a folder or URL with a repository, or a file
    written by `repo export`. It is recorded as the remote `origin`. FOLDER may be a URL such as
    s3://bucket/prefix; it defaults to the last part of LOCATION.

    \b
    Examples:
      repo clone ../notes
      repo clone http://127.0.0.1:7465 notes
      repo clone backup.car restored
      repo clone notes s3://team/notes
    """
    from ibidem.repo.opening import location_of
    from ibidem.repo.sync.clone import clone_from
    from ibidem.repo.sync.remotes import address_of

    address = address_of(location, token_file=token_file, is_plain_allowed=is_plain_allowed)
    target = folder or PurePosixPath(location.rstrip("/")).stem
    if folder is None and (not target or Path(target).exists()):
        raise click.UsageError(f"FOLDER: {target} already exists; name another one")
    report = clone_from(
        address,
        target,
        token=token(session),
        include=include,
        author=session.author(author),
        clock=session.clock(),
        progress=session.meter,
    )
    if not session.json:
        there = location_of(target)
        shown = there.folder.resolve() if there.is_folder else there.shown
        output.say(f"created a repository in {shown}")
    show_report(session, "clone", report)
    if not session.json and there.is_folder:
        output.note(output.faint("next: repo checkout . in it, to have its documents as files"))
