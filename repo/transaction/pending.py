"""The staged changes of a transaction: blocks, edits, and vectors whose digest is not known yet.

Reads see the staged state: an edit if there is one, else the tree of the base. If blocks and
vectors exceed a limit, they move into a file, the vectors as made from the texts of that moment: a
vector whose text comes or changes afterwards waits for the commit again. Several threads may stage
and read at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from heapq import merge
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import BlobCid, Cid, NodeCid
from ibidem.objects.config import TRUST_SETTING, Config, Model
from ibidem.objects.edge import Edge
from ibidem.objects.errors import (
    CorruptError,
    ErasedError,
    ErrorKind,
    IbidemError,
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.forking import ForkLock
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.location import Part
from ibidem.objects.node import Node, join_content
from ibidem.objects.root import CONFLICTS, EDGES, NODES
from ibidem.objects.text import node_text, text_digest
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.tree import EMPTY_TREE, Tree
from ibidem.objects.tree.read import BATCH_BLOCKS
from ibidem.objects.vector import NodeVector, Sparse, Vector
from ibidem.repo.id_prefix import resolve_prefix
from ibidem.repo.maintenance.source_check import KnownParts, new_parts, part_in
from ibidem.repo.transaction.changeset import ChangeSet, applied, dimension_mismatch
from ibidem.repo.transaction.staged_blocks import (
    ENTRY_BYTES,
    STAGED_BYTES_MAX,
    StagedBlocks,
    StagingFile,
)
from ibidem.retrieve.access.policy import policy_of

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.root import Root, TreeName
    from ibidem.repo.events import Event
    from ibidem.retrieve.access.policy import TrustPolicy

Staged = Node | Edge | Tombstone | NodeVector
Incident = Callable[["Root", NodeId], Iterable[EdgeId]]
_ABSENT: Any = object()
_LEAVES_KEPT = 16_384
"""Maximal number of cached leaves of each tree, about 4 kB each, 13 kB at most: keys are read in no
order.
"""
_AHEAD_NODES_MAX = 16_384
"""Maximal number of prefetched nodes, about 2 kB each."""
_STAGED_NODES_MAX = 16_384
"""Maximal number of staged nodes that are kept decoded."""
_NO_DIGEST = bytes(32)


class PendingGraph:
    """The staged state of one transaction."""

    def __init__(
        self, source: Source, base: Root, incident: Incident, folder: Path | None = None
    ) -> None:
        """Stages nothing yet.

        Args:
            folder: for the file of a large transaction; None if all of it stays in memory.
        """
        self.base = base
        self.edits = ChangeSet()
        self.source = source
        self.staged_bytes_max = STAGED_BYTES_MAX
        """The most that blocks and vectors take in memory before they move into the file."""
        self.held_bytes = 0
        """What they take now."""
        self._lock = ForkLock()
        """Held while something is staged, or moves into the file."""
        self._folder = folder if hasattr(os, "pread") else None
        self._file: StagingFile | None = None
        self._parts: dict[Cid, Part] = {}
        """What blocks of nodes in the file are of documents."""
        self._contents: list[BlobCid] = []
        """Raw blocks of staged content, in the order in which they were staged."""
        self.change_count = 0
        """The number of changes so far."""
        self._buffer = WriteBatch(source)
        self._config = Config.from_map(base.config)
        self.policy = _policy_of(self._config)
        """The trust policy as staged; None for none."""
        self._incident = incident
        self._pending: dict[TreeName, dict[bytes, NodeVector]] = {}
        """Vectors that are encoded at commit, with the digest of the node's text at that time."""
        self._encoded: dict[TreeName, dict[bytes, Cid]] = {}
        """Vectors that are encoded already, with the digest of the text that the node has."""
        self._dated: set[tuple[TreeName, bytes]] = set()
        """Digests that were given for some of these vectors."""
        self._touching: dict[bytes, list[bytes]] | None = None
        """Staged edges by node, once they are asked for: a load never does."""
        self._trees: dict[TreeName, Tree] = {}
        self._nodes: dict[bytes, Node] = {}
        """The last staged nodes by id, the same as in `edits`: their texts need no decoding if they
        get vectors soon."""
        self._digests: dict[bytes, bytes] = {}
        """Digests of the texts of nodes with vectors, kept instead of the nodes: a load has many.
        """
        self._ahead: dict[bytes, Node] = {}
        """Prefetched nodes of the base, by id; `edits` takes precedence."""

    def cid(self, tree_name: TreeName, raw: bytes) -> Cid | None:
        """Returns the CID at a key, None if there is none."""
        staged: Cid | None = self.edits.of(tree_name).get(raw, _ABSENT)
        if staged is not _ABSENT:
            return staged
        tree = self._tree(tree_name)
        return None if tree.cid is EMPTY_TREE else tree.get(raw)

    def block(self, cid: Cid) -> bytes:
        """Returns a block, staged or stored."""
        return self._buffer.get(cid)

    def node(self, raw: bytes) -> Node | None:
        """Returns a node, staged or stored, None if there is none."""
        if raw in self._ahead and raw not in self.edits.of(NODES):
            return self._ahead[raw]
        cid = self.cid(NODES, raw)
        return None if cid is None else Node.decode(self._buffer.get(cid))

    def read_ahead(self, ids: Iterable[NodeId]) -> None:
        """Prefetches stored nodes and their descendants, one level per batch, and keeps them until
        the next call; an unreadable node raises only when it is read itself.
        """
        self._ahead.clear()
        level, visited = {id_.raw for id_ in ids}, set[bytes]()
        while level:
            visited |= level
            try:
                nodes = self._read_level(level)
            except IbidemError:
                return
            level = {child.id.raw for node in nodes for child in node.children} - visited

    def _read_level(self, ids: Iterable[bytes]) -> list[Node]:
        """Prefetches stored nodes that are not cached yet, in one batch; returns them."""
        keys = sorted(set(ids) - self.edits.of(NODES).keys() - self._ahead.keys())
        keys = keys[: _AHEAD_NODES_MAX - len(self._ahead)]
        found = zip(keys, self._tree(NODES).get_many(keys), strict=True)
        cids = {key: cid for key, cid in found if cid is not None}
        nodes = [Node.decode(block) for block in self._buffer.get_many(cids.values())]
        self._ahead.update(zip(cids, nodes, strict=True))
        return nodes

    def stage(self, tree_name: TreeName, raw: bytes, value: Staged) -> None:
        """Sets the value at a key, replacing any other.

        Raises:
            StorageError: there is no space for what is staged; nothing was changed.
        """
        with self._lock:
            if self.held_bytes > self.staged_bytes_max:
                self._make_room()
            if (
                tree_name == EDGES
                and self.base.conflicts != EMPTY_TREE
                and not self.cid(tree_name, raw)
            ):
                # A conflict about an edge that is not in the graph: restoring the edge resolves it.
                self.settle(raw)
            self.change_count += 1
            if self.policy is not None and isinstance(value, Node):
                self.policy.check_labels(value.props)
            block = value.encode()
            cid = value.CID.of(block)
            self._buffer.new[cid] = block
            self.held_bytes += len(block) + ENTRY_BYTES
            self.edits.of(tree_name)[raw] = cid
            if isinstance(value, Node):
                if self._encoded:
                    self._decode_vectors(raw)
                if len(self._nodes) >= _STAGED_NODES_MAX:
                    self._nodes.clear()
                self._nodes[raw] = value
                self._digests.pop(raw, None)
            elif isinstance(value, Edge) and self._touching is not None:
                self._touch(self._touching, value)

    def stage_new(
        self, tree_name: TreeName, raw: bytes, value: Node | Edge, *, may_replace: bool
    ) -> None:
        """Sets a value at a key that is free, has the same value, or may be replaced.

        Raises:
            InvalidInputError: kind `id-collision`.
        """
        before = self.cid(tree_name, raw)
        if before is not None and not may_replace and value.CID.of(value.encode()) != before:
            raise InvalidInputError(
                f"{value.KIND} {raw.hex()} is there with another value",
                kind=ErrorKind.ID_COLLISION,
                hint="update it, or replace it: replace=True, --replace",
            )
        self.stage(tree_name, raw, value)

    def remove(self, tree_name: TreeName, raw: bytes) -> None:
        """Removes the value at a key."""
        with self._lock:
            self.change_count += 1
            self._pending.get(tree_name, {}).pop(raw, None)
            self._encoded.get(tree_name, {}).pop(raw, None)
            if tree_name == NODES:
                self._nodes.pop(raw, None)
                self._digests.pop(raw, None)
            if tree_name in (NODES, EDGES):
                self.settle(raw)
            self.edits.of(tree_name)[raw] = None

    def settle(self, raw: bytes) -> None:
        """Removes the conflict about a node or edge, if there is one."""
        if self.base.conflicts != EMPTY_TREE and self.cid(CONFLICTS, raw) is not None:
            self.edits.of(CONFLICTS)[raw] = None

    def values(self, node: Node) -> list[Node]:
        """Returns the values of a node: itself, and those of the sides of a conflict about it."""
        if self.base.conflicts == EMPTY_TREE:
            return [node]
        from ibidem.repo.merge.conflicts import nodes_of

        return [node, *nodes_of(self.source, self.cid(CONFLICTS, node.id.raw))]

    def nodes(self) -> Iterator[bytes]:
        """Yields the blocks of the nodes, by id."""
        staged = self.edits.of(NODES)
        cids = dict(self._tree(NODES).items())
        # `copy` runs no other code; a list of items makes tuples, which can collect garbage.
        cids.update((key, cid) for key, cid in staged.copy().items() if cid is not None)
        ordered = sorted(cids)
        for start in range(0, len(ordered), BATCH_BLOCKS):
            keys = ordered[start : start + BATCH_BLOCKS]
            there = [key for key in keys if staged.get(key, _ABSENT) is not None]
            blocks = self._buffer.get_many(cids[key] for key in there)
            for key, block in zip(there, blocks, strict=True):
                if staged.get(key, _ABSENT) is not None:
                    yield block

    def node_id(self, prefix: str) -> NodeId:
        """Returns the id of the only node with this prefix; as `beginning.resolve_prefix`."""
        return resolve_prefix(
            prefix,
            NodeId.parse,
            lambda first: map(NodeId, self._keys_from(NODES, first)),
            where="at HEAD with what is staged",
        )

    def edge_id(self, prefix: str) -> EdgeId:
        """Returns the id of the only edge with this prefix; as `beginning.resolve_prefix`."""
        return resolve_prefix(
            prefix,
            EdgeId.parse,
            lambda first: map(EdgeId, self._keys_from(EDGES, first)),
            noun="edge",
            where="at HEAD with what is staged",
        )

    def edges_of(self, id: NodeId) -> list[EdgeId]:  # noqa: A002
        """Returns the edges that begin or end at a node."""
        staged = self.edits.of(EDGES)
        stored = [edge.raw for edge in self._incident(self.base, id)]
        with self._lock:
            if self._touching is None:
                self._touching = {}
                for cid in staged.values():
                    if cid is not None:
                        self._touch(self._touching, Edge.decode(self._buffer.get(cid)))
        found = {*stored, *self._touching.get(id.raw, ())}
        return [EdgeId(raw) for raw in sorted(found) if staged.get(raw, _ABSENT) is not None]

    @staticmethod
    def _touch(touching: dict[bytes, list[bytes]], edge: Edge) -> None:
        for node in (edge.src, edge.dst):
            touching.setdefault(node.raw, []).append(edge.id.raw)

    def content(self, node: Node) -> bytes | None:
        """Returns the whole content of a node, None if it has none."""
        if not isinstance(node.content, tuple):
            return node.content
        return join_content(map(self._buffer.get, node.content))

    def note(self, space: str, events: Iterable[Event]) -> None:
        """Adds events for a space of notes."""
        self.change_count += 1
        self.edits.events.setdefault(space, []).extend(events)

    def staged(self) -> tuple[Root, WriteBatch]:
        """Returns the root of the staged state, without staged vectors, and its new blocks."""
        with self._lock:
            buffer = WriteBatch(self._buffer.source)
            buffer.new.update(self._buffer.new)
            edits = ChangeSet(dict(self.edits.trees), config=self.edits.config)
            root = applied(self.base, edits, buffer)
        buffer.put(root.cid, root.encode())
        return root, buffer

    # -- vectors -------------------------------------------------------------------------------

    def register_model(self, name: str, model: Model) -> None:
        """Sets the metadata of a model; does nothing if it is registered with equal metadata.

        Raises:
            InvalidInputError: kind `model-mismatch`.
        """
        known = self._config.models.get(name) or self.edits.models.get(name)
        if known is None:
            self.edits.models[name] = model
        elif known != model:
            raise InvalidInputError(
                f"model {name!r}: got {model}, expected {known} as it is registered",
                kind=ErrorKind.MODEL_MISMATCH,
                hint="use another model name for another model",
            )

    def set_trust(self, policy: TrustPolicy | None) -> None:
        """Sets a trust policy, None for none; nodes staged from now on are checked against it."""
        if policy is not None:
            for cid in list(self.edits.of(NODES).values()):
                if cid is not None:
                    policy.check_labels(Node.decode(self._buffer.get(cid)).props)
        self.change_count += 1
        self.policy = policy
        self.edits.config[TRUST_SETTING] = None if policy is None else policy.form()

    def configure(self, settings: Mapping[str, object]) -> None:
        """Sets settings of questions and conversations; None restores the program's default."""
        # Few transactions change a setting, and the checks load the options of questions.
        from ibidem.retrieve.query.settings import FUSION_FIELD, changed_fields

        model = settings.get("model")
        if model is not None and model not in {**self._config.models, **self.edits.models}:
            raise InvalidInputError(
                f"model: the graph has no vectors of {model!r:.80}",
                kind=ErrorKind.UNKNOWN_MODEL,
                hint="run 'repo embed --model MODEL' to make them, then set the model",
            )
        staged = self.edits.config.get(FUSION_FIELD, self._config.fusion)
        config = replace(self._config, fusion=staged or Config.default().fusion)
        self.edits.config |= changed_fields(config, settings)

    def set_vector(self, model: str, raw: bytes, value: Vector, of: bytes | None) -> None:
        """Sets a vector under a model, which the first use registers.

        Raises:
            InvalidInputError: kind `dimension-mismatch`.
        """
        known = self._config.models.get(model) or self.edits.models.get(model)
        if known is None:
            self.edits.models[model] = Model(value.dim, dtype=value.dtype)
        elif known.dim != value.dim:
            raise dimension_mismatch(model, value.dim, known.dim)
        self.attach(("vectors", model), raw, value, of)

    def attach(self, tree_name: TreeName, raw: bytes, value: NodeVector, of: bytes | None) -> None:
        """Sets a vector of any family; `of` is None for a vector of the text at commit."""
        with self._lock:
            if self.held_bytes > self.staged_bytes_max:
                self._make_room()
            self.change_count += 1
            self._pending.setdefault(tree_name, {})[raw] = value
            if self._encoded:
                self._encoded.get(tree_name, {}).pop(raw, None)
            self.held_bytes += _size_bytes(value) + ENTRY_BYTES
            if of is not None:
                self._dated.add((tree_name, raw))
                return
            if self._dated:
                self._dated.discard((tree_name, raw))
            if raw in self._nodes:
                self._digests[raw] = self._text_digest(raw)
                del self._nodes[raw]

    def has_vector(self, tree_name: TreeName, raw: bytes) -> bool:
        """Returns whether a node has a vector in a family."""
        waiting = (self._pending, self._encoded)
        if any(raw in vectors.get(tree_name, ()) for vectors in waiting):
            return True
        return self.cid(tree_name, raw) is not None

    def committed_vector(self, tree_name: TreeName, raw: bytes) -> NodeVector | None:
        """Returns the vector of a node in the base, None if it has none."""
        cid = Tree(self.source, self.base.tree(*tree_name)).get(raw)
        if cid is None:
            return None
        cls = Vector if tree_name[0] == "vectors" else Sparse
        return cls.decode(self.source.get(cid))

    def vector_trees(self) -> list[TreeName]:
        """Returns the trees of every model and vocabulary, of the base and staged."""
        found = {*self._pending, *self._encoded, *self.edits.trees, *self.base.trees()}
        return sorted(tree_name for tree_name in found if tree_name[1])

    # -- commit --------------------------------------------------------------------------------

    def finish(self) -> tuple[ChangeSet, Mapping[Cid, bytes]]:
        """Returns the edits and the blocks that they refer to, with digests of texts filled in."""
        with self._lock:
            for tree_name, cids in self._encoded.items():
                self.edits.of(tree_name).update(cids)
            for tree_name, vectors in self._pending.items():
                for raw in list(vectors):
                    value = vectors[raw]
                    self.edits.of(tree_name)[raw] = self._put_vector(tree_name, raw, value)
                    del vectors[raw]  # its block replaces it in memory
            self._pending.clear()
            self._encoded.clear()
            self.edits.models = {
                name: model
                for name, model in self.edits.models.items()
                if any(self.edits.of(("vectors", name)).values())
            }
            self._check_sources()
            new = self._buffer.new
            if self._file is not None:
                return self.edits, StagedBlocks(
                    self._buffer, self._file, self.edits, self._contents
                )
            blocks: dict[Cid, bytes] = {cid: new[cid] for cid in self._contents}
            for entries in self.edits.trees.values():
                for cid in entries.values():
                    if cid is not None and (block := new.get(cid)) is not None:
                        blocks[cid] = block
            return self.edits, blocks

    def put_contents(self, parts: Mapping[BlobCid, bytes]) -> None:
        """Keeps raw blocks of content that a staged node refers to."""
        for cid, part in parts.items():
            with self._lock:
                self._buffer.put(cid, part)
                self._contents.append(cid)
                self.held_bytes += len(part) + ENTRY_BYTES

    def release(self) -> None:
        """Drops what was staged, with the file unless a graph as staged still reads it."""
        self._buffer = WriteBatch(self.source)
        self._file = None
        self.edits = ChangeSet()
        self._touching = None
        self._trees.clear()
        for held in (
            self._nodes,
            self._pending,
            self._encoded,
            self._digests,
            self._parts,
            self._ahead,
        ):
            held.clear()

    # -- memory --------------------------------------------------------------------------------

    def _make_room(self) -> None:
        """Moves blocks and vectors into the file."""
        if self._folder is None:
            return
        for tree_name, vectors in self._pending.items():
            encoded = self._encoded.setdefault(tree_name, {})
            for raw in list(vectors):
                encoded[raw] = self._put_vector(tree_name, raw, vectors[raw])
                del vectors[raw]
        self._digests.clear()
        self._spill()

    def _spill(self) -> None:
        if self._folder is None:
            return
        if self._file is None:
            self._file = StagingFile(self._folder, self.source)
        new = self._buffer.new
        self._file.add(new)
        self._parts.update(
            (cid, part)
            for cid, block in new.items()
            if type(cid) is NodeCid and (part := part_in(block)) is not None
        )
        self._buffer.source = self._file
        self._buffer.new = {}  # another thread may be reading from the other
        self.held_bytes = 0

    def _decode_vectors(self, raw: bytes) -> None:
        """Lets the vectors of a node that has changed wait for its text at commit again."""
        for tree_name, cids in self._encoded.items():
            if raw in cids and (tree_name, raw) not in self._dated:
                cls = Vector if tree_name[0] == "vectors" else Sparse
                value = cls.decode(self._buffer.get(cids.pop(raw)))
                self._pending.setdefault(tree_name, {})[raw] = value
                self.held_bytes += _size_bytes(value) + ENTRY_BYTES

    def _put_vector(self, tree_name: TreeName, raw: bytes, value: NodeVector) -> Cid:
        """Keeps the block of a vector instead of the vector, with the digest that was given for it,
        else that of its node's text; returns the CID.
        """
        if self.held_bytes > self.staged_bytes_max:
            self._spill()
        final = value if (tree_name, raw) in self._dated else self._made(raw, value)
        block = final.encode()
        cid: Cid = final.CID.of(block)
        self._buffer.new[cid] = block
        self.held_bytes += len(block) - _size_bytes(value)
        return cid

    def _check_sources(self) -> None:
        """Raises if the source of a document or section exceeds the limits, or a node contains
        itself.
        """
        staged = self.edits.of(NODES)
        new = self._buffer.new
        parts: dict[bytes, Part] = {}
        for node, cid in staged.items():
            if cid is not None:
                block = new.get(cid)
                part = self._parts.get(cid) if block is None else part_in(block)
                if part is not None:
                    parts[node] = part

        def parts_of(ids: Sequence[bytes]) -> Iterator[Part | None]:
            with suppress(IbidemError):  # then each is read on its own
                self._read_level(ids)
            for raw in ids:
                found = parts.get(raw)
                if raw not in staged:
                    with suppress(NotFoundError):  # it is lost or erased, and stays as it was
                        node = self.node(raw)
                        found = Part.of(node) if node is not None and node.children else None
                yield found

        before = self._stored_parts(parts)
        starts = dict.fromkeys(
            start for raw, part in parts.items() for start in new_parts(raw, part, before.get(raw))
        )
        for _, error in KnownParts().problems(list(starts), parts_of):
            raise InvalidInputError(str(error), kind=_kind_of(error)) from error

    def _stored_parts(self, ids: Iterable[bytes]) -> dict[bytes, Part | None]:
        """Returns the parts of stored nodes; lost or erased ones have no children."""
        wanted = list(ids)
        stored = self._tree(NODES).get_many(wanted) if wanted else []
        there = {raw: cid for raw, cid in zip(wanted, stored, strict=True) if cid is not None}
        try:
            blocks = self._buffer.get_many(there.values())
        except NotFoundError:
            blocks = [self._block_or_nothing(cid) for cid in there.values()]
        return dict(zip(there, map(part_in, blocks), strict=True))

    def _block_or_nothing(self, cid: Cid) -> bytes:
        try:
            return self._buffer.get(cid)
        except NotFoundError:
            return b""

    def _made(self, raw: bytes, value: NodeVector) -> NodeVector:
        """Returns a vector of the text that its node has now."""
        try:
            return value.made_from(self._text_digest(raw))
        except ErasedError:
            return value  # publishing leaves it out

    def _text_digest(self, raw: bytes) -> bytes:
        digest = self._digests.get(raw)
        if digest is not None:
            return digest
        node = self._nodes.get(raw)
        if node is None:
            cid = self.cid(NODES, raw)
            if cid is None:
                # The check of references rejects it and names the node.
                return _NO_DIGEST
            node = Node.decode(self._buffer.get(cid))
        return text_digest(node_text(node, self._config.fields, self.content(node)))

    def _keys_from(self, tree_name: TreeName, first: bytes) -> Iterator[bytes]:
        """Yields the keys from a given one on, ascending."""
        staged = self.edits.of(tree_name)
        stored = (key for key, _ in self._tree(tree_name).range(first))
        new = sorted(key for key in list(staged) if key >= first)
        for key, _ in groupby(merge(stored, new)):
            if staged.get(key, _ABSENT) is not None:
                yield key

    def _tree(self, tree_name: TreeName) -> Tree:
        tree = self._trees.get(tree_name)
        if tree is None:
            cid = self.base.tree(*tree_name)
            if cid == EMPTY_TREE:
                cid = EMPTY_TREE  # the same object, which `cid` looks for
            tree = self._trees[tree_name] = Tree(self._buffer, cid, leaves_kept=_LEAVES_KEPT)
        return tree


def _size_bytes(value: NodeVector) -> int:
    """Returns the size of the numbers in a vector."""
    if isinstance(value, Sparse):
        return len(value.indices) + len(value.weights)
    return len(value.data) if isinstance(value, Vector) else 0


def _kind_of(error: CorruptError) -> ErrorKind | None:
    """Returns the kind of an error if it is more specific than the general one."""
    return error.kind if error.kind is ErrorKind.LIMIT_EXCEEDED else None


def _policy_of(config: Config) -> TrustPolicy | None:
    if TRUST_SETTING not in config.extra:
        return None
    return policy_of(config)
