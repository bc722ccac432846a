"""Documents as the command line names them: by the paths of their files.

A path below the folder of the repository is taken relative to it, wherever the command runs; any
other path is the name of a document.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.cli.session import Session
from ibidem.objects.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ibidem.ingest.working_folder import WorkingFolder
    from ibidem.repo.repository import Repository


def document_name(session: Session, path: str) -> str:
    """Returns the name of the document, or folder of documents, of a path; "" for all."""
    full, folder = Path(os.path.abspath(path)), working_path(session)  # noqa: PTH100
    if not full.is_relative_to(folder):
        return path
    name = full.relative_to(folder).as_posix()
    return "" if name == "." else name


def working_path(session: Session) -> Path:
    """Returns the folder that contains the repository."""
    return Path(os.path.abspath(session.root()))  # noqa: PTH100  resolve() would follow links


def open_folder(session: Session, repository: Repository) -> WorkingFolder:
    """Returns the working folder, compared with the head and the stage.

    Raises:
        InvalidInputError: the repository is in no folder.
    """
    from ibidem.ingest.working_folder import WorkingFolder

    location = repository.core.location
    if location is None or not location.is_folder:
        raise InvalidInputError(
            f"repository: {repository.core.shown} is in no folder whose files could be compared",
            hint="clone it into a folder",
        )
    return WorkingFolder.open(repository.core, working_path(session))


def is_below(path: str, names: Iterable[str]) -> bool:
    """Returns whether a document is one of those named, or in a folder of them."""
    return any(not name or path == name or path.startswith(f"{name}/") for name in names)


def select(names: Sequence[str], paths: Sequence[str], *, where: str) -> list[str]:
    """Returns those of the documents that are named, or in a folder that is.

    Raises:
        NotFoundError: a name selects none.
    """
    for name in names:
        if not any(is_below(path, (name,)) for path in paths):
            raise NotFoundError(
                f"path: got {name or '.'!r}, expected a document {where}",
                hint="'repo query --label Document' lists them",
            )
    return [path for path in paths if is_below(path, names)]
