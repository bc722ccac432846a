"""Ibidem: a content-addressed graph repository whose retrieval can be repeated to the byte.

Nothing is imported here until it is asked for, because this module runs before every sub-package.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ibidem.repo import layers

if TYPE_CHECKING:
    from ibidem.repo.repository import Repository, init, open  # noqa: A004
    from ibidem.repo.sync.clone import clone

__version__ = "0.1.0"
__all__ = ["Repository", "__version__", "clone", "init", "open"]

_LAYERS = {
    "conversations": ("ibidem.memory.conversation.conversations", "Conversations"),
    "records": ("ibidem.memory.graph.memory", "GraphMemory"),
    "feedback": ("ibidem.memory.recall.feedback", "Feedback"),
    "recall": ("ibidem.memory.recall.recall", "recall"),
    "add": ("ibidem.memory.graph.facts", "add"),
    "ingest": ("ibidem.ingest.add_paths", "ingest_paths"),
    "embed": ("ibidem.repo.embed_nodes", "embed_staged"),
}
"""What `repo.layers` adds to repositories and transactions, and where it is."""


def _finder(module: str, name: str) -> Callable[[], Any]:
    return lambda: getattr(import_module(module), name)


for _attribute, _where in _LAYERS.items():
    layers.register(_attribute, _finder(*_where))


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
