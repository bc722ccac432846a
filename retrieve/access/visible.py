"""Which nodes of a snapshot a caller may see, as one flag each, from the columns of two properties.

No node is read: the values of level and scope are in the index, so the first question of a caller
costs one pass over their columns.

Spec: trust 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from ibidem.index.segments.property_keys import BYTES, TEXT, scalar_key
from ibidem.objects.record import record
from ibidem.retrieve.access.policy import ALL_SCOPES, TrustPolicy, Viewer
from ibidem.retrieve.protocol import Bools, Ordinals, PropertyOrder, Snapshot

_CELLS_MAX = 1 << 16
"""The largest number of (level, scope) pairs that are encoded as one number."""


def visible_nodes(snapshot: Snapshot, policy: TrustPolicy, viewer: Viewer, level_max: int) -> Bools:
    """Returns by ordinal whether a node's scopes are the caller's and its level is at most
    `level_max`; (ordinal_count,) bool, false for ordinals without a node of the root.

    Spec: trust 2.
    """
    level, scope = _column_of(snapshot, policy.level), _column_of(snapshot, policy.scope)
    is_open = policy.unscoped == "allow"
    levels = level.allowed(range(level_max + 1))
    levels[-1] = policy.default_level <= level_max
    if viewer.scopes == ALL_SCOPES:
        scopes = scope.allowed(("",) if is_open else ())
        first, has_empty = scope.order.find(TEXT)
        scopes[first + has_empty : scope.order.find(BYTES)[0]] = True
    else:
        scopes = scope.allowed((*viewer.scopes, "") if is_open else viewer.scopes)
    scopes[-1] = is_open
    cells = _cells(snapshot, policy, level, scope)
    if cells is not None:
        return np.append(np.logical_and.outer(levels, scopes), False).take(cells)
    return level.flags(levels) & scope.flags(scopes) & _live(snapshot)


@record
class _Column:
    """The values of a property by node."""

    order: PropertyOrder
    having: Ordinals
    """The nodes that have it, ascending."""
    ranks: npt.NDArray[np.uint32] | None
    """By ordinal, the rank of its value, and the number of values for a node without one; None if a
    node has several values, or none that is a scalar."""
    count: int
    """All ordinals are below this."""
    _known: dict[Any, int] = field(default_factory=dict)

    def allowed(self, values: Iterable[str | int]) -> Bools:
        """Returns by rank whether a value is in `values`; a last entry, False, is for no value."""
        found = np.zeros(len(self.order.keys) + 1, np.bool_)
        for value in values:
            rank = self._known.get(value)
            if rank is None:
                rank = self._rank(value)
            if rank is not None:
                found[rank] = True
        return found

    def flags(self, allowed: Bools) -> Bools:
        """Returns by ordinal whether every value is allowed, (count,) bool.

        A list counts by its members: one member that is not allowed hides the node, and so does a
        value without scalars.
        """
        if self.ranks is not None:
            return allowed.take(self.ranks)
        found = np.full(self.count, allowed[-1], np.bool_)
        found[self.having] = False
        good = allowed[self.order.ranks]
        found[self.order.ordinals[good]] = True
        found[self.order.ordinals[~good]] = False
        return found

    def _rank(self, value: str | int) -> int | None:
        """Returns the rank of a value, None if no node has it; ranks that were found are cached."""
        key = scalar_key(value)
        assert key is not None, "BUG: levels and scopes are scalars"
        rank, is_there = self.order.find(key)
        if not is_there:
            return None
        self._known[value] = rank
        return rank


def _column_of(snapshot: Snapshot, name: str) -> _Column:
    """Returns the values of a property by node, computed once per snapshot."""
    key = ("levels", name)
    found: _Column | None = snapshot.cache.get(key)
    if found is None:
        order = snapshot.property_order(name)
        having = np.asarray(snapshot.exists(name).to_array(), np.uint32)
        ranks = None
        if np.array_equal(np.sort(order.ordinals), having):
            ranks = np.full(snapshot.ordinal_count, len(order.keys), np.uint32)
            ranks[order.ordinals] = order.ranks
        found = snapshot.cache[key] = _Column(order, having, ranks, snapshot.ordinal_count)
    return found


def _cells(
    snapshot: Snapshot, policy: TrustPolicy, level: _Column, scope: _Column
) -> npt.NDArray[np.intp] | None:
    """Returns by ordinal the node's cell in the table of levels and scopes, computed once per
    snapshot.

    An ordinal without a node of the root has the cell after the last. None if a node has several
    values, or the table would be large.
    """
    width = len(scope.order.keys) + 1
    after = (len(level.order.keys) + 1) * width
    if level.ranks is None or scope.ranks is None or after > _CELLS_MAX:
        return None
    key = ("trust cells", policy.level, policy.scope)
    found: npt.NDArray[np.intp] | None = snapshot.cache.get(key)
    if found is None:
        cells = level.ranks.astype(np.intp) * width + scope.ranks
        found = snapshot.cache[key] = np.where(_live(snapshot), cells, after)
    return found


def _live(snapshot: Snapshot) -> Bools:
    """Returns by ordinal whether it is a node of the root, computed once per snapshot; never
    changed."""
    key = ("trust live",)
    found: Bools | None = snapshot.cache.get(key)
    if found is None:
        found = np.zeros(snapshot.ordinal_count, np.bool_)
        found[np.asarray(snapshot.live.to_array(), np.uint32)] = True
        snapshot.cache[key] = found
    return found
