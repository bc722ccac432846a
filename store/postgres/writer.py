"""Publishes the changes of the threads of one process; those that wait meanwhile share one
transaction."""

from __future__ import annotations

from collections.abc import Sequence

from ibidem.objects.cid import Cid
from ibidem.store.group_commit import Change, GroupCommit
from ibidem.store.postgres.database import BULK_COUNT, Database, DatabaseState
from ibidem.store.protocol import Store, Swap, moved_cell


class Writer(GroupCommit[Change]):
    """Publishes the changes of one process."""

    def __init__(self, database: Database, store: Store) -> None:
        super().__init__(store, "PostgreSQL")
        self._database = database

    @property
    def state(self) -> DatabaseState:
        """The newest state that was read."""
        return self._database.state()

    @property
    def round_trip_seconds(self) -> float:
        """The average time that a write took lately."""
        return self._database.round_trip_seconds

    def _size(self, change: Change) -> int | None:
        return len(change.blocks) if type(change.blocks) is dict else None

    @property
    def _size_max(self) -> int:
        return BULK_COUNT

    def _write(self, batch: Sequence[Change]) -> None:
        state, is_newest = self.state, False
        while True:
            admitted, refused = _admitted(batch, state)
            if refused and not is_newest:
                state, is_newest = self._database.refreshed(), True
                continue
            for change, name in refused:
                change.result = moved_cell(name)
            if not admitted:
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
            state, is_newest = self.state, True
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
