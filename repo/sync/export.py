"""Export: everything reachable from refs, or a part of it, as one file.

A part selected by label is a new root with the nodes visible through it, their edges and vectors,
in a commit without parents: the file contains no version of anything that is left out.

Spec: sync 3, 6.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid, NodeCid, OperationCid, RootCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.edge import Edge
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.tree import EMPTY_TREE, EMPTY_TREE_BLOCK, Tree, build
from ibidem.repo import refs
from ibidem.repo.revspec import HEAD
from ibidem.repo.sync.backup import LocalLog, local_log
from ibidem.repo.sync.car import Writable
from ibidem.repo.sync.erasures import erasures_of, is_erased_in
from ibidem.repo.sync.fetch_push import Counted
from ibidem.repo.sync.files import new_file
from ibidem.repo.sync.local_remote import offer
from ibidem.repo.sync.messages import Bundle, Tip, container
from ibidem.repo.sync.names import OPTIONAL, prefixes
from ibidem.repo.sync.pack import Pack
from ibidem.repo.sync.report import CopyReport, Move, RefMove

if TYPE_CHECKING:
    from pathlib import Path

    from ibidem.objects.blocks import Source, WriteBatch
    from ibidem.repo.core import Core
    from ibidem.repo.graph import Graph
    from ibidem.retrieve.access.policy import Viewer


_BATCH_KEYS = 4096
Entries = Iterator[tuple[bytes, Cid]]


def filtered_commit(revision: Graph, label: str | None, buffer: WriteBatch) -> CommitCid:
    """Stores a commit without parents whose root has only the visible part of a revision, and
    returns it.

    The same revision, as seen by the same caller, gives the same commit.

    Args:
        revision: the graph to copy from.
        label: only nodes of this type; None for all visible nodes.
        buffer: reads the store of the revision, and receives the new blocks.
    """
    root = filtered_root(revision, label, buffer)
    original = revision.commit
    commit = Commit(
        root,
        author="" if original is None else original.author,
        time=0 if original is None else original.time,
        message="export" if label is None else f"export of {label}",
    ).encode()
    cid = CommitCid.of(commit)
    buffer.put(cid, commit)
    return cid


def filtered_root(revision: Graph, label: str | None, buffer: WriteBatch) -> RootCid:
    """Stores a root that has only the visible part of a revision, and returns it."""
    root = revision.root
    chosen = (node for node in revision.nodes() if label is None or node.ntype == label)
    shown = {node.id.raw: _put(node, buffer) for node in chosen}
    keys = sorted(shown)
    buffer.put(EMPTY_TREE, EMPTY_TREE_BLOCK)
    whole = replace(
        root,
        nodes=_built(iter(shown.items()), buffer),
        edges=_built(_edges(buffer, root.edges, shown), buffer),
        tombstones=_built(_tombstones(buffer, revision, label), buffer),
        conflicts=EMPTY_TREE,
    )
    vectors = {
        (family, name): _built(_some(buffer, tree, keys), buffer)
        for (family, name), tree in root.trees().items()
        if name
    }
    block = whole.with_trees(vectors).encode()
    cid = RootCid.of(block)
    buffer.put(cid, block)
    return cid


def _put(node: Node, buffer: WriteBatch) -> Cid:
    """Stores a node as it is visible, and returns its CID."""
    block = node.encode()
    cid = NodeCid.of(block)
    buffer.put(cid, block)
    return cid


def _built(entries: Entries, buffer: WriteBatch) -> TreeCid:
    return build(list(entries), buffer)


def _some(buffer: WriteBatch, tree: TreeCid, keys: Iterable[bytes]) -> Entries:
    found = Tree(buffer, tree)
    waiting = iter(keys)
    while batch := list(islice(waiting, _BATCH_KEYS)):
        for key, cid in zip(batch, found.get_many(batch), strict=True):
            if cid is not None:
                yield key, cid


def _edges(buffer: WriteBatch, tree: TreeCid, shown: Container[bytes]) -> Entries:
    for key, cid in Tree(buffer, tree).items():
        edge = Edge.decode(buffer.get(cid))
        if edge.src.raw in shown and edge.dst.raw in shown:
            yield key, cid


def _tombstones(buffer: WriteBatch, revision: Graph, label: str | None) -> Entries:
    for key, cid in Tree(buffer, revision.root.tombstones).items():
        try:
            node = revision.node(NodeId(key), include_tombstoned=True)
        except NotFoundError:
            continue
        if label is None or node.ntype == label:
            yield key, cid


def export(
    repository: Core,
    stream: Writable,
    *,
    branches: Sequence[str] = (),
    since: object = None,
    include: Sequence[str] = (),
    full: bool = False,
) -> CopyReport:
    """Writes a bundle of all blocks reachable from the refs; the same state gives the same bytes.

    Args:
        repository: whose refs are exported.
        stream: receives the file.
        branches: short names; if given, only these, and no tags.
        since: a revision; its history is left out, and an importing repository must have it.
        include: out of `notes`, `runs`, `receipts`, `refs`.
        full: everything, including the operation log and all that it can undo to.

    Raises:
        NotFoundError: there is no such branch or revision.
    """
    if full:
        if branches or since is not None:
            raise InvalidInputError("export: got a part of the history for a full copy")
        return _full(repository, stream)
    offered = _still(offer(repository, prefixes(tuple(include))))
    chosen = dict(offered.refs)
    if branches:
        chosen = _only(chosen, branches)
    had: list[CommitCid] = []
    if since is not None:
        start = repository.resolve(since)
        assert start is not None, "BUG: resolve returned None"
        had.append(start)
    bundle = replace(offered, refs=chosen, head=_head(offered.head, chosen), requires=tuple(had))
    return _written(repository, stream, bundle, had)


def _full(repository: Core, stream: Writable) -> CopyReport:
    offered = _still(offer(repository, prefixes(tuple(OPTIONAL))))
    log = local_log(repository.store)
    newest = OperationCid(next(iter(log.cids)).raw)
    bundle = replace(offered, operation=newest)
    return _written(repository, stream, bundle, (), log=log)


def export_part(
    repository: Core,
    stream: Writable,
    *,
    at: object = HEAD,
    label: str | None = None,
    viewer: Viewer | None = None,
    branch: str | None = None,
) -> CopyReport:
    """Writes a bundle with one commit: only the visible nodes, with their edges and vectors.

    Args:
        repository: contains the revision.
        stream: receives the file.
        at: the revision whose state is written; its history is not.
        label: only nodes of this type.
        viewer: the caller who will read the file, if the state has a trust policy.
        branch: short name of the branch of the commit in the file; by default the current one.
    """
    buffer = WriteBatch(repository.store)
    seen = repository.graph(at).seen_by(viewer)
    commit = filtered_commit(seen, label, buffer)
    short = repository.current_branch if branch is None else branch
    name = refs.HEADS + refs.check_name("branch", short)
    bundle = Bundle(
        {name: Tip(commit, 0)}, name, seen.root.config, erasures=erasures_of(repository)
    )
    return _written(repository, stream, bundle, (), buffer)


def export_refs(repository: Core, stream: Writable, targets: Mapping[str, Cid]) -> CopyReport:
    """Writes a bundle with some refs, by full name, and only the blocks reachable from them."""
    refs_of = {name: Tip(target, 0) for name, target in targets.items()}
    bundle = Bundle(refs_of, repository.view.head, erasures=erasures_of(repository))
    return _written(repository, stream, bundle, ())


def write_refs(repository: Core, targets: Mapping[str, Cid], file: Path) -> int:
    """Writes a CAR with some refs, by full name, and all blocks reachable from them; returns its
    size.
    """
    with new_file(file) as stream:
        export_refs(repository, stream, targets)
    return file.stat().st_size


def _written(
    repository: Core,
    stream: Writable,
    bundle: Bundle,
    had: Sequence[Cid],
    source: Source | None = None,
    log: LocalLog | None = None,
) -> CopyReport:
    store = repository.store
    targets = {tip.target for tip in bundle.refs.values()}
    if log is not None:
        targets |= set(log.targets)
    counted = Counted("writing blocks", repository.progress)
    pack = Pack(
        source or store,
        sorted(targets),
        had,
        is_erased=is_erased_in(repository),
        more=bundle.erasures if log is None else log.cids,
    )
    for part in container(bundle, counted.of(pack)):
        stream.write(part)
    moves = (RefMove(name, None, tip.target, Move.CREATED) for name, tip in bundle.refs.items())
    return CopyReport(tuple(moves), counted.block_count, counted.size_bytes)


def _still(offered: Bundle) -> Bundle:
    """Returns a bundle without the refs' counts of moves: a file records only their targets."""
    return replace(offered, refs={name: Tip(tip.target, 0) for name, tip in offered.refs.items()})


def _only(found: dict[str, Tip], branches: Sequence[str]) -> dict[str, Tip]:
    chosen = {}
    for branch in branches:
        name = refs.HEADS + refs.check_name("branch", branch)
        if name not in found:
            raise NotFoundError(f"branch {branch!r}: there is none of that name")
        chosen[name] = found[name]
    kept = {
        name: tip for name, tip in found.items() if not name.startswith((refs.HEADS, refs.TAGS))
    }
    return {**chosen, **kept}


def _head(head: str, chosen: dict[str, Tip]) -> str:
    """Returns the sender's current branch if it is included, else the first branch that is."""
    heads = sorted(name for name in chosen if name.startswith(refs.HEADS))
    return head if head in chosen or not heads else heads[0]
