"""A row family: the parts that together hold its live rows, and how they grow and are merged.

A family changes by replacing its tuple of parts; segments and bitmaps are never changed. At most
one row is live for an ordinal. New rows join the last part while it has a few, so that a commit
writes these again and no more; then it joins the part before it, the tail, while that is small. A
step that a commit waits for moves at most STEP_ROWS_MAX. Larger merges go on beside the commits
(`merger.py`); what they leave is for `compact`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ibidem.index.arrays import Array, Columns, contains_rows, to_bitmap
from ibidem.index.merge import Part
from ibidem.index.segment import Segment
from ibidem.index.shelf import Shelf

FRESH_ROWS = 32
"""New rows are merged into the last part while it stays within this."""
TAIL_ROWS = 512
"""And that into the one before it while it stays within this."""
STEP_ROWS_MAX = 4_096
"""Rows that a merge inside a commit moves at most: the bound of its pause."""
TIER_ROWS = (4_096, 32_768, 65_536)
"""Parts with fewer live rows than a bound are merged with each other beside the commits."""
TIER_PARTS = 8
"""How many parts of one tier there are before they are merged."""
PATIENCE = 3
"""Tiers this many times full are merged at once: processes that end before their merges do."""
MERGE_BYTES_MAX = 96 << 20
"""Size of the segments that one merge reads, about what it holds in memory."""
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
    if parts and parts[-1].live_count + count <= FRESH_ROWS:
        new = Part(Segment("new", columns, {}, 0))
        return (*parts[:-1], Part(shelf.put(merge((parts[-1], new)))))
    fresh = Part(shelf.put(columns))
    if len(parts) > 1 and parts[-2].live_count + parts[-1].live_count <= TAIL_ROWS:
        return (*parts[:-2], Part(shelf.put(merge(parts[-2:]))), fresh)
    return joined(parts, fresh, merge, shelf)


def joined(parts: Parts, part: Part, merge: Merge, shelf: Shelf) -> Parts:
    """Returns the parts with one more, the last, after a small merge where one is due."""
    return _stepped([*parts, part], merge, shelf)


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


def full_tier(parts: Parts, *, patience: int = 1) -> Parts:
    """Returns the parts of the first tier that is full, as many as one merge takes; the tail is
    left out. Empty where no tier is full.

    Args:
        patience: how many times full.
    """
    for bound in TIER_ROWS:
        small = [part for part in parts[:-1] if part.live_count < bound]
        if len(small) < TIER_PARTS * patience:
            continue
        chosen: list[Part] = []
        room = MERGE_BYTES_MAX
        for part in sorted(small, key=lambda part: part.live_count):
            room -= part.segment.size_bytes
            if room < 0:
                break
            chosen.append(part)
        if len(chosen) > 1:
            return tuple(chosen)
    return ()


def _stepped(parts: list[Part], merge: Merge, shelf: Shelf) -> Parts:
    """Merges the smallest parts before the last, where there are many and that is a small step."""
    small = [part for part in parts[:-1] if part.live_count < STEP_ROWS_MAX]
    chosen: Parts = ()
    if len(small) >= TIER_PARTS:
        chosen = _within(sorted(small, key=lambda part: part.live_count), STEP_ROWS_MAX)
    if len(chosen) < TIER_PARTS // 2:
        chosen = full_tier(tuple(parts), patience=PATIENCE)
    if len(chosen) < 2:
        return tuple(parts)
    merged = Part(shelf.put(merge(chosen)))
    rest = [part for part in parts[:-1] if not any(part is one for one in chosen)]
    return (*rest, merged, parts[-1])


def _within(parts: Sequence[Part], row_count: int) -> Parts:
    """Returns the first parts that have so many live rows together at most."""
    chosen: list[Part] = []
    for part in parts:
        row_count -= part.live_count
        if row_count < 0:
            break
        chosen.append(part)
    return tuple(chosen)
