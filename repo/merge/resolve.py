"""Resolves one conflict at the head of the current branch. A choice applies to the conflicting
fields; other fields that were merged or changed since stay. The parts of a document follow the
choice of its layout.

Spec: merge 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ibidem.objects import codec
from ibidem.objects.block import Block
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.commit import Commit
from ibidem.objects.conflict import EDGE, Conflict
from ibidem.objects.errors import CorruptError, InvalidInputError, NotFoundError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.node import Node, split_content
from ibidem.objects.record import record
from ibidem.objects.root import CONFLICTS, EDGES, NODES, Root
from ibidem.objects.tree import Tree
from ibidem.repo.argument_checks import check_content
from ibidem.repo.arguments import CommitInfo
from ibidem.repo.merge.conflicts import OpenConflict, recorded_in
from ibidem.repo.merge.documents import Parts, restored_ends, settled_parts
from ibidem.repo.merge.element import read
from ibidem.repo.merge.fields import block_of, class_of, fields_of, version_of, with_value
from ibidem.repo.root_check import conflict_problem
from ibidem.repo.transaction.changeset import ChangeSet, Published, Publisher
from ibidem.repo.transaction.publish import BranchPublisher, Tip
from ibidem.repo.transaction.transaction import Transaction

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.repo.core import Core
    from ibidem.repo.graph import Graph

OURS, THEIRS, BASE, VALUE = "ours", "theirs", "base", "value"
TAKES = (OURS, THEIRS, BASE, VALUE)
_CONTENT = "content"


def resolve(
    repository: Core,
    id: NodeId | EdgeId,  # noqa: A002
    take: str,
    value: Mapping[str, Any] | None,
    signature: CommitInfo,
) -> Commit | None:
    """Resolves the conflict on `id`; see `Repository.resolve_conflict`."""
    if take not in TAKES:
        raise InvalidInputError(f"take: got {take!r:.80}, expected one of {', '.join(TAKES)}")
    state = repository.operation_log.state()
    at = repository.graph(state=state)
    cid = Tree(repository.store, at.root.conflicts).get(id.raw)
    if cid is None or at.commit is None:
        raise NotFoundError(
            f"conflict {id}: it has no conflict", hint="run 'repo status' to list the open ones"
        )
    store = repository.store
    conflict = read(store, cid)
    problem = conflict_problem(store, id.raw, conflict)
    if problem is not None:
        raise CorruptError(
            f"conflict {id}: {problem}",
            hint="'repo undo' takes back what brought it here, and 'repo fsck' names it",
        )
    case = _Case(store, at.root, at.commit, id, conflict)
    chosen = case.chosen(take)
    signed = replace(signature, message=signature.message or f"resolve {id}: {take}")
    opened = Tip(at.commit.cid, at.root_cid, at.root)
    publisher = BranchPublisher(
        repository.operation_log, state, state.view.head, signed, begun=opened
    )
    settled, edits, blocks = None, ChangeSet(), dict[Cid, bytes]()
    if chosen is not None:
        settled, edits, blocks = case.settled(chosen, value or {})
    elif value:
        raise InvalidInputError(f"value: got fields for {id}, which {take!r} takes away")
    parts = case.parts(at, settled, edits.of(NODES).values(), take)
    stands = parts.settled or settled
    if stands is not None:
        block = stands.encode()
        cid = stands.CID.of(block)
        blocks[cid] = block
        edits.of(EDGES if case.conflict.what == EDGE else NODES)[id.raw] = cid
    with Transaction(
        store,
        _Along(publisher, (edits, parts.edits), {**blocks, **parts.blocks}),
        incident=lambda root, id: repository.edge_lookup.incident(None, root, id),  # noqa: A006
    ) as tx:
        if settled is None:
            _take_away(tx, case)
        for part in parts.removed:
            tx.remove_node(part)
    return tx.commit


@record
class _Along:
    """Publishes edits together with those of a transaction, which are disjoint from them."""

    publisher: Publisher
    edits: tuple[ChangeSet, ...]
    blocks: Mapping[Cid, bytes]

    def base(self) -> Root:
        """Returns the root that the transaction begins on."""
        return self.publisher.base()

    def publish(self, edits: ChangeSet, blocks: Mapping[Cid, bytes]) -> Published:
        """Publishes all the edits in one commit."""
        for each in self.edits:
            for family, entries in each.trees.items():
                edits.of(family).update(entries)
        return self.publisher.publish(edits, {**blocks, **self.blocks})


@record
class _Case:
    """One conflict, and the state that contains it."""

    source: Source
    root: Root
    commit: Commit
    id: NodeId | EdgeId
    conflict: Conflict

    @property
    def current(self) -> Cid | None:
        """The value in the graph until the conflict is resolved."""
        return self._value_in(self.root)

    def chosen(self, take: str) -> Cid | None:
        """Returns the chosen value; None to remove the node or edge."""
        if take == VALUE:
            return self.current or self._only_side()
        if take == BASE:
            if self.conflict.base is None:
                raise InvalidInputError(
                    f"take: got 'base' for {self.id}, which did not exist before",
                    hint="choose ours, theirs, or give values",
                )
            return self.conflict.base
        recorded = self.recorded()
        ours = self._value_at(recorded.parents[0]) if recorded.parents else None
        if take == OURS:
            return ours
        if len(recorded.parents) == 2:
            return self._value_at(recorded.parents[1])
        return self._other_than(ours)

    def recorded(self) -> Commit:
        """Returns the commit that recorded the conflict."""
        return recorded_in(self.source, self.commit.cid, self.id.raw)

    def since(self, take: str) -> CommitCid:
        """Returns the commit from which to search the history for the chosen state."""
        recorded = self.recorded()
        if take == THEIRS and len(recorded.parents) == 2:
            return recorded.parents[1]
        return recorded.parents[0] if take == OURS and recorded.parents else recorded.cid

    def parts(
        self, at: Graph, settled: Block | None, ends: Iterable[Cid | None], take: str
    ) -> Parts:
        """Returns the effects on the parts of documents.

        Args:
            settled: the resolved value, None if it is removed.
            ends: the missing nodes that come back with an edge.
        """
        if self.conflict.what == EDGE:
            nodes = [Node.decode(self.source.get(cid)) for cid in ends if cid is not None]
            return restored_ends(self.source, at, nodes, since=lambda: self.recorded().cid)
        found = OpenConflict(self.id, self.conflict, self.current)
        node = settled if isinstance(settled, Node) else None
        return settled_parts(self.source, at, found, node, since=lambda: self.since(take))

    def settled(
        self, chosen: Cid, value: Mapping[str, Any]
    ) -> tuple[Block, ChangeSet, dict[Cid, bytes]]:
        """Returns the resolved value, and the other edits, with their blocks."""
        edits, buffer = ChangeSet(), WriteBatch(self.source)
        nodes = Tree(self.source, self.root.nodes)
        for link in self.conflict.nodes:
            node = Node.decode(self.source.get(link))
            if nodes.get(node.id.raw) is None:
                edits.of(NODES)[node.id.raw] = node.cid
        settled = self._merged(chosen, value, buffer)
        edits.of(CONFLICTS)[self.id.raw] = None
        return settled, edits, buffer.new

    def _merged(self, chosen: Cid, value: Mapping[str, Any], buffer: WriteBatch) -> Block:
        block = self.source.get(self.current or chosen)
        other = self.source.get(chosen)
        version = version_of(block, other)
        fields, wanted = fields_of(block, version), fields_of(other, version)
        names = self.conflict.fields
        if not names and not self.conflict.deleted and not self.conflict.nodes:
            fields = wanted
        for name in names:
            fields = with_value(fields, name, wanted)
        given = {name: _encoded(name, item, buffer) for name, item in value.items()}
        for name, item in given.items():
            fields = with_value(fields, name, {} if item is None else {name: item})
        merged = block_of(block, fields, version)
        try:
            return class_of(self.conflict.what).decode(merged)
        except CorruptError as error:
            raise InvalidInputError(f"value: {error}") from error

    def _only_side(self) -> Cid:
        if len(self.conflict.sides) > 1:
            raise InvalidInputError(
                f"take: got 'value' for {self.id}, which is not in the graph",
                hint="choose ours or theirs, and set values if necessary",
            )
        return self.conflict.sides[0]

    def _other_than(self, ours: Cid | None) -> Cid | None:
        """Returns the other side, None if it deleted the value."""
        others = [side for side in self.conflict.sides if side != ours]
        if len(others) > 1 or (others and self.conflict.deleted and ours is not None):
            raise InvalidInputError(
                f"take: got 'theirs' for {self.id}, where more than two sides meet",
                hint="choose ours, or give values",
            )
        return others[0] if others else None

    def _value_at(self, commit: Cid) -> Cid | None:
        root = Commit.decode(self.source.get(commit)).root
        return self._value_in(Root.decode(self.source.get(root)))

    def _value_in(self, root: Root) -> Cid | None:
        tree = root.edges if self.conflict.what == EDGE else root.nodes
        return Tree(self.source, tree).get(self.id.raw)


def _take_away(tx: Transaction, case: _Case) -> None:
    """Stages the removal of the conflicting node or edge."""
    if case.current is None:
        tx.settle(case.id)
    elif isinstance(case.id, NodeId):
        tx.remove_node(case.id)
    else:
        tx.remove_edge(case.id)


def _encoded(name: str, value: Any, buffer: WriteBatch) -> bytes | None:
    """Returns the canonical bytes of a field; long content goes into the buffer."""
    if name == _CONTENT and value is not None:
        value, parts = split_content(check_content(value))
        for cid, part in parts.items():
            buffer.put(cid, part)
    return None if value is None else codec.encode(value)
