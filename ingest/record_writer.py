"""Stages records in transactions: references are resolved, and what they wait for is waited for.

One writer takes the records of one input, in one transaction or in several, one after another. A
record that refers to a node which is not there yet is kept and staged at the end of the input;
updates, removals and tombstones always are, and are staged last. Nothing else is kept but names and
ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ibidem.ingest.fields import Reference
from ibidem.ingest.record import (
    ConfigRecord,
    EdgeRecord,
    ModelRecord,
    NodeRecord,
    NodeVectorRecord,
    Record,
    RemoveRecord,
    TombstoneRecord,
    UpdateRecord,
)
from ibidem.objects.derive import content_node_id, node_id
from ibidem.objects.errors import ErrorKind, IbidemError, InvalidInputError
from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.objects.node import Node, split_content
from ibidem.objects.plain import plain

if TYPE_CHECKING:
    from ibidem.repo.transaction.transaction import Transaction


@dataclass
class RecordCounts:
    """What was staged."""

    nodes_added: int = 0
    nodes_changed: int = 0
    nodes_unchanged: int = 0
    nodes_removed: int = 0
    edge_count: int = 0
    """Edges that were stated, new or not; vectors and tombstones likewise."""
    vector_count: int = 0
    tombstone_count: int = 0


@dataclass
class RecordWriter:
    """Stages the records of one input, in any order: what refers to a node that is not there yet,
    or updates, hides or removes one, is kept for `finish`, which has to be called.
    """

    is_in_order: bool = False
    """Whether an update, removal or tombstone of what is there is staged in its turn."""
    counts: RecordCounts = field(default_factory=RecordCounts)
    settings: list[str] = field(default_factory=list)
    """Names of settings that the input has with another value than the repository."""
    _names: dict[str, NodeId] = field(default_factory=dict)
    _present: set[NodeId] = field(default_factory=set)
    _waiting: list[tuple[str, Record]] = field(default_factory=list)
    _last: list[tuple[str, Record]] = field(default_factory=list)

    def write(self, tx: Transaction, record: Record, position: str) -> None:
        """Stages a record, or keeps it for `finish`.

        Args:
            position: where it stands in the input, such as `line 3`.

        Raises:
            IbidemError: it cannot be staged; nothing of it was.
        """
        is_late = isinstance(record, UpdateRecord | RemoveRecord | TombstoneRecord)
        if is_late and not self.is_in_order:
            self._last.append((position, record))
        elif self._is_ready(tx, record):
            self._stage(tx, record)
        else:
            self._waiting.append((position, record))

    def finish(self, tx: Transaction) -> Iterator[tuple[str, Record, IbidemError]]:
        """Stages what was kept; yields what cannot be staged, with its position and the error."""
        for position, record in [*self._waiting, *self._last]:
            try:
                self._stage(tx, record)
            except IbidemError as error:
                yield position, record, error
        self._waiting.clear()
        self._last.clear()

    def _is_ready(self, tx: Transaction, record: Record) -> bool:
        """Returns whether all that a record refers to is there."""
        match record:
            case EdgeRecord(source=source, target=target):
                return self._find(tx, source) is not None and self._find(tx, target) is not None
            case NodeVectorRecord() | UpdateRecord() | TombstoneRecord():
                return self._find(tx, record.node) is not None
            case RemoveRecord(node=node) if node is not None:
                return self._find(tx, node) is not None
            case RemoveRecord():  # of an edge, which may be waiting itself
                return not self._waiting
            case NodeRecord(children=children):
                return all(self._find(tx, child.id) is not None for child in children)
            case _:
                return True

    def _find(self, tx: Transaction, reference: Reference) -> NodeId | None:
        """Returns the node that the reference names, None if it does not exist yet; an id is looked
        up once."""
        if not isinstance(reference, NodeId):
            return self._names.get(reference)
        if reference not in self._present:
            if tx.find_node(reference) is None:
                return None
            self._present.add(reference)
        return reference

    def _resolve(self, tx: Transaction, field_name: str, reference: Reference) -> NodeId:
        found = self._find(tx, reference)
        if found is None:
            raise InvalidInputError(
                f"{field_name}: got {str(reference)!r:.100}, expected the name of a node of this "
                "input, or the id or key of a node that is there",
                kind=ErrorKind.DANGLING_REFERENCE,
            )
        return found

    def _stage(self, tx: Transaction, record: Record) -> None:
        counts = self.counts
        match record:
            case NodeRecord():
                self._add_node(tx, record)
            case EdgeRecord():
                source = self._resolve(tx, "edge.source", record.source)
                target = self._resolve(tx, "edge.target", record.target)
                tx.add_edge(
                    source,
                    record.etype,
                    target,
                    weight=record.weight,
                    props=record.props,
                    key=record.key,
                    replace=record.replace,
                )
                counts.edge_count += 1
            case NodeVectorRecord():
                record.stage(tx, self._resolve(tx, f"{record.FORM}.node", record.node))
                counts.vector_count += 1
            case UpdateRecord():
                self._update_node(tx, self._resolve(tx, "update.node", record.node), record.values)
            case ModelRecord():
                tx.register_model(record.name, record.model)
            case ConfigRecord():
                self.settings += _differing(record.config, tx.base.config)
            case TombstoneRecord():
                hidden = self._resolve(tx, "tombstone.node", record.node)
                tx.tombstone(hidden, reason=record.reason)
                counts.tombstone_count += 1
            case RemoveRecord(edge=edge) if edge is not None:
                tx.remove_edge(edge)
            case RemoveRecord(node=reference):
                assert reference is not None, "BUG: a removal names a node or an edge"
                removed = self._resolve(tx, "remove.node", reference)
                tx.remove_node(removed)
                self._present.discard(removed)
                counts.nodes_removed += 1

    def _add_node(self, tx: Transaction, record: NodeRecord) -> None:
        if record.name is not None and record.name in self._names:
            raise InvalidInputError(f"node.name: {record.name!r:.100} is taken by an earlier line")
        added = _id_of(record)
        before = tx.find_node(added)
        values = record.values()
        tx.add_node(**values)
        self._present.add(added)
        if record.name is not None:
            self._names[record.name] = added
        if before is None:
            self.counts.nodes_added += 1
        elif values["replace"] and tx.node(added).encode() != before.encode():
            self.counts.nodes_changed += 1
        else:
            self.counts.nodes_unchanged += 1

    def _update_node(self, tx: Transaction, node: NodeId, values: Mapping[str, Any]) -> None:
        before = tx.node(node)
        tx.update_node(node, **values)
        if tx.node(node).encode() != before.encode():
            self.counts.nodes_changed += 1
        else:
            self.counts.nodes_unchanged += 1


def _id_of(record: NodeRecord) -> NodeId:
    """Returns the id that the transaction will assign: the given one, that of the key, else that of
    the content."""
    if record.id is not None:
        return record.id
    if record.key is not None:
        return node_id(record.namespace, record.key)
    values = record.values()
    del values["namespace"], values["id"], values["replace"]  # of a key, and there is no key
    values["content"], _ = split_content(record.content or b"")
    return content_node_id(Node(NodeId(bytes(ID_BYTES)), **values).to_map())


def _differing(config: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Returns the settings, models excepted, that are not the same here, by name."""
    names = sorted((config.keys() | here.keys()) - {"models"})
    return [name for name in names if plain(config.get(name)) != plain(here.get(name))]
