"""The expansion lane: results of shorter forms of a question, added below those of the question.

Spec: recall 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ibidem.retrieve.fuse import Fused
from ibidem.retrieve.lane import LaneTop, best
from ibidem.retrieve.numbers import Float64s
from ibidem.retrieve.protocol import Ordinals, Snapshot

LANE = "expansion"
_K = 60.0


def expanded_top(snapshot: Snapshot, tops: Iterable[LaneTop], depth: int) -> LaneTop:
    """Returns the lane of the forms' results: reciprocal ranks, added in the order of the forms.

    Args:
        snapshot: provides the ids.
        tops: of each form, without the question itself.
        depth: the number of nodes to keep.
    """
    found = list(tops)
    ordinals = np.unique(np.concatenate([np.zeros(0, np.uint32), *(top.ordinals for top in found)]))
    ordinals = ordinals.astype(np.uint32)
    scores = np.zeros(ordinals.shape[0], np.float64)
    for top in found:
        positions = np.searchsorted(ordinals, top.ordinals)
        scores[positions] += 1.0 / (_K + np.arange(1, top.ordinals.shape[0] + 1, dtype=np.float64))
    return LaneTop(LANE, *best(snapshot, [ordinals], [scores], depth))


def with_expansion(fused: Fused, order: Sequence[int], top: LaneTop, safe: int) -> Fused:
    """Returns the fused scores with the shares of the expansion lane added.

    Args:
        fused: the results of the question itself.
        order: its positions, best first.
        top: the expansion lane.
        safe: the number of first nodes that stay above nodes found only by `top`.
    """
    count = fused.ordinals.shape[0]
    own = top.ordinals[~np.isin(top.ordinals, fused.ordinals)]
    ordinals = np.concatenate([fused.ordinals, own])
    sorting = np.argsort(ordinals, kind="stable")
    positions = sorting[np.searchsorted(ordinals[sorting], top.ordinals)]
    shares = np.zeros(ordinals.shape[0], np.float64)
    ranks = np.arange(1, top.ordinals.shape[0] + 1, dtype=np.float64)
    shares[positions] = (_K + 1.0) / (_K + ranks)
    base = np.concatenate([fused.scores, np.zeros(own.shape[0], np.float64)])
    if count:
        last = float(fused.scores[order[min(safe, count) - 1]])
        if last > 0.0:
            shares = last * 0.5 * shares
        else:
            lowest = float(fused.scores[order[-1]])
            shares[:count] = 0.0
            shares[count:] = lowest - 2.0 + shares[count:]
    return Fused(
        ordinals,
        base + shares,
        {**{lane: _grown(part, own) for lane, part in fused.contributions.items()}, LANE: shares},
    )


def _grown(part: Float64s, own: Ordinals) -> Float64s:
    return np.concatenate([part, np.zeros(own.shape[0], np.float64)])
