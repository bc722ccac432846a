"""The settings of one copy that every process obeys: when its index is built, how much of it is
kept, and how many bytes of answers.

They are local settings of `repo config`, and the only ones that a program which opens the
repository as a library reads too: they are about files and memory, and no answer depends on them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.store.files import read_file

FILE = "local/settings.json"
"""The file of the local settings, in the folder of a repository."""
COMMIT, QUESTION = BUILT_AT = ("commit", "question")
"""When the index of a new head is built."""
BYTES_MAX = 1 << 53


@record
class LocalSettings:
    """The settings of one copy; the fields have the names of `repo config`."""

    index_build: str = QUESTION
    """One of BUILT_AT."""
    index_budget: int = 4 << 30
    """Bytes that the snapshots of all heads but the current one may occupy."""
    answer_cache: int = 16 << 20
    """Bytes of packs that a process keeps to answer the same question again; 0 for none."""

    @property
    def is_built_at_commit(self) -> bool:
        """Whether every commit is indexed at once."""
        return self.index_build == COMMIT


def read_local_settings(folder: Path | None) -> LocalSettings:
    """Returns the settings in the folder of a repository, None for one in memory; those that it has
    not have defaults.

    Raises:
        InvalidInputError: the file has another form, or a value that is not allowed.
    """
    data = None if folder is None else read_file(folder / FILE)
    if data is None:
        return LocalSettings()
    try:
        found = json.loads(data)
    except ValueError as error:
        raise InvalidInputError(f"{FILE}: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInputError(f"{FILE}: got {type(found).__name__}, expected an object")
    return LocalSettings(**{name: check(name, found[name]) for name in CHECKS if name in found})


def check(name: str, value: object) -> Any:
    """Returns the value of one of these settings.

    Raises:
        InvalidInputError: it is not allowed; the message names the setting.
    """
    return CHECKS[name](name, value)


def _moment(name: str, value: object) -> str:
    from ibidem.retrieve.query import checks

    return checks.choice(name, value, BUILT_AT)


def _bytes(name: str, value: object) -> int:
    from ibidem.retrieve.query import checks

    return checks.count(name, value, high=BYTES_MAX)


CHECKS: dict[str, Callable[[str, object], Any]] = {
    "index_build": _moment,
    "index_budget": _bytes,
    "answer_cache": _bytes,
}
"""By name of the setting."""
