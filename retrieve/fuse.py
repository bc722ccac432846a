"""Fusion: combines several ranked lanes into one score per node, and keeps each lane's share for
the explanation.

Lanes are added in one fixed order, so the sum is the same whatever order they finished in. A lane
that does not have a node adds nothing to it.

Spec: retrieval 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ibidem.objects.record import record
from ibidem.retrieve.lane import LaneTop
from ibidem.retrieve.numbers import Float64s
from ibidem.retrieve.protocol import Ordinals
from ibidem.retrieve.query.fusion import DAMPED, LANES, Fusion, kind_of


@record
class Fused:
    """The union of the lanes' tops with one score per node, in no particular order."""

    ordinals: Ordinals
    scores: Float64s
    contributions: Mapping[str, Float64s]
    """By lane, (n,) parallel to `ordinals`; 0.0 if the lane does not have the node."""


def fuse(tops: Sequence[LaneTop], fusion: Fusion) -> Fused:
    """Returns the fused scores of every node that some lane has.

    The native scores of a single lane are passed through; its contribution is the score.

    Args:
        tops: one or more lanes in any order.
        fusion: the formula.
    """
    if len(tops) == 1:
        top = tops[0]
        return Fused(top.ordinals, top.scores, {top.lane: top.scores})
    ordered = sorted(tops, key=lambda top: LANES.index(kind_of(top.lane)))
    return added(ordered, [_shares(top, fusion) for top in ordered])


def added(tops: Sequence[LaneTop], shares: Sequence[Float64s]) -> Fused:
    """Returns the union of the lanes' tops, each node with the sum of its shares.

    Args:
        tops: in the order in which they are added.
        shares: by lane, its share for each node of its top, in the top's order.
    """
    ordinals = _distinct(np.concatenate([top.ordinals for top in tops]))
    scores = np.zeros(ordinals.shape[0], np.float64)
    contributions: dict[str, Float64s] = {}
    for top, own in zip(tops, shares, strict=True):
        share = np.zeros(ordinals.shape[0], np.float64)
        share[np.searchsorted(ordinals, top.ordinals)] = own
        scores = scores + share
        contributions[top.lane] = share
    return Fused(ordinals, scores, contributions)


def _distinct(ordinals: Ordinals) -> Ordinals:
    """Returns the distinct ordinals, ascending. `np.unique` does the same, but imports masked
    arrays, which takes a new process longer than the search."""
    ordinals = np.sort(ordinals)
    return ordinals[np.flatnonzero(np.diff(ordinals, prepend=ordinals[:1] + np.uint32(1)))]


def _shares(top: LaneTop, fusion: Fusion) -> Float64s:
    """Returns the share of a lane for each node of its top, in the top's order."""
    if fusion.name == "convex":
        return fusion.weight(top.lane) * _min_max(top, top.floor)
    if fusion.name == "score_normalised":
        return fusion.weight(top.lane) * _min_max(top, None)
    assert fusion.name in DAMPED, f"BUG: fusion {fusion.name} has no formula"
    return reciprocal_ranks(top, fusion.k, fusion.weight(top.lane))


def reciprocal_ranks(top: LaneTop, k: float, weight: float) -> Float64s:
    """Returns weight / (k + rank) for each node of a top."""
    ranks = np.arange(1, top.scores.shape[0] + 1, dtype=np.float64)
    return weight / (k + ranks)


def _min_max(top: LaneTop, floor: float | None) -> Float64s:
    """Returns the scores scaled to 0..1: the top score is 1; the floor, or the last score if there
    is no floor, is 0."""
    if top.scores.shape[0] == 0:
        return top.scores
    high = top.scores[0]
    low = top.scores[-1] if floor is None else floor
    if high == low:
        return np.ones(top.scores.shape[0], np.float64)
    moved: Float64s = (top.scores - low) / (high - low)
    return moved
