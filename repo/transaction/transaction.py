"""A transaction: changes staged over one root and published together, or not at all.

Nodes, edges, tombstones and vectors are staged as they are added; whether every edge has its ends
and every vector its node is checked at commit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace as changed
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from ibidem.objects import codec
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.child import Child
from ibidem.objects.cid import BlobCid, Cid, CommitCid
from ibidem.objects.commit import Commit
from ibidem.objects.config import Config
from ibidem.objects.derive import content_node_id, edge_id, node_id
from ibidem.objects.edge import Edge
from ibidem.objects.errors import ConflictError, ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.gc_pause import gc_paused
from ibidem.objects.ids import ID_BYTES, EdgeId, NodeId
from ibidem.objects.location import document_of, parts_of
from ibidem.objects.node import Node, split_content
from ibidem.objects.root import EDGES, NODES, TOMBSTONES
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.vector import Sparse, Vector
from ibidem.repo import refs
from ibidem.repo.argument_checks import (
    check_content,
    check_digest,
    check_id,
    check_ids,
    check_mapping,
    check_names,
    check_text,
)
from ibidem.repo.arguments import checked_time
from ibidem.repo.events import checked_event
from ibidem.repo.layers import Embedding, Ingesting, Layers
from ibidem.repo.revspec import HEAD
from ibidem.repo.transaction.changeset import Publisher
from ibidem.repo.transaction.pending import Incident, PendingGraph
from ibidem.repo.transaction.staged_graph import StagedRevision
from ibidem.retrieve.access.policy import ALL, TrustPolicy, document_labels, with_labels
from ibidem.retrieve.query import checks
from ibidem.retrieve.semantics import check_version
from ibidem.store.closing import Ending

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike

    from ibidem.objects.blocks import Source
    from ibidem.objects.config import Model
    from ibidem.objects.root import Root, TreeName
    from ibidem.repo.events import Event
    from ibidem.repo.graph import Graph
    from ibidem.repo.state import State
    from ibidem.repo.transaction.staged_graph import StagedRevision
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.retrieve.graph.partition import Communities


VECTOR_DIM_MAX = 4096
_DTYPES = {"e": "f16", "b": "i8"}
"""By numpy's character for a type."""


_PLACEHOLDER = NodeId(bytes(ID_BYTES))


NewId = Callable[[Mapping[str, Any]], NodeId]
"""Generates the id of a node added as new, from its map."""


class _Unchanged:
    """Marks a field that an update leaves unchanged, since None means to clear it."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Any = _Unchanged()


class Transaction(Layers, Ingesting, Embedding, Ending):
    """Stages changes; a context manager that publishes on exit and drops everything on an error."""

    def __init__(
        self,
        source: Source,
        publisher: Publisher,
        *,
        incident: Incident,
        unique_id: NewId | None = None,
        on_publish: Callable[[int, State | None], None] | None = None,
        now: Callable[[], int] | None = None,
        staged: Callable[[Root, WriteBatch], Graph] | None = None,
        author: str = "",
        folder: Path | None = None,
    ) -> None:
        """Begins at the publisher's root.

        Args:
            author: of the commit.
            folder: of this machine's files; takes blocks that are too many for memory. None if all
                stay in memory.
            now: returns the time of the transaction; called at most once.
            staged: returns the graph of a root whose blocks are in a batch.
            unique_id: returns the id for a node to be added as new, from its map; None if not
                supported.
            on_publish: called with the number of published blocks, and the state that this made.
        """
        base = publisher.base()
        self._draft = PendingGraph(source, base, incident, folder)
        self._is_open = True
        self.base = base
        """The root that the transaction began on."""
        self.commit: Commit | None = None
        """The published commit; None before publishing, and if nothing changed."""
        self.noted: Mapping[str, CommitCid] = {}
        """The heads of the notes that got events, by space; empty before publishing."""
        self.memo: dict[object, NodeId] = {}
        """What writers know about nodes that they have staged, by keys of their own."""
        self.author = author
        """The author of the commit."""
        self._now = now
        self._time: int | None = None
        self._graph = staged
        self._read: tuple[int, Graph] | None = None
        """The graph as last read, and the number of changes that it has."""
        self._failed: BaseException | None = None
        self._publisher = publisher
        self._unique_id = unique_id
        self._on_publish = on_publish

    def _end(self, error: BaseException | None) -> None:
        if not self._is_open:
            return
        if error is None:
            self.publish()
        else:
            self.rollback()

    def __del__(self) -> None:
        if vars(self).get("_is_open") and self._pending_count():
            text = "transaction: its changes were never published: use `with`, or call publish()"
            warnings.warn(text, RuntimeWarning, stacklevel=2, source=self)

    def _pending_count(self) -> int:
        return self._draft.change_count

    def publish(self) -> Commit | None:
        """Publishes what was staged and ends the transaction; called on leaving the `with` block.

        Raises:
            InvalidInputError: kind `dangling-reference`, or a step failed half-way; nothing was
                changed.
            ConflictError: the branch was deleted; or a node on which the changes depend has
                changed; or another writer changed the same thing first and the transaction was
                started with `on_conflict="raise"`; or the state that the transaction began on was
                given up and collected; nothing was changed.
        """
        self._check_open()
        self._is_open = False
        try:
            if self._failed is not None:
                raise InvalidInputError(
                    f"transaction: a step of it failed half-way: {self._failed}",
                    hint="begin another one; nothing of this one was published",
                )
            with gc_paused():
                edits, blocks = self._draft.finish()
                published = self._publisher.publish(edits, blocks)
        except NotFoundError as error:
            if error.kind is not ErrorKind.BLOCK_NOT_FOUND or self._is_base_stored():
                raise
            raise ConflictError(
                "transaction: the state that it began on was given up meanwhile, and collected",
                hint="begin another one, on the newer state",
            ) from error
        finally:
            self._read = None
            self._draft.release()
        self.commit, self.noted = published.commit, published.notes
        if self.commit is not None and self._on_publish is not None:
            self._on_publish(len(blocks), published.state)
        return self.commit

    @property
    def conflicts(self) -> tuple[NodeId | EdgeId, ...]:
        """The nodes and edges that another writer changed differently in the meantime, so that
        publishing recorded a conflict for each; by id.
        """
        if self.commit is None or not self.commit.parents:
            return ()
        from ibidem.repo.merge.conflicts import new_conflicts

        return new_conflicts(self._draft.source, self.commit)

    def add_trailers(
        self,
        lines: Iterable[str],
        *,
        check_head: Callable[[CommitCid | None], object] | None = None,
    ) -> None:
        """Adds lines `Name: value` to the end of the commit's message, as Git's trailers; the stage
        does not keep them.

        Args:
            check_head: called with the head of the branch that the commit is to be published on,
                again if another writer moves it first; refuses the commit by raising. So a line can
                be one that no other commit has.
        """
        self._check_open()
        for line in lines:
            if "\n" in line or ": " not in line:
                raise InvalidInputError(f"trailer: got {line!r:.80}, expected a line 'Name: value'")
            self._draft.edits.trailers.append(line)
        if check_head is not None:
            self._draft.edits.check_head = check_head

    def rollback(self) -> None:
        """Discards all staged changes and ends the transaction."""
        self._is_open = False
        self._read = None
        self._draft.release()

    @contextmanager
    def step(self) -> Iterator[Self]:
        """Yields the transaction for changes that belong together: if they fail after the first was
        staged, nothing of the transaction is published, even if the error is caught.
        """
        self._check_open()
        before = self._draft.change_count
        try:
            yield self
        except BaseException as error:
            if self._draft.change_count != before:
                self._failed = error
            raise

    def now(self, time: int | datetime | None = None) -> int:
        """Returns a time in microseconds since 1970 UTC: the given one, else that of the
        transaction, which is read from the clock once.
        """
        given = checked_time(time)
        if given is not None:
            return given
        if self._time is None:
            assert self._now is not None, "BUG: a transaction without a time"
            self._time = self._now()
        return self._time

    # -- reading ------------------------------------------------------------------------------

    def at(self, at: object = HEAD, *, viewer: Viewer | None = None) -> StagedRevision:
        """Returns the graph as staged so far, to read and to list; vectors are those of the base.

        Ranked questions are refused: their receipts name a root, and this one is not stored yet.

        Raises:
            InvalidInputError: another revision than `HEAD`.
        """
        self._check_open()
        if at != HEAD:
            raise InvalidInputError(
                f"at: got {at!r:.80} in a transaction, expected {HEAD!r}: what is staged",
                hint="read another revision from the repository",
            )
        assert self._graph is not None, "BUG: a transaction that is not read"
        count = self._draft.change_count
        if self._read is None or self._read[0] != count:
            self._read = count, self._graph(*self._draft.staged())
        return StagedRevision(self._read[1].seen_by(viewer) if viewer else self._read[1])

    def before(self) -> Graph:
        """Returns the graph that the transaction began on, for its owner."""
        assert self._graph is not None, "BUG: a transaction that is not read"
        return self._graph(self.base, WriteBatch(self._draft.source)).seen_by(ALL)

    def require_unchanged(self, id: NodeId | str) -> None:  # noqa: A002
        """Makes the changes depend on a node: publishing raises `ConflictError` if another writer
        has changed, added or removed it since the transaction began.
        """
        self._check_open()
        self._draft.edits.read.add(check_id("id", id, NodeId).raw)

    # -- notes --------------------------------------------------------------------------------

    def note(self, space: str, events: Iterable[Event]) -> None:
        """Stages events for the notes of a space, which get them in the same step as the branch.

        Args:
            events: one whose `time` is 0 gets that of the commit, one without an author the author.

        Raises:
            InvalidInputError: an event is malformed, or there is none.
        """
        self._check_open()
        name = refs.check_name("space", space)
        found = [changed(one, targets=tuple(one.targets)) for one in events]
        if not found:
            raise InvalidInputError("events: got none, expected one or more")
        for one in found:
            checked_event(one)
        self._draft.note(name, found)

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
        id: NodeId | str | None = None,  # noqa: A002
        children: Sequence[Child] = (),
        tail: str = "",
        unique: bool = False,
        replace: bool = False,
    ) -> NodeId:
        """Stages a node and returns its id.

        The id is derived from (namespace, key) if there is a key, is `id` if given, or else is
        derived from the content. Adding an equal node again changes nothing.

        Args:
            ntype: the label, such as "Document".
            content: bytes, or text that is kept as UTF-8.
            key: any value of the codec; kept in the node.
            unique: adds a new node even if an equal one exists: the id then also depends on the
                transaction's base root, author and time.
            replace: allows replacing another value under the same id.

        Raises:
            InvalidInputError: a field is of the wrong form; kind `id-collision`: the id exists with
                another value and `replace` is not set, or with another key; kind `forgotten`: the
                node has a tombstone.
        """
        self._check_open()
        id = None if id is None else check_id("id", id, NodeId)  # noqa: A001
        if unique and (key is not None or id is not None):
            raise InvalidInputError("unique: got it beside a key or id, expected it alone")
        if namespace != "" and key is None:
            raise InvalidInputError(f"namespace: got {namespace!r}, expected a key with it")
        inline, parts = split_content(check_content(content))
        derived = None if key is None else node_id(namespace, key)
        node = Node(
            id or derived or _PLACEHOLDER,
            ntype,
            summary,
            context_sentence,
            check_mapping("props", props),
            inline,
            None if key is None else (namespace, key),
            tuple(children),
            tail,
        )
        if unique:
            assert self._unique_id is not None, "BUG: a transaction that names no nodes"
            node = changed(node, id=self._unique_id(node.to_map()))
            self._draft.edits.fresh.add(node.id.raw)
        elif node.id is _PLACEHOLDER:
            node = changed(node, id=content_node_id(node.to_map()))
        elif derived is not None and derived != node.id:
            raise InvalidInputError(
                f"id: got {id}, expected {derived} as the key gives",
                kind=ErrorKind.ID_COLLISION,
            )
        return self._add(node, parts, may_replace=replace)

    def update_node(
        self,
        id: NodeId | str,  # noqa: A002
        *,
        ntype: str = UNCHANGED,
        summary: str | None = UNCHANGED,
        context_sentence: str | None = UNCHANGED,
        content: bytes | str | None = UNCHANGED,
        props: Mapping[str, Any] | None = UNCHANGED,
        set_props: Mapping[str, Any] | None = None,
        unset_props: Iterable[str] = (),
        children: Sequence[Child] = UNCHANGED,
        tail: str = UNCHANGED,
    ) -> None:
        """Stages new values of the given fields; the other fields and the id stay.

        Args:
            props: replaces all properties; `set_props` and `unset_props` change some.

        Raises:
            NotFoundError: there is no such node.
            InvalidInputError: a field is of the wrong form; kind `forgotten`: it has a tombstone.
        """
        id = check_id("id", id, NodeId)  # noqa: A001
        before = self.node(id)
        self._check_not_forgotten(id)
        changes: dict[str, Any] = {
            "ntype": ntype,
            "summary": summary,
            "context_sentence": context_sentence,
            "tail": tail,
        }
        changes = {name: value for name, value in changes.items() if value is not UNCHANGED}
        parts: Mapping[BlobCid, bytes] = {}
        if children is not UNCHANGED:
            changes["children"] = tuple(children)
        properties = before.props if props is UNCHANGED else check_mapping("props", props)
        changes["props"] = {**properties, **check_mapping("set_props", set_props)}
        for name in check_names("unset_props", unset_props):
            changes["props"].pop(name, None)
        if content is not UNCHANGED:
            changes["content"], parts = split_content(check_content(content))
        self._draft.stage(NODES, id.raw, changed(before, **changes))
        self._draft.put_contents(parts)

    def remove_node(self, id: NodeId | str) -> None:  # noqa: A002
        """Stages the removal of a node with its edges and vectors.

        Raises:
            NotFoundError: there is no such node.
            InvalidInputError: kind `forgotten`: it has a tombstone, which would be lost.
        """
        id = check_id("id", id, NodeId)  # noqa: A001
        self.node(id)
        self._check_not_forgotten(id)
        draft = self._draft
        for edge in draft.edges_of(id):
            draft.remove(EDGES, edge.raw)
        for tree_name in draft.vector_trees():
            if draft.has_vector(tree_name, id.raw):
                draft.remove(tree_name, id.raw)
        draft.remove(NODES, id.raw)

    def node(self, id: NodeId | str) -> Node:  # noqa: A002
        """Returns a node as staged, tombstoned or not.

        Raises:
            NotFoundError: there is no such node.
        """
        found = self.find_node(id)
        if found is None:
            raise NotFoundError(f"node {id} is not in the graph")
        return found

    def find_node(self, id: NodeId | str) -> Node | None:  # noqa: A002
        """Returns a node as staged, None if there is none."""
        self._check_open()
        return self._draft.node(check_id("id", id, NodeId).raw)

    def content(self, id: NodeId | str) -> bytes | None:  # noqa: A002
        """Returns the whole content of a node as staged, None if it has none."""
        return self._draft.content(self.node(id))

    def read_ahead(self, ids: Iterable[NodeId | str]) -> None:
        """Prefetches nodes and their descendants in a few batches; affects only speed."""
        self._check_open()
        self._draft.read_ahead(check_ids("ids", ids))

    def node_id(self, prefix: str) -> NodeId:
        """Returns the id of the only staged node with this prefix; as `Revision.node_id`."""
        self._check_open()
        return self._draft.node_id(prefix)

    def nodes(self, *, label: str | None = None) -> Iterator[Node]:
        """Yields the nodes as staged, by id, tombstoned ones too; those of one label if given."""
        self._check_open()
        # A node's block contains its label as plain bytes, so most other nodes need not be decoded.
        wanted = b"" if label is None else checks.name("label", label).encode()
        for block in self._draft.nodes():
            if wanted in block:
                node = Node.decode(block)
                if label is None or node.ntype == label:
                    yield node

    # -- edges ---------------------------------------------------------------------------------

    def add_edge(
        self,
        src: NodeId | str,
        etype: str,
        dst: NodeId | str,
        *,
        weight: float = 1.0,
        props: Mapping[str, Any] | None = None,
        key: Any = None,
        replace: bool = False,
    ) -> EdgeId:
        """Stages an edge and returns its id; `key` distinguishes parallel edges of one type.

        Raises:
            InvalidInputError: a field is of the wrong form; kind `id-collision`: the edge exists
                with other values and `replace` is not set.
        """
        self._check_open()
        src = check_id("src", src, NodeId)
        dst = check_id("dst", dst, NodeId)
        edge = Edge(
            edge_id(src, etype, dst, key),
            etype,
            src,
            dst,
            weight,
            check_mapping("props", props),
            key,
        )
        self._draft.stage_new(EDGES, edge.id.raw, edge, may_replace=replace)
        return edge.id

    def update_edge(
        self,
        id: EdgeId | str,  # noqa: A002
        *,
        weight: float = UNCHANGED,
        props: Mapping[str, Any] = UNCHANGED,
    ) -> None:
        """Stages another weight or other properties of an edge.

        Raises:
            NotFoundError: there is no such edge.
        """
        id = check_id("id", id, EdgeId)  # noqa: A001
        changes = {"weight": weight, "props": props}
        changes = {name: value for name, value in changes.items() if value is not UNCHANGED}
        self._draft.stage(EDGES, id.raw, changed(self.edge(id), **changes))  # type: ignore[arg-type]

    def remove_edge(self, id: EdgeId | str) -> None:  # noqa: A002
        """Stages the removal of an edge; raises `NotFoundError` if there is none."""
        id = check_id("id", id, EdgeId)  # noqa: A001
        self.edge(id)
        self._draft.remove(EDGES, id.raw)

    def edge(self, id: EdgeId | str) -> Edge:  # noqa: A002
        """Returns an edge as staged; raises `NotFoundError` if there is none."""
        cid = self._cid(EDGES, id, EdgeId)
        if cid is None:
            raise NotFoundError(f"edge {id} is not in the graph")
        return Edge.decode(self._draft.block(cid))

    def edge_id(self, prefix: str) -> EdgeId:
        """Returns the id of the only staged edge with this prefix; as `Revision.node_id`."""
        self._check_open()
        return self._draft.edge_id(prefix)

    def edges_of(self, id: NodeId | str) -> list[Edge]:  # noqa: A002
        """Returns the incoming and outgoing edges of a node, as staged, by id."""
        id = check_id("id", id, NodeId)  # noqa: A001
        self.node(id)
        return [self.edge(edge) for edge in self._draft.edges_of(id)]

    # -- tombstones ----------------------------------------------------------------------------

    def tombstone(self, id: NodeId | str, *, reason: str = "") -> None:  # noqa: A002
        """Stages a tombstone: the node is hidden from this root on; older roots still show it. The
        parts of a document are nodes of their own, which stay visible.

        Raises:
            NotFoundError: there is no such node.
        """
        id = check_id("id", id, NodeId)  # noqa: A001
        self.node(id)
        self._draft.stage(TOMBSTONES, id.raw, Tombstone(reason))

    def untombstone(self, id: NodeId | str) -> None:  # noqa: A002
        """Stages the removal of a tombstone; raises `NotFoundError` if the node has none."""
        id = check_id("id", id, NodeId)  # noqa: A001
        if not self.is_tombstoned(id):
            raise NotFoundError(f"node {id} has no tombstone")
        self._draft.remove(TOMBSTONES, id.raw)

    def is_tombstoned(self, id: NodeId | str) -> bool:  # noqa: A002
        """Returns whether the node has a tombstone, as staged."""
        return self._cid(TOMBSTONES, id, NodeId) is not None

    # -- conflicts -----------------------------------------------------------------------------

    def settle(self, id: NodeId | EdgeId) -> None:  # noqa: A002
        """Stages the resolution of the conflict on a node or edge by its staged value."""
        self._check_open()
        self._draft.settle(id.raw)

    # -- private -------------------------------------------------------------------------------

    def _is_base_stored(self) -> bool:
        try:
            self._draft.source.get(self.base.cid)
        except NotFoundError:
            return False
        return True

    def _add(self, node: Node, parts: Mapping[BlobCid, bytes], *, may_replace: bool) -> NodeId:
        draft, raw = self._draft, node.id.raw
        self._check_not_forgotten(node.id)
        cid = draft.cid(NODES, raw)
        if cid is not None:
            if node.cid == cid:
                return node.id
            before = Node.decode(draft.block(cid))
            if not _same_key(before.key, node.key):
                raise InvalidInputError(
                    f"key: got {node.key!r:.80} for node {node.id}, which has {before.key!r:.80}",
                    kind=ErrorKind.ID_COLLISION,
                )
            if node.key is None and content_node_id(node.to_map()) == node.id and not may_replace:
                # It was added with this content and edited since: the edited value is kept.
                return node.id
            draft.stage_new(NODES, raw, node, may_replace=may_replace)
        else:
            draft.stage(NODES, raw, node)
        draft.put_contents(parts)
        return node.id

    def _check_not_forgotten(self, id: NodeId) -> None:  # noqa: A002
        if self._draft.cid(TOMBSTONES, id.raw) is not None:
            raise InvalidInputError(
                f"node {id} was forgotten: it has a tombstone",
                kind=ErrorKind.FORGOTTEN,
                hint="call untombstone first to show it again",
            )

    def set_vector(
        self,
        id: NodeId | str,  # noqa: A002
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
        id = check_id("id", id, NodeId)  # noqa: A001
        check_text("model", model)
        dtype = _DTYPES.get(getattr(getattr(vector, "dtype", None), "char", ""), "f32")
        value = Vector.from_array(vector, of=check_digest(of), dtype=dtype)
        if value.dim > VECTOR_DIM_MAX:
            raise InvalidInputError(
                f"vector: got {value.dim} dimensions, expected at most {VECTOR_DIM_MAX}",
                kind=ErrorKind.DIMENSION_MISMATCH,
            )
        self._draft.set_vector(model, id.raw, value, of)

    def register_model(self, name: str, model: Model) -> None:
        """Stages what the vectors of a model have in common; recorded with its first vector.

        Raises:
            InvalidInputError: kind `model-mismatch`: it is registered with other values.
        """
        self._check_open()
        self._draft.register_model(check_text("model", name), model)

    def set_trust_policy(self, policy: TrustPolicy | None) -> None:
        """Stages the trust policy of the graph, None for none. From this commit on, reading a node
        requires a viewer.

        Raises:
            InvalidInputError: it is not a policy; or a node that was staged before lacks the labels
                it needs.
        """
        self._check_open()
        if policy is not None and type(policy) is not TrustPolicy:
            raise InvalidInputError(f"policy: got {policy!r:.80}, expected a TrustPolicy")
        self._draft.set_trust(policy)

    @property
    def trust_policy(self) -> TrustPolicy | None:
        """The trust policy as staged; None for none."""
        return self._draft.policy

    def values_of(self, node: Node) -> list[Node]:
        """Returns the values of a node: the given one, and those of the sides of a conflict about
        it. `Repository.conflict_values` has the values of each field instead.

        Args:
            node: as staged.
        """
        self._check_open()
        return self._draft.values(node)

    def set_labels(self, id: NodeId | str, labels: Mapping[str, Any]) -> None:  # noqa: A002
        """Stages the level and scope of a node, under the names of the trust policy, without one
        `level` and `scope`; what `labels` lacks is removed. A tombstoned node gets them too, and so
        do the parts of an ingested document, but those with another level or scope of their own.

        Raises:
            NotFoundError: there is no such node.
            InvalidInputError: the policy does not name a label; or under it, no caller could be
                allowed to see such a node.
        """
        node, policy = self.node(id), self.trust_policy or TrustPolicy()
        if not isinstance(labels, Mapping) or not labels.keys() <= {*policy.names}:
            expected = " and ".join(f"{name!r:.80}" for name in policy.names)
            raise InvalidInputError(
                f"labels: got {labels!r:.80}, expected a mapping from {expected}, "
                "the names in the trust policy"
            )
        staged = []
        whole = parts_of(node, self.find_node, values=self.values_of)
        for part in whole if document_of(node) == node.id else (node,):
            own = set(part.props) - document_labels(policy.names, part.props, node.props)
            names = [name for name in policy.names if part is node or name not in own]
            staged.append(changed(part, props=with_labels(part.props, names, labels)))
            if self.trust_policy is not None:
                policy.check_labels(staged[-1].props)
        for part in staged:
            self._draft.stage(NODES, part.id.raw, part)

    def set_semantics(self, version: int) -> None:
        """Stages a higher version of the rules by which the graph is asked. Older revisions and
        receipts keep theirs.

        Raises:
            InvalidInputError: it is not higher than the version of the graph.
            FormatError: kind `unsupported-semantics`: this program does not have the version.
        """
        self._check_open()
        now = Config.from_map(self.base.config).semantics
        if type(version) is not int or version <= now:
            raise InvalidInputError(
                f"semantics: got {version!r:.80}, expected a version after {now}, that of the graph"
            )
        check_version(version, "semantics")
        self._draft.edits.config["semantics"] = version

    def configure(self, **settings: object) -> None:
        """Stages defaults of questions, such as `configure(limit=5, model="minilm")`, and settings
        of conversations, such as `thread_window=1000`; None restores the default of the program. A
        question that gives an option keeps its own.

        Args:
            settings: by name, one of `retrieve.query.options.SETTINGS`.

        Raises:
            InvalidInputError: an unknown name, or a value of the wrong form.
        """
        self._check_open()
        self._draft.configure(settings)

    def set_sparse(
        self,
        id: NodeId | str,  # noqa: A002
        *,
        vocab: str,
        indices: ArrayLike,
        weights: ArrayLike,
        of: bytes | None = None,
    ) -> None:
        """Stages the sparse vector of a node under a vocabulary.

        Args:
            indices: (n,) token ids below 2^32, each once.
            weights: (n,) finite numbers.
            of: as in `set_vector`.
        """
        self._check_open()
        id = check_id("id", id, NodeId)  # noqa: A001
        check_text("vocab", vocab)
        value = Sparse.from_arrays(indices, weights, of=check_digest(of))
        self._draft.attach(("sparse", vocab), id.raw, value, of)

    def copy_vectors(self, source: NodeId | str, target: NodeId | str) -> None:
        """Stages the committed vectors of one node, of all families, as those of another one that
        has the same text."""
        source, target = check_id("source", source, NodeId), check_id("target", target, NodeId)
        for tree_name in self._draft.vector_trees():
            value = self._draft.committed_vector(tree_name, source.raw)
            if value is not None:
                self._draft.attach(tree_name, target.raw, value, value.of)

    def copy_tombstone(self, source: NodeId | str, target: NodeId | str) -> None:
        """Stages the tombstone of one node, if it has one, as that of another one that has the same
        text."""
        cid = self._cid(TOMBSTONES, source, NodeId)
        if cid is not None:
            stone = Tombstone.decode(self._draft.block(cid))
            self._draft.stage(TOMBSTONES, check_id("target", target, NodeId).raw, stone)

    def add_summaries(
        self,
        communities: Communities,
        *,
        name: str = "communities",
        sentences: int = 3,
        method: str = "centroid",
    ) -> tuple[NodeId, ...]:
        """Stages a node for each community, with the sentences that summarise it, in place of those
        that were stored by the same name, and returns their ids. Questions find these nodes as any
        other; the label is `CommunitySummary`.

        All nodes of the view decided on the communities, so a summary has the highest level of them
        and their scope. For one that more callers see, take the communities that such a caller
        gets. `sources` names the versions of the nodes that it quotes.

        Args:
            communities: of the revision that this transaction begins on.
            name: of these communities, beside others.
            sentences: the most to quote, 1 to 100.
            method: how they are chosen; see `Answer.summary`.

        Raises:
            InvalidInputError: an argument is out of its range, or the view has nodes of several
                scopes of a trust policy.
            NotFoundError: a member is not in the graph any more.
        """
        from ibidem.repo.transaction.community_summaries import add_summaries

        return add_summaries(self, communities, name=name, sentences=sentences, method=method)

    def remove_vector(self, id: NodeId | str, *, model: str) -> None:  # noqa: A002
        """Stages the removal of a vector; raises `NotFoundError` when there is none."""
        id = check_id("id", id, NodeId)  # noqa: A001
        self._remove_vector(("vectors", check_text("model", model)), id)

    def remove_sparse(self, id: NodeId | str, *, vocab: str) -> None:  # noqa: A002
        """Stages the removal of a sparse vector; raises `NotFoundError` when there is none."""
        id = check_id("id", id, NodeId)  # noqa: A001
        self._remove_vector(("sparse", check_text("vocab", vocab)), id)

    def _cid(self, tree_name: TreeName, id: Any, cls: type[Any]) -> Cid | None:  # noqa: A002
        self._check_open()
        return self._draft.cid(tree_name, check_id("id", id, cls).raw)

    def _remove_vector(self, tree_name: TreeName, id: NodeId) -> None:  # noqa: A002
        self._check_open()
        if not self._draft.has_vector(tree_name, id.raw):
            raise NotFoundError(f"node {id} has nothing under {tree_name[1]!r} in {tree_name[0]}")
        self._draft.remove(tree_name, id.raw)

    def _check_open(self) -> None:
        if not self._is_open:
            raise InvalidInputError("transaction: it has ended", hint="begin another one")


def _same_key(one: object, other: object) -> bool:
    return one is other or codec.encode(one) == codec.encode(other)
