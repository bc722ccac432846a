"""Block values: identity by bytes, one form, read-only fields, and errors that name the field."""

from __future__ import annotations

import dataclasses
from dataclasses import FrozenInstanceError, replace

import pytest
from tests.cases import on_each

from ibidem.objects import codec
from ibidem.objects.child import Child
from ibidem.objects.cid import (
    BlobCid,
    Cid,
    CommitCid,
    ConflictCid,
    EdgeCid,
    ErasureCid,
    NodeCid,
    OperationCid,
    ReceiptCid,
    RefCid,
    ResultCid,
    RootCid,
    SparseCid,
    StepCid,
    TombstoneCid,
    TreeCid,
    VectorCid,
    ViewCid,
)
from ibidem.objects.commit import Commit
from ibidem.objects.conflict import Conflict
from ibidem.objects.derive import edge_id, node_id
from ibidem.objects.edge import Edge
from ibidem.objects.erasure import Erasure
from ibidem.objects.errors import CorruptError, FormatError, InvalidInputError
from ibidem.objects.fields import TABLES
from ibidem.objects.node import Node, join_content, split_content
from ibidem.objects.operation import Operation
from ibidem.objects.receipt import ReceiptBlock
from ibidem.objects.root import FAMILIES, Root
from ibidem.objects.step import Step
from ibidem.objects.text import text_digest
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.tree import EMPTY_TREE
from ibidem.objects.vector import Sparse, Vector
from ibidem.objects.verify import VALUES as CLASSES
from ibidem.objects.verify import read_foreign
from ibidem.objects.view import Ref, View

A, B = node_id("", "a"), node_id("", "b")
TREE, OTHER = TreeCid.of(b"tree"), TreeCid.of(b"other")
ROOT = Root(TREE, TREE, TREE, TREE, {"m": OTHER}, {"v": OTHER}, {"semantics": 1})
COMMIT = Commit(ROOT.cid, (CommitCid.of(b"p"),), "ada", 5, "why", "agent", "task", b"sig")
VIEW = View(TREE, "branch/main", OTHER, 3, ViewCid.of(b"v"))
SIDES = tuple(sorted(Cid.of(bytes([n])) for n in range(2)))
VALUES = [
    Node(A, "Passage"),
    Node(
        A,
        "Document",
        "s",
        "c",
        {"n": 1},
        b"text",
        ("", "a"),
        (Child(B, "\n", 4, 1),),
        "end",
        {"later": [1]},
    ),
    Node(A, "Document", content=(BlobCid.of(b"1"), BlobCid.of(b"2"))),
    Edge(edge_id(A, "cites", B), "cites", A, B),
    Edge(edge_id(A, "cites", B, 1), "cites", A, B, 0.0, {"n": 1}, 1),
    Vector("f32", 1, text_digest("a"), bytes(4)),
    Sparse(bytes(4), bytes(4), text_digest("a")),
    Tombstone(),
    Tombstone("wrong"),
    ROOT,
    COMMIT,
    Commit(ROOT.cid),
    Ref("branch/main", COMMIT.cid),
    Ref("branch/main", COMMIT.cid, 1, CommitCid.of(b"p")),
    Ref("runs/nightly/1", StepCid.of(b"s")),
    Ref("receipts/a", ReceiptCid.of(b"r"), 1, ReceiptCid.of(b"q")),
    Conflict("node", SIDES, base=ROOT.cid, fields=("props.a", "tail"), deleted=True),
    Conflict("edge", SIDES[:1], nodes=SIDES),
    Step("begin", 0, name="nightly"),
    Step("retrieve", 1, 7, "", StepCid.of(b"s"), ReceiptCid.of(b"r"), b"c", ROOT.cid, b"q", b"a"),
    ReceiptBlock(1, ROOT.cid, {}, {"m": bytes(32)}, ResultCid.of(b"r"), (), COMMIT.cid),
    VIEW,
    View(TREE, "", TREE),
    Operation(VIEW.cid, (OperationCid.of(b"o"),), "ada", 6, "commit"),
    Operation(VIEW.cid),
    Erasure(A, (Cid.of(b"x"),)),
    Erasure(A, (Cid.of(b"x"),), "asked", "ada", 7, bytes(96)),
]
CIDS = {
    Node: NodeCid,
    Edge: EdgeCid,
    Vector: VectorCid,
    Sparse: SparseCid,
    Tombstone: TombstoneCid,
    Root: RootCid,
    Commit: CommitCid,
    Ref: RefCid,
    View: ViewCid,
    Operation: OperationCid,
    Conflict: ConflictCid,
    ReceiptBlock: ReceiptCid,
    Step: StepCid,
    Erasure: ErasureCid,
}
IDS = [f"{type(value).__name__}-{index}" for index, value in enumerate(VALUES)]


@on_each(VALUES, IDS)
@pytest.mark.usefixtures("engine")
def test_value_survives_its_block(value):
    block = value.encode()
    again = type(value).decode(block)
    assert again == value
    assert hash(again) == hash(value)
    assert again.encode() == block
    assert type(value.cid) is CIDS[type(value)]
    assert value.cid == CIDS[type(value)].of(block)
    assert read_foreign(block) == value


@on_each(VALUES, IDS)
def test_map_is_written_in_canonical_order(value):
    plain = replace(value, extra={})
    assert list(plain.to_map()) == list(codec.decode(plain.encode()))
    assert plain.encode() == codec.encode(plain.to_map())


@on_each(VALUES, IDS)
def test_unknown_fields_are_kept_and_change_the_identity(value):
    fields = codec.decode(value.encode())
    block = codec.encode({**fields, "later": {"a": [1.5, None]}})
    again = type(value).decode(block)
    assert dict(again.extra)["later"] == {"a": [1.5, None]}
    assert again.encode() == block
    assert again != replace(value, extra={})


@on_each(VALUES, IDS)
def test_every_field_left_out_or_of_another_type_is_refused_by_name(value):
    fields = codec.decode(value.encode())
    for name in [name for name in fields if name not in ("kind", "v", "later", "config")]:
        for wrong in (3.5, [[]], {"a": [1]}, -1):
            if name in ("props", "key", "query") and wrong != 3.5:
                continue
            if type(value) is Edge and name in ("key", "weight"):
                continue
            if name == "time" and wrong == -1:
                continue
            with pytest.raises(CorruptError, match=name):
                read_foreign(codec.encode({**fields, name: wrong}))


@on_each(VALUES, IDS)
def test_optional_field_spelled_out_empty_is_refused(value):
    fields = codec.decode(value.encode())
    for name in type(value).OPTIONAL:
        for empty in (None, "", b"", [], {}):
            with pytest.raises(CorruptError) as caught:
                type(value).decode(codec.encode({**fields, name: empty}))
            assert caught.value.kind == "non-canonical"


@on_each(VALUES, IDS)
def test_other_kind_and_newer_version_are_not_read(value):
    fields = codec.decode(value.encode())
    for change in ({"v": 2}, {"v": 0}, {"kind": "novel"}, {"kind": "tree"}):
        with pytest.raises(FormatError):
            type(value).decode(codec.encode({**fields, **change}))
    for change in ({"v": True}, {"v": "1"}, {"kind": 1}):
        with pytest.raises(CorruptError):
            type(value).decode(codec.encode({**fields, **change}))
    for block in (b"\x80", b"\xf6", b"\xa0"):
        with pytest.raises(CorruptError):
            type(value).decode(block)


@on_each(VALUES, IDS)
def test_value_can_not_be_changed(value):
    with pytest.raises(FrozenInstanceError):
        value.extra = {}
    for name in ("props", "extra", "config", "vectors"):
        mapping = getattr(value, name, None)
        if mapping is not None:
            with pytest.raises(TypeError):
                mapping["x"] = 1


def test_mapping_of_the_caller_is_copied():
    props = {"n": 1}
    node = Node(A, "Passage", props=props)
    props["n"] = 2
    assert node.props["n"] == 1


def test_equality_is_that_of_the_bytes():
    one, true, real = (Node(A, "P", props={"n": n}) for n in (1, True, 1.0))
    assert len({one, true, real}) == 3
    assert Node(A, "P", summary="") == Node(A, "P", summary=None)
    assert Node(A, "P", content=b"") == Node(A, "P")
    assert Node(A, "P") != Tombstone()
    assert Node(A, "P", props={"a": 1, "b": 2}) == Node(A, "P", props={"b": 2, "a": 1})


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Node(b"x" * 16, "P"), "node.id"),
        (lambda: Node(edge_id(A, "x", B), "P"), "node.id"),
        (lambda: Node(A, ""), "node.ntype"),
        (lambda: Node(A, "P", summary=b"x"), "node.summary"),
        (lambda: Node(A, "P", context_sentence=1), "node.context_sentence"),
        (lambda: Node(A, "P", props=[1]), "node.props"),
        (lambda: Node(A, "P", props={1: 1}), "node.props"),
        (lambda: Node(A, "P", content="x"), "node.content"),
        (lambda: Node(A, "P", content=b"x" * 4097), "node.content"),
        (lambda: Node(A, "P", content=(NodeCid.of(b"x"),)), "node.content"),
        (lambda: Node(A, "P", key="a"), "node.key"),
        (lambda: Node(A, "P", key=(1, "a")), "node.key"),
        (lambda: Node(A, "P", children=(B,)), "node.children"),
        (lambda: Node(A, "P", tail=None), "node.tail"),
        (lambda: Node(A, "P", extra={"props": 1}), "node.extra"),
        (lambda: Node(A, "P", extra={"kind": 1}), "node.extra"),
        (lambda: Child(B, "", -1, 0), "node.children.size_bytes"),
        (lambda: Child(B, "", 0, True), "node.children.size_lines"),
        (lambda: Child(A.raw, "", 0, 0), "node.children.id"),
        (lambda: Edge(edge_id(A, "x", B), "x", A, B, float("nan")), "edge.weight"),
        (lambda: Edge(edge_id(A, "x", B), "x", A, B, True), "edge.weight"),
        (lambda: Edge(edge_id(A, "x", B), "", A, B), "edge.etype"),
        (lambda: Edge(A, "x", A, B), "edge.id"),
        (lambda: Vector("f64", 1, bytes(32), bytes(8)), "vector.dtype"),
        (lambda: Vector("f32", 0, bytes(32), b""), "vector.dim"),
        (lambda: Vector("f32", 2, bytes(32), bytes(4)), "vector.data"),
        (lambda: Vector("f32", 1, bytes(31), bytes(4)), "vector.of"),
        (lambda: Sparse(bytes(3), bytes(3), bytes(32)), "sparse.indices"),
        (lambda: Sparse(bytes(8), bytes(4), bytes(32)), "sparse.weights"),
        (lambda: Tombstone(None), "tombstone.reason"),
        (lambda: Root(NodeCid.of(b"x"), TREE, TREE, TREE), "root.nodes"),
        (lambda: Root(TREE, TREE, TREE, TREE, {"": TREE}), "root.vectors"),
        (lambda: Root(TREE, TREE, TREE, TREE, requires=("b", "a")), "root.requires"),
        (lambda: Commit(TREE), "commit.root"),
        (lambda: Commit(ROOT.cid, (ROOT.cid,)), "commit.parents"),
        (lambda: Commit(ROOT.cid, (CommitCid.of(b"p"),) * 2), "commit.parents"),
        (lambda: Commit(ROOT.cid, time=1.0), "commit.time"),
        (lambda: Commit(ROOT.cid, time=1 << 63), "commit.time"),
        (lambda: Ref("", COMMIT.cid), "ref.name"),
        (lambda: Ref("a", COMMIT.cid, -1), "ref.seq"),
        (lambda: Ref("runs/a", COMMIT.cid), "ref.target"),
        (lambda: Ref("a", StepCid.of(b"s")), "ref.target"),
        (lambda: Conflict("root", SIDES), "conflict.what"),
        (lambda: Conflict("edge", ()), "conflict.sides"),
        (lambda: Conflict("edge", SIDES[:1]), "conflict.sides"),
        (lambda: Conflict("edge", SIDES[::-1]), "conflict.sides"),
        (lambda: Conflict("edge", SIDES * 2), "conflict.sides"),
        (lambda: Conflict("node", SIDES, nodes=SIDES), "conflict.nodes"),
        (lambda: Conflict("node", SIDES, base=BlobCid.of(b"a")), "conflict.base"),
        (lambda: Conflict("node", SIDES, deleted=1), "conflict.deleted"),
        (lambda: Conflict("node", SIDES, fields=("b", "a")), "conflict.fields"),
        (lambda: Conflict("node", SIDES, fields=(1,)), "conflict.fields"),
        (lambda: Step("", 0), "step.action"),
        (lambda: Step("a", 1), "step.previous"),
        (lambda: Step("a", 0, previous=StepCid.of(b"s")), "step.previous"),
        (lambda: Step("a", 0, request=bytes(4097)), "step.request"),
        (lambda: View(TREE, "a", TREE, previous=COMMIT.cid), "view.previous"),
        (lambda: Operation(TREE), "operation.view"),
    ],
)
def test_constructor_names_the_field_that_is_wrong(make, field):
    with pytest.raises(InvalidInputError, match=field.replace(".", r"\.")):
        make()


def test_values_that_have_no_canonical_form_are_refused_when_written():
    for bad in (float("nan"), -0.0, 1 << 64, "\ud800", {1: 2}, object()):
        with pytest.raises(InvalidInputError):
            Node(A, "P", props={"a": bad}).encode()
    with pytest.raises(InvalidInputError):
        Node(A, "P\udc00").encode()


def test_negative_zero_weight_is_refused_when_written():
    with pytest.raises(InvalidInputError):
        Edge(edge_id(A, "x", B), "x", A, B, -0.0).encode()


def test_unknown_requirement_stops_the_reader():
    for value in (ROOT, VIEW):
        fields = codec.decode(value.encode())
        with pytest.raises(FormatError, match="requires"):
            type(value).decode(codec.encode({**fields, "requires": ["novel"]}))


@pytest.mark.parametrize("size", [0, 1, 4096, 4097, 1 << 20, (1 << 20) + 1, 5 << 19])
def test_content_is_split_and_joined(size):
    content = (bytes(range(256)) * (size // 256 + 1))[:size]
    held, blocks = split_content(content)
    if size <= 4096:
        assert (held or b"", blocks) == (content, {})
    else:
        assert join_content(blocks[cid] for cid in held) == content
        assert all(BlobCid.of(block) == cid for cid, block in blocks.items())
        assert all(len(blocks[cid]) == 1 << 20 for cid in held[:-1])
    Node(A, "Document", content=held).encode()


def test_every_field_of_a_table_is_one_of_its_class():
    for kind, cls in CLASSES.items():
        names = {one.name for one in dataclasses.fields(cls)} - {"extra"}
        assert names == TABLES[kind].names, kind
    assert CLASSES.keys() == TABLES.keys()


def test_the_families_of_a_root_are_its_trees():
    assert {family.name for family in FAMILIES} == set(TABLES["root"].links)
    assert {family.kind for family in FAMILIES} <= CLASSES.keys()
    assert {family.name for family in FAMILIES if family.is_named} == {"vectors", "sparse"}
    assert ROOT.tree("nodes") == ROOT.tree("nodes", "") == TREE
    assert ROOT.tree("vectors", "m") == ROOT.tree("sparse", "v") == OTHER
    assert ROOT.tree("vectors", "unknown") == EMPTY_TREE
    assert list(ROOT.trees().items()) == [
        (("nodes", ""), TREE),
        (("edges", ""), TREE),
        (("tombstones", ""), TREE),
        (("conflicts", ""), TREE),
        (("vectors", "m"), OTHER),
        (("sparse", "v"), OTHER),
    ]
