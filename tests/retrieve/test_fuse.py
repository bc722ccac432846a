"""Fusion: the formulas by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ibidem.retrieve.fuse import fuse
from ibidem.retrieve.lane import LaneTop
from ibidem.retrieve.query.fusion import Fusion


def top(lane, pairs, floor=None):
    ordinals = np.array([pair[0] for pair in pairs], np.uint32)
    return LaneTop(lane, ordinals, np.array([pair[1] for pair in pairs], np.float64), floor=floor)


LEXICAL = top("lexical", [(5, 9.0), (2, 4.0), (7, 3.0)], floor=0.0)
DENSE = top("dense", [(2, 0.5), (9, -0.25)], floor=-1.0)
SPARSE = top("sparse", [(7, 2.0), (5, 1.0)])


def scores(fused):
    return dict(zip(fused.ordinals.tolist(), fused.scores.tolist(), strict=True))


def test_one_lane_passes_through():
    """[7-a]"""
    fused = fuse([LEXICAL], Fusion("convex"))
    assert fused.scores is LEXICAL.scores
    assert fused.contributions["lexical"] is LEXICAL.scores


def test_reciprocal_ranks_are_added():
    """[7-b] [7-c]"""
    fused = fuse([DENSE, LEXICAL], Fusion())
    assert scores(fused) == {5: 1 / 61, 2: 1 / 62 + 1 / 61, 7: 1 / 63, 9: 1 / 62}
    assert fused.contributions["dense"].tolist() == [1 / 61, 0.0, 0.0, 1 / 62]


def test_weights_multiply_before_the_division():
    """[7-c]"""
    fused = fuse([LEXICAL, DENSE], Fusion("weighted_rrf", 10.0, {"dense": 0.3}))
    assert scores(fused)[9] == 0.3 / 12.0
    assert scores(fused)[5] == 1.0 / 11.0


def test_convex_fusion_starts_at_the_lanes_own_lower_bound():
    """[7-c]"""
    fused = fuse([LEXICAL, DENSE, SPARSE], Fusion("convex", weights={"sparse": 0.5}))
    assert scores(fused) == {
        2: 4.0 / 9.0 + 1.0,
        5: 1.0 + 0.0,
        7: 3.0 / 9.0 + 0.5,
        9: 0.75 / 1.5,
    }


def test_equal_scores_count_as_the_best():
    """[7-c]"""
    flat = top("sparse", [(1, 2.0), (2, 2.0)])
    assert scores(fuse([flat, LEXICAL], Fusion("convex")))[1] == 1.0


@pytest.mark.parametrize("name", ["rrf", "weighted_rrf", "convex"])
def test_the_order_of_the_lanes_does_not_matter(name):
    """[7-b]"""
    one = fuse([LEXICAL, DENSE, SPARSE], Fusion(name))
    other = fuse([SPARSE, LEXICAL, DENSE], Fusion(name))
    assert one.scores.tobytes() == other.scores.tobytes()


def test_an_empty_lane_adds_nothing():
    fused = fuse([LEXICAL, top("dense", [])], Fusion("convex"))
    assert scores(fused)[5] == 1.0
