"""Publishes the changes of the threads of one process; those that wait meanwhile share one
transaction. Processes that lose races take turns, in the order in which they ask for one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from ibidem.objects.cid import Cid
from ibidem.store.group_commit import Change, GroupCommit
from ibidem.store.postgres.database import BULK_COUNT, Database, DatabaseState
from ibidem.store.protocol import Store, Swap, moved_cell

_CONTENDED_SECONDS = 2.0
"""How long after a lost race, or after a turn that it waited for, a process expects others."""


class Writer(GroupCommit[Change]):
    """Publishes the changes of one process."""

    def __init__(self, database: Database, store: Store) -> None:
        super().__init__(store, "PostgreSQL")
        self._database = database
        self._contended_until = 0.0

    @property
    def state(self) -> DatabaseState:
        """The newest state that was read."""
        return self._database.state()

    @property
    def round_trip_seconds(self) -> float:
        """The average time that a write took lately."""
        return self._database.round_trip_seconds

    def newest(self, *, is_current: bool) -> Mapping[str, bytes]:
        """Returns the cells to begin on; a process that competes with others waits for its turn."""
        if not self._competes():
            return super().newest(is_current=is_current)
        self._wait_in_queue()
        return dict(self.state.cells)

    def _competes(self) -> bool:
        return time.monotonic() < self._contended_until

    def _wait_in_queue(self) -> None:
        if self._database.wait_in_queue():
            self._contended_until = time.monotonic() + _CONTENDED_SECONDS

    def _lost(self) -> None:
        self._contended_until = time.monotonic() + _CONTENDED_SECONDS

    def _won(self) -> None:
        """Nobody rests: whoever competes gets a turn."""

    def _gave_way(self) -> bool:
        return self._competes()

    def _leave(self) -> None:
        self._database.leave_queue()

    def _size(self, change: Change) -> int | None:
        return len(change.blocks) if type(change.blocks) is dict else None

    @property
    def _size_max(self) -> int:
        return BULK_COUNT

    def _write(self, batch: Sequence[Change]) -> None:
        if self._competes():
            self._wait_in_queue()
        state, is_newest = self.state, False
        while True:
            admitted, refused = _admitted(batch, state)
            if refused and not is_newest:
                state, is_newest = self._database.refreshed(), True
                continue
            for change, name in refused:
                change.result = moved_cell(name)
            if not admitted:
                self._leave()
                return
            swaps: dict[str, Swap] = {}
            blocks: dict[Cid, bytes] = {}
            needs: list[Cid] = []
            for change in admitted:
                needs += (cid for cid in change.needs if cid not in blocks)
                for name, old in change.expected.items():
                    new = change.cells[name]
                    swaps[name] = (swaps[name][0] if name in swaps else old), new
                if len(admitted) > 1:
                    blocks |= change.blocks
            outcome = self._database.publish(
                swaps, blocks if len(admitted) > 1 else admitted[0].blocks, needs
            )
            if outcome.is_done:
                self._won()
                for change in admitted:
                    change.result = 1
                return
            state, is_newest = self.state, self.state is not state
            if outcome.missing is None:
                self._lost()
                continue
            for change in admitted:
                if outcome.missing in change.needs:
                    change.result = self._store.guard.missing(outcome.missing)


def _admitted(
    batch: Sequence[Change], state: DatabaseState
) -> tuple[list[Change], list[tuple[Change, str]]]:
    """Returns the changes that a state admits one after the other, and the others with a cell that
    holds another value than each of them expects."""
    cells: dict[str, bytes | None] = {}
    admitted, refused = [], []
    for change in batch:
        if change.result is not None:
            continue
        for name, old in change.expected.items():
            if (cells[name] if name in cells else state.cells.get(name)) != old:
                refused.append((change, name))
                break
        else:
            cells |= change.cells
            admitted.append(change)
    return admitted, refused
