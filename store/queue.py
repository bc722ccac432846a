"""Turns: a writer's place in the queue of those that publish into one store.

A turn is only advisory: publishing is correct without it, by compare-and-swap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ibidem.store.protocol import Store


class Turn:
    """The turn of one writer, which says on which cells it should begin."""

    def __init__(self, store: Store, *, is_free: bool) -> None:
        """Describes a turn.

        Args:
            is_free: whether no other writer published since this one last read the cells, as far
                as known.
        """
        self._store = store
        self.is_free = is_free

    def cells(self, *, is_after_loss: bool = False) -> Mapping[str, bytes]:
        """Returns the cells to begin on.

        Args:
            is_after_loss: whether this writer has just lost a race, so that the store knows more.
        """
        return self._store.cells()

    def settled(self) -> bool:
        """Returns whether the cells that were begun on are those of a visible state.

        Otherwise they contain changes of other writers that were still under way. Their end is
        awaited; what was concluded from those cells has to be concluded again.
        """
        return True

    def pause(self, losses: int) -> bool:
        """Waits after a number of races lost in a row; returns False if this store leaves that to
        the caller."""
        return False
