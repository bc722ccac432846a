"""The order of a property's values: every (node, value) pair with the rank of the value.

The byte order of property keys is the order of the values (`index/segments/property_keys.py`), and
every segment stores them sorted. So the order over all segments is a union of sorted lists, and no
node has to be read.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ibidem.index.arrays import Ordinals
from ibidem.index.segments.column import Column
from ibidem.index.segments.inverted import inverted
from ibidem.index.segments.key_list import KeyList, key_list, union_keys
from ibidem.index.segments.merge_rows import Part
from ibidem.index.segments.property_keys import END, NULL, name_key
from ibidem.objects.record import record


@record
class PropertyOrder:
    """The distinct values of one property over all nodes, ascending, and the nodes that have
    them."""

    ordinals: Ordinals
    """(m,) uint32: the node of each pair; a node has one for each value of its list."""
    ranks: npt.NDArray[np.int64]
    """(m,) the rank of the value: its index in `keys`."""
    keys: KeyList
    """The values as property keys, ascending."""
    prefix: bytes
    """The prefix of each key, which encodes the property's name."""

    def key(self, rank: int) -> bytes:
        """Returns a value as tag and body, which sort as the values do."""
        return self.keys[rank][len(self.prefix) :]

    def find(self, key: bytes) -> tuple[int, bool]:
        """Returns the rank of a value and True, or the rank at which it would be inserted and
        False."""
        wanted = self.prefix + key
        rank = self.keys.find(wanted)
        return rank, rank < len(self.keys) and self.keys[rank] == wanted


def property_order(parts: Iterable[Part], name: str) -> PropertyOrder:
    """Returns the order of a property; null counts as a value, maps and nested lists do not."""
    prefix = name_key(name)
    lists, pairs = [], []
    for part in parts:
        column = inverted(part.segment, "prop")
        assert column.keys is not None, "BUG: properties have byte keys"
        start = column.keys.find(prefix + NULL)
        stop = column.keys.find(prefix + END, start)
        lists.append(column.keys.part(start, stop))
        rows = column.rows[column.span(start, stop)]
        pairs.append((part, part.segment["ordinals"][rows], column.counts()[start:stop]))
    if not lists:
        return PropertyOrder(np.zeros(0, np.uint32), np.zeros(0, np.int64), key_list([]), prefix)
    if len(lists) == 1:
        keys, tables = lists[0], [np.arange(len(lists[0]), dtype=np.uint64)]
    else:
        blob, ends, tables = union_keys(lists)
        keys = KeyList(Column(blob), Column(ends))
    found: list[Ordinals] = []
    ranks: list[npt.NDArray[np.int64]] = []
    for (part, ordinals, counts), table in zip(pairs, tables, strict=True):
        positions = np.repeat(table.astype(np.int64), counts)
        if part.dead:
            keep = ~np.isin(ordinals, np.asarray(part.dead.to_array(), np.uint32))
            ordinals, positions = ordinals[keep], positions[keep]
        found.append(ordinals)
        ranks.append(positions)
    return PropertyOrder(np.concatenate(found), np.concatenate(ranks), keys, prefix)
