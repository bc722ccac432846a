"""Ibidem: a content-addressed graph repository whose retrieval can be repeated to the byte.

Nothing is imported here until it is asked for, because this module runs before every sub-package.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ibidem.repo.repository import Repository, init, open  # noqa: A004
    from ibidem.repo.sync.clone import clone

__version__ = "0.1.0"
__all__ = ["Repository", "__version__", "clone", "init", "open"]


def __getattr__(name: str) -> Any:
    if name in ("init", "open", "Repository"):
        from ibidem.repo import repository

        return getattr(repository, name)
    if name == "clone":
        from ibidem.repo.sync.clone import clone

        return clone
    raise AttributeError(f"module 'ibidem' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"Any", "TYPE_CHECKING"})
