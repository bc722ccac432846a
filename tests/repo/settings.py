"""Local settings of a repository in a test, also of one in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ibidem.repo.local_settings import LocalSettings
from ibidem.repo.repository import Repository


class Fixed(LocalSettings):
    """Settings without a file."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(None)
        self._values = values

    def _read(self) -> Mapping[str, Any]:
        return self._values


def set_local(repo: Repository, **values: int) -> None:
    """Stands for a file with these settings and no others."""
    repo.core.local = repo.core.search_index._settings = Fixed(values)
