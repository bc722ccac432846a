"""`repo mv`: renames a document and its file."""

from __future__ import annotations

import os

import click

from ibidem.cli.options.common import common_options
from ibidem.cli.options.documents import document_name, open_folder, select
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import InvalidInputError


@click.command("mv")
@click.argument("old")
@click.argument("new")
@common_options
@pass_session
def command(session: Session, *, old: str, new: str) -> None:
    """Rename the document OLD and its file to NEW, to be committed

    Edges, vectors and properties that others gave to the document or to its parts go along, and
    `repo log --path NEW` follows it to its former path. If NEW is a folder, the file keeps its
    name. The file as it is now is staged.

    \b
    Example:
      repo mv notes/limits.md notes/rates.md
    """
    from ibidem.ingest.ingest import ingest
    from ibidem.ingest.prune import remove_document
    from ibidem.ingest.restore import check_writable
    from ibidem.repo.history.documents import document_paths

    with session.open() as repository:
        folder = open_folder(session, repository)
        with repository.stage.transaction(state=folder.state_read) as tx:
            before, after = document_name(session, old), document_name(session, new)
            known = document_paths(repository.core.store, tx.base)
            if select([before], known, where="that is committed or staged") != [before]:
                raise InvalidInputError(f"path: got {before!r}, expected one document, no folder")
            if (folder.path / after).is_dir():
                name = before.rpartition("/")[2]
                after = f"{after}/{name}" if after else name
            check_writable(folder.path, before)
            check_writable(folder.path, after)
            source, target = folder.path / before, folder.path / after
            if after in known or os.path.lexists(target):
                raise InvalidInputError(f"path: {after!r} exists, expected a new name")
            if not source.is_file():
                raise InvalidInputError(
                    f"path: {before!r} has no file here, expected one to rename",
                    hint="'repo checkout' restores it",
                )
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)
            try:
                report = ingest(tx, [target], root=folder.path, strict=True, folder=folder)
                if report.skipped:
                    raise InvalidInputError(f"path: {after!r}: {report.skipped[0][1]}")
                remove_document(tx, before, report, moved_to=after)
                folder.removed(before)
                tx.publish()
            except BaseException:
                target.rename(source)
                raise
        folder.published(tx.commit)
        folder.save()
    if session.json:
        output.emit("mv", {"before": before, "after": after})
        return
    output.say(f"renamed: {output.one_line(before)} -> {output.one_line(after)}")
    output.note(output.faint("next: repo commit -m MESSAGE"))
