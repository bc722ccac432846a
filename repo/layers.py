"""What the rooms above add to a repository and to a transaction: `repo.conversations`, `tx.ingest`.

A room imports only rooms below it, so nothing is named here but the attributes. `ibidem/__init__`,
which knows all rooms, registers where each is; a room is loaded when its attribute is first used.
`layers.pyi` has the types.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

_FOUND: dict[str, Callable[[], Any]] = {}


def register(name: str, find: Callable[[], Any]) -> None:
    """Registers an attribute.

    Args:
        find: returns the class that is created with the repository or transaction, or the function
            that becomes a method of it.
    """
    _FOUND[name] = find


class Layer:
    """An attribute that a room above provides; it is found once for each object."""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    def __get__(self, target: Any, owner: type[Any]) -> Any:
        if target is None:
            return self
        found = _FOUND[self._name]()
        made = found(target) if isinstance(found, type) else MethodType(found, target)
        vars(target)[self._name] = made
        return made


class Layers:
    """The layers of a repository, a run, a transaction, or of one of these as a viewer has it."""

    conversations = Layer()
    records = Layer()
    feedback = Layer()
    add = Layer()


class Recalling:
    """What needs a commit to ask."""

    recall = Layer()


class Ingesting:
    """What reads files."""

    ingest = Layer()


class Embedding:
    """What stages vectors."""

    embed = Layer()
