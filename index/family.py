"""A row family: the parts that together hold its live rows, and how they grow and are merged.

A family changes by replacing its tuple of parts; segments and bitmaps are never changed. At most
one row is live for an ordinal. New rows join the last part, the tail, while it is small, so a
commit writes a few hundred rows at most; full tails are merged in tiers, each step bounded, so no
commit waits for a large merge. What the tiers leave is for `compact`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ibidem.index.arrays import Array, Columns, contains_rows, to_bitmap
from ibidem.index.merge import Part
from ibidem.index.segment import Segment
from ibidem.index.shelf import Shelf

TAIL_ROWS = 512
"""New rows are merged into the last part while it stays within this."""
TIER_ROWS = (4_096, 32_768)
"""Parts with fewer live rows than a bound are merged with each other."""
TIER_PARTS = 8
"""How many parts of one tier there are before they are merged."""
MERGE_ROWS_MAX = 32_768
"""Rows that one step of tier merging moves at most: the bound of the pause inside a commit."""
COMPACT_ROWS = 131_072
"""Rows of a part that `compact` leaves alone, and the size of those it makes."""

Merge = Callable[[Sequence[Part]], Columns]
Parts = tuple[Part, ...]


def without(parts: Parts, ordinals: Array) -> Parts:
    """Returns the parts with the rows of `ordinals`, (m,) uint32, dead; parts without live rows
    go."""
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


def appended(parts: Parts, columns: Columns, merge: Merge, shelf: Shelf) -> Parts:
    """Returns the parts with new rows, whose ordinals are live nowhere in `parts`."""
    count = len(columns["ordinals"])
    if not count:
        return parts
    if parts and parts[-1].live_count + count <= TAIL_ROWS:
        fresh = Part(Segment("new", columns, {}, 0))
        return (*parts[:-1], Part(shelf.put(merge((parts[-1], fresh)))))
    return _tiered([*parts, Part(shelf.put(columns))], merge, shelf)


def compacted(parts: Parts, merge: Merge, shelf: Shelf) -> Parts:
    """Returns the parts with all small or half-dead ones merged, in groups of bounded size."""
    kept: list[Part] = []
    groups: list[list[Part]] = []
    group: list[Part] = []
    total = 0
    for part in parts:
        if (
            part.segment.row_count >= COMPACT_ROWS // 2
            and part.dead_count * 8 <= part.segment.row_count
        ):
            kept.append(part)
            continue
        if group and total + part.live_count > COMPACT_ROWS:
            groups.append(group)
            group, total = [], 0
        group.append(part)
        total += part.live_count
    groups.append(group)
    for group in groups:
        if len(group) == 1 and not group[0].dead:
            kept.append(group[0])
        elif group:
            kept.append(Part(shelf.put(merge(group))))
    return tuple(kept)


def _tiered(parts: list[Part], merge: Merge, shelf: Shelf) -> Parts:
    """Merges the parts before the last where a tier is full."""
    for bound in TIER_ROWS:
        small = [part for part in parts[:-1] if part.live_count < bound]
        if len(small) < TIER_PARTS:
            continue
        chosen: list[Part] = []
        room = MERGE_ROWS_MAX
        for part in sorted(small, key=lambda part: part.live_count):
            room -= part.live_count
            if room < 0:
                break
            chosen.append(part)
        if len(chosen) > 1:
            merged = Part(shelf.put(merge(chosen)))
            rest = [part for part in parts[:-1] if not any(part is one for one in chosen)]
            parts = [*rest, merged, parts[-1]]
    return tuple(parts)
