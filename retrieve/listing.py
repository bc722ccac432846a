"""Listings: nodes ordered by a property or by their ids, counted, and page by page.

A page can begin at an offset, or after the last node of the previous page. The second is stable:
the cursor names a value and an id, not a position, so nodes that are added or removed between two
pages shift nothing.

Spec: retrieval 11.1.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

import numpy as np
import numpy.typing as npt

from ibidem.objects import codec
from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.filter import NodeSet, cached
from ibidem.retrieve.protocol import Ordinals, Snapshot
from ibidem.retrieve.query import checks

ASCENDING, DESCENDING = "ascending", "descending"
_NO_VALUE = b""
Int64s = npt.NDArray[np.int64]


@record
class Order:
    """By a property, or by id if there is no name."""

    name: str | None = None
    is_descending: bool = False

    @classmethod
    def parse(cls, order_by: object) -> Order:
        """Returns the order that a caller's value describes.

        Args:
            order_by: None, a property's name, `-` and a name for descending, or (name,
                "ascending" | "descending").
        """
        if order_by is None:
            return cls()
        if isinstance(order_by, tuple) and len(order_by) == 2:
            name, direction = order_by
            if direction not in (ASCENDING, DESCENDING):
                raise InvalidInputError(
                    f"order_by: got {checks.show(direction)}, expected 'ascending' or 'descending'"
                )
            return cls(checks.name("order_by", name), direction == DESCENDING)
        name = checks.name("order_by", order_by)
        if not name.startswith("-"):
            return cls(name)
        return cls(checks.name("order_by", name[1:]), True)


@record
class Listing:
    """One page."""

    ordinals: Ordinals
    count: int
    """The number of nodes on all pages."""
    next: str | None
    """The cursor of the next page; None on the last page."""


def list_nodes(
    scope: NodeSet, order: Order, *, offset: int = 0, limit: int | None = None, after: str | None
) -> Listing:
    """Returns a page of the nodes of a scope.

    Args:
        scope: the nodes.
        order: of the pages.
        offset: the number of nodes to skip, counted from the cursor if `after` is given.
        limit: the most nodes that are returned, None for all.
        after: `next` of a page in the same order.

    Raises:
        InvalidInputError: `after` belongs to another order, or is not a cursor.
    """
    snapshot, ordinals = scope.snapshot, scope.ordinals()
    count = int(ordinals.shape[0])
    ranks = _ranks(scope, order, ordinals)
    if after is not None:
        keep = _after(snapshot, order, after, ordinals, ranks)
        ordinals, ranks = ordinals[keep], ranks[keep]
    stop = ordinals.shape[0] if limit is None else min(ordinals.shape[0], offset + limit)
    page = _first(snapshot, ordinals, ranks, stop)[offset:stop]
    is_last = stop >= ordinals.shape[0] or page.shape[0] == 0
    return Listing(page, count, None if is_last else _cursor(scope, order, page[-1:]))


def _ranks(scope: NodeSet, order: Order, ordinals: Ordinals) -> Int64s:
    """Returns the rank by which each node is sorted before its id, ascending."""
    if order.name is None:
        return np.zeros(ordinals.shape[0], np.int64)
    return _all_ranks(scope.snapshot, order)[ordinals]


def _all_ranks(snapshot: Snapshot, order: Order) -> Int64s:
    """Returns (ordinal_count,) int64 of twice the rank of a node's value, ascending.

    A node counts by its smallest value, or by its greatest in descending order; a node without a
    value is last. Odd numbers are reserved for cursors between two values.
    """
    assert order.name is not None, "BUG: only a property has values"
    name = order.name

    def build() -> Int64s:
        values = snapshot.property_order(name)
        size = len(values.keys)
        ranks = values.ranks if not order.is_descending else size - 1 - values.ranks
        found = np.full(snapshot.ordinal_count, 2 * size, np.int64)
        np.minimum.at(found, values.ordinals, 2 * ranks)
        return found

    return cached(snapshot, ("order", name, order.is_descending), build)


def _first(snapshot: Snapshot, ordinals: Ordinals, ranks: Int64s, count: int) -> Ordinals:
    """Returns the first `count` nodes by rank, then id."""
    if not count:
        return ordinals[:0]
    is_part = count < ordinals.shape[0]
    if is_part:
        keep = np.flatnonzero(ranks <= np.partition(ranks, count - 1)[count - 1])
        ordinals, ranks = ordinals[keep], ranks[keep]
    words = np.ascontiguousarray(snapshot.node_ids(ordinals)).view(">u8")
    first = words[:, 0].astype(np.uint64)
    if is_part and count < ordinals.shape[0]:
        keep = _without_late_ties(ranks, first, count)
        ordinals, ranks, words, first = ordinals[keep], ranks[keep], words[keep], first[keep]
    return ordinals[np.lexsort((words[:, 1], first, ranks))[:count]]


def _without_late_ties(
    ranks: Int64s, first: npt.NDArray[np.uint64], count: int
) -> npt.NDArray[np.intp]:
    """Returns positions that include the first `count`, if more nodes share the greatest rank:
    those of lower rank, and of the others only as many as the first words of their ids separate."""
    last = ranks.max()
    below, ties = np.flatnonzero(ranks < last), np.flatnonzero(ranks == last)
    words, wanted = first[ties], count - below.shape[0]
    near = ties[words <= np.partition(words, wanted - 1)[wanted - 1]]
    return np.concatenate([below, near])


def _cursor(scope: NodeSet, order: Order, last: Ordinals) -> str:
    """Returns the cursor after a node: the order, its value and its id."""
    key = _NO_VALUE
    if order.name is not None:
        values = scope.snapshot.property_order(order.name)
        position = int(_ranks(scope, order, last)[0]) // 2
        if position < len(values.keys):
            key = values.key(len(values.keys) - 1 - position if order.is_descending else position)
    parts = [order.name, order.is_descending, key, scope.snapshot.node_ids(last).tobytes()]
    return urlsafe_b64encode(codec.encode(parts)).decode("ascii").rstrip("=")


def _after(
    snapshot: Snapshot, order: Order, after: str, ordinals: Ordinals, ranks: Int64s
) -> npt.NDArray[np.bool_]:
    """Returns which nodes come after a cursor."""
    key, raw = _read(order, after)
    rank = 0
    if order.name is not None:
        values = snapshot.property_order(order.name)
        size = len(values.keys)
        rank = 2 * size
        if key != _NO_VALUE:
            position, is_there = values.find(key)
            if order.is_descending:
                rank = 2 * (size - 1 - position) + (0 if is_there else 1)
            else:
                rank = 2 * position - (0 if is_there else 1)
    later = ranks > rank
    same = np.flatnonzero(ranks == rank)
    if same.shape[0]:
        words = np.ascontiguousarray(snapshot.node_ids(ordinals[same])).view(">u8")
        high, low = (int.from_bytes(raw[start : start + 8], "big") for start in (0, 8))
        first, second = words[:, 0].astype(np.uint64), words[:, 1].astype(np.uint64)
        at_high, at_low = np.uint64(high), np.uint64(low)
        later[same] = (first > at_high) | ((first == at_high) & (second > at_low))
    return later


def _read(order: Order, after: object) -> tuple[bytes, bytes]:
    try:
        if not isinstance(after, str):
            raise ValueError("no text")
        data = urlsafe_b64decode(after.encode("ascii") + b"=" * (-len(after) % 4))
        parts = codec.decode_foreign(data)
        name, is_descending, key, raw = parts
        if type(key) is not bytes or type(raw) is not bytes or len(raw) != 16:
            raise ValueError("other parts")
    except (ValueError, TypeError, CorruptError) as error:
        raise InvalidInputError(
            f"after: got {checks.show(after)}, expected the cursor of a page"
        ) from error
    if (name, is_descending) != (order.name, order.is_descending):
        raise InvalidInputError(
            f"after: got the cursor of a page by {name!r}, expected one by {order.name!r} "
            "in the same direction"
        )
    return key, raw
