"""Candidates of a scan, and the thresholds that follow from their lower bounds.

If L is at most the depth-th largest lower bound, at least `depth` rows score L or more. Selecting
exactly that one among many values is slow, and any smaller L is as valid; so where there are many
values, the depth-th largest of the maxima of blocks is taken: each maximum is a value of a
different row.

Spec: retrieval 4.2.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ibidem.objects.record import record
from ibidem.retrieve.dense import tuning
from ibidem.retrieve.numbers import Float64s, block_maxima


@record
class Candidates:
    """Rows that may be among the best, each for one query; (c,) columns."""

    place: npt.NDArray[np.int64]
    """The row, counted through all segments; ascending within a query and a segment."""
    query: npt.NDArray[np.int16]
    lower: Float64s
    upper: Float64s

    def take(self, index: Any) -> Candidates:
        """Returns some of them."""
        return Candidates(
            self.place[index], self.query[index], self.lower[index], self.upper[index]
        )

    def thresholds(self, depths: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.intp], Float64s]:
        """Returns the queries with at least as many candidates as they want, and a threshold for
        each.

        A threshold is a score that at least the wanted number of candidates reach; -inf where only
        an infinite bound says so. Candidates of one query must be adjacent, in the order of the
        queries.
        """
        table = self.lower[:, None]
        count = len(depths)
        if count > 1:
            sizes = np.bincount(self.query, minlength=count)
            table = np.full((int(sizes.max(initial=0)), count), -np.inf)
            first = np.repeat(np.cumsum(sizes) - sizes, sizes)
            table[np.arange(len(first)) - first, self.query] = self.lower
        table = _block_maxima(table, int(depths.max(initial=1)))
        places = len(table) - depths
        enough = np.flatnonzero(places >= 0)
        places = places[enough]
        if places.shape[0]:
            table = np.partition(table, sorted(set(places.tolist())), axis=0)
        return enough, table[places, enough]


def concatenated(parts: Sequence[Candidates], *, single: bool) -> Candidates:
    """Returns all candidates, those of one query adjacent, and otherwise in the order given."""
    if len(parts) > 1:
        every = Candidates(
            np.concatenate([part.place for part in parts]),
            np.concatenate([part.query for part in parts]),
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
        )
    else:
        every = parts[0]
    return every if single else every.take(np.argsort(every.query, kind="stable"))


def reached_by(values: npt.NDArray[Any], count: int) -> Float64s:
    """Returns, for each column of (n, m) values, a number that at least `count` of them reach; n >=
    count.
    """
    values = _block_maxima(values, count)
    place = len(values) - count
    found: Float64s = np.partition(values, place, axis=0)[place].astype(np.float64)
    return found


def _block_maxima(values: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    """Returns maxima of blocks of (n, m) values, more than `count`; the values if too few."""
    width = len(values) // (tuning.THRESHOLD_BLOCKS * count)
    return block_maxima(values, width) if width > 1 else values
