"""What a notebook shows of a value.

A room imports only rooms below it, and `pages/`, which draws values, is above those that define
them. So nothing is named here; `ibidem/__init__`, which knows all rooms, registers the function
that draws, and it is loaded when a notebook first asks.
"""

from __future__ import annotations

from collections.abc import Callable

_FOUND: list[Callable[[], Callable[[object], str]]] = []


def register(find: Callable[[], Callable[[object], str]]) -> None:
    """Registers what returns the function that turns a value into HTML."""
    _FOUND[:] = [find]


class Drawn:
    """A value of which a notebook shows a picture and a table instead of its text."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Returns the value as HTML without script; all its text is escaped."""
        return _FOUND[0]()(self)
