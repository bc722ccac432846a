"""The queue of writers that publish into one store.

It is only advisory: publishing is correct without it, by compare-and-swap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ibidem.store.protocol import Store


class QueuePosition:
    """That of the writer whose turn it is; says on which cells it should begin."""

    def __init__(self, store: Store, *, is_free: bool) -> None:
        """Describes a position.

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
        """Returns whether what this writer did or concluded since it came first follows
        from a visible state.

        Otherwise it published nothing, and the cells that it began on contain changes of other
        writers that were still under way. Their end is awaited; everything has to be concluded
        again.
        """
        return True

    def pause(self, losses: int) -> bool:
        """Waits after a number of races lost in a row; returns False if this store leaves that to
        the caller."""
        return False
