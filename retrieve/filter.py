"""The nodes of a query: the view, over which statistics are taken, and the universe, which is
ranked.

The view consists of the root's nodes that the caller may see, without the tombstoned ones. Labels
and conditions narrow it to the universe before any lane ranks, so a filter can never starve a
result. Both are bitmaps of ordinals; a lane asks which rows of a segment belong to them, in the
form that is cheapest for it.

Spec: retrieval 3.1, 3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, TypeVar, assert_never

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from ibidem.objects import codec
from ibidem.objects.record import record
from ibidem.retrieve.access.restricted_snapshot import CallerSnapshot
from ibidem.retrieve.protocol import Bools, Ordinals, Rows, Segment, Snapshot
from ibidem.retrieve.query.history import (
    CREATED_AFTER,
    CREATED_BEFORE,
    UPDATED_AFTER,
    HistoryFilter,
)
from ibidem.retrieve.query.predicate import And, Between, Equal, Exists, Not, OneOf, Or, Predicate
from ibidem.retrieve.query.query import Query

T = TypeVar("T")
Positions = npt.NDArray[np.intp]

_FEW = 8
"""If less than one in this many nodes is a member, members are looked up one by one instead of
through a mask."""
_SCOPES_KEPT = 4
"""The number of universes that are cached with a snapshot: each takes a byte per node, and a byte
per row of each family."""


@record
class NodeSet:
    """A set of nodes of one snapshot."""

    snapshot: Snapshot
    members: BitMap
    hidden: Ordinals | None = None
    """Ordinals, ascending, such that a live row is a member exactly if it has none of them; None if
    the set is not of that kind."""
    _made: dict[str, Any] = field(default_factory=dict, compare=False)

    def mask(self, segment: Segment) -> Bools | None:
        """Returns which rows of a segment belong to members: (n,) bool, or None for all.

        The result must not be changed.
        """
        live = segment.live
        if self.hidden is None:
            held: tuple[Any, Bools] | None = self._made.get(segment.name)
            if held is None or held[0] is not live:
                found = self._flags_of(segment)
                held = self._made[segment.name] = live, found if live is None else found & live
            return held[1]
        rows = _rows_of(segment, self.hidden)
        if rows.shape[0] == 0:
            return live
        mask = np.ones(segment.ordinals.shape[0], np.bool_) if live is None else live.copy()
        mask[rows] = False
        return mask

    def keep(self, segment: Segment, rows: Rows) -> Positions | None:
        """Returns the positions in `rows` whose nodes are members, or None for all of them."""
        live = segment.live
        if self.hidden is not None and self.hidden.shape[0] == 0:
            return None if live is None else np.flatnonzero(live[rows])
        kept = self.flags()[segment.ordinals[rows]]
        return np.flatnonzero(kept if live is None else kept & live[rows])

    def positions(self, segment: Segment) -> Positions | None:
        """Returns the rows of a segment that belong to members, ascending, or None for all."""
        if self.hidden is None and len(self.members) * _FEW < segment.ordinals.shape[0]:
            rows = _rows_of(segment, self.ordinals())
            return rows if segment.live is None else rows[segment.live[rows]]
        mask = self.mask(segment)
        return None if mask is None or mask.all() else np.flatnonzero(mask)

    def ordinals(self) -> Ordinals:
        """Returns the members, ascending."""
        made: Ordinals | None = self._made.get("ordinals")
        if made is None:
            made = self._made["ordinals"] = np.asarray(self.members.to_array(), dtype=np.uint32)
        return made

    def flags(self) -> Bools:
        """Returns (ordinal_count,) bool, true for members."""
        made: Bools | None = self._made.get("flags")
        if made is None:
            made = np.zeros(self.snapshot.ordinal_count, np.bool_)
            made[np.asarray(self.members.to_array(), dtype=np.uint32)] = True
            self._made["flags"] = made
        return made

    def remembered(self, key: str, build: Callable[[], T]) -> T:
        """Returns the cached value of this set for `key`, or computes it with `build`."""
        found: T | None = self._made.get(key)
        if found is None:
            found = self._made[key] = build()
        return found

    def _flags_of(self, segment: Segment) -> Bools:
        """Returns `flags` by row, without a copy if a segment has an ordinal for every row between
        its first and last."""
        flags, ordinals = self.flags(), segment.ordinals
        count = ordinals.shape[0]
        first = int(ordinals[0]) if count else 0
        if count and int(ordinals[-1]) - first + 1 == count:
            return flags[first : first + count]
        return flags[ordinals]


@record
class Universe:
    """The nodes that one query ranks, and the view that its statistics count."""

    query: Query
    view: NodeSet
    nodes: NodeSet
    """The nodes that are ranked; the same object as `view` if nothing narrows it."""


def universe(snapshot: Snapshot, query: Query) -> Universe:
    """Returns the view and the universe of a query; the last few universes are cached."""
    view = view_of(snapshot, include_tombstoned=query.include_tombstoned)
    if not query.is_narrowed:
        return Universe(query, view, view)
    form = [
        query.include_tombstoned,
        list(query.labels),
        None if query.where is None else query.where.form(),
        None if query.valid is None else query.valid.form(),
        None if query.history is None else query.history.form(),
    ]
    kept = cached(snapshot, ("scopes",), dict[bytes, NodeSet])
    key = codec.encode(form)  # the conditions themselves cannot be the key: in them 1 equals True
    scope = kept.get(key)
    if scope is None:
        for old in list(kept)[: max(0, len(kept) + 1 - _SCOPES_KEPT)]:
            kept.pop(old, None)
        scope = kept[key] = NodeSet(snapshot, _narrowed(snapshot, query, view.members))
    return Universe(query, view, scope)


def _narrowed(snapshot: Snapshot, query: Query, members: BitMap) -> BitMap:
    """Returns the members that match labels, conditions and history."""
    if query.labels:
        members = members & _union([snapshot.label(name) for name in query.labels])
    if query.where is not None:
        members = members & matches(snapshot, query.where)
    if query.valid is not None:
        members = members & matches(snapshot, query.valid.condition())
    return members if query.history is None else _written(snapshot, query.history, members)


def _written(snapshot: Snapshot, history: HistoryFilter, members: BitMap) -> BitMap:
    """Returns the members that were created and updated when the conditions say."""
    since = {base: snapshot.written_since(base) for base in {base for _, base in history.bases}}
    for name, base in history.bases:
        created, updated = since[base]
        found = created if name in (CREATED_AFTER, CREATED_BEFORE) else updated
        is_after = name in (CREATED_AFTER, UPDATED_AFTER)
        members = members & found if is_after else members - found
    return members


def view_of(snapshot: Snapshot, *, include_tombstoned: bool) -> NodeSet:
    """Returns the view, computed once per snapshot."""

    def build() -> NodeSet:
        hidden = BitMap() if include_tombstoned else snapshot.live & snapshot.tombstoned
        members = snapshot.live - hidden if hidden else snapshot.live
        flags = snapshot.flags if isinstance(snapshot, CallerSnapshot) else None
        if flags is not None:
            # Rows of hidden nodes are live as well, and can be most of them.
            if hidden:
                flags = flags.copy()
                flags[np.asarray(hidden.to_array(), dtype=np.uint32)] = False
            return NodeSet(snapshot, members, None, {"flags": flags})
        return NodeSet(snapshot, members, np.asarray(hidden.to_array(), dtype=np.uint32))

    return cached(snapshot, ("view", include_tombstoned), build)


def cached(snapshot: Snapshot, key: tuple[object, ...], build: Callable[[], T]) -> T:
    """Returns the cached value of this snapshot for `key`, or computes it with `build`."""
    cache = snapshot.cache
    found: T | None = cache.get(key)
    if found is None:
        found = build()
        cache[key] = found
    return found


def matches(snapshot: Snapshot, predicate: Predicate) -> BitMap:
    """Returns the live nodes for which a condition holds.

    Spec: retrieval 3.2.
    """
    match predicate:
        case Equal(name, value):
            return snapshot.live & snapshot.equal(name, value)
        case OneOf(name, values):
            return snapshot.live & _union([snapshot.equal(name, value) for value in values])
        case Between(name, low, high, low_open, high_open):
            found = snapshot.between(name, low, high, low_open=low_open, high_open=high_open)
            return snapshot.live & found
        case Exists(name):
            return snapshot.live & snapshot.exists(name)
        case Not(part):
            return snapshot.live - matches(snapshot, part)
        case And(parts):
            found = BitMap(snapshot.live)
            for part in parts:
                found &= matches(snapshot, part)
            return found
        case Or(parts):
            return _union([matches(snapshot, part) for part in parts])
        case _ as unreachable:
            assert_never(unreachable)


def _union(bitmaps: list[BitMap]) -> BitMap:
    return BitMap.union(*bitmaps) if bitmaps else BitMap()


def _rows_of(segment: Segment, wanted: Ordinals) -> Positions:
    """Returns the rows of the segment whose ordinals are in `wanted`, ascending."""
    ordinals = segment.ordinals
    count = ordinals.shape[0]
    if count == 0 or wanted.shape[0] == 0:
        return np.zeros(0, np.intp)
    first, last = int(ordinals[0]), int(ordinals[-1])
    start, stop = np.searchsorted(wanted, np.asarray([first, last + 1], np.int64))
    wanted = wanted[start:stop]
    if last - first + 1 == count:
        return wanted.astype(np.intp) - first
    rows = np.searchsorted(ordinals, wanted)
    found: Positions = rows[ordinals[rows] == wanted]
    return found
