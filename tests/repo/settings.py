"""Local settings of a repository in a test, also of one in memory."""

from __future__ import annotations

from ibidem.repo.repository import Repository


def set_local(repo: Repository, **values: int) -> None:
    """Stands for a file with these settings and no others."""
    settings = repo.core.local
    settings._path = None
    settings._read = lambda: values  # type: ignore[method-assign]
