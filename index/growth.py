"""A row family while an index advances: parts, new rows, and the large segment that is being made.

Putting many rows in order, and their file on the disk, is arithmetic and waiting; reading and
analysing the rows after them is Python. So a large segment is made in a thread of its own while its
owner reads on. At most one is under way in an advance, which bounds the memory, and the parts are
the same as without a thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from ibidem.index.arrays import Array, Columns
from ibidem.index.family import Merge, Parts, appended, joined, without
from ibidem.index.merge import Part
from ibidem.index.segment import Segment
from ibidem.index.shelf import Shelf

BESIDE_ROWS = 16_384
"""With fewer rows a thread gains nothing."""


class Making:
    """A segment that a thread makes."""

    def __init__(self, make: Callable[[], Segment]) -> None:
        self._make = make
        self._segment: Segment | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="ibidem-index")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._segment = self._make()
        except BaseException as error:
            self._error = error

    def end(self) -> None:
        """Waits until the thread has ended, whatever came of it."""
        self._thread.join()

    def segment(self) -> Segment:
        """Waits for the segment; raises what its making raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._segment is not None, "BUG: a thread ended without segment and error"
        return self._segment


class Growth:
    """The parts of one family, growing."""

    def __init__(self, parts: Parts, merge: Merge, shelf: Shelf) -> None:
        self.is_new = not parts
        """Whether all rows are added here: keys are met once, so none of them dies here either."""
        self._parts = parts
        self._merge, self._shelf = merge, shelf
        self._making: Making | None = None

    @property
    def parts(self) -> Parts:
        """The parts, once the segment that is being made is one of them."""
        self.settle()
        return self._parts

    def settle(self) -> None:
        """Waits for the segment that is being made, and takes it in; raises what its making did."""
        if self._making is not None:
            making, self._making = self._making, None
            part = Part(making.segment())
            self._parts = joined(self._parts, part, self._merge, self._shelf)

    def kill(self, ordinals: Array) -> None:
        """Takes the rows of (m,) uint32 ordinals for dead."""
        self._parts = without(self.parts, ordinals)

    def add(self, make: Callable[[], Columns], row_count: int) -> None:
        """Adds the rows in the columns that `make` returns, whose ordinals are live nowhere."""
        parts = self.parts
        if row_count < BESIDE_ROWS:
            self._parts = appended(parts, make(), self._merge, self._shelf)
        else:
            self._making = Making(lambda: self._shelf.put(make()))

    def end(self) -> None:
        """Waits for the thread, if there is one."""
        if self._making is not None:
            self._making.end()
