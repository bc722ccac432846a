"""`repo rm`: removes documents and their files."""

from __future__ import annotations

import click

from ibidem.cli.options.common import common_options
from ibidem.cli.options.documents import document_name, open_folder, select
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import ConflictError, InvalidInputError


@click.command("rm")
@click.argument("paths", nargs=-1, required=True)
@click.option("-r", "--recursive", is_flag=True, help="Remove the documents of folders too.")
@click.option("--cached", is_flag=True, help="Leave the files where they are.")
@click.option("-f", "--force", is_flag=True, help="Remove files that were changed.")
@common_options
@pass_session
def command(
    session: Session, *, paths: tuple[str, ...], recursive: bool, cached: bool, force: bool
) -> None:
    """Remove documents and their files, to be committed

    The removal is staged, so that `repo undo --staged` takes it back; `repo checkout` restores the
    files. A file that was changed since the last commit is removed only with --force.

    \b
    Examples:
      repo rm notes/old.md
      repo rm -r drafts/ --cached
    """
    from ibidem.ingest.prune import remove_document
    from ibidem.ingest.report import IngestReport
    from ibidem.ingest.restore import check_writable, is_changed
    from ibidem.repo.history.documents import document_paths

    report = IngestReport()
    with session.open() as repository:
        folder = open_folder(session, repository)
        with repository.stage.transaction(state=folder.state_read) as tx:
            known = document_paths(repository.core.store, tx.base)
            names = [document_name(session, path) for path in paths]
            chosen = select(names, known, where="that is committed or staged")
            inner = [path for path in chosen if path not in names]
            if inner and not recursive:
                raise InvalidInputError(
                    f"path: {output.one_line(inner[0])} is in a folder, expected --recursive"
                )
            files = [path for path in chosen if not cached and (folder.path / path).exists()]
            for path in files:
                check_writable(folder.path, path)
                if not force and is_changed(folder, path):
                    raise ConflictError(
                        f"{output.one_line(path)}: the file was changed, expected one that can go",
                        hint="commit it first, or pass --force to lose its changes",
                    )
            for path in chosen:
                remove_document(tx, path, report)
                folder.removed(path)
        for path in files:
            (folder.path / path).unlink(missing_ok=True)
        folder.published(tx.commit)
        folder.save()
    if session.json:
        output.emit("rm", {"deleted": report.deleted, "file_count": len(files)})
        return
    output.say(*(f"removed: {output.one_line(path)}" for path in report.deleted))
    output.note(output.faint("next: repo commit -m MESSAGE"))
