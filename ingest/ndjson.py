"""JSON lines to nodes, edges and vectors that refer to each other by local name.

The input is read in one pass: a record that refers to an unknown name is applied at the end of the
input; removals and tombstones always are. The length of a line that is read is limited, so memory
is bounded. A rejected line is reported with its number and changes nothing; the others are applied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from ibidem.ingest.record import parse_record
from ibidem.ingest.record_writer import RecordWriter
from ibidem.ingest.report import IngestReport
from ibidem.objects.errors import IbidemError, InvalidInputError
from ibidem.objects.record import record

if TYPE_CHECKING:
    from ibidem.repo.transaction.transaction import Transaction

LINE_BYTES_MAX = 32 << 20
"""The longest content of a node, 16 MiB, takes 22 MB in base64."""
ERRORS_MAX = 1000
"""The most lines that are reported one by one; the rest are counted in one more entry."""

_READ_BYTES = 1 << 16
_BLANKS = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


def read_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yields (number from 1, line) for each line that is not blank; None for one over the limit of
    `LINE_BYTES_MAX` bytes.
    """
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
    tx: Transaction,
    stream: BinaryIO,
    path: str,
    report: IngestReport,
    *,
    strict: bool,
    is_in_order: bool = False,
) -> None:
    """Applies the records of `stream` to the transaction and counts them in `report`.

    Args:
        is_in_order: whether updates, removals and tombstones are applied in their turn; else they
            are applied at the end, so that the order of lines means nothing.

    Raises:
        InvalidInputError: `strict` is set and a line was rejected. The lines before it are in the
            transaction, so let the error leave the transaction's block, which then publishes
            nothing.
    """
    applying = _Applying(tx, path, report, strict, RecordWriter(is_in_order=is_in_order))
    for number, line in read_lines(stream):
        applying.line(f"line {number}", line)
    applying.finish()


@record(frozen=False)
class _Applying:
    tx: Transaction
    path: str
    report: IngestReport
    strict: bool
    _writer: RecordWriter
    _refused_count: int = 0

    def line(self, position: str, line: bytes | None) -> None:
        try:
            if line is None:
                raise InvalidInputError(f"line: longer than {LINE_BYTES_MAX} bytes")
            self._writer.write(self.tx, parse_record(line), position)
        except IbidemError as error:
            self._refuse(position, error)

    def finish(self) -> None:
        for position, _, error in self._writer.finish(self.tx):
            self._refuse(position, error)
        if self._refused_count > ERRORS_MAX:
            self.report.errors.append(
                (self.path, f"{self._refused_count - ERRORS_MAX} more lines refused")
            )
        for name in self._writer.settings:
            self.report.warnings.append(
                (self.path, f"the setting {name} has another value here, and keeps it")
            )
        counts, report = self._writer.counts, self.report
        report.nodes_added += counts.nodes_added
        report.nodes_changed += counts.nodes_changed
        report.nodes_removed += counts.nodes_removed
        report.edges += counts.edge_count
        report.vectors += counts.vector_count
        report.tombstones += counts.tombstone_count

    def _refuse(self, position: str, error: IbidemError) -> None:
        message = f"{position}: {error}"
        if self.strict:
            raise InvalidInputError(
                f"{self.path}: {message}", kind=error.kind, hint=error.hint
            ) from error
        self._refused_count += 1
        if self._refused_count <= ERRORS_MAX:
            self.report.errors.append((self.path, message))
