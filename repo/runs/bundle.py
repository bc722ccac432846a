"""Runs and kept receipts as one file: a bundle with a few refs and what only they need.

Spec: replay 5, sync 3.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ibidem.objects.cid import Cid
from ibidem.objects.errors import ConflictError, InvalidInputError
from ibidem.objects.view import RUNS
from ibidem.repo.arguments import checked_path
from ibidem.repo.runs.recording import Recording
from ibidem.repo.sync.export import export_refs
from ibidem.repo.sync.files import existing_file, new_file

if TYPE_CHECKING:
    from ibidem.repo.api.runs import RunsApi
    from ibidem.repo.reader import Reader
    from ibidem.repo.repository import Repository


def write_refs(repository: Reader, targets: Mapping[str, Cid], file: Path) -> int:
    """Writes a CAR with some refs, by full name, and everything behind them; returns its size."""
    with new_file(file) as stream:
        export_refs(repository, stream, targets)
    return file.stat().st_size


def read_run(repository: RunsApi, file: str | os.PathLike[str], *, author: str) -> Recording:
    """Takes in the run in a file, and returns it.

    Raises:
        InvalidInputError: the file is no export of a run.
        ConflictError: another run of that name and number is here.
    """
    from ibidem.repo.sync.integrate import import_car

    with existing_file(checked_path("file", file)) as stream:
        report = import_car(cast("Repository", repository), stream, author=author)
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
