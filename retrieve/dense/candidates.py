"""Rows that a scan keeps for now, and what they say of the place that is wanted.

Spec: retrieval 4.2.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ibidem.objects.record import record
from ibidem.retrieve.numbers import Float64s, block_maxima

_BLOCKS = 4
"""Maxima of so many blocks for every wanted row give a first bound."""


@record
class Candidates:
    """Rows that are kept so far, each for one query."""

    place: npt.NDArray[np.int64]
    """Of the row, counted through all segments; ascending within a query and a segment."""
    query: npt.NDArray[np.int16]
    lower: Float64s
    upper: Float64s

    def take(self, index: Any) -> Candidates:
        """Returns some of them."""
        return Candidates(
            self.place[index], self.query[index], self.lower[index], self.upper[index]
        )

    def reached(self, depths: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.intp], Float64s]:
        """Returns the queries that may have as many hits as are wanted, and what so many or more
        reach: -inf for those that have not.

        Hits of one query are together here, in the order of the queries.
        """
        table = self.lower[:, None]
        count = len(depths)
        if count > 1:
            sizes = np.bincount(self.query, minlength=count)
            table = np.full((int(sizes.max(initial=0)), count), -np.inf)
            first = np.repeat(np.cumsum(sizes) - sizes, sizes)
            table[np.arange(len(first)) - first, self.query] = self.lower
        table = _fewer(table, int(depths.max(initial=1)))
        places = len(table) - depths
        enough = np.flatnonzero(places >= 0)
        places = places[enough]
        if places.shape[0]:
            table = np.partition(table, sorted(set(places.tolist())), axis=0)
        return enough, table[places, enough]


def joined(parts: Sequence[Candidates], *, single: bool) -> Candidates:
    """Returns all hits, those of one query together and otherwise in the order they came."""
    if len(parts) > 1:
        hits = Candidates(
            np.concatenate([part.place for part in parts]),
            np.concatenate([part.query for part in parts]),
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
        )
    else:
        hits = parts[0]
    return hits if single else hits.take(np.argsort(hits.query, kind="stable"))


def tops(values: npt.NDArray[Any], count: int) -> Float64s:
    """Returns what at least `count` of each column of (n, m) values reach, n being enough: of the
    maxima of blocks, which are fewer, where there are blocks enough."""
    values = _fewer(values, count)
    place = len(values) - count
    found: Float64s = np.partition(values, place, axis=0)[place].astype(np.float64)
    return found


def _fewer(values: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    """Returns the maxima of blocks of (n, m) values, at least `count` and some more, where there
    are blocks enough; else the values."""
    width = len(values) // (_BLOCKS * count)
    return block_maxima(values, width) if width > 1 else values
