"""JSON lines to nodes, edges and vectors that refer to each other by local name.

The input is read in one pass: a record that refers to an unknown name is applied at the end of the
input; removals and tombstones always are. The length of a line that is read is limited, so memory
is bounded. A rejected line is reported with its number and changes nothing; the others are applied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, BinaryIO

from ibidem.ingest.fields import Reference
from ibidem.ingest.record import (
    EdgeRecord,
    NodeRecord,
    NodeVectorRecord,
    Record,
    RemoveRecord,
    TombstoneRecord,
    parse_record,
)
from ibidem.ingest.report import IngestReport
from ibidem.objects.derive import content_node_id, node_id
from ibidem.objects.errors import ErrorKind, IbidemError, InvalidInputError
from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.objects.node import Node, split_content
from ibidem.objects.record import record

if TYPE_CHECKING:
    from ibidem.repo.transaction.transaction import Transaction

LINE_BYTES_MAX = 16 << 20
ERRORS_MAX = 1000
"""The most lines that are reported one by one; the rest are counted in one more entry."""

_READ_BYTES = 1 << 16
_BLANKS = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


def read_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yields (number from 1, line) for each line that is not blank; None for one over the limit."""
    number = 0
    while line := stream.readline(LINE_BYTES_MAX + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(_BOM)
        if len(line) > LINE_BYTES_MAX and not line.endswith(b"\n"):
            while (rest := stream.readline(_READ_BYTES)) and not rest.endswith(b"\n"):
                pass
            yield number, None
        elif line.strip(_BLANKS):
            yield number, line


def ingest_records(
    tx: Transaction, stream: BinaryIO, path: str, report: IngestReport, *, strict: bool
) -> None:
    """Applies the records of `stream` to the transaction and counts them in `report`.

    Raises:
        InvalidInputError: `strict` is set and a line was rejected. The lines before it are in the
            transaction, so let the error leave the transaction's block, which then publishes
            nothing.
    """
    applying = _Applying(tx, path, report, strict)
    for number, line in read_lines(stream):
        applying.line(number, line)
    applying.finish()


@record(frozen=False)
class _Applying:
    tx: Transaction
    path: str
    report: IngestReport
    strict: bool
    _names: dict[str, NodeId] = field(default_factory=dict)
    _present: set[NodeId] = field(default_factory=set)
    _waiting: list[tuple[int, Record]] = field(default_factory=list)
    _last: list[tuple[int, Record]] = field(default_factory=list)
    _refused_count: int = 0

    def line(self, number: int, line: bytes | None) -> None:
        try:
            if line is None:
                raise InvalidInputError(f"line: longer than {LINE_BYTES_MAX} bytes")
            record = parse_record(line)
            if isinstance(record, RemoveRecord | TombstoneRecord):
                self._last.append((number, record))
            elif self._is_known(record):
                self._apply(record)
            else:
                self._waiting.append((number, record))
        except IbidemError as error:
            self._refuse(number, error)

    def finish(self) -> None:
        for number, each in [*self._waiting, *self._last]:
            try:
                self._apply(each)
            except IbidemError as error:
                self._refuse(number, error)
        if self._refused_count > ERRORS_MAX:
            self.report.errors.append(
                (self.path, f"{self._refused_count - ERRORS_MAX} more lines refused")
            )

    def _refuse(self, number: int, error: IbidemError) -> None:
        message = f"line {number}: {error}"
        if self.strict:
            raise InvalidInputError(
                f"{self.path}: {message}", kind=error.kind, hint=error.hint
            ) from error
        self._refused_count += 1
        if self._refused_count <= ERRORS_MAX:
            self.report.errors.append((self.path, message))

    def _is_known(self, record: Record) -> bool:
        match record:
            case EdgeRecord(source=source, target=target):
                return self._find(source) is not None and self._find(target) is not None
            case NodeVectorRecord(node=node):
                return self._find(node) is not None
            case _:
                return True

    def _find(self, reference: Reference) -> NodeId | None:
        """Returns the node that the reference names, None if it does not exist yet; an id is looked
        up once."""
        if not isinstance(reference, NodeId):
            return self._names.get(reference)
        if reference not in self._present:
            if self.tx.find_node(reference) is None:
                return None
            self._present.add(reference)
        return reference

    def _resolve(self, field_name: str, reference: Reference) -> NodeId:
        found = self._find(reference)
        if found is None:
            raise InvalidInputError(
                f"{field_name}: got {str(reference)!r:.100}, expected the name of a node of this "
                "input, or the id or key of a node that is there",
                kind=ErrorKind.DANGLING_REFERENCE,
            )
        return found

    def _apply(self, record: Record) -> None:
        tx, report = self.tx, self.report
        match record:
            case NodeRecord():
                self._add_node(record)
            case EdgeRecord():
                source = self._resolve("edge.source", record.source)
                target = self._resolve("edge.target", record.target)
                tx.add_edge(
                    source,
                    record.etype,
                    target,
                    weight=record.weight,
                    props=record.props,
                    key=record.key,
                    replace=True,
                )
                report.edges += 1
            case NodeVectorRecord():
                record.stage(tx, self._resolve(f"{record.FORM}.node", record.node))
                report.vectors += 1
            case TombstoneRecord():
                tx.tombstone(self._resolve("tombstone.node", record.node), reason=record.reason)
                report.tombstones += 1
            case RemoveRecord(edge=edge) if edge is not None:
                tx.remove_edge(edge)
            case RemoveRecord(node=reference):
                assert reference is not None, "BUG: a removal names a node or an edge"
                removed = self._resolve("remove.node", reference)
                tx.remove_node(removed)
                self._present.discard(removed)
                report.nodes_removed += 1

    def _add_node(self, record: NodeRecord) -> None:
        if record.name is not None and record.name in self._names:
            raise InvalidInputError(f"node.name: {record.name!r:.100} is taken by an earlier line")
        added = _id_of(record)
        before = self.tx.find_node(added)
        self.tx.add_node(**record.values(), replace=record.key is not None)
        if record.name is not None:
            self._names[record.name] = added
        if before is None:
            self.report.nodes_added += 1
        elif record.key is not None and self.tx.node(added).encode() != before.encode():
            self.report.nodes_changed += 1


def _id_of(record: NodeRecord) -> NodeId:
    """Returns the id that the transaction will assign: from the key, else from the content."""
    if record.key is not None:
        return node_id(record.namespace, record.key)
    values = record.values()
    del values["namespace"]  # part of the key, and there is no key
    values["content"], _ = split_content(record.content or b"")
    node = Node(NodeId(bytes(ID_BYTES)), **values)
    return content_node_id(node.to_map())
