"""The settings of the index of one copy: when it is built, and how much of it is kept.

They are local settings of `repo config`, and the only ones that a program which opens the
repository as a library reads too: all processes share the files that the settings are about.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.store.files import read_file

FILE = "local/settings.json"
"""The file of the local settings, in the folder of a repository."""
COMMIT, QUESTION = BUILT_AT = ("commit", "question")
"""When the index of a new head is built."""
BUILD_KEY, BUDGET_KEY = "index_build", "index_budget"
BUDGET_BYTES = 4 << 30
BUDGET_BYTES_MAX = 1 << 53


@record
class IndexSettings:
    """When the index is built, and how much of it is kept."""

    build: str = QUESTION
    """One of BUILT_AT."""
    budget_bytes: int = BUDGET_BYTES
    """What the snapshots of all heads but the current one may occupy."""

    @property
    def is_built_at_commit(self) -> bool:
        """Whether every commit is indexed at once."""
        return self.build == COMMIT


def read_index_settings(folder: Path) -> IndexSettings:
    """Returns the settings in the folder of a repository; those that it has not have defaults.

    Raises:
        InvalidInputError: the file has another form, or a value that is not allowed.
    """
    data = read_file(folder / FILE)
    if data is None:
        return IndexSettings()
    try:
        found = json.loads(data)
    except ValueError as error:
        raise InvalidInputError(f"{FILE}: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInputError(f"{FILE}: got {type(found).__name__}, expected an object")
    return IndexSettings(
        check_build(found.get(BUILD_KEY, QUESTION)),
        check_budget(found.get(BUDGET_KEY, BUDGET_BYTES)),
    )


def check_build(value: Any) -> str:
    """Returns when the index is built.

    Raises:
        InvalidInputError: it is not one of BUILT_AT.
    """
    from ibidem.retrieve.query import checks

    return checks.choice(BUILD_KEY, value, BUILT_AT)


def check_budget(value: Any) -> int:
    """Returns a budget in bytes.

    Raises:
        InvalidInputError: it is not a whole number from 0 to BUDGET_BYTES_MAX.
    """
    from ibidem.retrieve.query import checks

    return checks.count(BUDGET_KEY, value, high=BUDGET_BYTES_MAX)
