"""The typed walker yields what a block needs and nothing else, and stops at what it does not
know."""

from __future__ import annotations

import pytest

from ibidem.objects import codec
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import BlobCid, Cid, CommitCid, OperationCid, RootCid, TreeCid, ViewCid
from ibidem.objects.commit import Commit
from ibidem.objects.derive import edge_id, node_id
from ibidem.objects.edge import Edge
from ibidem.objects.errors import CorruptError, FormatError, NotFoundError
from ibidem.objects.links import fields_of_kind, links, may_link, property_links
from ibidem.objects.node import Node
from ibidem.objects.operation import Operation
from ibidem.objects.root import Root
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.tree import build
from ibidem.objects.vector import Vector
from ibidem.objects.view import Ref, View

A = node_id("", "a")
T = [TreeCid.of(bytes((index,))) for index in range(8)]
FAR = Cid.of(b"somewhere else")


def test_each_kind_yields_its_structural_links():
    root = Root(T[0], T[1], T[2], T[3], {"m": T[4]}, {"v": T[5]}, {"note": FAR})
    parent, view = CommitCid.of(b"p"), ViewCid.of(b"v")
    cases = [
        (root, set(T[:6])),
        (Commit(root.cid, (parent,), extra={"note": FAR}), {root.cid, parent}),
        (Ref("a", parent, 1, CommitCid.of(b"q")), {parent, CommitCid.of(b"q")}),
        (View(T[0], "a", T[1], 1, view), {T[0], T[1], view}),
        (Operation(view, (OperationCid.of(b"o"),)), {view, OperationCid.of(b"o")}),
        (Tombstone("x"), set()),
        (Vector("i8", 1, bytes(32), b"\x01"), set()),
    ]
    for value, expected in cases:
        assert set(links(value.encode())) == expected


def test_property_links_are_not_followed_but_reported():
    blobs = (BlobCid.of(b"1"), BlobCid.of(b"2"))
    node = Node(A, "P", props={"a": [{"b": FAR}]}, content=blobs, key=("", FAR), extra={"z": FAR})
    edge = Edge(edge_id(A, "x", A), "x", A, A, props={"a": FAR}, key=[FAR])
    assert tuple(links(node.encode())) == blobs
    assert list(property_links(node)) == [FAR] * 3
    assert list(links(edge.encode())) == []
    assert list(property_links(edge)) == [FAR] * 2


def test_columns_of_a_tree_are_walked_down_to_the_values():
    entries = [(index.to_bytes(16, "big"), Cid.of(bytes((index % 256,)))) for index in range(500)]
    buffer = WriteBatch()
    top = build(entries, buffer)
    found, todo = [], [top]
    while todo:
        cid = todo.pop()
        if cid in buffer.new:
            todo.extend(links(buffer.new[cid]))
        else:
            found.append(cid)
    assert sorted(found) == sorted(cid for _, cid in entries)


def test_a_result_yields_every_link_and_a_receipt_its_root_and_notes():
    block = codec.encode({"kind": "result", "v": 1, "a": [FAR, {"b": T[0]}]})
    assert list(links(block)) == [FAR, T[0]]
    fields = {"kind": "receipt", "v": 1, "root": FAR, "commit": T[0], "items": [T[0]]}
    assert list(links(codec.encode(fields))) == [FAR]
    assert list(links(codec.encode({**fields, "notes_head": T[1]}))) == [FAR, T[1]]


def test_unknown_kind_and_version_stop_the_walk():
    for fields in ({"kind": "novel", "v": 1}, {"kind": "node", "v": 2}, {"kind": "tree", "v": 0}):
        with pytest.raises(FormatError):
            list(links(codec.encode(fields)))
    for value in ([], {}, {"kind": "node"}, {"kind": 1, "v": 1}, {"kind": "node", "v": True}):
        with pytest.raises(CorruptError):
            list(links(codec.encode(value)))


def test_tree_with_a_broken_column_is_refused():
    fields = {"kind": "tree", "v": 1, "level": 0, "keys": b"", "cids": bytes(35)}
    with pytest.raises(CorruptError, match=r"tree\.cids"):
        list(links(codec.encode(fields)))


def test_buffer_reads_through_and_leaves_its_source_alone():
    below = WriteBatch()
    below.put(FAR, b"below")
    above = WriteBatch(below)
    above.put(T[0], b"above")
    assert (above.get(FAR), above.get(T[0])) == (b"below", b"above")
    assert (list(above.new), list(below.new)) == ([T[0]], [FAR])
    with pytest.raises(NotFoundError) as caught:
        above.get(T[1])
    assert caught.value.kind == "block-not-found"


def test_the_kind_of_a_block_is_found_behind_unknown_fields_and_nowhere_else():
    far = {"x": "y" * 200, "aaaa": [1], "kin": "ref"}
    commit = Commit(RootCid.of(b"r"), extra=far).encode()
    assert fields_of_kind(commit, "ref", "commit") == codec.decode(commit)
    assert fields_of_kind(commit, "ref") is None
    ref = Ref("a", CommitCid.of(b"p"), 1, extra=far).encode()
    assert fields_of_kind(ref, "ref", "commit") == codec.decode(ref)
    quoting = Node(A, "Doc", props={"q": {"kind": "commit"}}, summary="dkindfcommit").encode()
    assert fields_of_kind(quoting, "ref", "commit") is None


def test_a_block_that_may_not_link_has_no_links_and_is_of_a_known_version():
    plain = Node(A, "Doc", summary="text", key=("", "a"))
    parts = (BlobCid.of(b"1"),)
    edge = Edge(edge_id(A, "x", A), "x", A, A)
    for value in (plain, edge, Tombstone("x"), Vector("i8", 1, bytes(32), b"\x01")):
        assert not may_link(value.encode())
        assert list(links(value.encode())) == []
    for linking in (
        Node(A, "Doc", content=parts),
        Node(A, "Doc", props={"a": FAR}),
        Commit(RootCid.of(b"")),
    ):
        assert may_link(linking.encode())
    assert may_link(codec.encode({**plain.to_map(), "v": 2}))
    assert may_link(codec.encode({**plain.to_map(), "a": 1}))
