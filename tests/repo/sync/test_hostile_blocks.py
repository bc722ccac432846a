"""Blocks and trees that are not what they should be are refused, and nothing here has changed."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ibidem.objects import codec
from ibidem.objects.child import Child
from ibidem.objects.cid import BlobCid, Cid, CommitCid, RootCid, TreeCid
from ibidem.objects.conflict import Conflict
from ibidem.objects.derive import node_id
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    FormatError,
    NotFoundError,
)
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE
from ibidem.objects.tree.block import encode
from ibidem.objects.vector import Vector
from ibidem.repo.repository import Repository
from ibidem.repo.sync.car import car_header, car_section

from .forging import Forge, bundle, put, put_raw, refused


def test_a_mislabelled_block_is_refused(repo: Repository):
    cid = Cid.of(codec.encode({"kind": "node", "v": 1}))
    data = car_header([cid]) + car_section(cid, b"\xa0")
    assert refused(repo, data).kind is ErrorKind.HASH_MISMATCH


def test_an_oversized_block_is_refused(repo: Repository):
    block = codec.encode([bytes(1 << 19)] * 1)
    raw = BlobCid.of(bytes((1 << 20) + 1))
    data = car_header([Cid.of(block)]) + car_section(raw, bytes((1 << 20) + 1))
    refused(repo, data, kind=ErrorKind.LIMIT_EXCEEDED)


@pytest.mark.parametrize(
    "block",
    [
        b"\x81" * 100 + b"\x80",
        b"\xa1\x61a" * 100 + b"\x80",
        b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x5b\x7f\xff\xff\xff\xff\xff\xff\xff",
        b"\xbf\xff",
        b"\xa2\x61a\x01\x61a\x02",
        b"\xf9\x00\x00",
        b"\xa2\x61v\x01\x64kind\x64evil",
        codec.encode({"kind": "evil", "v": 1}),
        codec.encode({"kind": "node", "v": 99}),
        codec.encode([1]),
    ],
)
def test_a_block_that_is_not_of_the_format_is_refused(repo: Repository, block: bytes):
    cid = Cid.of(block)
    with pytest.raises((CorruptError, FormatError)):
        repo.sync.load(io.BytesIO(car_header([cid]) + car_section(cid, block)), branch="x")
    assert isinstance(
        refused(repo, car_header([cid]) + car_section(cid, block)), (CorruptError, FormatError)
    )


def test_a_value_of_another_kind_in_its_place_is_refused(repo: Repository, forge: Forge):
    node = forge.node("a")
    tree = forge.tree([(node.id.raw, node.cid)])
    for name in ("edges", "tombstones", "conflicts"):
        data = bundle(forge.blocks, forge.commit(forge.root(**{name: tree})))
        assert isinstance(refused(repo, data), (CorruptError, FormatError))


def test_a_node_at_the_key_of_another_is_refused(repo: Repository, forge: Forge):
    node = forge.node("a")
    tree = forge.tree([(bytes(16), node.cid)])
    refused(repo, bundle(forge.blocks, forge.commit(forge.root(nodes=tree))))


def test_a_conflict_that_leads_to_the_history_is_refused(repo: Repository, forge: Forge):
    """What is here must not be walked for a block that merely names it."""
    head = repo.head
    assert head is not None
    other = forge.node("a")
    sides = tuple(sorted((Cid(head.raw), Cid(other.cid.raw))))
    conflict = Conflict("node", sides)
    put(forge.blocks, conflict.encode())
    tree = forge.tree([(other.id.raw, conflict.cid)])
    error = refused(repo, bundle(forge.blocks, forge.commit(forge.root(conflicts=tree))))
    assert "conflict.sides" in str(error)


def test_a_raw_block_for_a_node_is_refused(repo: Repository, forge: Forge):
    raw = put_raw(forge.blocks, b"not a node")
    tree = forge.tree([(bytes(16), raw)])
    refused(repo, bundle(forge.blocks, forge.commit(forge.root(nodes=tree))))


def test_a_commit_in_place_of_a_root_is_refused(repo: Repository, forge: Forge):
    commit = forge.commit(forge.root())
    refused(repo, bundle(forge.blocks, forge.commit(RootCid(commit.raw))))


def test_a_root_in_place_of_a_commit_is_refused(repo: Repository, forge: Forge):
    refused(repo, bundle(forge.blocks, CommitCid(forge.root().raw)))


def test_a_vector_of_another_dimension_is_refused(repo: Repository, forge: Forge):
    node = forge.node("a")
    vector = Vector.from_array(np.ones(3, np.float32), dtype="f32", of=bytes(32))
    put(forge.blocks, vector.encode())
    nodes = forge.tree([(node.id.raw, node.cid)])
    vectors = forge.tree([(node.id.raw, vector.cid)])
    for config in ({}, {"models": {"m": {"dim": 4, "metric": "cosine", "dtype": "f32"}}}):
        root = forge.root(nodes=nodes, vectors={"m": vectors}, config=config)
        refused(repo, bundle(forge.blocks, forge.commit(root)))


def test_a_root_whose_config_means_nothing_is_refused(repo: Repository, forge: Forge):
    for config in ({"semantics": 0}, {"models": 3}, {"fields": ["x"]}):
        data = bundle(forge.blocks, forge.commit(forge.root(config=config)))
        assert isinstance(refused(repo, data), CorruptError)


def test_a_root_that_requires_what_is_not_known_is_refused(repo: Repository, forge: Forge):
    block = codec.encode(
        {**Root(EMPTY_TREE, EMPTY_TREE, EMPTY_TREE, EMPTY_TREE).to_map(), "requires": ["x"]}
    )
    root = RootCid(put(forge.blocks, block).raw)
    error = refused(repo, bundle(forge.blocks, forge.commit(root)))
    assert isinstance(error, FormatError)


def hostile_trees() -> dict[str, Callable[[Forge, list[tuple[bytes, Cid]]], TreeCid]]:
    def leaf(forge: Forge, entries: list[tuple[bytes, Cid]]) -> TreeCid:
        keys = b"".join(key for key, _ in entries)
        cids = b"".join(cid.raw for _, cid in entries)
        return TreeCid(put(forge.blocks, encode(0, keys, cids, b"")).raw)

    def inner(forge: Forge, level: int, children: list[tuple[bytes, TreeCid]], count: int):
        keys = b"".join(key for key, _ in children)
        cids = b"".join(cid.raw for _, cid in children)
        counts = count.to_bytes(8, "big") * len(children)
        return TreeCid(put(forge.blocks, encode(level, keys, cids, counts)).raw)

    def out_of_order(forge: Forge, entries: list[tuple[bytes, Cid]]) -> TreeCid:
        return leaf(forge, entries[::-1])

    def repeated(forge: Forge, entries: list[tuple[bytes, Cid]]) -> TreeCid:
        return leaf(forge, entries + entries[-1:])

    def needless_level(forge: Forge, entries: list[tuple[bytes, Cid]]) -> TreeCid:
        return inner(forge, 1, [(entries[-1][0], leaf(forge, entries))], len(entries))

    def cut_elsewhere(forge: Forge, entries: list[tuple[bytes, Cid]]) -> TreeCid:
        one, other = leaf(forge, entries[:2]), leaf(forge, entries[2:])
        return inner(forge, 1, [(entries[1][0], one), (entries[-1][0], other)], 2)

    def shared_bomb(forge: Forge, entries: list[tuple[bytes, Cid]]) -> TreeCid:
        """Each level refers to everything below it many times: small to send, huge to walk."""
        known = [(key, leaf(forge, [(key, cid)])) for key, cid in entries]
        for level in range(1, 60):
            known = [
                (known[at][0], inner(forge, level, known[: at + 1], 1)) for at in range(len(known))
            ]
        return known[-1][1]

    def wrong_last(forge: Forge, entries: list[tuple[bytes, Cid]]) -> TreeCid:
        return inner(forge, 1, [(b"\xff" * 16, leaf(forge, entries))], len(entries))

    made = (out_of_order, repeated, needless_level, cut_elsewhere, shared_bomb, wrong_last)
    return {make.__name__: make for make in made}


@pytest.mark.parametrize("make", hostile_trees().values(), ids=hostile_trees())
@pytest.mark.parametrize("on_top", [False, True], ids=["alone", "on a commit"])
def test_a_tree_that_is_not_the_tree_of_its_entries_is_refused(
    repo: Repository, forge: Forge, make, on_top: bool
):
    nodes = sorted((forge.node(str(number)) for number in range(8)), key=lambda node: node.id.raw)
    tree = make(forge, [(node.id.raw, node.cid) for node in nodes])
    parents: tuple[CommitCid, ...] = ()
    root = forge.root(nodes=tree)
    if on_top:
        parent = repo.commit_at()
        parents = (parent.cid,)
        whole = Root.decode(repo.core.store.get(parent.root))
        root = RootCid(put(forge.blocks, replace(whole, nodes=tree).encode()).raw)
    error = refused(repo, bundle(forge.blocks, forge.commit(root, *parents)))
    assert isinstance(error, (CorruptError, NotFoundError))


def test_a_tree_on_a_commit_with_another_boundary_is_refused(repo: Repository, forge: Forge):
    """The leaf of the old tree is cut in two, with nothing changed in it."""
    parent = repo.commit_at()
    whole = Root.decode(repo.core.store.get(parent.root))
    from ibidem.objects.tree import Tree

    entries = list(Tree(repo.core.store, whole.nodes).items())
    tree = hostile_trees()["cut_elsewhere"](forge, entries)
    root = RootCid(put(forge.blocks, replace(whole, nodes=tree).encode()).raw)
    error = refused(repo, bundle(forge.blocks, forge.commit(root, parent.cid)))
    assert "another form" in str(error)


def test_nodes_that_contain_each_other_are_refused(repo: Repository, forge: Forge):
    one, other = node_id("", "one"), node_id("", "other")
    nodes = [
        Node(id=one, ntype="Section", key=("", "one"), children=(Child(other, "", 1, 0),)),
        Node(id=other, ntype="Section", key=("", "other"), children=(Child(one, "", 1, 0),)),
    ]
    for node in nodes:
        put(forge.blocks, node.encode())
    refused(repo, forge.of_nodes(*nodes), kind=ErrorKind.CORRUPT)
