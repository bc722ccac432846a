"""Removes documents whose files are gone from a folder that is ingested again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.ingest.report import IngestReport
from ibidem.ingest.update import parts_of
from ibidem.objects.location import DOCUMENT
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
        if not below or os.path.lexists(root / source):
            continue
        parts = [part.id for part in parts_of(tx, node)]
        if any(map(tx.is_tombstoned, parts)):
            report.skipped.append((source, "not removed: a part of it has a tombstone"))
            continue
        for part_id in parts:
            tx.remove_node(part_id)
        report.nodes_removed += len(parts)
        report.documents_removed += 1


def _documents(tx: Transaction) -> list[Node]:
    """Returns the documents that ingest created, by id."""
    return [
        node
        for node in tx.nodes(label="Document")
        if node.key is not None and node.key[0] == DOCUMENT and isinstance(node.key[1], str)
    ]
