"""Who may take part: the view, over which statistics are taken, and the universe, which is ranked.

The view is the root's nodes without the tombstoned ones. Labels and conditions narrow it to the
universe before any lane ranks, so a filter can never starve a result. Both are bitmaps of ordinals;
lanes ask for them as a mask over a segment's rows.

Spec: retrieval 3.1, 3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, assert_never

import numpy as np
from pyroaring import BitMap

from ibidem.retrieve.predicate import And, Between, Equal, Exists, Not, OneOf, Or, Predicate
from ibidem.retrieve.protocol import Bools, Ordinals, Segment, Snapshot
from ibidem.retrieve.query import Query

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scope:
    """A set of nodes of one snapshot."""

    snapshot: Snapshot
    members: BitMap
    flags: Bools | None
    """(ordinal_count,) bool, or None when every live row is a member."""

    def rows(self, segment: Segment) -> Bools | None:
        """Returns which rows of a segment belong to members: (n,) bool, or None for all."""
        live = segment.live
        if self.flags is None:
            return live
        mask = self.flags[segment.ordinals]
        return mask if live is None else mask & live

    def ordinals(self) -> Ordinals:
        """Returns the members, ascending."""
        return np.asarray(self.members.to_array(), dtype=np.uint32)


@dataclass(frozen=True, slots=True)
class Universe:
    """What one query ranks, and the view that its statistics are taken over."""

    query: Query
    view: Scope
    scope: Scope
    """The nodes that rank; the same object as `view` when nothing narrows it."""


def universe(snapshot: Snapshot, query: Query) -> Universe:
    """Returns the view and the universe of a query."""
    view = view_of(snapshot, include_tombstoned=query.include_tombstoned)
    if not query.labels and query.where is None:
        return Universe(query, view, view)
    members = view.members
    if query.labels:
        members = members & _union([snapshot.label(name) for name in query.labels])
    if query.where is not None:
        members = members & matches(snapshot, query.where)
    return Universe(query, view, Scope(snapshot, members, _flags(snapshot, members)))


def view_of(snapshot: Snapshot, *, include_tombstoned: bool) -> Scope:
    """Returns the view, made once a snapshot."""

    def build() -> Scope:
        hidden = BitMap() if include_tombstoned else snapshot.live & snapshot.tombstoned
        members = snapshot.live - hidden
        return Scope(snapshot, members, _flags(snapshot, members))

    return cached(snapshot, ("view", include_tombstoned), build)


def cached(snapshot: Snapshot, key: tuple[object, ...], build: Callable[[], T]) -> T:
    """Returns what `build` gave for this snapshot before, or gives now."""
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


def _flags(snapshot: Snapshot, members: BitMap) -> Bools:
    flags = np.zeros(snapshot.ordinal_count, np.bool_)
    flags[np.asarray(members.to_array(), dtype=np.uint32)] = True
    return flags
