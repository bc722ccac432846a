"""Looks up where the items of an answer stand in their documents, when that is first asked for.

A location follows from the parents of a node, not from the node, so an answer does not contain it.
The repository gives each answer a locator over the graph that was queried, as the caller sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ibidem.objects.errors import IbidemError

if TYPE_CHECKING:
    from ibidem.objects.location import Location
    from ibidem.objects.node import Node

Located = tuple[Sequence["Location | None"], Sequence["Node"]]
"""The location of each item, and for a question for a value the documents that the items are parts
of, each once."""


class Locator:
    """A function that finds locations and documents, called once."""

    def __init__(self, find: Callable[[], Located]) -> None:
        """Takes the function, which keeps its graph until it is called."""
        self._find: Callable[[], Located] | None = find
        self._found: Located = ((), ())

    def locations(self) -> tuple[Location | None, ...]:
        """Returns the location of each item.

        Raises:
            IbidemError: the function failed, for example because the repository is closed.
        """
        return tuple(self._located()[0])

    def documents(self) -> Sequence[Node] | None:
        """Returns the documents that the items are parts of, in the order of the items, for a
        question for a value; None if they can no longer be looked up."""
        try:
            return self._located()[1]
        except IbidemError:
            return None

    def _located(self) -> Located:
        find = self._find
        if find is not None:
            self._found = find()
            self._find = None
        return self._found
