"""Packing: order, limit, budget, what is listed and what is not even read."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.objects.cid import NodeCid
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.retrieve.answer.drops import DropReason
from ibidem.retrieve.budget import Reader, pack
from ibidem.retrieve.query.frame import Counter
from ibidem.retrieve.tokens import HEURISTIC


class Nodes:
    """A ranking of nodes with summaries of given lengths; counts what is read."""

    def __init__(self, lengths):
        self.nodes = [
            Node(id=NodeId(index.to_bytes(16, "big")), ntype="N", summary="x" * length)
            for index, length in enumerate(lengths)
        ]
        self.cids = [NodeCid.of(index.to_bytes(4, "big")) for index in range(len(self.nodes))]
        self.loaded = 0

    def __len__(self):
        return len(self.nodes)

    def cid(self, index):
        return self.cids[index]

    def columns(self, start, stop):
        ids = b"".join(node.id.raw for node in self.nodes[start:stop])
        scores = 1.0 - np.arange(start, stop) / 1024
        return np.frombuffer(ids, np.uint8).reshape(-1, 16), scores

    def load(self, cid):
        self.loaded += 1
        return self.nodes[self.cids.index(cid)]


def run(lengths, *, limit=None, budget=None):
    nodes = Nodes(lengths)
    reader = Reader(nodes.load, lambda node: None, Counter(HEURISTIC), ("summary",))
    return nodes, pack(nodes, reader, limit=limit, budget=budget)


def test_a_node_that_does_not_fit_is_skipped_and_a_later_one_may_fit():
    """[8.3-a]"""
    _, packed = run([40, 400, 40, 40], budget=40)
    assert [one.place for one in packed.taken] == [0, 2, 3]
    assert packed.tokens_used == 30
    assert [(drop.reason, drop.tokens) for drop in packed.drops] == [(DropReason.BUDGET, 100)]


def test_past_the_limit_nothing_is_read():
    """[8.3-a] [9.1-b]"""
    nodes, packed = run([0] * 5, limit=2)
    assert (len(packed.taken), nodes.loaded) == (2, 2)
    assert [(drop.reason, drop.tokens) for drop in packed.drops] == [(DropReason.LIMIT, None)] * 3
    assert packed.counts == {"limit": 3, "budget": 0}


def test_nothing_fits_a_budget_of_zero_or_a_limit_of_zero():
    """[8.3-a]"""
    assert run([0, 0], budget=0)[1].taken == []
    assert run([0, 0], limit=0)[1].counts == {"limit": 2, "budget": 0}


def test_all_drops_are_counted_and_a_thousand_listed():
    """[9.1-b]"""
    for options in ({"limit": 1}, {"budget": 12}, {"budget": 0}):
        nodes, packed = run([0] * 1500, **options)
        assert len(packed.drops) == 1000
        assert sum(packed.counts.values()) == 1500 - len(packed.taken)
        assert nodes.loaded <= 1001


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.integers(0, 200), max_size=12),
    st.none() | st.integers(0, 6),
    st.none() | st.integers(0, 200),
)
def test_packing_is_greedy_in_rank_order(lengths, limit, budget):
    """[8.3-a]"""
    nodes, packed = run(lengths, limit=limit, budget=budget)
    places = [one.place for one in packed.taken]
    assert places == sorted(places)
    assert packed.tokens_used == sum(one.tokens for one in packed.taken)
    assert limit is None or len(places) <= limit
    assert budget is None or packed.tokens_used <= budget
    assert len(places) + sum(packed.counts.values()) == len(nodes)
    if budget is None and limit is None:
        assert len(places) == len(nodes)
