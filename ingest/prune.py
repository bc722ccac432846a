"""Removes documents whose files are gone from a folder that is ingested again.

Parts with a tombstone stay, hidden and unlisted, so that the same text is hidden when it is added
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.ingest.draft import document_id
from ibidem.ingest.move import hide_passages, move_attachments, tombstoned_passages
from ibidem.ingest.report import IngestReport
from ibidem.ingest.walk import is_missing
from ibidem.objects.location import DOCUMENT, parts_of
from ibidem.objects.node import Node

if TYPE_CHECKING:
    from ibidem.repo.transaction.transaction import Transaction


def prune_documents(
    tx: Transaction, folders: Sequence[str], root: Path, report: IngestReport, new: Sequence[str]
) -> None:
    """Removes the documents below `folders` whose file no longer exists under `root`.

    A file that exists but was left out (ignored, binary, rejected) keeps its document. What was
    hidden in a document that is removed is hidden in the documents of `new` too.
    """
    gone = []
    for node in _documents(tx):
        source = str(node.key[1]) if node.key else ""
        below = any(not folder or source.startswith(f"{folder}/") for folder in folders)
        if below and is_missing(root / source):
            gone.append(node)
    hidden = tombstoned_passages(tx, gone)
    for node in gone:
        _remove(tx, node, report)
    hide_passages(tx, new, hidden)


def remove_document(
    tx: Transaction, path: str, report: IngestReport, *, moved_to: str | None = None
) -> None:
    """Removes the document of a file that is gone, if there is one, with its parts.

    Args:
        moved_to: the document that takes its place, after `move_attachments`.
    """
    node = tx.find_node(document_id(path))
    if node is None:
        return
    if moved_to is not None:
        move_attachments(tx, node, moved_to)
    _remove(tx, node, report)
    if moved_to is None:
        report.deleted.append(path)
    else:
        report.renamed.append((path, moved_to))


def _remove(tx: Transaction, document: Node, report: IngestReport) -> None:
    # The conflicts about them go as well, and so does what only these list.
    whole = parts_of(document, tx.find_node, values=tx.values_of)
    parts = [part.id for part in whole if not tx.is_tombstoned(part.id)]
    for part_id in parts:
        tx.remove_node(part_id)
    report.nodes_removed += len(parts)
    report.documents_removed += document.id in parts


def _documents(tx: Transaction) -> list[Node]:
    """Returns the documents that ingest created, by id."""
    return [
        node
        for node in tx.nodes(label="Document")
        if node.key is not None and node.key[0] == DOCUMENT and isinstance(node.key[1], str)
    ]
