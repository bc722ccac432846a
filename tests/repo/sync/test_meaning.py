"""What no commit made here could contain is refused by every copy and named by fsck, alike."""

from __future__ import annotations

import io
import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.objects import codec
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.child import Child
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.config import Config, Model
from ibidem.objects.conflict import Conflict
from ibidem.objects.derive import edge_id, node_id
from ibidem.objects.edge import Edge
from ibidem.objects.errors import CorruptError, ErrorKind
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.tree import Tree
from ibidem.objects.vector import Sparse, Vector
from ibidem.repo.bootstrap import bootstrapped
from ibidem.repo.core import Core
from ibidem.repo.repository import Repository
from ibidem.repo.sync.fetch_push import fetch
from ibidem.repo.sync.local_remote import LocalRemote
from ibidem.repo.sync.missing_blocks import root_needs
from ibidem.store.memory import MemoryStore

from .conftest import filled
from .exchanging import key_id
from .forging import (
    Forge,
    below,
    bundle,
    head_root,
    on_top,
    put,
    refused_and_named,
    state,
)

CONFIG = Config(models={"m": Model(3)}).to_map()


def put_edge(forge: Forge, source: NodeId, target: NodeId, **fields: Any) -> Edge:
    edge = Edge(edge_id(source, "t", target), "t", source, target, **fields)
    put(forge.blocks, edge.encode())
    return edge


def put_vector(forge: Forge) -> Cid:
    return put(forge.blocks, Vector.from_array(np.ones(3, np.float32), of=bytes(32)).encode())


def put_sparse(forge: Forge) -> Cid:
    return put(forge.blocks, Sparse.from_arrays([1], [0.5], of=bytes(32)).encode())


# -- conflicts -----------------------------------------------------------------------------------


def conflicting(forge: Forge, what: str) -> tuple[bytes, list[Any], list[Any]]:
    """Forges two versions of a node or an edge, and two of another; returns the id of the first."""
    a, b, c = (forge.node(name) for name in "abc")
    if what == "node":
        ours = [a, replace(a, summary="again")]
        theirs = [b, replace(b, summary="again")]
    else:
        ours = [put_edge(forge, a.id, b.id), put_edge(forge, a.id, b.id, weight=2.0)]
        theirs = [put_edge(forge, b.id, c.id), put_edge(forge, b.id, c.id, weight=2.0)]
    for one in (*ours, *theirs):
        put(forge.blocks, one.encode())
    return ours[0].id.raw, ours, theirs


def graph(forge: Forge, conflict: Conflict, key: bytes, edges: list[Edge]) -> CommitCid:
    """Forges a commit with the nodes a, b and c, some edges and a conflict."""
    put(forge.blocks, conflict.encode())
    nodes = forge.tree([(node.id.raw, node.cid) for node in map(forge.node, "abc")])
    tree = forge.tree([(edge.id.raw, edge.cid) for edge in edges])
    conflicts = forge.tree([(key, conflict.cid)])
    return forge.commit(forge.root(nodes=nodes, edges=tree, conflicts=conflicts))


def links(*values: Any) -> tuple[Cid, ...]:
    return tuple(sorted(Cid(value.cid.raw) for value in values))


@pytest.mark.parametrize("what", ["node", "edge"])
def test_a_conflict_of_versions_of_its_own_id_is_taken_in(forge: Forge, what: str):
    key, ours, _ = conflicting(forge, what)
    conflict = Conflict(what, links(*ours), Cid(ours[0].cid.raw), ("weight",))
    commit = graph(forge, conflict, key, ours[:1] if what == "edge" else [])
    with ibidem.init() as repo:
        repo.sync.load(io.BytesIO(bundle(forge.blocks, commit)))
        assert repo.maintenance.fsck().faults == ()


@pytest.mark.parametrize("what", ["node", "edge"])
@pytest.mark.parametrize("part", ["sides", "base"])
def test_a_conflict_whose_part_is_a_version_of_another_is_refused(
    repo: Repository, forge: Forge, what: str, part: str
):
    key, ours, theirs = conflicting(forge, what)
    mixed = {"sides": links(ours[0], theirs[0]), "base": links(*ours)}[part]
    base = Cid((theirs if part == "base" else ours)[0].cid.raw)
    commit = graph(forge, Conflict(what, mixed, base), key, ours[:1] if what == "edge" else [])
    error = refused_and_named(repo, forge, commit)
    assert f"conflict.{part}" in str(error)
    assert theirs[0].id.raw.hex() in str(error)


def test_a_conflict_of_another_kind_than_it_says_is_refused(repo: Repository, forge: Forge):
    key, _, theirs = conflicting(forge, "edge")
    node = forge.node("a")
    commit = graph(forge, Conflict("node", links(node, theirs[0])), node.id.raw, [])
    assert "expected 'node'" in str(refused_and_named(repo, forge, commit))
    assert key != node.id.raw


def test_a_conflict_about_an_edge_with_a_node_that_it_does_not_connect_is_refused(
    repo: Repository, forge: Forge
):
    key, ours, _ = conflicting(forge, "edge")
    stranger = forge.node("c")
    conflict = Conflict("edge", links(ours[0]), None, nodes=links(stranger))
    error = refused_and_named(repo, forge, graph(forge, conflict, key, []))
    assert "conflict.nodes[0]" in str(error)
    assert stranger.id.raw.hex() in str(error)


def test_a_conflict_about_what_is_not_in_the_graph_is_refused(repo: Repository, forge: Forge):
    """But for an edge that lacks a node, a merge leaves none (merge 5)."""
    absent = forge.node("absent")
    conflict = Conflict("node", links(absent), deleted=True)
    error = refused_and_named(repo, forge, graph(forge, conflict, absent.id.raw, []))
    assert "there is no node" in str(error)


def test_a_commit_that_removes_what_a_conflict_is_about_is_refused(forge: Forge):
    with ibidem.init(clock=lambda: 0) as repo:
        key, ours, _ = conflicting(forge, "edge")
        conflict = Conflict("edge", links(*ours), None, ("weight",))
        repo.sync.load(io.BytesIO(bundle(forge.blocks, graph(forge, conflict, key, ours[:1]))))
        repo.switch("evil")
        later = Forge()
        commit = on_top(repo, later, edges={key: None})
        before = state(repo)
        with pytest.raises(CorruptError, match="there is no edge"):
            repo.sync.load(io.BytesIO(bundle(later.blocks, commit)))
        assert state(repo) == before


@pytest.mark.parametrize("take", ["ours", "theirs", "base", "value"])
def test_resolving_never_writes_a_version_of_another_node(forge: Forge, take: str):
    y, x = forge.node("y"), node_id("", "x")
    conflict = Conflict("node", links(y), Cid(y.cid.raw), deleted=True)
    put(forge.blocks, conflict.encode())
    nodes = forge.tree([(y.id.raw, y.cid)])
    tree = forge.tree([(x.raw, conflict.cid)])
    commit = forge.commit(forge.root(nodes=nodes, conflicts=tree))
    with ibidem.init(clock=lambda: 0) as repo:
        below(repo, forge, commit)
        repo.switch("evil")
        before = state(repo)
        with pytest.raises(CorruptError, match=r"conflict\.sides\[0\]"):
            repo.resolve_conflict(x, take)
        assert state(repo) == before
        assert any(x.raw.hex() in fault.where for fault in repo.maintenance.fsck().faults)


# -- references ----------------------------------------------------------------------------------


def test_an_edge_a_vector_and_a_sparse_vector_without_a_node_are_refused(repo: Repository):
    for name in ("source", "target", "vectors", "sparse"):
        forge = Forge()
        node, gone = forge.node("a"), node_id("", "gone")
        trees: dict[str, Any] = {"nodes": forge.tree([(node.id.raw, node.cid)])}
        if name in ("source", "target"):
            edge = put_edge(forge, *((gone, node.id) if name == "source" else (node.id, gone)))
            trees["edges"] = forge.tree([(edge.id.raw, edge.cid)])
        elif name == "vectors":
            trees |= {"vectors": {"m": forge.tree([(gone.raw, put_vector(forge))])}}
            trees |= {"config": CONFIG}
        else:
            trees |= {"sparse": {"v": forge.tree([(gone.raw, put_sparse(forge))])}}
        error = refused_and_named(repo, forge, forge.commit(forge.root(**trees)))
        assert error.kind is ErrorKind.DANGLING_REFERENCE
        assert gone.raw.hex() in str(error)
        repo.delete_branch("evil")


def test_an_edge_a_vector_and_a_sparse_vector_on_a_commit_here_need_their_node(repo: Repository):
    gone = node_id("", "gone")
    for name in ("edges", "vectors", "sparse"):
        forge = Forge()
        made = {
            "edges": lambda forge=forge: put_edge(forge, key_id(1), gone),
            "vectors": lambda forge=forge: put_vector(forge),
            "sparse": lambda forge=forge: put_sparse(forge),
        }[name]()
        key = made.id.raw if isinstance(made, Edge) else gone.raw
        cid = made.cid if isinstance(made, Edge) else made
        error = refused_and_named(repo, forge, on_top(repo, forge, **{name: {key: cid}}))
        assert error.kind is ErrorKind.DANGLING_REFERENCE
        repo.delete_branch("evil")


@pytest.mark.parametrize("is_indexed", [False, True])
def test_a_commit_that_removes_a_node_and_leaves_its_edges_is_refused(
    repo: Repository, is_indexed: bool
):
    """The edges are not among what differs: they are asked of the index, or read while few."""
    if is_indexed:
        with repo.transaction() as tx:
            hub = tx.add_node("Doc", key="hub")
            for number in range(300):
                tx.add_edge(hub, f"to-{number}", key_id(number % 12))
    forge = Forge()
    error = refused_and_named(repo, forge, on_top(repo, forge, nodes={key_id(2).raw: None}))
    assert error.kind is ErrorKind.DANGLING_REFERENCE
    assert key_id(2).raw.hex() in str(error)


def test_a_commit_that_removes_a_node_and_leaves_its_vectors_is_refused(repo: Repository):
    edges = {
        edge.raw: None
        for edge in (
            edge_id(key_id(5), "cites", key_id(6)),
            edge_id(key_id(6), "cites", key_id(7)),
        )
    }
    for left in ("vectors", "sparse"):
        forge = Forge()
        removed: dict[str, dict[bytes, None]] = {"nodes": {key_id(6).raw: None}, "edges": edges}
        removed["sparse" if left == "vectors" else "vectors"] = {key_id(6).raw: None}
        error = refused_and_named(repo, forge, on_top(repo, forge, **removed))
        assert error.kind is ErrorKind.DANGLING_REFERENCE
        assert left in str(error)
        repo.delete_branch("evil")


def test_a_later_new_commit_that_removes_a_node_of_an_earlier_one_is_refused(repo: Repository):
    """Neither is here yet, so no index knows the edges of the first."""
    forge = Forge()
    a, b = forge.node("a"), forge.node("b")
    edge = put_edge(forge, a.id, b.id)
    both = forge.tree([(node.id.raw, node.cid) for node in (a, b)])
    edges = forge.tree([(edge.id.raw, edge.cid)])
    first = forge.commit(forge.root(nodes=both, edges=edges))
    one = forge.tree([(a.id.raw, a.cid)])
    error = refused_and_named(repo, forge, forge.commit(forge.root(nodes=one, edges=edges), first))
    assert b.id.raw.hex() in str(error)


def test_a_merge_that_takes_an_edge_of_one_side_and_not_its_node_is_refused(repo: Repository):
    forge = Forge()
    a, b = forge.node("a"), forge.node("b")
    edge = put_edge(forge, a.id, b.id)
    base = forge.commit(forge.root())
    one = forge.tree([(a.id.raw, a.cid)])
    both = forge.tree([(node.id.raw, node.cid) for node in (a, b)])
    edges = forge.tree([(edge.id.raw, edge.cid)])
    ours = forge.commit(forge.root(nodes=one), base)
    theirs = forge.commit(forge.root(nodes=both, edges=edges), base)
    for parents in ((ours, theirs), (theirs, ours)):
        merged = forge.commit(forge.root(nodes=one, edges=edges), *parents)
        assert b.id.raw.hex() in str(refused_and_named(repo, forge, merged))
        repo.delete_branch("evil")


def test_a_tombstone_without_a_node_is_taken_in_as_a_merge_leaves_it(
    repo: Repository, forge: Forge
):
    stone = put(forge.blocks, Tombstone("wrong").encode())
    tree = forge.tree([(node_id("", "gone").raw, stone)])
    repo.sync.load(io.BytesIO(bundle(forge.blocks, forge.commit(forge.root(tombstones=tree)))))
    assert repo.maintenance.fsck().faults == ()


def test_removing_a_node_with_all_that_refers_to_it_travels(repo: Repository):
    with ibidem.init(clock=lambda: 0) as other:
        filled(other, 12)
        repo.sync.load(copied(other))
        for number in (3, 6):
            with other.transaction() as tx:
                tx.remove_node(key_id(number))
            repo.sync.load(copied(other))
        assert repo.maintenance.fsck().faults == ()


def copied(repo: Repository) -> io.BytesIO:
    file = io.BytesIO()
    repo.sync.export(file)
    file.seek(0)
    return file


class Counting(MemoryStore):
    """Counts what is read, by kind."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[Cid] = []

    def get(self, cid: Cid) -> bytes:
        self.read.append(cid)
        return super().get(cid)


def test_the_checks_of_a_small_fetch_read_what_it_changed_and_not_the_rest():
    """2,000 nodes and edges are here; one edit, and one new edge, arrive."""
    store = bootstrapped(Counting(), None, "", lambda: 0)
    with ibidem.init(clock=lambda: 0) as theirs, Repository(Core(store, None, lambda: 0)) as ours:
        with theirs.transaction() as tx:
            ids = [tx.add_node("Doc", summary=f"number {n}", key=n) for n in range(2000)]
            for one, other in pairwise(ids):
                tx.add_edge(one, "next", other)
            for id_ in ids:
                tx.set_vector(id_, model="m", vector=np.ones(3, np.float32))
        fetch(ours.core, LocalRemote(theirs.core), "origin")
        for count in (1, 20):
            with theirs.transaction() as tx:
                for number in range(count):
                    tx.update_node(ids[90 * number], summary=f"changed {count}")
                    tx.add_edge(ids[90 * number], f"also {count}", ids[90 * number + 50])
            store.read.clear()
            fetch(ours.core, LocalRemote(theirs.core), "origin")
            # A change costs a leaf or two of the nodes and of the edges, read a few times each;
            # 6,000 values and 90 leaves are here.
            assert len(store.read) < 60 + 10 * count
            kinds = {codec.decode(store.get(cid))["kind"] for cid in list(store.read)}
            assert "vector" not in kinds


# -- all of it together --------------------------------------------------------------------------


@pytest.mark.parametrize("count", [50, pytest.param(100, marks=pytest.mark.slow)])
def test_a_copy_takes_in_what_fsck_calls_whole_and_no_more(count: int):
    """Entries of a root's trees are removed, exchanged and put elsewhere, at random, on top of a
    commit that is here and alone: a copy refuses the result exactly where fsck finds a fault once
    it was put there without asking."""
    rng, seen = random.Random(1), Counter[bool]()
    with ibidem.init(clock=lambda: 0) as repo:
        filled(repo, 12)
        with_conflicts(repo)
        root = head_root(repo)
        entries = {name: dict(Tree(repo.core.store, tree).items()) for name, tree in trees_of(root)}
        keys = sorted({key for held in entries.values() for key in held})
        values = {name: sorted(set(held.values())) for name, held in entries.items()}
        before = state(repo)
        for number in range(count):
            forge = Forge()
            edits: dict[str, dict[bytes, Cid | None]] = {}
            for _ in range(rng.choice((1, 1, 2, 3))):
                name = rng.choice(sorted(entries))
                key = rng.choice(keys if rng.random() < 0.3 else sorted(entries[name]))
                edits.setdefault(name, {})[key] = rng.choice([None, *values[name]])
            commit = on_top(repo, forge, **edits)
            commit = with_needs(repo, forge, commit, is_alone=number % 2 == 1)
            try:
                repo.sync.load(io.BytesIO(bundle(forge.blocks, commit)))
                is_taken = True
            except CorruptError:
                assert state(repo) == before
                is_taken = False
                below(repo, forge, commit)
            assert (repo.maintenance.fsck().faults == ()) == is_taken, edits
            seen[is_taken] += 1
            repo.delete_branch("evil")
            repo.maintenance.gc(keep_operations=1)
            before = state(repo)
    assert min(seen.values()) > count // 8


def with_conflicts(repo: Repository) -> None:
    """Leaves a conflict about a node, about an edge, and about an edge that lacks a node."""
    edge = edge_id(key_id(1), "cites", key_id(2))
    repo.branch("side")
    with repo.transaction() as tx:
        tx.update_node(key_id(1), summary="ours")
        tx.update_edge(edge, weight=2.0)
        tx.remove_node(key_id(8))
    repo.switch("side")
    with repo.transaction() as tx:
        tx.update_node(key_id(1), summary="theirs")
        tx.update_edge(edge, weight=3.0)
        tx.add_edge(key_id(0), "needs", key_id(8))
    repo.switch("main")
    repo.merge("side")
    assert len(list(repo.conflicts())) == 3


def trees_of(root: Root) -> list[tuple[str, Any]]:
    named = [(name, next(iter(getattr(root, name).values()))) for name in ("vectors", "sparse")]
    plain = ("nodes", "edges", "tombstones", "conflicts")
    return [*named, *((name, getattr(root, name)) for name in plain)]


def with_needs(repo: Repository, forge: Forge, commit: CommitCid, *, is_alone: bool) -> CommitCid:
    """Forges every block that a commit needs and, if it is alone, the commit without parents."""
    root = Commit.decode(forge.blocks[commit]).root
    source = WriteBatch(repo.core.store)
    source.new.update(forge.blocks)
    bases = [] if is_alone else [head_root(repo)]
    forge.blocks.update(
        {need.cid: source.get(need.cid) for need in root_needs(source, root, bases)}
    )
    if not is_alone:
        return commit
    del forge.blocks[commit]
    return forge.commit(root)


# -- configuration -------------------------------------------------------------------------------

GOOD_TRUST = {
    "level": "level",
    "scope": "scope",
    "default_level": 1,
    "anonymous_level": 0,
    "unscoped": "allow",
}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"trust": "yes"}, "config.trust"),
        ({"trust": None}, "config.trust"),
        ({"trust": {}}, "config.trust"),
        ({"trust": {"level": "level"}}, "config.trust"),
        ({"trust": {**GOOD_TRUST, "level": ""}}, "trust.level"),
        ({"trust": {**GOOD_TRUST, "scope": "level"}}, "trust.scope"),
        ({"trust": {**GOOD_TRUST, "default_level": 9}}, "trust.default_level"),
        ({"trust": {**GOOD_TRUST, "default_level": "high"}}, "config.trust"),
        ({"trust": {**GOOD_TRUST, "unscoped": "perhaps"}}, "trust.unscoped"),
        ({"fusion": {"name": "best"}}, "config.fusion"),
        ({"limit": -1}, "config.limit"),
        ({"depth": None}, "config.depth"),
        ({"phrases": "yes"}, "config.phrases"),
        ({"fusion": {"name": "score_normalised", "weights": {"dense": "a lot"}}}, "config.fusion"),
        ({"fusion": {"name": "score_normalised", "weights": 1}}, "config.fusion"),
        ({"fusion": {"k": True}}, "config.fusion"),
        ({"fusion": 5}, "fusion"),
        ({"fields": ["everything"]}, "config.fields"),
        ({"models": {"m": {"dim": 0}}}, "model.dim"),
        ({"models": ["m"]}, "config.models"),
        ({"semantics": "1"}, "config.semantics"),
        ({"analyser": 1}, "config.analyser"),
    ],
)
def test_a_configuration_of_another_form_is_refused_and_named(
    repo: Repository, forge: Forge, config: dict[str, Any], said: str
):
    node = forge.node("a")
    nodes = forge.tree([(node.id.raw, node.cid)])
    requires = ("trust",) if "trust" in config else ()
    commit = forge.commit(forge.root(nodes=nodes, config=config, requires=requires))
    assert said in str(refused_and_named(repo, forge, commit))
    with pytest.raises(CorruptError, match=said.rpartition(".")[2]):
        repo.at("evil").retrieve("anything")


def test_a_policy_that_a_root_does_not_require_readers_to_know_is_refused(
    repo: Repository, forge: Forge
):
    commit = forge.commit(forge.root(config={"trust": GOOD_TRUST}))
    assert "root.requires" in str(refused_and_named(repo, forge, commit))


def test_vectors_of_a_model_that_the_configuration_does_not_name_are_named_by_fsck(
    repo: Repository, forge: Forge
):
    node = forge.node("a")
    nodes = forge.tree([(node.id.raw, node.cid)])
    vectors = {"m": forge.tree([(node.id.raw, put_vector(forge))])}
    commit = forge.commit(forge.root(nodes=nodes, vectors=vectors))
    assert "root.vectors" in str(refused_and_named(repo, forge, commit))


def test_a_commit_that_gives_the_same_vectors_another_dimension_is_refused(
    repo: Repository, forge: Forge
):
    root, head = head_root(repo), repo.commit_at().cid
    ((name, model),) = root.config["models"].items()
    models = {name: {**model, "dim": model["dim"] + 1}}
    forged = replace(root, config={**root.config, "models": models}).encode()
    commit = forge.commit(RootCid(put(forge.blocks, forged).raw), head)
    said = f"got dimension {model['dim']}, expected {model['dim'] + 1} as model {name!r} has"
    assert said in str(refused_and_named(repo, forge, commit))


def test_a_clone_of_a_repository_that_began_with_a_policy_is_whole(tmp_path):
    config = Config(extra={"trust": GOOD_TRUST})
    with ibidem.init(tmp_path / "a", config=config) as first:
        assert first.maintenance.fsck().faults == ()
    with ibidem.clone(tmp_path / "a", tmp_path / "b") as second:
        assert second.at().root.requires == ("trust",)
        assert second.maintenance.fsck().faults == ()


def test_a_repository_does_not_begin_with_a_configuration_that_no_copy_would_take():
    with pytest.raises(CorruptError, match=r"config\.fusion"):
        ibidem.init(config=Config(fusion={"name": "best"}))


def test_a_node_may_list_children_that_are_not_in_the_graph(repo: Repository, forge: Forge):
    """What a node lists records a source and refers to nothing (format 5.1)."""
    parent = Node(
        node_id("", "p"), "Doc", key=("", "p"), children=(Child(node_id("", "c"), "", 1, 0),)
    )
    put(forge.blocks, parent.encode())
    repo.sync.load(io.BytesIO(forge.of_nodes(parent)))
    assert repo.maintenance.fsck().faults == ()
