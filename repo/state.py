"""The state that a call works on: the cells of the store at one moment, and the operation they
name.

A public call reads a state once, all cells in one step, and passes it down; lower layers read a
cell again only after a lost race, or if a block was collected meanwhile.

Three things are bound elsewhere, each where it is decided. The viewer and the index snapshot belong
to one root, so the `Graph` of the root has them, with the state that it was opened in. The time of
a change is read once when it is about to be published, which may be long after the state that its
transaction began with: an `Attempt` or the publisher has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ibidem.objects.cid import RootCid
from ibidem.objects.record import record

if TYPE_CHECKING:
    from ibidem.objects.cid import OperationCid
    from ibidem.objects.operation import Operation
    from ibidem.objects.view import View

HEAD_CELL = "head"
HORIZON_CELL = "horizon"
"""Names the oldest kept operation, if `gc` dropped older ones."""
ORIGIN_CELL = "origin"
"""Names the root of a repository without commits: empty trees and the configuration."""
ERASING_CELL = "erasing"
"""Set while a published erasure has not destroyed everything yet."""
ERASING = b"1"
"""The value of that cell."""
STAGE_CELL = "stage"
"""Names the staged root; see `repo/transaction/stage.py`."""


@record
class LogEntry:
    """An operation of the local log, with its view."""

    cid: OperationCid
    operation: Operation
    view: View


@record
class State(LogEntry):
    """The repository at one moment: the newest operation with its view, and all cells."""

    cells: Mapping[str, bytes]

    @property
    def origin(self) -> RootCid:
        """The root of a branch without commits."""
        return RootCid(self.cells.get(ORIGIN_CELL, b""))

    def is_oldest(self, entry: LogEntry) -> bool:
        """Returns whether no earlier operation is kept: it is the first, or `gc` dropped them."""
        return not entry.operation.parents or entry.cid.raw == self.cells.get(HORIZON_CELL)
