"""What has no end only together with parts that were here before is refused all the same."""

from __future__ import annotations

import io
import random

import pytest

import ibidem
from ibidem.objects.child import Child
from ibidem.objects.cid import Cid
from ibidem.objects.commit import Commit
from ibidem.objects.derive import node_id
from ibidem.objects.errors import ConflictError, CorruptError, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.repo.bootstrap import bootstrapped
from ibidem.repo.core import Core
from ibidem.repo.repository import Repository
from ibidem.repo.sync.fetch_push import fetch
from ibidem.repo.sync.local_remote import LocalRemote
from ibidem.store.memory import MemoryStore
from ibidem.store.testing import RecordingStore

from .forging import Forge, below, bundle, on_top, put, refused_and_named, state


def listing(name: str, *parts: str, ntype: str = "Section", size_bytes: int = 5) -> Node:
    """A node that lists others."""
    children = tuple(Child(named(part), "", size_bytes, 0) for part in parts)
    return Node(named(name), ntype, summary=name, key=("", name), children=children)


def named(name: str) -> NodeId:
    return node_id("", name)


def chain(count: int, beginning: str, *last: str, ntype: str = "Section") -> list[Node]:
    names = [f"{beginning}{at}" for at in range(count)]
    below = [*((name,) for name in names[1:]), last]
    return [listing(name, *parts, ntype=ntype) for name, parts in zip(names, below, strict=True)]


def doubled(levels: int) -> list[Node]:
    """Pairs of sections, each of which lists both of the next pair."""
    pairs = [(f"{at} left", f"{at} right") for at in range(levels)]
    return [
        listing(name, *parts)
        for pair, parts in zip(pairs, [*pairs[1:], ()], strict=True)
        for name in pair
    ]


HERE_AND_NEW = {
    "circle of two": ([listing("a", "b"), listing("b")], [listing("b", "a")]),
    "circle by a part between": (
        [listing("a", "b"), listing("b", "c", ntype="Doc"), listing("c")],
        [listing("c", "a", ntype="Note")],
    ),
    "circle of one": ([listing("a")], [listing("a", "a")]),
    "depth": (chain(40, "low"), chain(30, "high", "low0")),
    "depth of what adds no source": (
        chain(40, "low", ntype="Doc"),
        chain(30, "high", "low0", ntype="Doc"),
    ),
    "parts": (
        doubled(19),
        [listing("top", "x", "y", "z"), *(listing(name, "0 left") for name in "xyz")],
    ),
    "bytes": (
        [*(listing(f"{at}", "leaf", size_bytes=10 << 20) for at in range(8)), listing("leaf")],
        [listing("top", *map(str, range(8)))],
    ),
}
"""Nodes that are here, and those that make something without end together with them."""


@pytest.fixture(params=HERE_AND_NEW)
def here_and_new(request: pytest.FixtureRequest) -> tuple[list[Node], list[Node]]:
    return HERE_AND_NEW[request.param]


def add(repo: Repository, nodes: list[Node], branch: str | None = None) -> None:
    with repo.transaction(branch=branch, author="ada") as tx:
        stage(tx, nodes)


def stage(tx: ibidem.Transaction, nodes: list[Node]) -> None:
    for node in nodes:
        fields = {"summary": node.summary, "key": node.summary, "children": node.children}
        tx.add_node(node.ntype, **fields, replace=True)


def test_parts_that_are_here_are_measured_where_new_ones_are_sent(
    repo: Repository, forge: Forge, here_and_new: tuple[list[Node], list[Node]]
):
    here, new = here_and_new
    add(repo, here)
    entries = {node.id.raw: put(forge.blocks, node.encode()) for node in new}
    error = refused_and_named(repo, forge, on_top(repo, forge, nodes=entries))
    assert "contains itself" in str(error) or "expected at most" in str(error)


def test_parts_that_are_here_are_measured_at_commit(
    repo: Repository, here_and_new: tuple[list[Node], list[Node]]
):
    here, new = here_and_new
    add(repo, here)
    before = state(repo)
    tx = repo.transaction()
    stage(tx, new)
    with pytest.raises(InvalidInputError, match="children"):
        tx.publish()
    assert state(repo) == before
    assert repo.maintenance.fsck().is_clean


@pytest.fixture
def halves(repo: Repository) -> Repository:
    """A repository where two branches together hold a node that contains itself."""
    add(repo, [listing("a"), listing("b")])
    repo.branch("other")
    add(repo, [listing("a", "b")])
    add(repo, [listing("b", "a")], branch="other")
    return repo


def test_a_merge_of_what_would_contain_itself_is_refused(halves: Repository):
    for ours, theirs in (("main", "other"), ("other", "main")):
        halves.switch(ours)
        before = state(halves)
        with pytest.raises(ConflictError, match="contains itself"):
            halves.merge(theirs)
        with pytest.raises(ConflictError, match="contains itself"):
            halves.rebase(theirs)
        assert state(halves) == before
    assert halves.maintenance.fsck().is_clean


def test_a_merge_from_elsewhere_of_what_contains_itself_is_refused(
    halves: Repository, forge: Forge
):
    """Every node of it stands in the root of one of the parents."""
    entries = {node.id.raw: node.cid for node in (listing("a", "b"), listing("b", "a"))}
    commit = on_top(halves, forge, nodes={raw: Cid(cid.raw) for raw, cid in entries.items()})
    root = Commit.decode(forge.blocks[commit]).root
    parents = [halves.commit_at(name).cid for name in ("main", "other")]
    refused_and_named(halves, forge, forge.commit(root, *parents))


def test_a_pull_of_what_would_contain_itself_is_refused(halves: Repository, tmp_path):
    with ibidem.init(tmp_path / "theirs") as theirs:
        add(theirs, [listing("a"), listing("b")])
        with ibidem.clone(tmp_path / "theirs", tmp_path / "ours") as ours:
            add(ours, [listing("a", "b")])
            add(theirs, [listing("b", "a")])
            with pytest.raises(ConflictError, match="contains itself"):
                ours.sync.pull("origin")
            assert ours.maintenance.fsck().is_clean


def test_two_transactions_that_would_make_a_circle_are_not_both_published(repo: Repository):
    add(repo, [listing("a"), listing("b")])
    one, other = repo.transaction(), repo.transaction()
    stage(one, [listing("a", "b")])
    stage(other, [listing("b", "a")])
    one.publish()
    with pytest.raises(ConflictError, match="contains itself"):
        other.publish()
    assert repo.maintenance.fsck().is_clean


@pytest.mark.parametrize("count", [50, pytest.param(150, marks=pytest.mark.slow)])
def test_lists_at_random_are_refused_exactly_where_fsck_names_them(count: int):
    """Commits that change a few lists of a graph that is here, on top of one another."""
    rng, seen = random.Random(3), [0, 0]
    names = [f"n{at}" for at in range(14)]
    with ibidem.init(clock=lambda: 0) as repo:
        add(repo, [listing(name) for name in names])
        for _ in range(count):
            forge = Forge()
            changed = [
                listing(name, *rng.sample(names, rng.randrange(3)))
                for name in rng.sample(names, rng.randrange(1, 3))
            ]
            entries = {node.id.raw: put(forge.blocks, node.encode()) for node in changed}
            commit = on_top(repo, forge, nodes=entries)
            tx = repo.transaction()
            stage(tx, changed)
            try:
                repo.sync.load(io.BytesIO(bundle(forge.blocks, commit)))
                tx.publish()
                is_taken = True
            except CorruptError:
                with pytest.raises(InvalidInputError, match="contains itself"):
                    tx.publish()
                is_taken = False
                below(repo, forge, commit)
            assert repo.maintenance.fsck().is_clean == is_taken
            seen[is_taken] += 1
            repo.delete_branch("evil")
            repo.maintenance.gc(keep_operations=1)
    assert min(seen) > count // 8


def test_what_the_gate_reads_follows_what_a_commit_changes():
    """150 documents of six parts are here; a list of one of them changes, again and again."""
    store = RecordingStore(bootstrapped(MemoryStore(), None, "", lambda: 0))
    with ibidem.init(clock=lambda: 0) as theirs, Repository(Core(store, None, lambda: 0)) as ours:
        for at in range(150):
            parts = [f"{at} part {number}" for number in range(6)]
            with theirs.transaction() as tx:
                stage(tx, [listing(f"{at}", *parts), *map(listing, parts)])
        fetch(ours.core, LocalRemote(theirs.core), "origin")
        for count in (1, 20):
            store.read_count = 0
            for number in range(count):
                top = f"{7 * number}"
                new = listing(f"{top} part 0", f"new {count}")
                add(theirs, [new, listing(f"new {count}")])
            fetch(ours.core, LocalRemote(theirs.core), "origin")
            assert store.read_count < 60 + 25 * count
