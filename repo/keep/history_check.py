"""Checks what single blocks cannot show: whole trees, references in them, the operation log.

A tree is what `build` makes of its entries. That is proved for the trees of one root outright, and
for those of the next by laying the difference on them, so a long history costs what it changed.
References are followed likewise: everything that a root adds is looked up, and everything that it
takes away is looked for among what refers to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ibidem.objects.blocks import Buffer
from ibidem.objects.cid import Cid, CommitCid, OperationCid, RootCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.config import Config
from ibidem.objects.edge import Edge
from ibidem.objects.errors import CorruptError, IbidemError, InvalidInputError, NotFoundError
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, Tree, diff, mutate
from ibidem.objects.tree import verify as verify_tree
from ibidem.objects.vector import Vector
from ibidem.objects.view import View
from ibidem.repo.keep.report import Fault, FaultKind

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.operation import Operation

EMPTY = Root(EMPTY_TREE, EMPTY_TREE, EMPTY_TREE, EMPTY_TREE)


class RootCheck:
    """Checks roots, each against one that was checked before it."""

    def __init__(self, source: Source, is_erased: frozenset[bytes] | set[bytes]) -> None:
        self._source = source
        self._erased = is_erased
        self._whole: set[bytes] = {EMPTY_TREE.raw}
        self._done: set[bytes] = set()
        self._touching: dict[bytes, set[bytes]] = {}
        """By node id, the ids of the edges that any root so far has had on it."""
        self.faults: list[Fault] = []

    def check(self, cid: RootCid, before: RootCid | None, owner: str) -> None:
        """Checks a root; `before` is one that differs little from it and was checked."""
        if cid.raw in self._done:
            return
        self._done.add(cid.raw)
        try:
            root = Root.decode(self._source.get(cid))
            old = EMPTY
            if before is not None and before.raw in self._done:
                old = Root.decode(self._source.get(before))
            for name, tree, base in _trees(root, old):
                self._check_tree(name, tree, base, owner)
            self._check_references(root, old, owner)
        except (NotFoundError, CorruptError):
            return  # a block that is missing or damaged was told of by the walk

    def _check_tree(self, name: str, tree: TreeCid, base: TreeCid, owner: str) -> None:
        if tree.raw in self._whole:
            return
        self._whole.add(tree.raw)
        try:
            if base == EMPTY_TREE:
                verify_tree(self._source, tree)
                return
            edits = {key: now for key, _, now in diff(self._source, base, tree)}
            if mutate(base, edits, Buffer(self._source)) == tree:
                return
            verify_tree(self._source, tree)  # names the block that is wrong
            detail = "it is not what its difference from the tree before it makes"
        except CorruptError as error:
            if error.kind != CorruptError.kind:
                raise
            detail = str(error)
        self.faults.append(Fault(FaultKind.MALFORMED, f"{name} {tree}", detail, tree, owner))

    def _check_references(self, root: Root, old: Root, owner: str) -> None:
        nodes, conflicts = Tree(self._source, root.nodes), Tree(self._source, root.conflicts)
        edges = Tree(self._source, root.edges)

        def dangling(what: str, key: bytes, end: bytes) -> None:
            if what == "edge" and key in conflicts:
                return  # a recorded conflict: the other side removed the node
            detail = f"node {end.hex()}, which it refers to, is not in the graph"
            self.faults.append(
                Fault(FaultKind.DANGLING, f"{what} {key.hex()}", detail, None, owner)
            )

        for key, _, now in diff(self._source, old.edges, root.edges):
            edge = None if now is None else self._edge(now)
            for end in () if edge is None else (edge.src.raw, edge.dst.raw):
                self._touching.setdefault(end, set()).add(key)
                if nodes.get(end) is None:
                    dangling("edge", key, end)
        config = Config.from_map(root.config)
        for field in ("vectors", "sparse"):
            trees: Mapping[str, TreeCid] = getattr(root, field)
            for name, tree in trees.items():
                base = getattr(old, field).get(name, EMPTY_TREE)
                for key, _, now in diff(self._source, base, tree):
                    if now is None:
                        continue
                    if nodes.get(key) is None:
                        dangling(f"{field} {name!r}", key, key)
                    elif field == "vectors":
                        self._check_dim(config, name, key, now, owner)
        for key, _, now in diff(self._source, old.nodes, root.nodes):
            if now is not None:
                continue
            for id_ in self._touching.get(key, ()):
                if id_ in edges:
                    dangling("edge", id_, key)
            for field in ("vectors", "sparse"):
                for name, tree in getattr(root, field).items():
                    if key in Tree(self._source, tree):
                        dangling(f"{field} {name!r}", key, key)

    def _edge(self, cid: Cid) -> Edge | None:
        if cid.raw in self._erased:
            return None
        return Edge.decode(self._source.get(cid))

    def _check_dim(self, config: Config, model: str, key: bytes, cid: Cid, owner: str) -> None:
        known = config.models.get(model)
        if known is None or cid.raw in self._erased:
            return
        dim = Vector.decode(self._source.get(cid)).dim
        if dim != known.dim:
            detail = f"it has {dim} dimensions, model {model!r} has {known.dim}"
            where = f"vector of {key.hex()}"
            self.faults.append(Fault(FaultKind.MALFORMED, where, detail, cid, owner))


def in_order(source: Source, commits: Iterable[bytes]) -> Iterator[tuple[CommitCid, Commit]]:
    """Yields commits by CID, each after its parents; unreadable ones are left out."""
    found: dict[bytes, Commit] = {}
    for raw in commits:
        try:
            found[raw] = Commit.decode(source.get(CommitCid(raw)))
        except IbidemError:
            continue
    done: set[bytes] = set()
    for start in found:
        waiting = [start]
        while waiting:
            raw = waiting[-1]
            if raw in done:
                waiting.pop()
                continue
            missing = [
                parent.raw
                for parent in found[raw].parents
                if parent.raw in found and parent.raw not in done
            ]
            if missing:
                waiting.extend(missing)
                continue
            done.add(raw)
            waiting.pop()
            yield CommitCid(raw), found[raw]


def check_log(
    source: Source,
    operations: list[tuple[OperationCid, Operation]],
    horizon: OperationCid | None,
) -> Iterator[Fault]:
    """Yields what is wrong with how operations and views follow each other."""
    known = dict(operations)
    for cid, operation in operations:
        try:
            view = View.decode(source.get(operation.view))
            before = [
                View.decode(source.get(known[parent].view))
                for parent in operation.parents
                if parent in known
            ]
        except (IbidemError, InvalidInputError):
            continue  # told of by the walk
        where = f"operation {cid}"
        if not view.head.startswith("heads/"):
            yield Fault(FaultKind.LOG, where, f"its current branch is {view.head!r:.80}", cid)
        if not operation.parents and view.previous is not None and cid != horizon:
            yield Fault(FaultKind.LOG, where, "it is the first, and its view has one before", cid)
        for parent in before:
            if view.previous != parent.cid or view.seq != parent.seq + 1:
                yield Fault(
                    FaultKind.LOG, where, "its view does not follow that of its parent", cid
                )


def _trees(root: Root, old: Root) -> Iterator[tuple[str, TreeCid, TreeCid]]:
    for name in ("nodes", "edges", "tombstones", "conflicts"):
        yield f"tree of {name}", getattr(root, name), getattr(old, name)
    for field in ("vectors", "sparse"):
        for model, tree in getattr(root, field).items():
            yield f"tree of {field} {model!r}", tree, getattr(old, field).get(model, EMPTY_TREE)
