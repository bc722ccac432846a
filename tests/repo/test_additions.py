"""Edits that only add, applied to a newer root, give what the merge gives."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from tests.examples import examples

import ibidem
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.child import Child
from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.derive import edge_id, node_id
from ibidem.objects.edge import Edge
from ibidem.objects.ids import NodeId
from ibidem.objects.root import EDGES, Root
from ibidem.objects.tree import mutate
from ibidem.repo.arguments import commit_info
from ibidem.repo.merge.three_way import reachable
from ibidem.repo.transaction.additions import Additions
from ibidem.repo.transaction.begin import begin
from ibidem.repo.transaction.changeset import ChangeSet, Published, with_edits
from ibidem.repo.transaction.reconcile import Reconciled, Reconciliation
from ibidem.retrieve.access.policy import TrustPolicy

Step = tuple[str, int, int]
BASE = 4
"""Nodes 0 to 3 and an edge between any two neighbours are there before."""
STEPS = ("add", "join", "link", "vector", "sparse", "unique", "derived", "list", "set", "remove")
STEPS += ("retract", "limit", "level", "depend")
OURS = ("add", "join", "link", "vector", "sparse", "unique", "derived", "list", "depend")


def node(key: int | str) -> NodeId:
    return node_id("", key)


def write(tx: Any, steps: list[Step], author: str) -> None:
    for step, one, other in steps:
        ends = (one,) if step in ("vector", "sparse") else (one, other) * (step == "derived")
        with suppress(ibidem.IbidemError):
            if any(tx.find_node(node(end)) is None for end in ends):
                continue
            if step == "add":
                tx.add_node("Fact", summary=f"{one} by {author}", key=one)
            elif step == "join":
                made = tx.add_node("Fact", summary=f"{one} of {author}", key=f"{one} of {author}")
                tx.add_edge(made, "about", node(other % BASE))
                tx.set_vector(made, model="m" if one else "n", vector=[1.0, float(other)])
                tx.set_sparse(made, vocab="v", indices=[other], weights=[1.0])
            elif step == "link":
                tx.add_edge(node(one % BASE), "near", node(other % BASE))
            elif step == "derived":
                tx.add_edge(node(one), "links_to", node(other))
            elif step == "vector":
                tx.set_vector(node(one), model="m", vector=[1.0, float(other + 1)])
            elif step == "sparse":
                tx.set_sparse(node(one), vocab="v", indices=[other], weights=[1.0])
            elif step == "unique":
                tx.add_node("Fact", summary=f"{one % 2}", unique=True)
            elif step == "limit":
                tx.configure(limit=1 + other)
            elif step == "level":
                tx.set_trust_policy(TrustPolicy(default_level=one % BASE))
            elif step == "depend":
                tx.require_unchanged(node(one))
            elif step == "list":
                tx.add_node("List", key=f"list {one}", children=[Child(node(other), "", 0, 0)])
            elif step == "set":
                tx.update_node(node(one), set_props={"value": other})
            elif step == "remove":
                tx.remove_node(node(one))
            elif step == "retract":
                tx.tombstone(node(one), reason="wrong")


class Kept:
    """Keeps the edits of a transaction, in place of publishing them."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.edits = ChangeSet()
        self.blocks: Mapping[Cid, bytes] = {}

    def base(self) -> Root:
        return self.root

    def publish(self, edits: ChangeSet, blocks: Mapping[Cid, bytes]) -> Published:
        self.edits, self.blocks = edits, blocks
        return Published()


class Writers:
    """A graph that two writers change."""

    def __init__(self, *, is_disputed: bool = False) -> None:
        self.repo = ibidem.init("memory:")
        with self.repo.transaction(time=1) as tx:
            for number in range(BASE):
                tx.add_node("Fact", summary=f"base {number}", key=number)
            for number in range(1, BASE):
                tx.add_edge(node(number - 1), "about", node(number))
                tx.set_vector(node(number), model="m", vector=[1.0, 0.5])
        if is_disputed:
            with self.repo.transaction(time=2) as tx:
                tx.update_node(node(0), summary="one")
                with self.repo.transaction(time=2) as other:
                    other.update_node(node(0), summary="other")
        self.base = self.repo.at()
        self._count = 0

    def theirs(self, steps: list[Step]) -> RootCid:
        """Returns the root that the other writer has published."""
        self._count += 1
        branch = f"b{self._count}"
        self.repo.branch(branch)
        with suppress(ibidem.IbidemError), self.repo.transaction(branch=branch, time=3) as tx:
            write(tx, steps, "theirs")
        return self.repo.at(branch).root_cid

    def ours(self, steps: list[Step]) -> Kept:
        """Returns what would be published."""
        kept = Kept(self.base.root)
        with begin(self.repo.core, kept, commit_info("", "", 3, None, None)) as tx:
            write(tx, steps, "ours")
        return kept


def outcome(reconciled: Callable[..., Reconciled], now: RootCid, choice: str) -> RootCid | str:
    try:
        found = reconciled(now, on_conflict=choice)
    except ibidem.IbidemError as error:
        return str(error)
    if found.root_cid != now:
        assert found.blocks.keys() == reachable(found.root_cid, found.blocks).keys()
    return found.root_cid


def random_steps(rng: random.Random, names: tuple[str, ...], count: int) -> Iterator[list[Step]]:
    """Yields `count` lists of one to three steps for each name, which the first step has."""
    for first in names * count:
        others = [rng.choice(names) for _ in range(rng.choice((0, 0, 1, 2)))]
        yield [
            (name, rng.randrange(BASE + 2), rng.randrange(BASE + 2)) for name in (first, *others)
        ]


@pytest.mark.parametrize("is_disputed", [False, True])
def test_additions_equal_the_merge(is_disputed: bool) -> None:
    writers, rng = Writers(is_disputed=is_disputed), random.Random(is_disputed)
    states = [writers.theirs(steps) for steps in random_steps(rng, STEPS, examples(7))]
    for steps in (*random_steps(rng, OURS, 3), *random_steps(rng, STEPS, 1)):
        kept = writers.ours(steps)
        if not any(kept.edits.trees.values()):
            continue  # nothing is merged
        store, base = writers.repo.core.store, writers.base.root_cid
        try:
            ours = Reconciliation(store, base, kept.edits, kept.blocks)
        except ibidem.IbidemError:
            continue  # an edge without its node
        for now in states:
            choice = rng.choice(("record", "raise"))
            if now != base:
                assert outcome(ours.on, now, choice) == outcome(ours.merged, now, choice)
    writers.repo.close()


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
    theirs: list[Step], ours: list[Step], expected: bool
) -> None:
    writers = Writers()
    now, kept = writers.theirs(theirs), writers.ours(ours)
    buffer = WriteBatch(writers.repo.core.store)
    buffer.new.update(kept.blocks)
    additions = Additions(buffer, kept.root, with_edits(kept.root, kept.edits, buffer), kept.edits)
    assert (additions.on(Root.decode(buffer.get(now)), buffer) is not None) is expected
    writers.repo.close()


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
