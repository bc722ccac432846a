"""Runs and kept receipts as one file: a bundle with their refs and the blocks that they need.

Spec: replay 5, sync 3.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ibidem.objects.errors import ConflictError, InvalidInputError
from ibidem.objects.view import RUNS
from ibidem.repo.arguments import checked_path
from ibidem.repo.runs.recording import Recording
from ibidem.repo.sync.files import existing_file
from ibidem.repo.sync.integrate import import_car

if TYPE_CHECKING:
    from ibidem.repo.core import Core


def read_run(repository: Core, file: str | os.PathLike[str], *, author: str) -> Recording:
    """Imports the run in a file and returns it.

    Raises:
        InvalidInputError: the file is not an exported run.
        ConflictError: another run with this name and number exists here.
    """
    with existing_file(checked_path("file", file)) as stream:
        report = import_car(repository, stream, author=author)
    names = [move.name.removeprefix(RUNS) for move in report.moves if move.name.startswith(RUNS)]
    if len(names) != 1:
        raise InvalidInputError(f"file: {file} holds {len(names)} runs, expected one")
    found = Recording(repository, names[0])
    wanted = next(move.after for move in report.moves if move.name == RUNS + found.name)
    if found.tip != wanted:
        raise ConflictError(
            f"run {found.name!r}: another run of that name is here",
            hint=f"drop it with 'repo run drop {found.name}', or import into another repository",
        )
    return found
