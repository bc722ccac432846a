"""A transaction: changes staged over one root and published together, or not at all.

What is staged is checked at once as far as it can be alone; references are checked at commit,
because what an edge points to may come later. Values are encoded when they are staged, so that every
refusal names the call that caused it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from ibidem.objects import codec
from ibidem.objects.blocks import Buffer
from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.commit import Commit
from ibidem.objects.config import Config, Model
from ibidem.objects.derive import content_node_id, edge_id, node_id
from ibidem.objects.edge import Edge
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.ids import ID_BYTES, EdgeId, NodeId
from ibidem.objects.node import Child, Node, join_content, split_content
from ibidem.objects.text import node_text, text_digest
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.tree import Tree
from ibidem.objects.vector import Sparse, Vector
from ibidem.repo.edits import EDGES, NODES, TOMBSTONES, Edits, Family, dimension_mismatch, tree_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ibidem.objects.blocks import Source
    from ibidem.objects.root import Root

VECTOR_DIM_MAX = 4096
_PLACEHOLDER = NodeId(bytes(ID_BYTES))
_DTYPES = {"float16": "f16", "int8": "i8"}


class _Keep:
    """Stands for a field that an update leaves alone, where None means to clear it."""

    def __repr__(self) -> str:
        return "KEEP"


KEEP: Any = _Keep()


class Publisher(Protocol):
    """Where the edits of a transaction go: a branch, or the stage."""

    def base(self) -> Root:
        """Returns the root that the transaction begins on."""
        ...

    def publish(self, edits: Edits, blocks: Mapping[Cid, bytes]) -> Commit | None:
        """Publishes the edits with their value blocks; None when they change nothing."""
        ...


@dataclass(slots=True)
class _Pending:
    """A vector whose text digest is taken at commit."""

    value: Vector | Sparse
    of: bytes | None


class Transaction:
    """Stages changes; a context manager that publishes on exit and drops everything on an error."""

    def __init__(
        self,
        source: Source,
        publisher: Publisher,
        *,
        incident: Callable[[Root, NodeId], Iterable[EdgeId]],
        random_id: Callable[[], NodeId],
    ) -> None:
        self.base = publisher.base()
        """The root that the transaction began on."""
        self.commit: Commit | None = None
        """What was published; None before, and when nothing changed."""
        self._publisher = publisher
        self._buffer = Buffer(source)
        self._edits = Edits()
        self._pending: dict[tuple[Family, bytes], _Pending] = {}
        self._blobs: dict[BlobCid, bytes] = {}
        self._trees: dict[Family, Tree] = {}
        self._config = Config.from_map(self.base.config)
        self._incident = incident
        self._random_id = random_id
        self._is_open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._is_open:
            return
        if kind is None:
            self.publish()
        else:
            self.rollback()

    def publish(self) -> Commit | None:
        """Publishes what was staged and ends the transaction; called on leaving the `with` block.

        Raises:
            InvalidInputError: kind `dangling-reference`; nothing was changed.
            ConflictError: another writer changed the same thing first; nothing was changed.
        """
        self._check_open()
        self._is_open = False
        self._finish_vectors()
        blocks: dict[Cid, bytes] = dict(self._blobs.items())
        for entries in self._edits.trees.values():
            for cid in entries.values():
                if cid is not None and cid in self._buffer.new:
                    blocks[cid] = self._buffer.new[cid]
        self.commit = self._publisher.publish(self._edits, blocks)
        return self.commit

    def rollback(self) -> None:
        """Drops everything that was staged and ends the transaction."""
        self._is_open = False
        self._edits = Edits()
        self._pending.clear()

    # -- nodes ---------------------------------------------------------------------------------

    def add_node(
        self,
        ntype: str,
        *,
        summary: str | None = None,
        context_sentence: str | None = None,
        content: bytes | str | None = None,
        props: Mapping[str, Any] | None = None,
        key: Any = None,
        namespace: str = "",
        id: NodeId | None = None,  # noqa: A002
        children: Sequence[Child] = (),
        tail: str = "",
        unique: bool = False,
        replace: bool = False,
    ) -> NodeId:
        """Stages a node and returns its id.

        The id comes from (namespace, key) where there is a key, from `id` where that is given, at
        random with `unique`, else from the content. Adding what is there already changes nothing.

        Args:
            ntype: the label, such as "Document".
            content: bytes, or text that is kept as UTF-8.
            key: any value of the codec; kept in the node.
            replace: lets the new value take the place of another one under the same id.

        Raises:
            InvalidInputError: a field is of the wrong form; kind `id-collision`: the id is taken by
                another value, and `replace` is not set, or by another key; kind `forgotten`: the
                node has a tombstone.
        """
        self._check_open()
        if unique and (key is not None or id is not None):
            raise InvalidInputError("unique: got it beside a key or id, expected it alone")
        if namespace != "" and key is None:
            raise InvalidInputError(f"namespace: got {namespace!r}, expected a key with it")
        inline, parts = split_content(_content_bytes(content))
        node = Node(
            _PLACEHOLDER if id is None else id,
            ntype,
            summary,
            context_sentence,
            {} if props is None else props,
            inline,
            None if key is None else (namespace, key),
            tuple(children),
            tail,
        )
        if id is None:
            node = _with_id(node, self._new_id(node, unique=unique))
        elif key is not None and node_id(namespace, key) != id:
            raise InvalidInputError(
                f"id: got {id}, expected {node_id(namespace, key)} as the key gives",
                kind=ErrorKind.ID_COLLISION,
            )
        return self._add(node, parts, replace=replace)

    def update_node(
        self,
        id: NodeId,  # noqa: A002
        *,
        ntype: str = KEEP,
        summary: str | None = KEEP,
        context_sentence: str | None = KEEP,
        content: bytes | str | None = KEEP,
        props: Mapping[str, Any] | None = KEEP,
        set_props: Mapping[str, Any] | None = None,
        unset_props: Iterable[str] = (),
        children: Sequence[Child] = KEEP,
        tail: str = KEEP,
    ) -> None:
        """Stages new values of the fields that are named; the others stay, and so does the id.

        Args:
            props: takes the place of all properties; `set_props` and `unset_props` change some.

        Raises:
            NotFoundError: there is no such node.
            InvalidInputError: a field is of the wrong form; kind `forgotten`: it has a tombstone.
        """
        before = self.node(id)
        self._check_not_forgotten(id)
        changes: dict[str, Any] = {
            "ntype": ntype,
            "summary": summary,
            "context_sentence": context_sentence,
            "tail": tail,
        }
        changes = {name: value for name, value in changes.items() if value is not KEEP}
        if children is not KEEP:
            changes["children"] = tuple(children)
        properties = before.props if props is KEEP else props or {}
        if not isinstance(properties, Mapping) or not isinstance(set_props or {}, Mapping):
            raise InvalidInputError("props: got something else, expected a mapping")
        changes["props"] = {**properties, **(set_props or {})}
        for name in unset_props:
            changes["props"].pop(name, None)
        if content is not KEEP:
            changes["content"], parts = split_content(_content_bytes(content))
            self._blobs.update(parts)
        self._stage(NODES, id.raw, replace(before, **changes))

    def remove_node(self, id: NodeId) -> None:  # noqa: A002
        """Stages the removal of a node with its edges, vectors and sparse vectors.

        Raises:
            NotFoundError: there is no such node.
            InvalidInputError: kind `forgotten`: a tombstone stands on it, which would be lost.
        """
        self.node(id)
        self._check_not_forgotten(id)
        for edge in self._edges_of(id):
            self._edits.of(EDGES)[edge.raw] = None
        names = set(self._edits.trees) | {("vectors", name) for name in self.base.vectors}
        for family in names | {("sparse", name) for name in self.base.sparse}:
            if family[0] in ("vectors", "sparse") and self._has_vector(family, id):
                self._unset(family, id)
        for family, raw in list(self._pending):
            if raw == id.raw:
                self._unset(family, id)
        self._edits.of(NODES)[id.raw] = None

    def node(self, id: NodeId) -> Node:  # noqa: A002
        """Returns a node as it is staged, tombstoned or not.

        Raises:
            NotFoundError: there is no such node.
        """
        self._check_open()
        cid = self._cid(NODES, _checked("id", id, NodeId))
        if cid is None:
            raise NotFoundError(f"node {id} is not in the graph")
        return Node.decode(self._buffer.get(cid))

    def find_node(self, id: NodeId) -> Node | None:  # noqa: A002
        """Returns a node as it is staged, None when there is none."""
        self._check_open()
        cid = self._cid(NODES, _checked("id", id, NodeId))
        return None if cid is None else Node.decode(self._buffer.get(cid))

    def nodes(self, *, label: str | None = None) -> Iterator[Node]:
        """Yields the nodes as staged, by id, tombstoned ones too; those of one label if given."""
        self._check_open()
        # A node's block holds its label as it is, so most of the others need no decoding.
        wanted = b"" if label is None else _check_text("label", label).encode()
        staged = self._edits.of(NODES)
        cids = {key: cid for key, cid in self._tree(NODES).items() if key not in staged}
        cids.update((key, cid) for key, cid in staged.items() if cid is not None)
        for key in sorted(cids):
            block = self._buffer.get(cids[key])
            if wanted in block:
                node = Node.decode(block)
                if label is None or node.ntype == label:
                    yield node

    # -- edges ---------------------------------------------------------------------------------

    def add_edge(
        self,
        src: NodeId,
        etype: str,
        dst: NodeId,
        *,
        weight: float = 1.0,
        props: Mapping[str, Any] | None = None,
        key: Any = None,
        replace: bool = False,
    ) -> EdgeId:
        """Stages an edge and returns its id; `key` tells parallel edges of one type apart.

        Raises:
            InvalidInputError: a field is of the wrong form; kind `id-collision`: an edge with other
                values stands there, and `replace` is not set.
        """
        self._check_open()
        _checked("src", src, NodeId)
        _checked("dst", dst, NodeId)
        edge = Edge(edge_id(src, etype, dst, key), etype, src, dst, weight, props or {}, key)
        self._stage_new(EDGES, edge.id.raw, edge, replace=replace)
        return edge.id

    def update_edge(
        self,
        id: EdgeId,  # noqa: A002
        *,
        weight: float = KEEP,
        props: Mapping[str, Any] = KEEP,
    ) -> None:
        """Stages another weight or other properties of an edge.

        Raises:
            NotFoundError: there is no such edge.
        """
        changes = {"weight": weight, "props": props}
        changes = {name: value for name, value in changes.items() if value is not KEEP}
        self._stage(EDGES, id.raw, replace(self.edge(id), **changes))  # type: ignore[arg-type]

    def remove_edge(self, id: EdgeId) -> None:  # noqa: A002
        """Stages the removal of an edge; raises `NotFoundError` when there is none."""
        self.edge(id)
        self._edits.of(EDGES)[id.raw] = None

    def edge(self, id: EdgeId) -> Edge:  # noqa: A002
        """Returns an edge as it is staged; raises `NotFoundError` when there is none."""
        self._check_open()
        cid = self._cid(EDGES, _checked("id", id, EdgeId))
        if cid is None:
            raise NotFoundError(f"edge {id} is not in the graph")
        return Edge.decode(self._buffer.get(cid))

    # -- vectors -------------------------------------------------------------------------------

    def set_vector(
        self,
        id: NodeId,  # noqa: A002
        *,
        model: str,
        vector: ArrayLike,
        of: bytes | None = None,
    ) -> None:
        """Stages the vector of a node under a model; the first use of a model registers it.

        Args:
            vector: (d,) finite numbers, 1 <= d <= 4096; float16 and int8 are kept, else float32.
            of: digest of the text it was made from; by default of the node's text at commit.

        Raises:
            InvalidInputError: the vector is of another form; kind `dimension-mismatch`: the model
                has another dimension.
        """
        self._check_open()
        _checked("id", id, NodeId)
        _check_text("model", model)
        dtype = _DTYPES.get(str(getattr(vector, "dtype", "")), "f32")
        value = Vector.from_array(vector, of=_digest(of), dtype=dtype)
        if value.dim > VECTOR_DIM_MAX:
            raise InvalidInputError(
                f"vector: got {value.dim} dimensions, expected at most {VECTOR_DIM_MAX}",
                kind=ErrorKind.DIMENSION_MISMATCH,
            )
        known = self._config.models.get(model) or self._edits.models.get(model)
        if known is None:
            self._edits.models[model] = Model(value.dim, dtype=dtype)
        elif known.dim != value.dim:
            raise dimension_mismatch(model, value.dim, known.dim)
        self._pending[("vectors", model), id.raw] = _Pending(value, of)

    def set_sparse(
        self,
        id: NodeId,  # noqa: A002
        *,
        vocab: str,
        indices: ArrayLike,
        weights: ArrayLike,
        of: bytes | None = None,
    ) -> None:
        """Stages the sparse vector of a node under a vocabulary.

        Args:
            indices: (n,) token ids below 2^32, each once. weights: (n,) finite numbers.
            of: as in `set_vector`.
        """
        self._check_open()
        _checked("id", id, NodeId)
        _check_text("vocab", vocab)
        value = Sparse.from_arrays(indices, weights, of=_digest(of))
        self._pending[("sparse", vocab), id.raw] = _Pending(value, of)

    def remove_vector(self, id: NodeId, *, model: str) -> None:  # noqa: A002
        """Stages the removal of a vector; raises `NotFoundError` when there is none."""
        self._remove_vector(("vectors", _check_text("model", model)), id)

    def remove_sparse(self, id: NodeId, *, vocab: str) -> None:  # noqa: A002
        """Stages the removal of a sparse vector; raises `NotFoundError` when there is none."""
        self._remove_vector(("sparse", _check_text("vocab", vocab)), id)

    # -- tombstones ----------------------------------------------------------------------------

    def tombstone(self, id: NodeId, *, reason: str = "") -> None:  # noqa: A002
        """Stages a tombstone: the node is hidden from this root on; older roots answer as before.

        Raises:
            NotFoundError: there is no such node.
        """
        self.node(id)
        self._stage(TOMBSTONES, id.raw, Tombstone(reason))

    def untombstone(self, id: NodeId) -> None:  # noqa: A002
        """Stages that the node is seen again; raises `NotFoundError` when no tombstone is on it."""
        self._check_open()
        if self._cid(TOMBSTONES, _checked("id", id, NodeId)) is None:
            raise NotFoundError(f"node {id} has no tombstone")
        self._edits.of(TOMBSTONES)[id.raw] = None

    def is_tombstoned(self, id: NodeId) -> bool:  # noqa: A002
        """Tells whether a tombstone is on the node, as staged."""
        self._check_open()
        return self._cid(TOMBSTONES, _checked("id", id, NodeId)) is not None

    # -- private -------------------------------------------------------------------------------

    def _new_id(self, node: Node, *, unique: bool) -> NodeId:
        if node.key is not None:
            return node_id(*node.key)
        if unique:
            return self._random_id()
        return content_node_id(node.to_map())

    def _add(self, node: Node, parts: Mapping[BlobCid, bytes], *, replace: bool) -> NodeId:
        self._check_not_forgotten(node.id)
        cid = self._cid(NODES, node.id)
        if cid is not None:
            block = node.encode()
            if type(node.cid).of(block) == cid:
                return node.id
            before = Node.decode(self._buffer.get(cid))
            if not _same_key(before.key, node.key):
                raise InvalidInputError(
                    f"key: got {node.key!r:.80} for node {node.id}, which has {before.key!r:.80}",
                    kind=ErrorKind.ID_COLLISION,
                )
            if node.key is None and not replace and content_node_id(node.to_map()) == node.id:
                return node.id
        self._blobs.update(parts)
        self._stage_new(NODES, node.id.raw, node, replace=replace)
        return node.id

    def _stage_new(self, family: Family, raw: bytes, value: Node | Edge, *, replace: bool) -> None:
        before = self._edits.of(family).get(raw, KEEP)
        if before is KEEP:
            before = self._tree(family).get(raw)
        cid = self._put(value)
        if before is not None and before != cid and not replace:
            raise InvalidInputError(
                f"{value.KIND} {raw.hex()} is there with another value",
                kind=ErrorKind.ID_COLLISION,
                hint=f"change it with update_{value.KIND}, or say replace=True",
            )
        self._edits.of(family)[raw] = cid

    def _stage(
        self, family: Family, raw: bytes, value: Node | Edge | Tombstone | Vector | Sparse
    ) -> None:
        self._edits.of(family)[raw] = self._put(value)

    def _put(self, value: Node | Edge | Tombstone | Vector | Sparse) -> Cid:
        block = value.encode()
        cid = value.CID.of(block)
        self._buffer.put(cid, block)
        return cid

    def _cid(self, family: Family, id: NodeId | EdgeId) -> Cid | None:  # noqa: A002
        staged = self._edits.trees.get(family, {}).get(id.raw, KEEP)
        return self._tree(family).get(id.raw) if staged is KEEP else staged

    def _tree(self, family: Family) -> Tree:
        tree = self._trees.get(family)
        if tree is None:
            tree = self._trees[family] = Tree(self._buffer, tree_of(self.base, family))
        return tree

    def _edges_of(self, id: NodeId) -> list[EdgeId]:  # noqa: A002
        staged = self._edits.of(EDGES)
        found = [
            edge for edge in self._incident(self.base, id) if staged.get(edge.raw, KEEP) is not None
        ]
        for raw, cid in staged.items():
            if cid is not None:
                edge = Edge.decode(self._buffer.get(cid))
                if id in (edge.src, edge.dst):
                    found.append(EdgeId(raw))
        return found

    def _has_vector(self, family: Family, id: NodeId) -> bool:  # noqa: A002
        return (family, id.raw) in self._pending or self._cid(family, id) is not None

    def _remove_vector(self, family: Family, id: NodeId) -> None:  # noqa: A002
        self._check_open()
        if not self._has_vector(family, _checked("id", id, NodeId)):
            raise NotFoundError(f"node {id} has nothing under {family[1]!r} in {family[0]}")
        self._unset(family, id)

    def _unset(self, family: Family, id: NodeId) -> None:  # noqa: A002
        self._pending.pop((family, id.raw), None)
        self._edits.of(family)[id.raw] = None

    def _finish_vectors(self) -> None:
        for (family, raw), pending in self._pending.items():
            of = pending.of
            if of is None:
                cid = self._cid(NODES, NodeId(raw))
                # A missing node is refused by the check of references, which names it.
                of = bytes(32) if cid is None else self._text_digest(cid)
            self._stage(family, raw, replace(pending.value, of=of))
        self._pending.clear()
        used = {name for family, name in self._edits.trees if family == "vectors"}
        self._edits.models = {
            name: model for name, model in self._edits.models.items() if name in used
        }

    def _text_digest(self, cid: Cid) -> bytes:
        node = Node.decode(self._buffer.get(cid))
        content = node.content
        if isinstance(content, tuple):
            content = join_content(
                self._blobs.get(part) or self._buffer.get(part) for part in content
            )
        return text_digest(node_text(node, self._config.fields, content))

    def _check_open(self) -> None:
        if not self._is_open:
            raise InvalidInputError("transaction: it has ended", hint="begin another one")

    def _check_not_forgotten(self, id: NodeId) -> None:  # noqa: A002
        if self._cid(TOMBSTONES, id) is not None:
            raise InvalidInputError(
                f"node {id} was forgotten: it has a tombstone",
                kind=ErrorKind.FORGOTTEN,
                hint="call untombstone first, if that is what you want",
            )


def _with_id(node: Node, id: NodeId) -> Node:  # noqa: A002
    return replace(node, id=id)


def _same_key(one: object, other: object) -> bool:
    return one is other or codec.encode(one) == codec.encode(other)


def _content_bytes(content: object) -> bytes:
    if content is None:
        return b""
    if isinstance(content, str):
        try:
            return content.encode()
        except UnicodeEncodeError as error:
            raise InvalidInputError("content: got lone surrogates, expected valid text") from error
    if not isinstance(content, bytes):
        raise InvalidInputError(f"content: got {type(content).__name__}, expected bytes or text")
    return content


def _digest(of: object) -> bytes:
    if of is None:
        return bytes(32)
    if not isinstance(of, bytes) or len(of) != 32:
        raise InvalidInputError(f"of: got {of!r:.80}, expected 32 bytes, the digest of the text")
    return of


def _checked(field: str, value: Any, cls: type[Any]) -> Any:
    if type(value) is not cls:
        raise InvalidInputError(f"{field}: got {value!r:.80}, expected a {cls.__name__}")
    return value


def _check_text(field: str, value: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidInputError(f"{field}: got {value!r:.80}, expected text that is not empty")
    return value
