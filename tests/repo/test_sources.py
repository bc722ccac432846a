"""What stands for more than it is: parts listed over and over, content of one block named often.

Refused wherever it would come in, named by `repo fsck` where it is inside already, a typed error
where it is used, and erased like anything else.
"""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest

from ibidem.memory.recall.recall import Disclosure, recall
from ibidem.objects import codec
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.child import Child
from ibidem.objects.cid import BlobCid, Cid, CommitCid
from ibidem.objects.commit import Commit
from ibidem.objects.derive import node_id
from ibidem.objects.errors import CorruptError, ErrorKind, IbidemError, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, build
from ibidem.objects.view import View
from ibidem.repo import refs
from ibidem.repo.maintenance.report import FaultKind
from ibidem.repo.repository import Repository
from ibidem.repo.state import State

from .sync.forging import Forge, bundle, put, refused

BLOB = b"retry queue words " * 50_000
MANY = pytest.param(20_000, marks=pytest.mark.slow)
SUMMARY = "words that nobody says by chance"


@pytest.fixture
def forge() -> Forge:
    return Forge()


def twice() -> list[bytes]:
    """39 sections that list the next one twice each: a source of 2^38 parts in a few kilobytes."""
    ids = [node_id("", at) for at in range(40)]
    types = ["Document", *["Section"] * 38, "Passage"]
    blocks = []
    for at, ntype in enumerate(types):
        fields = {"kind": "node", "v": 1, "id": ids[at].raw, "key": ["", at], "ntype": ntype}
        fields["summary"] = "retry"
        if at < 39:
            fields["children"] = [[ids[at + 1].raw, "lead ", 10, 0]] * 2
        blocks.append(codec.encode(fields))
    return blocks


def crossed() -> list[bytes]:
    """The same by pairs of sections, each list without a part twice."""
    pairs = [(node_id("", [at, 0]), node_id("", [at, 1])) for at in range(40)]
    top = Node(node_id("", "top"), "Document", key=("", "top"), children=_parts(pairs[0]))
    nodes = [top]
    for at, pair in enumerate(pairs[:-1]):
        nodes += [
            Node(id_, "Section", key=("", [at, side]), children=_parts(pairs[at + 1]))
            for side, id_ in enumerate(pair)
        ]
    nodes += [Node(id_, "Passage", "x", key=("", [39, side])) for side, id_ in enumerate(pairs[39])]
    return [node.encode() for node in nodes]


def _parts(pair: tuple[NodeId, NodeId]) -> tuple[Child, ...]:
    return tuple(Child(id_, "", 1, 0) for id_ in pair)


def bomb(count: int) -> bytes:
    """A node whose content names one raw block many times."""
    id_ = node_id("", "x")
    content = [Cid(BlobCid.of(BLOB).raw)] * count
    fields = {"kind": "node", "v": 1, "id": id_.raw, "key": ["", "x"], "ntype": "T"}
    return codec.encode({**fields, "summary": SUMMARY, "content": content})


def written(repo: Repository, *nodes: bytes) -> CommitCid:
    """Puts nodes on the branch `main` below every check but that of hashes."""
    entries = sorted((bytes(codec.decode(block)["id"]), Cid.of(block)) for block in nodes)
    buffer = WriteBatch(repo.core.store)
    root = Root(build(entries, buffer), EMPTY_TREE, EMPTY_TREE, EMPTY_TREE)
    build([], buffer)
    commit = Commit(root.cid)
    repo.core.store.put(
        {
            **{Cid.of(block): block for block in nodes},
            **buffer.new,
            Cid(BlobCid.of(BLOB).raw): BLOB,
            root.cid: root.encode(),
            commit.cid: commit.encode(),
        }
    )

    def make(state: State, buffer: WriteBatch) -> View:
        moved = refs.changed(state.view, {"heads/main": commit.cid}, buffer)
        return replace(state.view, refs=moved)

    repo.core.operation_log.change(make, author="", time=1, description="written below the gate")
    return commit.cid


def sent(forge: Forge, nodes: list[bytes]) -> bytes:
    for block in nodes:
        put(forge.blocks, block)
    forge.blocks[Cid(BlobCid.of(BLOB).raw)] = BLOB
    entries = sorted((bytes(codec.decode(block)["id"]), Cid.of(block)) for block in nodes)
    return bundle(forge.blocks, forge.commit(forge.root(nodes=forge.tree(entries))))


@pytest.mark.parametrize("nodes", [twice(), crossed()], ids=["twice", "crossed"])
def test_a_document_whose_parts_have_no_end_is_refused(
    repo: Repository, forge: Forge, nodes: list[bytes]
):
    refused(repo, sent(forge, nodes))


@pytest.mark.parametrize("nodes", [twice(), crossed()], ids=["twice", "crossed"])
def test_a_document_whose_parts_have_no_end_is_named_by_fsck_and_a_typed_error_where_it_is_used(
    repo: Repository, nodes: list[bytes]
):
    written(repo, *nodes)
    faults = repo.maintenance.fsck().faults
    assert faults
    assert {fault.kind for fault in faults} == {FaultKind.MALFORMED}
    assert any(fault.cid == Cid.of(nodes[0]) for fault in faults)
    with pytest.raises(CorruptError):
        repo.at().document(NodeId(codec.decode(nodes[0])["id"]))


def test_parts_without_end_are_refused_at_commit(repo: Repository):
    nodes = [Node.decode(block) for block in crossed()]
    view = repo.core.view
    tx = repo.transaction()
    for node in nodes:
        namespace, key = node.key or ("", None)
        tx.add_node(
            node.ntype, summary=node.summary, namespace=namespace, key=key, children=node.children
        )
    with pytest.raises(InvalidInputError) as error:
        tx.publish()
    assert error.value.kind is ErrorKind.LIMIT_EXCEEDED
    assert repo.core.view == view


@pytest.mark.parametrize("count", [17, 2_000, MANY])
def test_content_of_one_block_named_often_is_refused(repo: Repository, forge: Forge, count: int):
    refused(repo, sent(forge, [bomb(count)]), kind=ErrorKind.LIMIT_EXCEEDED)


def test_content_over_the_limit_is_refused_at_commit(repo: Repository):
    view = repo.core.view
    with repo.transaction() as tx, pytest.raises(InvalidInputError) as error:
        tx.add_node("Blob", content=bytes((16 << 20) + 1))
    assert error.value.kind is ErrorKind.LIMIT_EXCEEDED
    assert str(16 << 20) in str(error.value)
    assert repo.core.view == view


@pytest.mark.parametrize("count", [17, 2_000, MANY])
def test_content_of_one_block_named_often_is_named_by_fsck_and_put_together_nowhere(
    repo: Repository, count: int
):
    block = bomb(count)
    written(repo, block)
    (fault,) = repo.maintenance.fsck().faults
    assert (fault.kind, fault.cid) == (FaultKind.MALFORMED, Cid.of(block))
    tracemalloc.start()
    revision = repo.at()
    for use in (
        lambda: revision.content(node_id("", "x")),
        lambda: revision.retrieve("retry"),
        lambda: revision.packs("retry"),
        lambda: revision.prompt("retry"),
    ):
        with pytest.raises(IbidemError) as error:
            use()
        assert error.value.kind is ErrorKind.LIMIT_EXCEEDED
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20


@pytest.mark.parametrize("count", [1, 16, 17, 2_000, MANY])
def test_a_node_is_erased_whatever_its_content_names(repo: Repository, count: int):
    block = bomb(count)
    written(repo, block)
    tracemalloc.start()
    repo.maintenance.erase([node_id("", "x")])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 128 << 20
    assert not repo.core.store.has(Cid.of(block))
    assert not repo.core.store.has(Cid(BlobCid.of(BLOB).raw))
    assert repo.maintenance.fsck().is_clean


def test_what_quotes_an_oversized_node_is_erased_with_it(repo: Repository):
    written(repo, bomb(20_000))
    with repo.runs.start("agent") as run:
        run.event("tool", f"it said: {SUMMARY}")
    quoting = [step.cid for step in repo.runs.open("agent").steps if step.action == "event"]
    repo.maintenance.erase([node_id("", "x")])
    assert not any(map(repo.core.store.has, quoting))


def in_circle(*types: str) -> list[Node]:
    """Nodes of these types, each of which lists the next one, and the last one the first."""
    ids = [node_id("", at) for at in range(len(types))]
    listed = [Child(child, "", 5, 0) for child in (*ids[1:], ids[0])]
    return [
        Node(ids[at], ntype, summary="retry", key=("", at), children=(listed[at],))
        for at, ntype in enumerate(types)
    ]


CIRCLES = [("Doc",), ("Section",), ("Doc", "Note"), ("Section", "Doc"), ("Document", "A", "B")]


@pytest.mark.parametrize("types", CIRCLES, ids=" ".join)
def test_nodes_that_contain_themselves_are_refused(
    repo: Repository, forge: Forge, types: tuple[str, ...]
):
    nodes = in_circle(*types)
    refused(repo, sent(forge, [node.encode() for node in nodes]))
    tx = repo.transaction()
    for at, node in enumerate(nodes):
        tx.add_node(node.ntype, summary="retry", namespace="", key=at, children=node.children)
    with pytest.raises(InvalidInputError, match="contains itself"):
        tx.publish()


@pytest.mark.parametrize("types", CIRCLES, ids=" ".join)
def test_nodes_that_contain_themselves_cost_no_answer(repo: Repository, types: tuple[str, ...]):
    nodes = in_circle(*types)
    written(repo, *(node.encode() for node in nodes))
    faults = repo.maintenance.fsck().faults
    assert {fault.kind for fault in faults} == {FaultKind.MALFORMED}
    assert {fault.cid for fault in faults} == {node.cid for node in nodes}
    assert all("contains itself" in fault.detail for fault in faults)
    at = repo.at()
    found = repo.retrieve("retry").items
    assert {item.node.id for item in found} == {node.id for node in nodes}
    for item in found:
        place = at.locate(item.node.id)
        assert place is None or place.document_id == nodes[0].id
    assert at.packs("retry").packs
    for level in Disclosure:
        assert recall(repo, "retry", disclosure=level).texts


def test_what_stands_too_deep_has_no_place(repo: Repository):
    ids = [node_id("", at) for at in range(80)]
    nodes = [
        Node(ids[at], "Deep", summary="retry", key=("", at), children=(Child(below, "", 5, 0),))
        for at, below in enumerate(ids[1:])
    ]
    written(repo, *(node.encode() for node in nodes))
    at = repo.at()
    assert at.locate(ids[-2]) is None
    assert repo.retrieve("retry", limit=100).items
    assert at.packs("retry", limit=100).packs
