"""Which nodes of a snapshot a caller may see, as one flag each, from the order of two properties.

No node is read: the values of level and scope are in the index, so a fresh caller costs a pass over
their columns.

Spec: trust 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from ibidem.index.keys import BYTES, TEXT, scalar_key
from ibidem.objects.record import record
from ibidem.retrieve.protocol import Bools, Ordinals, PropertyOrder, Snapshot
from ibidem.retrieve.trust.policy import ALL_SCOPES, TrustContext, TrustPolicy


def visible_nodes(
    snapshot: Snapshot, policy: TrustPolicy, trust: TrustContext, level_max: int
) -> Bools:
    """Returns by ordinal whether a node's scopes are the caller's, and its level at most
    `level_max`; (ordinal_count,) bool, false for what is no node of the root.

    Spec: trust 2.
    """
    is_open = policy.unscoped == "allow"
    named = None if trust.scopes == ALL_SCOPES else trust.scopes
    flags = _allowed(
        snapshot, policy.level, range(level_max + 1), missing=policy.default_level <= level_max
    )
    flags &= _allowed(snapshot, policy.scope, named, unnamed=is_open, missing=is_open)
    flags &= _live(snapshot)
    return flags


def _allowed(
    snapshot: Snapshot,
    name: str,
    values: Iterable[Any] | None,
    *,
    missing: bool,
    unnamed: bool = False,
) -> Bools:
    """Returns by ordinal whether every value of a property is one of some, (ordinal_count,) bool.

    A list counts by its members; so one that is not allowed hides the node, and so does a value
    without scalars.

    Args:
        values: those that are allowed, None for every text but the empty one.
        missing: whether nodes without the property are. unnamed: whether the empty text is.
    """
    column = _column_of(snapshot, name)
    order = column.order
    allowed = np.zeros(len(order.keys) + 1, np.bool_)
    allowed[-1] = missing
    if values is None:
        first, has_empty = order.find(TEXT)
        allowed[first + has_empty : order.find(BYTES)[0]] = True
    for value in (*(values or ()), *(("",) if unnamed else ())):
        rank = column.rank(value)
        if rank is not None:
            allowed[rank] = True
    if column.ranks is not None:
        return allowed.take(column.ranks)
    found = np.full(snapshot.ordinal_count, missing, np.bool_)
    found[column.having] = False
    good = allowed[order.ranks]
    found[order.ordinals[good]] = True
    found[order.ordinals[~good]] = False
    return found


@record
class _Column:
    """A property by its values."""

    order: PropertyOrder
    having: Ordinals
    """The nodes that have it, ascending."""
    ranks: npt.NDArray[np.intp] | None
    """By ordinal, the place of its value, and the number of values for a node without it; None
    where a node has several, or none that counts."""
    _known: dict[Any, int] = field(default_factory=dict)

    def rank(self, value: str | int) -> int | None:
        """Returns the place of a value, None where no node has it; those found are remembered."""
        found = self._known.get(value)
        if found is None:
            key = scalar_key(value)
            assert key is not None, "BUG: levels and scopes are scalars"
            rank, is_there = self.order.find(key)
            if not is_there:
                return None
            found = self._known[value] = rank
        return found


def _column_of(snapshot: Snapshot, name: str) -> _Column:
    """Returns a property by its values, made once a snapshot."""
    key = ("trust", name)
    found: _Column | None = snapshot.cache.get(key)
    if found is None:
        order = snapshot.property_order(name)
        having = np.asarray(snapshot.exists(name).to_array(), np.uint32)
        ranks = None
        if np.array_equal(np.sort(order.ordinals), having):
            ranks = np.full(snapshot.ordinal_count, len(order.keys), np.intp)
            ranks[order.ordinals] = order.ranks
        found = snapshot.cache[key] = _Column(order, having, ranks)
    return found


def _live(snapshot: Snapshot) -> Bools:
    """Returns by ordinal whether it is a node of the root, made once a snapshot; never changed."""
    key = ("trust live",)
    found: Bools | None = snapshot.cache.get(key)
    if found is None:
        found = np.zeros(snapshot.ordinal_count, np.bool_)
        found[np.asarray(snapshot.live.to_array(), np.uint32)] = True
        snapshot.cache[key] = found
    return found
