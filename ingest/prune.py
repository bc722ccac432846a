"""Removes documents whose files are gone from a folder that is ingested again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.ingest.draft import document_id
from ibidem.ingest.move import move_attachments
from ibidem.ingest.report import IngestReport
from ibidem.ingest.walk import is_missing
from ibidem.objects.location import DOCUMENT, parts_of
from ibidem.objects.node import Node

if TYPE_CHECKING:
    from ibidem.repo.transaction.transaction import Transaction


def prune_documents(
    tx: Transaction, folders: Sequence[str], root: Path, report: IngestReport
) -> None:
    """Removes the documents below `folders` whose file no longer exists under `root`.

    A file that exists but was left out (ignored, binary, rejected) keeps its document.
    """
    for node in _documents(tx):
        source = str(node.key[1]) if node.key else ""
        below = any(not folder or source.startswith(f"{folder}/") for folder in folders)
        if not below or not is_missing(root / source):
            continue
        _remove(tx, node, source, report)


def remove_document(
    tx: Transaction, path: str, report: IngestReport, *, moved_to: str | None = None
) -> bool:
    """Removes the document of a file that is gone, with its parts.

    Args:
        moved_to: the document that takes its place, after `move_attachments`.

    Returns:
        Whether it was removed; one that is not in the graph counts as removed.
    """
    node = tx.find_node(document_id(path))
    if node is None:
        return True
    if moved_to is not None:
        move_attachments(tx, node, moved_to)
    if not _remove(tx, node, path, report):
        return False
    if moved_to is None:
        report.deleted.append(path)
    else:
        report.renamed.append((path, moved_to))
    return True


def _remove(tx: Transaction, document: Node, source: str, report: IngestReport) -> bool:
    # The conflicts about them go as well, and so does what only these list.
    parts = [part.id for part in parts_of(document, tx.find_node, values=tx.values_of)]
    if any(map(tx.is_tombstoned, parts)):
        report.skipped.append((source, "not removed: a part of it has a tombstone"))
        return False
    for part_id in parts:
        tx.remove_node(part_id)
    report.nodes_removed += len(parts)
    report.documents_removed += 1
    return True


def _documents(tx: Transaction) -> list[Node]:
    """Returns the documents that ingest created, by id."""
    return [
        node
        for node in tx.nodes(label="Document")
        if node.key is not None and node.key[0] == DOCUMENT and isinstance(node.key[1], str)
    ]
