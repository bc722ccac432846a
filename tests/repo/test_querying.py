"""Listings and paths against what a reader of every node would say."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from pyroaring import BitMap

import ibidem
from ibidem.objects.cid import Cid
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.retrieve.graph.paths import Step, find_paths

NUMBERS = (-1, 0, 0.5, 1, 1.0, 2**60)
VALUES = (None, False, True, *NUMBERS, "", "a", "ab", "é", b"", b"\x01", [], {"a": 1})


def rank(value):
    """Types, then values: null, booleans, numbers, texts, bytes."""
    match value:
        case None:
            return (1, 0, 0)
        case bool():
            return (2, value, 0)
        case int() | float():
            return (3, value, isinstance(value, float))
        case str():
            return (4, value.encode(), 0)
        case bytes():
            return (5, value, 0)
    return None


def ranks(node):
    value = node.props.get("p")
    found = [rank(one) for one in (value if isinstance(value, (list, tuple)) else [value])]
    return [one for one in found if one is not None] if "p" in node.props else []


def expected(nodes, order_by):
    if order_by is None:
        return sorted(nodes, key=lambda node: node.id.raw)
    nodes = sorted(nodes, key=lambda node: node.id.raw)
    with_value = [node for node in nodes if ranks(node)]
    if order_by == "p":
        with_value.sort(key=lambda node: min(ranks(node)))
    else:
        with_value.sort(key=lambda node: max(ranks(node)), reverse=True)
        groups = {}
        for node in nodes:
            if ranks(node):
                groups.setdefault(max(ranks(node)), []).append(node)
        with_value = [node for key in sorted(groups, reverse=True) for node in groups[key]]
    return with_value + [node for node in nodes if not ranks(node)]


def filled(rng, count):
    repo = ibidem.init("memory:", clock=lambda: 1)
    shown = []
    for start in range(0, count, 20):
        with repo.transaction(author="a", message="m") as tx:
            for i in range(start, min(count, start + 20)):
                value = rng.choice(VALUES)
                value = [value, rng.choice(VALUES[:10])] if rng.random() < 0.2 else value
                props = {"p": value} if rng.random() < 0.8 else {}
                node = tx.add_node(rng.choice("AB"), props=props, key=i)
                shown.append(node)
                if rng.random() < 0.1:
                    tx.tombstone(shown.pop(), reason="x")
                if i > 3 and rng.random() < 0.2:
                    tx.update_node(rng.choice(shown), props={"p": rng.choice(VALUES)})
    return repo


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("order_by", [None, "p", "-p"])
def test_pages_are_the_sorted_list(seed, order_by):
    """[11.1-a] [11.1-b]"""
    rng = random.Random(seed)
    with filled(rng, 90) as repo:
        at = repo.at()
        wanted = [node.id for node in expected(list(at.nodes()), order_by)]
        assert [node.id for node in at.query(order_by=order_by)] == wanted
        assert at.count() == len(wanted)
        part = at.query(order_by=order_by, offset=7, limit=11)
        assert [node.id for node in part] == wanted[7:18]
        seen, after, size = [], None, rng.choice((1, 7, 30))
        while True:
            page = at.page(order_by=order_by, limit=size, after=after)
            assert page.count == len(wanted)
            seen += [node.id for node in page.nodes]
            after = page.next
            if after is None:
                break
        assert seen == wanted


def test_a_cursor_outlives_its_node_and_its_value():
    """[11.1-c]"""
    with ibidem.init("memory:") as repo:
        with repo.transaction(author="a", message="m") as tx:
            ids = [tx.add_node("A", props={"year": year}, key=year) for year in range(10)]
        first = repo.at().page(order_by="-year", limit=4)
        assert [node.props["year"] for node in first.nodes] == [9, 8, 7, 6]
        with repo.transaction(author="a", message="m") as tx:
            tx.remove_node(ids[6])
            tx.remove_node(ids[9])
            tx.add_node("A", props={"year": 100}, key="new")
        rest = repo.at().page(order_by="-year", limit=99, after=first.next)
        assert [node.props["year"] for node in rest.nodes] == [5, 4, 3, 2, 1, 0]
        up = repo.at().page(order_by="year", limit=1)
        with repo.transaction(author="a", message="m") as tx:
            tx.remove_node(ids[0])
        rest = repo.at().page(order_by="year", limit=2, after=up.next)
        assert [node.props["year"] for node in rest.nodes] == [1, 2]
        assert repo.at().page(limit=0).next is None


def test_conditions_narrow_and_counts_agree():
    with ibidem.init("memory:") as repo:
        with repo.transaction(author="a", message="m") as tx:
            for i in range(20):
                tx.add_node("AB"[i % 2], props={"n": i, "valid_from": i}, key=i)
        at = repo.at()
        options = {"label": "A", "where": {"n": {"gte": 4}}, "as_of": 10}
        assert [node.props["n"] for node in at.query(order_by="-n", **options)] == [10, 8, 6, 4]
        assert at.count(**options) == 4
        assert at.count(as_of=datetime(1970, 1, 1, tzinfo=UTC)) == 1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"order_by": ""}, "order_by"),
        ({"order_by": "-"}, "order_by"),
        ({"order_by": ("a", "up")}, "order_by"),
        ({"offset": -1}, "offset"),
        ({"limit": True}, "limit"),
        ({"after": "?"}, "after"),
        ({"after": "AAAA"}, "after"),
        ({"after": 3}, "after"),
        ({"valid_missing": "drop"}, "valid_missing"),
        ({"include_tombstoned": 1}, "include_tombstoned"),
    ],
)
def test_wrong_options_are_refused_by_name(options, named):
    with filled(random.Random(1), 10) as repo, pytest.raises(InvalidInputError, match=f"^{named}"):
        repo.at().page(**options)


@pytest.mark.parametrize(
    "options", [{"where": {}}, {"where": {"and": []}}, {"label": []}, {"label": [], "where": {}}]
)
def test_conditions_that_hold_for_every_node_list_every_node(options):
    with ibidem.init("memory:") as repo:
        repo.add("one")
        repo.add("two")
        assert len(repo.query(**options)) == repo.at().count(**options) == 2
        assert repo.at().page(limit=1, **options).count == 2


def warned(page):
    return [(str(one.code), one.option, one.subject) for one in page.warnings]


def test_a_page_warns_of_names_that_no_node_has():
    """[11.1-d]"""
    with ibidem.init("memory:") as repo:
        with repo.transaction(author="a", message="m") as tx:
            tx.add_node("A", props={"year": 2020})
            tx.tombstone(tx.add_node("B", props={"old": 1}), reason="x")
        at = repo.at()
        found = at.page(
            label=["Y", "A", "X"], where={"x": 1, "not": {"b": 2}, "year": 1}, order_by="-z"
        )
        assert warned(found) == [
            ("unknown_label", "label", "X"),
            ("unknown_label", "label", "Y"),
            ("unknown_property", "where", "b"),
            ("unknown_property", "where", "x"),
            ("unknown_property", "order_by", "z"),
        ]
        assert found.warnings[0].message == "no node of this root has such a label"
        assert warned(at.page(label="B", where={"old": 1})) == warned(at.page()) == []
        many = at.page(label=list("cdefghijk")).warnings
        assert [many[-1].code, many[-1].count, len(many)] == ["warnings_truncated", 2, 8]


def test_a_page_warns_of_values_of_a_type_that_a_property_does_not_have():
    """[11.1-d]"""
    with ibidem.init("memory:") as repo:
        with repo.transaction(author="a", message="m") as tx:
            tx.add_node("A", props={"year": "2020", "n": 1, "tags": ["a", 2], "is": True})
            gone = tx.add_node("A", props={"year": 2021})
        both = repo.at()
        with repo.transaction(author="a", message="m") as tx:
            tx.remove_node(gone)
        at = repo.at()
        for where, names in (
            ({"year": 2020}, ["year"]),
            ({"year": {"ne": 2020.5}}, ["year"]),
            ({"year": {"lte": 2020}, "n": {"in": ["1", "2"]}}, ["n", "year"]),
            ({"or": [{"year": {"gt": -1}}, {"n": 1}]}, ["year"]),
            ({"is": "true"}, ["is"]),
            ({"year": "1999", "n": -7, "tags": 5}, []),
            ({"tags": "x", "n": {"gt": 5}}, []),
            ({"year": {"in": [2020, "1999"]}}, []),
            ({"year": {"in": []}, "n": {"exists": False}, "is": None}, []),
        ):
            assert warned(at.page(where=where)) == [("type_mismatch", "where", n) for n in names]
        assert warned(both.page(where={"year": 1999})) == []
        assert at.retrieve(where={"year": 2020}).warnings == ()


def test_a_condition_that_is_nested_too_deep_is_refused():
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    with ibidem.init("memory:") as repo:
        repo.add("one")
        with pytest.raises(InvalidInputError, match=r"where\.a: got a very large list"):
            repo.query(where={"a": deep})


def test_a_cursor_belongs_to_its_order():
    with filled(random.Random(1), 30) as repo:
        after = repo.at().page(order_by="p", limit=3).next
        with pytest.raises(InvalidInputError, match="'p'"):
            repo.at().page(order_by="q", after=after)
        with pytest.raises(InvalidInputError, match="direction"):
            repo.at().page(order_by="-p", after=after)
        assert len(repo.at().page(order_by=("p", "ascending"), after=after).nodes) > 0


def graph(rng):
    repo = ibidem.init("memory:", clock=lambda: 1)
    with repo.transaction(author="a", message="m") as tx:
        nodes = [tx.add_node("N", key=i) for i in range(9)]
        for i in range(26):
            ends = rng.choice(nodes), rng.choice(nodes)
            tx.add_edge(ends[0], rng.choice(("cites", "author")), ends[1], key=i)
        tx.tombstone(nodes[8], reason="x")
    return repo, nodes


def walked(repo, starts, steps, repeats):
    """Every path, by trying every edge at every step."""
    at = repo.at()
    edges = [e for e in at.edges() if all(at.tombstone(n) is None for n in (e.src, e.dst))]
    ways = [((start,), ()) for start in sorted(set(starts), key=lambda one: one.raw)]
    for etype, direction in steps:
        longer = []
        for nodes, used in ways:
            found = set()
            for edge in edges:
                if etype not in (edge.etype, "*"):
                    continue
                if direction in ("out", "both") and edge.src == nodes[-1]:
                    found.add((edge.dst, edge.id))
                if direction in ("in", "both") and edge.dst == nodes[-1]:
                    found.add((edge.src, edge.id))
            for other, edge in sorted(found, key=lambda pair: (pair[0].raw, pair[1].raw)):
                if (repeats == "none" and other in nodes) or (repeats == "nodes" and edge in used):
                    continue
                longer.append(((*nodes, other), (*used, edge)))
        ways = longer
    return ways


@pytest.mark.parametrize("seed", range(12))
def test_paths_are_all_ways_in_order(seed):
    """[11.2-a] [11.2-b] [11.2-c]"""
    rng = random.Random(seed)
    repo, nodes = graph(rng)
    with repo:
        for repeats in ("none", "nodes", "all"):
            steps = [
                (rng.choice(("cites", "author", "*")), rng.choice(("out", "in", "both")))
                for _ in range(rng.randint(1, 3))
            ]
            starts = rng.sample(nodes[:8], 3)
            wanted = walked(repo, starts, steps, repeats)
            found = repo.at().paths(starts, steps, repeats=repeats, limit=100_000)
            assert [(path.nodes, path.edges) for path in found] == wanted
            few = repo.at().paths([*starts, starts[0]], steps, repeats=repeats, limit=3)
            assert few == found[:3]


def test_paths_go_along_edges_that_hold():
    """[11.2-d] [3.2-f]"""
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            a, b, c = (tx.add_node("Person", key=name) for name in "abc")
            tx.add_edge(a, "works for", b, props={"valid_to": 10})
            tx.add_edge(a, "works for", c, props={"valid_from": 10})
        ends = [
            [path.nodes[-1] for path in repo.at().paths(a, ["works for"], as_of=moment)]
            for moment in (9, 10, datetime(1970, 1, 1, tzinfo=UTC), None)
        ]
        assert ends == [[b], [c], [b], sorted([b, c])]
        with pytest.raises(InvalidInputError, match="as_of"):
            repo.at().paths(a, ["works for"], as_of="soon")


def test_paths_refuse_what_is_wrong():
    repo, nodes = graph(random.Random(3))
    with repo:
        at = repo.at()
        for path in ([], "cites", [("a", "up")], [3]):
            with pytest.raises(InvalidInputError, match=r"^path"):
                at.paths(nodes[0], path)
        assert at.paths(nodes[0], [*["*"] * 15, "absent"]) == []
        with pytest.raises(InvalidInputError) as caught:
            at.paths(nodes[0], ["*"] * 17)
        assert caught.value.kind is ErrorKind.LIMIT_EXCEEDED
        with pytest.raises(InvalidInputError, match="repeats"):
            at.paths(nodes[0], ["*"], repeats="some")
        with pytest.raises(NotFoundError):
            at.paths(NodeId(bytes(16)), ["*"])
        with pytest.raises(NotFoundError) as caught:
            at.paths(nodes[8], ["*"])
        assert caught.value.kind is ErrorKind.FORGOTTEN
        assert at.paths(nodes[8], [Step(None)], include_tombstoned=True) is not None
        assert at.paths(nodes[0], ["*"], limit=0) == []


@pytest.mark.slow
def test_all_paths_are_all_or_refused():
    """[11.2-c]"""
    with ibidem.init("memory:") as repo:
        with repo.transaction(author="a", message="m") as tx:
            start, middle, end = (tx.add_node("N", key=name) for name in "abc")
            for number in range(400):
                tx.add_edge(start, "to", middle, key=number)
            for number in range(250):
                tx.add_edge(middle, "to", end, key=number)
            tx.add_edge(start, "to", other := tx.add_node("N", key="d"))
            tx.add_edge(other, "to", end)
        assert len(repo.at().paths(middle, ["to"], limit=None)) == 250
        assert len(repo.at().paths(middle, ["to"], limit=100_000)) == 250
        with pytest.raises(InvalidInputError, match="limit"):
            repo.at().paths(middle, ["to"], limit=100_001)
        with pytest.raises(InvalidInputError, match="more than 100000 paths") as caught:
            repo.at().paths(start, ["to", "to"], limit=None)
        assert caught.value.kind is ErrorKind.LIMIT_EXCEEDED


@pytest.mark.parametrize(
    ("a", "b", "c", "is_refused"),
    [(27, 188, 196, False), (64, 124, 125, True)],
)
@pytest.mark.slow
def test_a_million_steps_are_walked(a: int, b: int, c: int, is_refused: bool):
    """[11.2-d]: 1 + a (1 + b (1 + c)) of them, and the last would repeat the first."""
    with ibidem.init("memory:") as repo:
        with repo.transaction(author="a", message="m") as tx:
            node = tx.add_node("N", key="a")
            for name, count in (("once", 1), ("a", a), ("b", b), ("c", c)):
                for number in range(count):
                    tx.add_edge(node, name, node, key=number)
        steps = ["once", "a", "b", "c", "once"]
        if is_refused:
            with pytest.raises(InvalidInputError, match="1000000 steps walked"):
                repo.at().paths(node, steps, repeats="nodes")
        else:
            assert repo.at().paths(node, steps, repeats="nodes") == []


@pytest.mark.parametrize("count", [1_000_000, 1_000_001])
def test_a_million_edges_are_read(count: int):
    """[11.2-d]"""

    class Hub:
        """A node with many edges to itself, of a type that is not followed."""

        def ordinal(self, id_: NodeId) -> int:
            return 0

        def outgoing(self, ordinal: int, *, at: int | None) -> SimpleNamespace:
            neighbours = np.zeros(count, np.uint32)
            return SimpleNamespace(etypes=["other"] * count, neighbours=neighbours, ids=[])

        def node_ids(self, ordinals: np.ndarray) -> np.ndarray:
            return np.zeros((len(ordinals), 16), np.uint8)

    view = SimpleNamespace(snapshot=Hub(), members=BitMap([0]))
    if count > 1_000_000:
        with pytest.raises(InvalidInputError, match="1000000 edges read"):
            find_paths(view, [NodeId(bytes(16))], [Step("to")])
    else:
        assert find_paths(view, [NodeId(bytes(16))], [Step("to")]) == []


def test_dead_ends_cost_what_their_nodes_cost():
    """Ten layers of six have sixty million ways, none of which goes on."""
    with ibidem.init("memory:") as repo:
        with repo.transaction(author="a", message="m") as tx:
            layers = [[tx.add_node("N", key=(a, b)) for b in range(6)] for a in range(10)]
            for one, other in pairwise(layers):
                for source in one:
                    for target in other:
                        tx.add_edge(source, "next", target)
        assert repo.at().paths(layers[0], ["next"] * 9 + ["last"]) == []
        assert len(repo.at().paths(layers[0], ["next"] * 9)) == 1000


def test_links_come_after_bytes_and_nothing_is_lost():
    with ibidem.init("memory:") as repo:
        with repo.transaction(author="a", message="m") as tx:
            for key, value in enumerate((Cid.of(b"x"), b"\xff", {"a": 1}, "z")):
                tx.add_node("A", props={"p": value}, key=key)
        found = [type(node.props["p"]) for node in repo.at().query(order_by="p")]
        assert found[:3] == [str, bytes, Cid]
        assert len(found) == 4


def test_an_answer_that_nothing_fits_knows_a_budget_that_something_fits():
    repo = ibidem.init("memory:")
    with repo.transaction(author="a") as tx:
        for count in (30, 20, 10):
            tx.add_node("Note", summary="tea " * count)
    none = repo.retrieve("tea", token_budget=1)
    least = none.token_budget_min
    assert f"a budget of {least} tokens" in str(none)
    found = repo.retrieve("tea", token_budget=least)
    assert (len(found.items), found.token_budget_min) == (1, None)
    assert not repo.retrieve("tea", token_budget=least - 1).items
    assert repo.retrieve("coffee", token_budget=1).token_budget_min is None
