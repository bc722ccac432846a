"""Looks up where the items of an answer stand in their documents, when that is first asked for.

A location follows from the parents of a node, not from the node, so an answer does not contain it.
The repository gives each answer a locator over the graph that was queried, as the caller sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ibidem.objects.location import Location


class Locator:
    """A function that finds locations, called once."""

    def __init__(self, find: Callable[[], Sequence[Location | None]]) -> None:
        """Takes the function, which keeps its graph until it is called."""
        self._find: Callable[[], Sequence[Location | None]] | None = find
        self._found: tuple[Location | None, ...] = ()

    def locations(self) -> tuple[Location | None, ...]:
        """Returns what the function finds.

        Raises:
            IbidemError: the function failed, for example because the repository is closed.
        """
        find = self._find
        if find is not None:
            self._found = tuple(find())
            self._find = None
        return self._found
