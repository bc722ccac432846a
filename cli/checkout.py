"""`repo checkout`: restores files from a revision of their documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

import click

from ibidem.cli import exits
from ibidem.cli.options.common import at_option, common_options
from ibidem.cli.options.documents import document_name, open_folder, select
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import ConflictError, IbidemError, InvalidInputError

if TYPE_CHECKING:
    from ibidem.ingest.working_folder import WorkingFolder


@click.command("checkout")
@click.argument("paths", nargs=-1, required=True)
@click.option("-f", "--force", is_flag=True, help="Replace files that were changed.")
@at_option
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context, session: Session, *, paths: tuple[str, ...], force: bool, at: str
) -> None:
    """Restore files, or the files of folders, from a revision

    A file with a change that no branch has is replaced only with --force. The file of a document
    whose text was extracted, such as PDF, is not stored: one that is missing in a folder is left
    out, and one that is named or that is another file now is an error. No branch moves; to go to
    another branch, use `repo switch`.

    \b
    Examples:
      repo checkout notes/retries.md
      repo checkout notes/ --at main~2
    """
    from ibidem.ingest.draft import document_id
    from ibidem.ingest.folder_status import files_of_branches
    from ibidem.ingest.source_digest import source_texts
    from ibidem.repo.history.documents import document_paths
    from ibidem.retrieve.access.policy import ALL

    restored: list[str] = []
    absent: list[str] = []
    unchanged = 0
    errors: list[tuple[str, str]] = []
    hints: dict[str, None] = {}
    with session.open() as repository:
        revision = repository.at(at, viewer=ALL)
        names = [document_name(session, path) for path in paths]
        known = document_paths(repository.core.store, revision.root)
        folder = open_folder(session, repository)
        selected = {document_id(path): path for path in select(names, known, where=f"at {at}")}
        folder.learn(selected.values())
        others = cache(partial(files_of_branches, folder))
        for id_, document, read in source_texts(repository.core.store, revision.root, selected):
            path = selected[id_]
            try:
                digest = (document or revision.node(id_)).props.get("source_sha256")
                if digest is not None:
                    if _is_there(folder, path, str(digest), must_be=path in names):
                        unchanged += 1
                    else:
                        absent.append(path)
                    continue
                text = revision.document(id_) if read is None else read
                if _restored(folder, path, text, others, is_forced=force):
                    restored.append(path)
                else:
                    unchanged += 1
            except IbidemError as error:
                if len(paths) == 1 and path in names:
                    raise
                errors.append((path, str(error)))
                if error.hint is not None:
                    hints[error.hint] = None
            except OSError as error:
                raise InvalidInputError(f"{path}: {error.strerror or error}") from error
        folder.save()
    if session.json:
        output.emit(
            "checkout",
            {
                "restored": restored,
                "unchanged_count": unchanged,
                "left_out": absent,
                "errors": [{"path": path, "error": reason} for path, reason in errors],
            },
        )
    else:
        for path, reason in errors:
            output.note(f"{output.bad('failed:')} {output.one_line(path)}: {reason}")
        output.say(*(f"restored: {output.one_line(path)}" for path in restored))
        output.say(f"{output.plural(len(restored), 'file')} restored, {unchanged:,} unchanged")
        if absent:
            files = output.plural(len(absent), "file")
            line = f"left out: {files}, of which only the extracted text is stored"
            output.note(output.faint(f"{line}; 'repo cat PATH' prints it"))
        output.note(*(output.faint(f"hint: {hint}") for hint in hints))
    context.exit(exits.FAILED if errors else exits.OK)


def _restored(
    folder: WorkingFolder,
    path: str,
    text: str,
    others: Callable[[], Mapping[str, str]],
    *,
    is_forced: bool,
) -> bool:
    """Writes a document to its file; returns False if the file has it already.

    Args:
        others: returns the files that have the text of another branch, with which nothing is lost.
    """
    from ibidem.ingest.restore import restore

    try:
        return restore(folder, path, text, overwrite=is_forced)
    except ConflictError:
        if path not in others():
            raise
        return restore(folder, path, text, overwrite=True)


def _is_there(folder: WorkingFolder, path: str, digest: str, *, must_be: bool) -> bool:
    """Returns whether the file of a document whose text was extracted is there unchanged.

    Args:
        digest: of the file.
        must_be: whether it is an error if there is none.

    Raises:
        InvalidInputError: there is another file, or none.
    """
    from ibidem.ingest.restore import check_writable, has_source

    check_writable(folder.path, path)
    if has_source(folder, path, digest):
        return True
    if not must_be and not (folder.path / path).exists():
        return False
    raise InvalidInputError(
        f"path: of {path!r} the repository has only extracted text, expected a text format",
        hint="copy such files from where they were committed; 'repo cat PATH' prints their text",
    )
