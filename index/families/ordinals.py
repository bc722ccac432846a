"""Gives ordinals to ids: the growing end of the identity family."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ibidem.index.arrays import Array, Bytes
from ibidem.index.segments.identity import Identities, id_columns, id_halves, id_order
from ibidem.index.segments.segment import Segment
from ibidem.index.segments.store import SegmentStore
from ibidem.index.tuning import Tuning
from ibidem.objects.errors import IndexUnavailableError

ORDINALS_MAX = (1 << 32) - 2
IDENTITIES_MERGED_MAX = 65_536
"""The most ids that are moved in one step."""
_FEW = 64
"""Requests of at most this many ids are cached id by id."""
_MANY = 65_536
"""Ids that are looked up together, with some 200 bytes of memory each."""


class OrdinalTable:
    """Maps ids to ordinals and gives new ids the next ones; `segments` returns the result."""

    def __init__(
        self,
        segments: tuple[Segment, ...],
        segment_store: SegmentStore,
        tuning: Tuning,
        before_change: Callable[[], None],
    ) -> None:
        """Has the ids of some segments.

        Args:
            before_change: called before new ids are added; until it returns, threads may read.
        """
        self._identities = Identities(segments)
        self._tuning = tuning
        self._segment_store = segment_store
        self._before_change = before_change
        self._met: dict[bytes, int] = {}
        """A cache for small requests: a commit looks up its own ids several times."""

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The identity segments, new ones included."""
        return self._identities.parts

    def known(self, ids: Bytes) -> Array:
        """Returns (m,) int64 ordinals, -1 for ids that were never seen."""
        if len(ids) > _FEW:
            some = (ids[start : start + _MANY] for start in range(0, len(ids), _MANY))
            return np.concatenate([self._identities.ordinals(one) for one in some])
        raws = [one.tobytes() for one in ids]
        if not all(raw in self._met for raw in raws):
            self._met.update(zip(raws, self._identities.ordinals(ids).tolist(), strict=True))
        return np.array([self._met[raw] for raw in raws], dtype=np.int64)

    def assign(self, ids: Bytes) -> Array:
        """Returns (m,) int64 ordinals of (m, 16) ids; new ids get the next ones in ascending order
        of id."""
        found = self.known(ids)
        missing = np.flatnonzero(found < 0)
        if len(missing):
            self._before_change()
            new, first = _distinct(ids[missing]), self._identities.count
            self._append(new)
            self._met.clear()
            if len(new) <= _FEW:
                self._met.update((one.tobytes(), first + rank) for rank, one in enumerate(new))
            found[missing] = self.known(ids[missing])
        return found

    def _append(self, ids: Bytes) -> None:
        if self._identities.count + len(ids) > ORDINALS_MAX:
            raise IndexUnavailableError(
                f"index: {self._identities.count} ordinals are in use, "
                f"expected at most {ORDINALS_MAX}",
                hint="run 'repo index build'",
            )
        parts = list(self._identities.parts)
        if parts and len(parts[-1]["ids"]) + len(ids) <= self._tuning.tail_rows:
            ids = np.concatenate([parts.pop()["ids"], ids])
        parts.append(self._segment_store.put(id_columns(ids)))
        self._identities = Identities(_tiered(parts, self._segment_store, self._tuning))


def merge_identities(parts: list[Segment], segment_store: SegmentStore) -> Segment:
    """Returns adjacent identity segments as one."""
    return segment_store.put(id_columns(np.concatenate([part["ids"] for part in parts])))


def _tiered(parts: list[Segment], segment_store: SegmentStore, tuning: Tuning) -> list[Segment]:
    """Merges full tiers; only neighbours, since an ordinal is a position. Ids are moved in
    microseconds a thousand, so this is done at once."""
    for bound in tuning.tier_rows:
        run = len(parts) - 1
        total = 0
        while run and len(parts[run - 1]["ids"]) < bound:
            if total + len(parts[run - 1]["ids"]) > IDENTITIES_MERGED_MAX:
                break
            run -= 1
            total += len(parts[run]["ids"])
        if len(parts) - 1 - run >= tuning.tier_parts:
            parts[run:-1] = [merge_identities(parts[run:-1], segment_store)]
    return parts


def _distinct(ids: Bytes) -> Bytes:
    """Returns the ids ascending, each once."""
    ordered = ids[id_order(ids)]
    high, low = id_halves(ordered)
    is_new = np.ones(len(ordered), dtype=bool)
    is_new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    return ordered[is_new]
