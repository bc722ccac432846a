"""A row family: the parts that together hold its live rows, and how they grow and are merged.

A part is a segment and the rows of it that are dead. A new snapshot adds a small segment; small
ones are merged in tiers, so that a family of n rows has O(log n) parts. `FamilyWriter` collects the
rows of one advance and the large segment that is being built.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from ibidem.index.arrays import Array, Columns, contains_rows, to_bitmap
from ibidem.index.segments.merge_rows import Part
from ibidem.index.segments.segment import Segment
from ibidem.index.segments.store import SegmentStore
from ibidem.index.tuning import TUNING, Tuning

Merge = Callable[[Sequence[Part]], Columns]
FamilyParts = tuple[Part, ...]


def without(parts: FamilyParts, ordinals: Array) -> FamilyParts:
    """Returns the parts with the rows of `ordinals`, (m,) uint32, dead; parts without live rows are
    dropped."""
    if not len(ordinals):
        return parts
    result = []
    for part in parts:
        _, present = contains_rows(part.segment["ordinals"], ordinals)
        if present.any():
            dead = to_bitmap(ordinals[present])
            part = Part(part.segment, dead if part.dead is None else part.dead | dead)
        if part.live_count:
            result.append(part)
    return tuple(result)


def appended(
    parts: FamilyParts, columns: Columns, merge: Merge, segment_store: SegmentStore, tuning: Tuning
) -> FamilyParts:
    """Returns the parts with new rows, whose ordinals are not live in `parts`."""
    count = len(columns["ordinals"])
    if not count:
        return parts
    if parts and parts[-1].live_count + count <= tuning.fresh_rows:
        new = Part(Segment("new", columns, {}, 0))
        return (*parts[:-1], Part(segment_store.put(merge((parts[-1], new)))))
    fresh = Part(segment_store.put(columns))
    if len(parts) > 1 and parts[-2].live_count + parts[-1].live_count <= tuning.tail_rows:
        return (*parts[:-2], Part(segment_store.put(merge(parts[-2:]))), fresh)
    return joined(parts, fresh, merge, segment_store, tuning)


def joined(
    parts: FamilyParts, part: Part, merge: Merge, segment_store: SegmentStore, tuning: Tuning
) -> FamilyParts:
    """Returns the parts with one more at the end, after a small merge if one is due."""
    return _stepped([*parts, part], merge, segment_store, tuning)


def compacted(
    parts: FamilyParts, merge: Merge, segment_store: SegmentStore, tuning: Tuning
) -> FamilyParts:
    """Returns the parts with all small or half-dead ones merged, in groups of bounded size."""
    kept: list[Part] = []
    groups: list[list[Part]] = []
    group: list[Part] = []
    total = 0
    for part in parts:
        if (
            part.segment.row_count >= tuning.compact_rows // 2
            and part.dead_count * 8 <= part.segment.row_count
        ):
            kept.append(part)
            continue
        if group and total + part.live_count > tuning.compact_rows:
            groups.append(group)
            group, total = [], 0
        group.append(part)
        total += part.live_count
    groups.append(group)
    for group in groups:
        if len(group) == 1 and not group[0].dead:
            kept.append(group[0])
        elif group:
            kept.append(Part(segment_store.put(merge(group))))
    return tuple(kept)


def full_tier(parts: FamilyParts, tuning: Tuning, *, patience: int = 1) -> FamilyParts:
    """Returns the parts of the first full tier, as many as one merge reads, without the tail; empty
    if no tier is full.

    Args:
        patience: how many times full the tier must be.
    """
    for bound in tuning.tier_rows:
        small = [part for part in parts[:-1] if part.live_count < bound]
        if len(small) < tuning.tier_parts * patience:
            continue
        chosen: list[Part] = []
        room = tuning.merge_bytes_max
        for part in sorted(small, key=lambda part: part.live_count):
            room -= part.segment.size_bytes
            if room < 0:
                break
            chosen.append(part)
        if len(chosen) > 1:
            return tuple(chosen)
    return ()


def _stepped(
    parts: list[Part], merge: Merge, segment_store: SegmentStore, tuning: Tuning
) -> FamilyParts:
    """Merges the smallest parts before the last if there are many and the merge is a small step."""
    small = [part for part in parts[:-1] if part.live_count < tuning.step_rows_max]
    chosen: FamilyParts = ()
    if len(small) >= tuning.tier_parts:
        chosen = _within(sorted(small, key=lambda part: part.live_count), tuning.step_rows_max)
    if len(chosen) < tuning.tier_parts // 2:
        chosen = full_tier(tuple(parts), tuning, patience=tuning.patience)
    if len(chosen) < 2:
        return tuple(parts)
    merged = Part(segment_store.put(merge(chosen)))
    rest = [part for part in parts[:-1] if not any(part is one for one in chosen)]
    return (*rest, merged, parts[-1])


def _within(parts: Sequence[Part], row_count: int) -> FamilyParts:
    """Returns the longest run of first parts with at most `row_count` live rows together."""
    chosen: list[Part] = []
    for part in parts:
        row_count -= part.live_count
        if row_count < 0:
            break
        chosen.append(part)
    return tuple(chosen)


class Making:
    """A segment that a thread is building."""

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
        """Waits until the thread has ended, whether or not it succeeded."""
        self._thread.join()

    def segment(self) -> Segment:
        """Waits for the segment; raises the error of the thread if there was one."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._segment is not None, "BUG: a thread ended without segment and error"
        return self._segment


class FamilyWriter:
    """The parts of one family, growing."""

    def __init__(
        self,
        parts: FamilyParts,
        merge: Merge,
        segment_store: SegmentStore,
        tuning: Tuning = TUNING,
    ) -> None:
        self.is_new = not parts
        """Whether the family was empty before: each key is then added once, and no row can die."""
        self._parts = parts
        self._merge, self._segment_store, self._tuning = merge, segment_store, tuning
        self._making: Making | None = None

    @property
    def parts(self) -> FamilyParts:
        """The parts, including the segment that is being built; waits for it."""
        self.settle()
        return self._parts

    def settle(self) -> None:
        """Waits for the segment that is being built and adds it; raises the error of its thread."""
        if self._making is not None:
            making, self._making = self._making, None
            part = Part(making.segment())
            self._parts = joined(self._parts, part, self._merge, self._segment_store, self._tuning)

    def kill(self, ordinals: Array) -> None:
        """Marks the rows of (m,) uint32 ordinals as dead."""
        self._parts = without(self.parts, ordinals)

    def add(self, make: Callable[[], Columns], row_count: int) -> None:
        """Adds the rows in the columns that `make` returns; none of their ordinals is live."""
        parts = self.parts
        if row_count < self._tuning.beside_rows:
            self._parts = appended(parts, make(), self._merge, self._segment_store, self._tuning)
        else:
            self._making = Making(lambda: self._segment_store.put(make()))

    def end(self) -> None:
        """Waits for the thread, if there is one."""
        if self._making is not None:
            self._making.end()
