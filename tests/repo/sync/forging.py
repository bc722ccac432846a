"""Makes what somebody means to harm with, and checks that it is refused and changes nothing."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import BlobCid, Cid, CommitCid, RootCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.derive import node_id
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    IbidemError,
    InvalidInputError,
)
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, EMPTY_TREE_BLOCK, build, mutate
from ibidem.objects.view import target_class
from ibidem.repo import refs
from ibidem.repo.repository import Repository
from ibidem.repo.state import State
from ibidem.repo.sync.local_remote import LocalRemote
from ibidem.repo.sync.messages import Bundle, Push, Tip, Update, container

Blocks = dict[Cid, bytes]


def state(repo: Repository) -> tuple[object, ...]:
    return (
        sorted(cid.raw for cid in repo.core.store.cids()),
        {name: repo.core.store.cell(name) for name in repo.core.store.cells()},
    )


def bundle(blocks: Blocks, target: Cid, name: str = "heads/evil", **fields: object) -> bytes:
    message = Bundle({name: Tip(CommitCid(target.raw), 0)}, "heads/evil", **fields)
    return b"".join(container(message, sorted(blocks.items())))


def refused(repo: Repository, data: bytes, *, kind: ErrorKind | None = None) -> IbidemError:
    """Imports and pushes the data; returns the error of the import."""
    before = state(repo)
    with pytest.raises(IbidemError) as error:
        repo.sync.load(io.BytesIO(data))
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


def refused_and_named(repo: Repository, forge: Forge, commit: CommitCid) -> CorruptError:
    """Imports and pushes a commit, then puts it where no copy would; returns why it is refused,
    which is also the first thing that fsck says."""
    before = state(repo)
    error = refused(repo, bundle(forge.blocks, commit))
    push = Push({"heads/evil": Update(commit, None)})
    with pytest.raises(CorruptError, match=r"expected|in the graph|contains itself"):
        LocalRemote(repo.core).push(push, sorted(forge.blocks.items()))
    assert state(repo) == before
    below(repo, forge, commit)
    faults = repo.maintenance.fsck().faults
    assert str(error) in {f"{fault.where}: {fault.detail}" for fault in faults}
    assert isinstance(error, CorruptError)
    return error


def below(repo: Repository, forge: Forge, commit: CommitCid) -> None:
    """Puts a commit on a branch without asking anybody."""
    repo.core.store.put(forge.blocks)
    repo.branch("evil", at=commit)


def head_root(repo: Repository) -> Root:
    return Root.decode(repo.core.store.get(repo.commit_at().root))


def on_top(repo: Repository, forge: Forge, **edits: dict[bytes, Cid | None]) -> CommitCid:
    """Forges a commit on the head whose trees differ as said from the head's."""
    buffer, root = WriteBatch(repo.core.store), head_root(repo)
    trees: dict[str, Any] = {}
    for name, entries in edits.items():
        if name in ("vectors", "sparse"):
            ((model, tree),) = getattr(root, name).items()
            trees[name] = {model: mutate(tree, entries, buffer)}
        else:
            trees[name] = mutate(getattr(root, name), entries, buffer)
    forge.blocks.update(buffer.new)
    made = RootCid(put(forge.blocks, replace(root, **trees).encode()).raw)
    return forge.commit(made, repo.commit_at().cid)


def point(repo: Repository, name: str, target: Cid) -> None:
    """Points a ref to a block without asking anybody what it is."""
    cid = target_class(name)(target.raw)

    def make(state: State, buffer: WriteBatch):
        return replace(state.view, refs=refs.changed(state.view, {name: cid}, buffer))

    repo.core.operation_log.change(make, author="", time=0, description=f"point {name}")
