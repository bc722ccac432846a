"""`repo.ingest("docs/")`: files, folders or a text into a repository, in one call.

It reads what `repo commit PATH` reads: files below the folder of the repository are named by their
paths there, and others by their paths in the folder that was given, or by their names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.ingest.ingest import ingest, ingest_text
from ibidem.ingest.report import IngestReport, Progress
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.arguments import checked_path
from ibidem.repo.transaction.writing import writing

if TYPE_CHECKING:
    from ibidem.repo.repository import Repository
    from ibidem.repo.transaction.transaction import Transaction

PathLike = str | os.PathLike[str]


def ingest_paths(
    target: Repository | Transaction,
    paths: PathLike | Iterable[PathLike] = (),
    *,
    text: str | None = None,
    path: str | os.PathLike[str] | None = None,
    media_type: str | None = None,
    prune: bool = False,
    strict: bool = False,
    progress: Callable[[Progress], None] | None = None,
    author: str = "",
    message: str = "",
    time: int | datetime | None = None,
) -> IngestReport:
    """Ingests files and folders, or one text, in one commit; what has not changed writes nothing.

    Args:
        paths: a file or a folder, or several.
        text: a text instead, the document `path`.
        media_type: of everything; by default by the names.
        prune: removes the documents of files that are gone from a folder; only below the folder of
            the repository.
        strict: raises an error at the first invalid file. Without it, files in folders that cannot
            be read are listed in `errors` of the report, and those left out by rule in `skipped`.
        progress: called after each file.
        author: of the commit, as are `message` and `time`.

    Raises:
        InvalidInputError: neither or both of paths and text are given; or a path leads nowhere, or
            names one file that cannot be a document. Nothing was changed.
    """
    if isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable):
        paths = [paths]
    given = list(paths)
    if bool(given) == (text is not None) or (text is None) != (path is None):
        raise InvalidInputError(
            "paths: expected paths, or a text and the path of its document",
            hint='repo.ingest("docs/"), or repo.ingest(text="...", path="notes/a.md")',
        )
    files = [checked_path("paths", one) for one in given]
    for file in files:
        if not file.exists():
            raise InvalidInputError(f"paths: got {str(file)!r}, expected a file or a folder")
    subject = message or f"ingest {path or ', '.join(map(str, files))}"
    with writing(target, author=author, message=subject, time=time) as tx:
        if text is not None and path is not None:
            return ingest_text(tx, text, path=path, media_type=media_type)
        report = IngestReport()
        for some, root in _by_root(tx, files):
            if prune and root is None:
                raise InvalidInputError(
                    f"prune: got {str(some[0])!r}, expected paths below the folder of the "
                    "repository",
                    hint="only there are documents named by the paths of their files",
                )
            ingest(
                tx,
                some,
                root=root,
                prune=prune,
                strict=strict,
                media_type=media_type,
                progress=progress,
                report=report,
            )
        _check_named(files, report)
    return report


def _by_root(tx: Transaction, files: list[Path]) -> list[tuple[list[Path], Path | None]]:
    """Returns the files below the folder of the repository with it, and the others."""
    folder = tx.before().core.folder
    if folder is None:
        return [(files, None)]
    top = folder.absolute().parent
    inside = [file for file in files if Path(os.path.abspath(file)).is_relative_to(top)]  # noqa: PTH100
    outside = [file for file in files if file not in inside]
    return [(some, root) for some, root in ((inside, top), (outside, None)) if some]


def _check_named(files: list[Path], report: IngestReport) -> None:
    """Raises if a file that was named is no document."""
    names = {file.name: file for file in files if not file.is_dir()}
    for path, reason in (*report.errors, *report.skipped):
        if path.rpartition("/")[2] in names:
            raise InvalidInputError(
                f"{path}: {reason}",
                hint="leave it out, or convert it to a format that is read",
            )
