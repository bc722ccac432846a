"""Merges the live rows of several segments into one, in ordinal order.

The plan is computed once for a set of segments; every column is then merged by it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pyroaring import BitMap

from ibidem.index.arrays import NO_ROW, Array, contains_rows, offsets, ranges, to_ordinals
from ibidem.index.segments.key_list import KeyList
from ibidem.index.segments.segment import Segment
from ibidem.objects.record import record


@record
class Part:
    """A segment in a snapshot, with the rows that are dead there."""

    segment: Segment
    dead: BitMap | None = None
    """Ordinals of dead rows, all of them in the segment; never changed in place."""

    @property
    def dead_count(self) -> int:
        """The number of dead rows."""
        return len(self.dead) if self.dead else 0

    @property
    def live_count(self) -> int:
        """The number of live rows."""
        return self.segment.row_count - self.dead_count


@record
class Plan:
    """The new row numbers of the rows of several segments."""

    parts: tuple[Part, ...]
    ordinals: Array
    """(n,) uint32 ascending: the ordinals of the merged rows."""
    renumbered: tuple[Array, ...]
    """For each part (rows,) uint32: the new row, NO_ROW where it is dropped."""

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments of the parts."""
        return tuple(part.segment for part in self.parts)


def plan_merge(parts: Sequence[Part]) -> Plan:
    """Returns the plan. No ordinal may be live in two parts."""
    kept = [live_mask(part) for part in parts]
    ordinals = [
        part.segment["ordinals"] if mask is None else part.segment["ordinals"][mask]
        for part, mask in zip(parts, kept, strict=True)
    ]
    together = np.concatenate(ordinals)
    order = np.argsort(together, kind="stable")
    place = np.empty(len(order), dtype=np.uint32)
    place[order] = np.arange(len(order), dtype=np.uint32)
    renumbered, start = [], 0
    for part, mask, mine in zip(parts, kept, ordinals, strict=True):
        rows = place[start : start + len(mine)]
        start += len(mine)
        if mask is not None:
            table = np.full(part.segment.row_count, NO_ROW, dtype=np.uint32)
            table[mask] = rows
            rows = table
        renumbered.append(rows)
    return Plan(tuple(parts), together[order], tuple(renumbered))


def live_mask(part: Part) -> Array | None:
    """Returns (rows,) bool, None if every row is live; it must not be changed.

    The last mask is cached with the segment, so the cost is proportional to the rows that died
    since.
    """
    if not part.dead:
        return None
    cache = part.segment.cache
    held: tuple[BitMap, Array] | None = cache.get("live")
    if held is not None and held[0] is part.dead:
        return held[1]
    gone = part.dead
    if held is not None and held[0] <= part.dead:
        mask = held[1].copy()
        gone = part.dead - held[0]
    else:
        mask = np.ones(part.segment.row_count, dtype=bool)
    position, present = contains_rows(part.segment["ordinals"], to_ordinals(gone))
    mask[position[present]] = False
    mask.flags.writeable = False
    cache["live"] = part.dead, mask
    return mask


def merge_rows(plan: Plan, name: str, *, missing: int | None = None) -> Array:
    """Returns a merged column with one entry per row, (n, ...) of the parts' dtype.

    Args:
        plan: the new row numbers.
        name: of the column.
        missing: what the rows of a part without the column have; None if every part has it.
    """
    columns = [
        part.segment[name]
        if missing is None or name in part.segment
        else np.full(part.segment.row_count, missing)
        for part in plan.parts
    ]
    shape = (len(plan.ordinals), *columns[0].shape[1:])
    result = np.empty(shape, dtype=np.result_type(*columns))
    for column, rows in zip(columns, plan.renumbered, strict=True):
        kept = rows != NO_ROW
        if kept.all():
            result[rows] = column
        else:
            result[rows[kept]] = column[kept]
    return result


def merge_lists(plan: Plan, prefix: str) -> dict[str, Array]:
    """Returns `prefix.starts` (n + 1,) and `prefix.items`: a list of numbers for each row."""
    count = np.zeros(len(plan.ordinals), dtype=np.int64)
    pieces = []
    for part, rows in zip(plan.parts, plan.renumbered, strict=True):
        starts = part.segment[f"{prefix}.starts"].astype(np.int64)
        kept = rows != NO_ROW
        count[rows[kept]] = np.diff(starts)[kept]
        pieces.append((part.segment[f"{prefix}.items"], starts, kept, rows))
    ends = offsets(count)
    items = np.empty(int(ends[-1]), dtype=np.uint32)
    for column, starts, kept, rows in pieces:
        sizes = np.diff(starts)[kept]
        target = ranges(ends[:-1][rows[kept]], sizes)
        items[target] = column[ranges(starts[:-1][kept], sizes)]
    return {f"{prefix}.starts": ends, f"{prefix}.items": items}


def merge_codes(plan: Plan, names: str, codes: str) -> tuple[list[bytes], Array]:
    """Returns the distinct texts in use, ascending, and each row's number in them, (n,) uint32.

    `names` are the inverted-style key columns of each segment, `codes` the row column of numbers.
    """
    lists = [
        list(KeyList(part.segment.column(f"{names}.keys"), part.segment.column(f"{names}.ends")))
        for part in plan.parts
    ]
    texts = sorted(set().union(*lists))
    number = {text: index for index, text in enumerate(texts)}
    result = np.empty(len(plan.ordinals), dtype=np.uint32)
    for part, rows, texts_here in zip(plan.parts, plan.renumbered, lists, strict=True):
        kept = rows != NO_ROW
        table = np.fromiter(
            (number[text] for text in texts_here), dtype=np.uint32, count=len(texts_here)
        )
        result[rows[kept]] = table[part.segment[codes]][kept]
    return texts, result
