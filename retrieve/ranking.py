"""A ranking over a snapshot: ordinals and scores in order. Ids and CIDs are fetched on demand,
because an answer reads few of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ibidem.objects.cid import NodeCid
from ibidem.objects.ids import NodeId
from ibidem.retrieve.numbers import Float64s, Ids
from ibidem.retrieve.protocol import Ordinals, Snapshot

_CIDS_BLOCK = 16
"""The number of ranked nodes whose CIDs are fetched at a time: few are read."""


class SnapshotRanking:
    """Nodes best first."""

    def __init__(
        self, snapshot: Snapshot, ordinals: Ordinals, scores: Float64s, ids: Ids | None = None
    ) -> None:
        """Stores nodes in rank order, and their `ids` if they are known."""
        self.ordinals = ordinals
        self._snapshot = snapshot
        self._scores = scores
        self._ids = ids
        self._cids: tuple[int, Sequence[NodeCid]] = (-1, ())

    def __len__(self) -> int:
        return int(self.ordinals.shape[0])

    def columns(self, start: int, stop: int) -> tuple[Ids, Float64s]:
        """Returns the ids, (n, 16), and scores, (n,), of nodes start..stop."""
        if self._ids is None:
            ids = self._snapshot.node_ids(self.ordinals[start:stop])
        else:
            ids = self._ids[start:stop]
        return ids, self._scores[start:stop]

    def span(self, start: int, stop: int) -> list[tuple[NodeId, float]]:
        """Returns the ids and scores of nodes start..stop."""
        ids, scores = self.columns(start, stop)
        return [
            (NodeId(one.tobytes()), score) for one, score in zip(ids, scores.tolist(), strict=True)
        ]

    def cid(self, index: int) -> NodeCid:
        """Returns a node's CID."""
        block, position = divmod(index, _CIDS_BLOCK)
        if self._cids[0] != block:
            wanted = self.ordinals[block * _CIDS_BLOCK : (block + 1) * _CIDS_BLOCK]
            self._cids = block, self._snapshot.node_cids(wanted)
        return self._cids[1][position]

    def score(self, index: int) -> float:
        """Returns a node's score."""
        return float(self._scores[index])

    def reordered(self, places: Sequence[int]) -> SnapshotRanking:
        """Returns the ranking with its first nodes in another order, each with its own score.

        Args:
            places: a permutation of 0..m-1; the nodes after the first m keep their positions.
        """
        if list(places) == list(range(len(places))):
            return self
        order = np.arange(len(self))
        order[: len(places)] = places
        ids = None if self._ids is None else self._ids[order]
        return SnapshotRanking(self._snapshot, self.ordinals[order], self._scores[order], ids)
