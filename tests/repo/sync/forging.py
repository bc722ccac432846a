"""Makes what somebody means to harm with, and checks that it is refused and changes nothing."""

from __future__ import annotations

import io

import pytest

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import BlobCid, Cid, CommitCid, RootCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.derive import node_id
from ibidem.objects.errors import (
    ErrorKind,
    IbidemError,
    InvalidInputError,
)
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, EMPTY_TREE_BLOCK, build
from ibidem.repo.repository import Repository
from ibidem.repo.sync.messages import Bundle, Tip, container

Blocks = dict[Cid, bytes]


def state(repo: Repository) -> tuple[object, ...]:
    return (
        sorted(cid.raw for cid in repo.store.cids()),
        {name: repo.store.cell(name) for name in repo.store.cells()},
    )


def bundle(blocks: Blocks, target: Cid, name: str = "heads/evil", **fields: object) -> bytes:
    message = Bundle({name: Tip(CommitCid(target.raw), 0)}, "heads/evil", **fields)
    return b"".join(container(message, sorted(blocks.items())))


def refused(repo: Repository, data: bytes, *, kind: ErrorKind | None = None) -> IbidemError:
    """Imports and pushes the data; returns the error of the import."""
    before = state(repo)
    with pytest.raises(IbidemError) as error:
        repo.import_(io.BytesIO(data))
    assert not isinstance(error.value, InvalidInputError) or kind is ErrorKind.INVALID_INPUT
    if kind is not None:
        assert error.value.kind is kind
    assert state(repo) == before
    return error.value


def put(blocks: Blocks, block: bytes) -> Cid:
    cid = Cid.of(block)
    blocks[cid] = block
    return cid


class Forge:
    """Makes a commit whose parts can be replaced by bad ones."""

    def __init__(self) -> None:
        self.blocks: Blocks = {EMPTY_TREE: EMPTY_TREE_BLOCK}
        self.buffer = WriteBatch()

    def node(self, summary: str = "evil", **fields: object) -> Node:
        node = Node(
            id=node_id("", summary), ntype="Doc", summary=summary, key=("", summary), **fields
        )
        put(self.blocks, node.encode())
        return node

    def tree(self, entries: list[tuple[bytes, Cid]]) -> TreeCid:
        tree = build(entries, self.buffer)
        self.blocks.update(self.buffer.new)
        return tree

    def root(self, **trees: object) -> RootCid:
        fields = dict.fromkeys(("nodes", "edges", "tombstones", "conflicts"), EMPTY_TREE)
        return RootCid(put(self.blocks, Root(**{**fields, **trees}).encode()).raw)

    def commit(self, root: RootCid, *parents: CommitCid) -> CommitCid:
        return CommitCid(put(self.blocks, Commit(root, parents).encode()).raw)

    def of_nodes(self, *nodes: Node) -> bytes:
        tree = self.tree([(node.id.raw, node.cid) for node in nodes])
        return bundle(self.blocks, self.commit(self.root(nodes=tree)))


def put_raw(blocks: Blocks, data: bytes) -> BlobCid:
    cid = BlobCid.of(data)
    blocks[cid] = data
    return cid
