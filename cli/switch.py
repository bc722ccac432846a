"""`repo switch`: switches to another branch."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from ibidem.cli.options.common import author_option, common_options, complete_revision
from ibidem.cli.options.documents import open_folder
from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import CorruptError, NotFoundError

if TYPE_CHECKING:
    from ibidem.objects.root import Root
    from ibidem.repo.repository import Repository

FILES_SHOWN = 5


@click.command("switch")
@click.argument("name", shell_complete=complete_revision)
@click.option("-c", "--create", is_flag=True, help="Create the branch first, at the current head.")
@author_option
@common_options
@pass_session
def command(session: Session, *, name: str, create: bool, author: str | None) -> None:
    """Switch to the branch NAME

    Files stay as they are: what differs from the branch counts as a change of the file, until `repo
    checkout .` takes the documents of the branch. Files that still have the text of the former
    branch are named.

    \b
    Examples:
      repo switch main
      repo switch -c experiment
    """
    with session.open() as repository:
        who, former = session.author(author), repository.current_branch
        if create:
            repository.branch(name, author=who)
        root = _root(repository)
        repository.switch(name, author=who)
        head = repository.head
        files = _files_at(session, repository, root)
    if session.json:
        commit = None if head is None else str(head)
        output.emit("switch", {"branch": name, "head": commit, "former_files": files})
        return
    output.say(f"on branch {output.one_line(name)}, {shapes.head_line(head)}")
    if files:
        shown = ", ".join(map(output.one_line, files[:FILES_SHOWN]))
        more = len(files) - FILES_SHOWN
        shown += f" and {more:,} more" if more > 0 else ""
        output.note(
            f"warning: {output.plural(len(files), 'file')} still as on "
            f"{output.one_line(former)}: {shown}",
            "the next 'repo commit .' takes them as changes; 'repo diff' shows these, "
            "'repo checkout .' takes the documents of the branch",
        )


def _root(repository: Repository) -> Root | None:
    """Returns the root of the current branch, None if it cannot be read."""
    try:
        return repository.core.graph().root
    except (CorruptError, NotFoundError):
        return None


def _files_at(session: Session, repository: Repository, root: Root | None) -> list[str]:
    """Returns the files that have the text of a root and not that of the head; none if either
    cannot be read, since one switches also to leave a damaged branch."""
    location = repository.core.location
    if root is None or location is None or not location.is_folder:
        return []
    now = _root(repository)
    if now is None or now == root:
        return []
    from ibidem.ingest.folder_status import files_at

    with suppress(CorruptError, NotFoundError):
        folder = open_folder(session, repository)
        found = files_at(folder, root)
        folder.save()
        return found
    return []
