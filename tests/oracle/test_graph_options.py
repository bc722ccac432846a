"""Every option of the lanes that walk edges changes an answer, and the claims of section 5 hold."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from ibidem.index.index import Index
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.config import Config
from ibidem.objects.derive import edge_id
from ibidem.objects.edge import Edge
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.text import text_digest
from ibidem.objects.vector import Vector
from ibidem.retrieve.answer.warning import WarningCode
from ibidem.retrieve.filter import view_of
from ibidem.retrieve.graph.neighbourhood import Neighbourhood
from ibidem.retrieve.graph.pagerank import UNIT, Flow, seed_mass
from ibidem.retrieve.lane import LaneStatus
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute
from ibidem.retrieve.query.query import Query, resolve

from .graph_world import GraphFake, set_edges, with_edges
from .oracle import World, answer
from .world import MODELS, finish, random_facts

FIRST, SECOND, THIRD, HUB, LEAF, NEAR, FAR, ALONE, LATE = range(9)
TEXTS = {FIRST: "fish fish fish fish", SECOND: "fish fish sea sea", THIRD: "fish sea sky sun"}
EDGES = [
    (FIRST, "cites", HUB, 1.0),
    (FIRST, "has", NEAR, 2.0),
    (NEAR, "cites", FAR, 3.0),
    (FAR, "cites", LATE, 1.0),
    (SECOND, "cites", HUB, 1.0),
    (HUB, "has", LEAF, 0.5),
    (HUB, "cites", THIRD, 1.0),
    (LEAF, "has", SECOND, 1.0),
    (LATE, "has", LATE, 1.0),
]


def ident(number: int) -> NodeId:
    return NodeId(bytes([200 - number]) * 16)


def edge(source: int, etype: str, target: int, weight: float) -> Edge:
    ends = ident(source), ident(target)
    return Edge(edge_id(ends[0], etype, ends[1], None), etype, *ends, weight=weight)


def make(edges: Any = EDGES, tombstones: tuple[int, ...] = (), cosines: Any = None) -> Any:
    """Returns the facts and a snapshot: nine nodes, three of them found by the word "fish"."""
    nodes = [
        Node(
            id=ident(number),
            ntype="Doc" if number != LEAF else "Note",
            summary=TEXTS.get(number),
            props={"number": number},
        )
        for number in range(9)
    ]
    vectors = {
        ident(number): Vector.from_array(np.array(row, np.float32), of=text_digest(""))
        for number, row in (cosines or {}).items()
    }
    config = Config(models=MODELS, fields=("summary",), analyser="unicode-1")
    hidden = {ident(number) for number in tombstones}
    facts = finish(config, nodes, {"cos": vectors}, {}, hidden, WriteBatch())
    facts = set_edges(facts, [edge(*one) for one in edges])
    return facts, Index(None, facts.buffer).snapshot(facts.root)


def ask(made: Any, **options: Any) -> Any:
    """Returns the result, the oracle's bytes having been the same."""
    facts, snapshot = made
    query = resolve(facts.config, **{"text": "fish", "limit": None, **options})
    result = execute(snapshot, query, NodeSource(lambda cid: Node.decode(facts.buffer.get(cid))))
    assert result.to_bytes() == answer(World(facts.buffer, facts.root), query.form())
    return result


def order(result: Any) -> list[int]:
    return [item.node.props["number"] for item in result.items]


def facts_of(result: Any) -> Any:
    return [(item.id, item.score, item.lanes) for item in result.items]


@pytest.mark.parametrize(
    ("base", "change"),
    [
        ({"mode": "decay"}, {"mode": "ppr"}),
        *(
            ({"mode": mode}, change)
            for mode in ("decay", "ppr")
            for change in (
                {"direction": "outgoing"},
                {"direction": "incoming"},
                {"etypes": "cites"},
                {"weights": {"has": 0.1}},
                {"weights": {"cites": 0}},
                {"seeds": 1},
                {"max_expand": 2},
            )
        ),
        ({"mode": "decay"}, {"depth": 1}),
        ({"mode": "decay"}, {"depth": 4}),
        ({"mode": "decay"}, {"decay": 0.2}),
        ({"mode": "decay"}, {"max_per_seed": 1}),
        ({"mode": "decay"}, {"max_frontier": 1}),
        ({"mode": "ppr"}, {"damping": 0.3}),
        ({"mode": "ppr"}, {"epsilon": 0.05}),
        ({"mode": "ppr"}, {"rounds": 1}),
    ],
)
def test_every_option_of_the_graph_lane_changes_an_answer(base, change):
    """[5.1-a]"""
    made = make()
    before, after = (ask(made, graph=options) for options in (base, {**base, **change}))
    assert facts_of(before) != facts_of(after)


@pytest.mark.parametrize(
    "change",
    [
        {"etypes": "cites"},
        {"weights": {"cites": 0.01}},
        {"seeds": 1},
        {"hops": 1},
        {"rounds": 1},
        {"decay": 0.2},
        {"max_per_community": 1},
        {"max_nodes": 4},
    ],
)
def test_every_option_of_the_community_lane_changes_an_answer(change):
    """[5.1-a]"""
    made = make()
    before, after = (ask(made, community=options) for options in ({}, change))
    assert facts_of(before) != facts_of(after)


def test_edges_change_the_top():
    """[5-a]"""
    made = make([(THIRD, "cites", HUB, 1.0), (HUB, "cites", FAR, 1.0)])
    assert order(ask(made)) == [FIRST, SECOND, THIRD]
    for mode in ("decay", "ppr"):
        assert set(order(ask(made, graph={"mode": mode}))) == {FIRST, SECOND, THIRD, HUB, FAR}
    third = ask(
        make([(FIRST, "cites", THIRD, 9.0), (SECOND, "cites", THIRD, 9.0)]),
        graph={"mode": "decay", "direction": "outgoing"},
        fusion="weighted_rrf",
        weights={"graph": 2.0},
    )
    assert order(third)[0] == THIRD


def test_communities_change_the_output():
    """The seed project's community lane could not: it only appended behind all candidates."""
    made = make()
    assert order(ask(made, community={})) != order(ask(made))
    alone = ask(made, limit=4, fusion="weighted_rrf", weights={"community": 3.0}, community={})
    assert set(order(alone)) - set(TEXTS)


def test_the_universe_applies_before_anything_is_cut():
    """[5-c] Hub and others would fill the lane; the filter comes first, the walk goes through
    them."""
    made = make()
    for graph in (
        {"mode": "ppr", "max_expand": 1, "seeds": 1},
        {"mode": "decay", "max_per_seed": 1, "max_expand": 4, "depth": 4},
    ):
        found = ask(made, graph=graph, where={"number": {"in": [FIRST, LATE]}})
        assert set(order(found)) >= {FIRST}
    found = ask(
        made,
        graph={"mode": "decay", "max_per_seed": 1, "depth": 4},
        where={"number": {"in": [FIRST, LATE]}},
    )
    assert set(order(found)) == {FIRST, LATE}


def test_what_is_tombstoned_is_not_walked_through():
    """[5.2-a]"""
    graph = {"mode": "decay", "depth": 4, "seeds": 1}
    assert {FAR, LATE} <= set(order(ask(make(), graph=graph)))
    walked = ask(make(tombstones=(NEAR,)), graph=graph)
    assert not {NEAR, FAR, LATE} & set(order(walked))
    both = ask(make(tombstones=(NEAR,)), graph=graph, include_tombstoned=True)
    assert {NEAR, FAR, LATE} <= set(order(both))


def test_seeds_with_negative_scores_carry_by_their_rank():
    """[5-b] A cosine below zero made the seed project's neighbours better than their seed."""
    made = make(cosines={FIRST: [-1.0, 0.1, 0.0], SECOND: [-1.0, 0.0, 0.0]})
    result = ask(
        made, text=None, vector=("cos", np.array([1, 0, 0], np.float32)),
        graph={"mode": "decay", "depth": 1, "direction": "outgoing"},
    )  # fmt: skip
    scores = {item.node.props["number"]: item.lanes["graph"].score for item in result.items}
    assert scores[FIRST] == 1.0
    assert scores[SECOND] == 0.5
    assert scores[HUB] == 0.7


def test_a_seed_gains_from_another():
    result = ask(
        make([(FIRST, "x", SECOND, 1.0)]), graph={"mode": "decay", "direction": "outgoing"}
    )
    scores = {item.node.props["number"]: item.lanes["graph"].score for item in result.items}
    assert scores[SECOND] == 0.7


def test_a_frontier_that_is_too_large_is_said_and_not_given_up():
    """[9.3-a]"""
    result = ask(make(), graph={"mode": "decay", "depth": 3, "max_frontier": 2})
    [warning] = result.warnings
    assert (warning.code, warning.option) == (WarningCode.FRONTIER_CUT, "graph")
    assert warning.count
    assert set(order(result)) - set(TEXTS)
    [warning] = ask(make(), community={"max_nodes": 4}).warnings
    assert (warning.code, warning.option) == (WarningCode.FRONTIER_CUT, "community")


def test_walks_without_seeds_or_edges_say_so():
    nothing = ask(make(), text="absent", graph={"mode": "ppr"}, community={})
    assert nothing.status["graph"] is nothing.status["community"] is LaneStatus.NO_SEEDS
    assert not nothing.items
    bare = ask(make([]), graph={"mode": "ppr"}, community={})
    assert bare.status["graph"] is bare.status["community"] is LaneStatus.NO_EDGES
    assert [warning.option for warning in bare.warnings] == ["graph", "community"]
    assert order(bare) == order(ask(make([])))


def test_edge_types_that_no_edge_has_are_named():
    graph = {"mode": "ppr", "etypes": ["cites", "cties"], "weights": {"hass": 2}}
    warnings = ask(make(), graph=graph).warnings
    assert [warning.subject for warning in warnings] == ["cties", "hass"]


@pytest.mark.parametrize("weight", [0.0, -1.0, -1e308])
def test_weights_of_zero_and_below_carry_nothing(weight):
    """[5.2-a]"""
    for mode in ("decay", "ppr"):
        result = ask(make([(FIRST, "x", HUB, weight)]), graph={"mode": mode})
        assert result.status["graph"] is LaneStatus.NO_EDGES


def test_weights_beyond_all_numbers_stay_numbers():
    """[5.2-a] [5.2-b]"""
    made = make([(FIRST, "x", HUB, 1.7e308), (FIRST, "x", NEAR, 1.0), (HUB, "x", FAR, 1.7e308)])
    for mode in ("decay", "ppr"):
        result = ask(made, graph={"mode": mode, "weights": {"x": 1e9}})
        assert HUB in order(result)
        assert all(np.isfinite(item.lanes["graph"].score) for item in result.items)


def test_nothing_is_lost_on_the_way():
    """[5.4-a] What nodes send out arrives to the last unit, dangling ones and loops included."""
    for seed in range(30):
        rng = random.Random(seed)
        facts = with_edges(rng, random_facts(rng, node_count_max=25), [])
        view = view_of(GraphFake(facts, rng), include_tombstoned=False)
        seeds = view.ordinals()[:3]
        if not len(seeds):
            continue
        near = Neighbourhood(
            view, direction="outgoing", etypes=None, weights={}, seeds=seeds, at=None
        )
        held = seed_mass(1.0 / np.arange(1, len(seeds) + 1))
        flow = Flow(near, held)
        for _ in range(6):
            active = flow.active(held, rng.choice((0, 1, UNIT >> 10)))
            held = flow.fit(held)
            sent = np.where(np.isin(np.arange(near.count), active), held, 0)
            arrived = flow.send(active, held[active])
            assert arrived.min() >= 0
            assert arrived.sum() == sent.sum() <= UNIT
            held = held - sent + arrived


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"graph": {}}, "graph.mode"),
        ({"graph": {"mode": "bfs"}}, "graph.mode"),
        ({"graph": "ppr"}, "graph"),
        ({"graph": {"mode": "ppr", "depth": 2}}, "graph.depth"),
        ({"graph": {"mode": "decay", "damping": 0.5}}, "graph.damping"),
        ({"graph": {"mode": "decay", "depth": 5}}, "graph.depth"),
        ({"graph": {"mode": "decay", "decay": 1.5}}, "graph.decay"),
        ({"graph": {"mode": "decay", "decay": float("nan")}}, "graph.decay"),
        ({"graph": {"mode": "ppr", "damping": 1.0}}, "graph.damping"),
        ({"graph": {"mode": "ppr", "direction": "up"}}, "graph.direction"),
        ({"graph": {"mode": "ppr", "etypes": []}}, "graph.etypes"),
        ({"graph": {"mode": "ppr", "etypes": 3}}, "graph.etypes"),
        ({"graph": {"mode": "ppr", "weights": {"x": -1}}}, "graph.weights.x"),
        ({"graph": {"mode": "ppr", "weights": ["x"]}}, "graph.weights"),
        ({"graph": {"mode": "ppr", "seeds": 0}}, "graph.seeds"),
        ({"graph": {"mode": "ppr", "seeds": True}}, "graph.seeds"),
        ({"community": {"hops": 0}}, "community.hops"),
        ({"community": {"mode": "ppr"}}, "community.mode"),
        ({"community": 1}, "community"),
        ({"text": None, "label": "Doc", "graph": {"mode": "ppr"}}, "graph"),
        ({"text": None, "label": "Doc", "community": {}}, "community"),
        ({"weights": {"graph": 0}, "fusion": "convex", "graph": {"mode": "ppr"}}, "weights.graph"),
    ],
)
def test_options_out_of_form_are_refused_by_name(options, name):
    with pytest.raises(InvalidInputError, match=f"^{name}:"):
        resolve(Config(), **{"text": "x", **options})


def test_a_query_with_walks_writes_back_to_itself():
    graph = {"mode": "decay", "etypes": ["b", "a", "a"], "weights": {"b": 1, "a": 2}}
    query = resolve(Config(), text="x", graph=graph, community={"max_per_community": None})
    assert Query.decode(query.encode()) == query
    assert query.form()["graph"]["etypes"] == ["a", "b"]
