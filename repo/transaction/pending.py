"""What a transaction has staged over its root: blocks, edits, vectors still without a digest.

Everything asked here sees the staged state: an edit where there is one, else the tree of the base.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from heapq import merge
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.config import TRUST_SETTING, Config, Model
from ibidem.objects.edge import Edge
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    IbidemError,
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.location import Part
from ibidem.objects.node import Node, join_content
from ibidem.objects.text import node_text, text_digest
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.tree import EMPTY_TREE, Tree
from ibidem.objects.tree.read import BATCH_BLOCKS
from ibidem.objects.vector import NodeVector, Vector
from ibidem.repo.id_prefix import resolve_prefix
from ibidem.repo.maintenance.source_check import KnownParts, new_parts, part_in
from ibidem.repo.transaction.changeset import (
    CONFLICTS,
    EDGES,
    NODES,
    ChangeSet,
    Family,
    dimension_mismatch,
    tree_of,
)
from ibidem.retrieve.access.policy import policy_of

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.root import Root
    from ibidem.retrieve.access.policy import TrustPolicy

Staged = Node | Edge | Tombstone | NodeVector
Incident = Callable[["Root", NodeId], Iterable[EdgeId]]
_ABSENT: Any = object()
_LEAVES_KEPT = 16_384
"""Of each tree, some 4 kB each, 13 kB at most: keys are asked for in no order."""
_AHEAD_NODES_MAX = 16_384
"""Nodes that are read ahead, some 2 kB each."""
_NO_DIGEST = bytes(32)


class PendingGraph:
    """The staged state of one transaction."""

    def __init__(self, source: Source, base: Root, incident: Incident) -> None:
        self.base = base
        self.edits = ChangeSet()
        self.blobs: dict[BlobCid, bytes] = {}
        """Raw blocks of staged content."""
        self.source = source
        self._buffer = WriteBatch(source)
        self._config = Config.from_map(base.config)
        self._labels = _policy_of(self._config)
        self._incident = incident
        self._pending: dict[Family, dict[bytes, NodeVector]] = {}
        """Vectors that are encoded at commit, with the digest of the text as it is then."""
        self._dated: set[tuple[Family, bytes]] = set()
        """Those of them whose digest was given."""
        self._touching: dict[bytes, set[bytes]] = {}
        self._trees: dict[Family, Tree] = {}
        self._nodes: dict[bytes, Node] = {}
        """Staged nodes by id, as they are in `edits`, so that their texts need no decoding."""
        self._digests: dict[bytes, bytes] = {}
        """Of the texts of those with vectors, in place of the node: a load keeps many."""
        self._ahead: dict[bytes, Node] = {}
        """Nodes of the base by id, read ahead; `edits` goes before them."""

    def cid(self, family: Family, raw: bytes) -> Cid | None:
        """Returns the CID at a key, None when there is none."""
        staged: Cid | None = self.edits.of(family).get(raw, _ABSENT)
        if staged is not _ABSENT:
            return staged
        tree = self._tree(family)
        return None if tree.cid is EMPTY_TREE else tree.get(raw)

    def block(self, cid: Cid) -> bytes:
        """Returns a block, staged or stored."""
        return self._buffer.get(cid)

    def node(self, raw: bytes) -> Node | None:
        """Returns a node, staged or stored, None when there is none."""
        if raw in self._ahead and raw not in self.edits.of(NODES):
            return self._ahead[raw]
        cid = self.cid(NODES, raw)
        return None if cid is None else Node.decode(self._buffer.get(cid))

    def read_ahead(self, ids: Iterable[NodeId]) -> None:
        """Reads stored nodes and all that stands below them, one level in one batch, and keeps them
        until the next call; what cannot be read is left for whoever asks for it."""
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
        """Reads those of some stored nodes ahead that are not, in one batch; returns them."""
        keys = sorted(set(ids) - self.edits.of(NODES).keys() - self._ahead.keys())
        keys = keys[: _AHEAD_NODES_MAX - len(self._ahead)]
        found = zip(keys, self._tree(NODES).get_many(keys), strict=True)
        cids = {key: cid for key, cid in found if cid is not None}
        nodes = [Node.decode(block) for block in self._buffer.get_many(cids.values())]
        self._ahead.update(zip(cids, nodes, strict=True))
        return nodes

    def stage(self, family: Family, raw: bytes, value: Staged) -> None:
        """Puts a value at a key, whatever is there."""
        if family == EDGES and self.base.conflicts != EMPTY_TREE and not self.cid(family, raw):
            # A conflict about an edge that is not in the graph: putting it back settles it.
            self.settle(raw)
        if self._labels is not None and type(value) is Node:
            self._labels.check_labels(value.props)
        block = value.encode()
        cid = value.CID.of(block)
        self._buffer.new[cid] = block
        self.edits.of(family)[raw] = cid
        if type(value) is Node:
            self._nodes[raw] = value
            self._digests.pop(raw, None)
        elif type(value) is Edge:
            for node in (value.src, value.dst):
                self._touching.setdefault(node.raw, set()).add(raw)

    def stage_new(
        self, family: Family, raw: bytes, value: Node | Edge, *, may_replace: bool
    ) -> None:
        """Puts a value at a key that is free, or holds the same value, or may be replaced.

        Raises:
            InvalidInputError: kind `id-collision`.
        """
        before = self.cid(family, raw)
        if before is not None and not may_replace and value.CID.of(value.encode()) != before:
            raise InvalidInputError(
                f"{value.KIND} {raw.hex()} is there with another value",
                kind=ErrorKind.ID_COLLISION,
                hint=f"change it with update_{value.KIND}, or say replace=True",
            )
        self.stage(family, raw, value)

    def remove(self, family: Family, raw: bytes) -> None:
        """Takes away what is at a key."""
        self._pending.get(family, {}).pop(raw, None)
        if family == NODES:
            self._nodes.pop(raw, None)
            self._digests.pop(raw, None)
        if family in (NODES, EDGES):
            self.settle(raw)
        self.edits.of(family)[raw] = None

    def settle(self, raw: bytes) -> None:
        """Takes away the conflict about a node or edge, where there is one."""
        if self.base.conflicts != EMPTY_TREE and self.cid(CONFLICTS, raw) is not None:
            self.edits.of(CONFLICTS)[raw] = None

    def nodes(self) -> Iterator[bytes]:
        """Yields the blocks of the nodes, by id."""
        staged = self.edits.of(NODES)
        cids = dict(self._tree(NODES).items())
        cids.update((key, cid) for key, cid in staged.items() if cid is not None)
        ordered = sorted(cids)
        for start in range(0, len(ordered), BATCH_BLOCKS):
            keys = ordered[start : start + BATCH_BLOCKS]
            there = [key for key in keys if staged.get(key, _ABSENT) is not None]
            blocks = self._buffer.get_many(cids[key] for key in there)
            for key, block in zip(there, blocks, strict=True):
                if staged.get(key, _ABSENT) is not None:
                    yield block

    def node_id(self, beginning: str) -> NodeId:
        """Returns the id of the one node whose id begins so; as `beginning.resolve_prefix`."""
        return resolve_prefix(
            beginning,
            NodeId.parse,
            lambda first: map(NodeId, self._keys_from(NODES, first)),
            where="as staged",
        )

    def edge_id(self, beginning: str) -> EdgeId:
        """Returns the id of the one edge whose id begins so; as `beginning.resolve_prefix`."""
        return resolve_prefix(
            beginning,
            EdgeId.parse,
            lambda first: map(EdgeId, self._keys_from(EDGES, first)),
            noun="edge",
            where="as staged",
        )

    def edges_of(self, id: NodeId) -> list[EdgeId]:  # noqa: A002
        """Returns the edges that begin or end at a node."""
        staged = self.edits.of(EDGES)
        stored = [edge.raw for edge in self._incident(self.base, id)]
        found = {*stored, *self._touching.get(id.raw, ())}
        return [EdgeId(raw) for raw in sorted(found) if staged.get(raw, _ABSENT) is not None]

    # -- vectors -------------------------------------------------------------------------------

    def register_model(self, name: str, model: Model) -> None:
        """Puts what the vectors of a model have in common; equal to what is there, nothing happens.

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
        """Puts a trust policy, None for none; nodes are held to it from now on."""
        if policy is not None:
            for cid in self.edits.of(NODES).values():
                if cid is not None:
                    policy.check_labels(Node.decode(self._buffer.get(cid)).props)
        self._labels = policy
        self.edits.trust = {} if policy is None else policy.form()

    def set_vector(self, model: str, raw: bytes, value: Vector, of: bytes | None) -> None:
        """Puts a vector under a model, which the first use registers.

        Raises:
            InvalidInputError: kind `dimension-mismatch`.
        """
        known = self._config.models.get(model) or self.edits.models.get(model)
        if known is None:
            self.edits.models[model] = Model(value.dim, dtype=value.dtype)
        elif known.dim != value.dim:
            raise dimension_mismatch(model, value.dim, known.dim)
        self.attach(("vectors", model), raw, value, of)

    def attach(self, family: Family, raw: bytes, value: NodeVector, of: bytes | None) -> None:
        """Puts a vector of any family; `of` is None where the text at commit is to be meant."""
        self._pending.setdefault(family, {})[raw] = value
        if of is not None:
            self._dated.add((family, raw))
            return
        if self._dated:
            self._dated.discard((family, raw))
        if raw in self._nodes:
            self._digests[raw] = self._text_digest(raw)
            del self._nodes[raw]

    def has_vector(self, family: Family, raw: bytes) -> bool:
        """Tells whether a node has a vector in a family."""
        return raw in self._pending.get(family, ()) or self.cid(family, raw) is not None

    def vector_families(self) -> list[Family]:
        """Returns every model and vocabulary, of the base and staged."""
        found = {*self._pending, *self.edits.trees, *self.base.families()}
        return sorted(family for family in found if family[1])

    # -- commit --------------------------------------------------------------------------------

    def finish(self) -> tuple[ChangeSet, Mapping[Cid, bytes]]:
        """Returns the edits and the blocks that they refer to, digests of texts filled in."""
        for family, vectors in self._pending.items():
            for raw, value in vectors.items():
                if (family, raw) not in self._dated:
                    value = value.made_from(self._text_digest(raw))
                self.stage(family, raw, value)
        self._pending.clear()
        self.edits.models = {
            name: model
            for name, model in self.edits.models.items()
            if any(self.edits.of(("vectors", name)).values())
        }
        self._check_sources()
        blocks: dict[Cid, bytes] = dict(self.blobs.items())
        new = self._buffer.new
        for entries in self.edits.trees.values():
            for cid in entries.values():
                if cid is not None and (block := new.get(cid)) is not None:
                    blocks[cid] = block
        return self.edits, blocks

    def _check_sources(self) -> None:
        """Refuses documents and sections whose source would be over the limits, and nodes that
        contain themselves."""
        new = self._buffer.new
        staged = self.edits.of(NODES)
        blocks = {raw: new.get(cid, b"") for raw, cid in staged.items() if cid is not None}
        parts = {raw: part for raw, block in blocks.items() if (part := part_in(block)) is not None}

        def parts_of(ids: Sequence[bytes]) -> Iterator[Part | None]:
            with suppress(IbidemError):  # then each is asked for by itself
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
        """What the base has of some nodes; what it lost or erased lists nothing."""
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

    def _text_digest(self, raw: bytes) -> bytes:
        digest = self._digests.get(raw)
        if digest is not None:
            return digest
        node = self._nodes.get(raw)
        if node is None:
            cid = self.cid(NODES, raw)
            if cid is None:
                # The check of references refuses it and names the node.
                return _NO_DIGEST
            node = Node.decode(self._buffer.get(cid))
        content = node.content
        if isinstance(content, tuple):
            content = join_content(
                self.blobs.get(part) or self._buffer.get(part) for part in content
            )
        return text_digest(node_text(node, self._config.fields, content))

    def _keys_from(self, family: Family, first: bytes) -> Iterator[bytes]:
        """Yields the keys from one on, ascending."""
        staged = self.edits.of(family)
        stored = (key for key, _ in self._tree(family).range(first))
        new = sorted(key for key in staged if key >= first)
        for key, _ in groupby(merge(stored, new)):
            if staged.get(key, _ABSENT) is not None:
                yield key

    def _tree(self, family: Family) -> Tree:
        tree = self._trees.get(family)
        if tree is None:
            cid = tree_of(self.base, family)
            if cid == EMPTY_TREE:
                cid = EMPTY_TREE  # the same object, which `cid` looks for
            tree = self._trees[family] = Tree(self._buffer, cid, leaves_kept=_LEAVES_KEPT)
        return tree


def _kind_of(error: CorruptError) -> ErrorKind | None:
    """Returns the kind of a refusal where it says more than that something is wrong."""
    return error.kind if error.kind is ErrorKind.LIMIT_EXCEEDED else None


def _policy_of(config: Config) -> TrustPolicy | None:
    if TRUST_SETTING not in config.extra:
        return None
    return policy_of(config)
