"""Edits that only add, applied to a newer root, give what the merge gives."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

import ibidem
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.child import Child
from ibidem.objects.cid import RootCid
from ibidem.objects.derive import edge_id, node_id
from ibidem.objects.edge import Edge
from ibidem.objects.ids import NodeId
from ibidem.objects.root import EDGES, Root
from ibidem.objects.tree import mutate
from ibidem.repo.merge.three_way import reachable
from ibidem.repo.transaction.additions import Additions
from ibidem.repo.transaction.changeset import ChangeSet
from ibidem.repo.transaction.reconcile import Reconciled, Reconciliation

Step = tuple[str, int, int]
BASE = 4
"""Nodes 0 to 3 and an edge between any two neighbours are there before."""
STEPS = ("add", "join", "link", "vector", "derived", "list", "set", "remove", "retract")
OURS = ("add", "join", "join", "link", "vector")


def node(key: int | str) -> NodeId:
    return node_id("", key)


def write(tx: Any, steps: list[Step], author: str) -> None:
    for step, one, other in steps:
        try:
            if step == "add":
                tx.add_node("Fact", summary=f"{one} by {author}", key=one)
            elif step == "join":
                tx.add_node("Fact", summary=f"{one} of {author}", key=f"{one} of {author}")
                tx.add_edge(node(f"{one} of {author}"), "about", node(other % BASE))
            elif step == "link":
                tx.add_edge(node(one % BASE), "near", node(other % BASE))
            elif step == "derived":
                tx.add_edge(node(one), "links_to", node(other))
            elif step == "vector":
                tx.set_vector(node(one), model="m", vector=[1.0, float(other + 1)])
            elif step == "list":
                tx.add_node("List", key=f"list {one}", children=[Child(node(other), "", 0, 0)])
            elif step == "set":
                tx.update_node(node(one), set_props={"value": other})
            elif step == "remove":
                tx.remove_node(node(one))
            elif step == "retract":
                tx.tombstone(node(one), reason="wrong")
        except ibidem.IbidemError:
            pass


def after_both(theirs: list[Step], ours: list[Step]) -> RootCid | str:
    with ibidem.init("memory:") as repo:
        with repo.transaction(time=1) as tx:
            for number in range(BASE):
                tx.add_node("Fact", summary=f"base {number}", key=number)
                tx.set_vector(node(number), model="m", vector=[1.0, 0.5])
            for number in range(1, BASE):
                tx.add_edge(node(number - 1), "about", node(number))
        late = repo.transaction(time=3)
        write(late, ours, "ours")
        with suppress(ibidem.IbidemError), repo.transaction(time=2) as tx:
            write(tx, theirs, "theirs")
        try:
            late.publish()
        except ibidem.IbidemError as error:
            return str(error)
        return repo.at().root


def counted(monkeypatch: pytest.MonkeyPatch, taken: list[bool], *, is_merged: bool) -> None:
    """Counts the edits that were applied, and checks that what they became has the blocks that it
    needs and no others."""
    by_additions, merged = Additions.on, Reconciliation.on

    def on(self: Additions, now: Root, buffer: WriteBatch) -> Root | None:
        root = None if is_merged else by_additions(self, now, buffer)
        taken.append(root is not None)
        return root

    def reconciled(self: Reconciliation, now: RootCid, **options: Any) -> Reconciled:
        count = len(taken)
        result = merged(self, now, **options)
        assert (
            not any(taken[count:])
            or result.blocks.keys() == reachable(result.root_cid, result.blocks).keys()
        )
        return result

    monkeypatch.setattr(Additions, "on", on)
    monkeypatch.setattr(Reconciliation, "on", reconciled)


def steps(*names: str) -> st.SearchStrategy[list[Step]]:
    numbers = st.integers(0, 7)
    return st.lists(st.tuples(st.sampled_from(names), numbers, numbers), max_size=4)


@pytest.mark.hypothesis
@given(theirs=steps(*STEPS), ours=st.one_of(steps(*OURS), steps(*STEPS)))
@settings(max_examples=examples(300), deadline=None)
def test_additions_equal_the_merge(theirs: list[Step], ours: list[Step]) -> None:
    taken: list[bool] = []
    roots = []
    for is_merged in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            counted(patch, taken, is_merged=is_merged)
            roots.append(after_both(theirs, ours))
    assert roots[0] == roots[1]


ADDED: list[Step] = [("add", 5, 0), ("join", 6, 0), ("vector", 5, 1), ("link", 1, 3)]


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        ([("add", 6, 0), ("set", 2, 1)], ADDED, True),
        ([("set", 1, 1)], ADDED, False),  # an end has changed
        ([("remove", 3, 0)], ADDED, False),
        ([("retract", 2, 0)], ADDED, False),
        ([("add", 5, 0)], ADDED, False),  # it is there already
        ([("link", 1, 3)], ADDED, False),
        ([("add", 6, 0)], [("set", 1, 1)], False),
        ([("add", 6, 0)], [("remove", 3, 0)], False),
        ([("add", 6, 0)], [("derived", 0, 1)], False),
        ([("add", 6, 0)], [("vector", 0, 1)], False),
    ],
)
def test_what_is_no_addition_is_merged(
    theirs: list[Step], ours: list[Step], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[bool] = []
    counted(monkeypatch, taken, is_merged=False)
    after_both(theirs, ours)
    assert taken == [expected]


def test_what_is_disputed_is_merged() -> None:
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            hub = tx.add_node("Fact", key="hub")
        source = repo.core.store
        buffer = WriteBatch(source)
        edge = Edge(edge_id(hub, "about", hub), "about", hub, hub)
        buffer.put(edge.cid, edge.encode())
        edits = ChangeSet({EDGES: {edge.id.raw: edge.cid}})
        for disputed in (False, True):
            root = repo.at().root
            if disputed:
                tree = mutate(root.conflicts, {edge.id.raw: edge.cid}, buffer)
                root = replace(root, conflicts=tree)
            additions = Additions(buffer, root, root, edits)
            assert (additions.on(root, buffer) is None) is disputed
