"""The parts of an ingested document, as staged in a transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ibidem.objects.location import document_of
from ibidem.objects.node import Node

if TYPE_CHECKING:
    from ibidem.repo.transaction.transaction import Transaction


def parts_of(tx: Transaction, document: Node) -> Iterator[Node]:
    """Yields a document's node and those of its parts, following their lists of children.

    A child that ingest did not create for this document is neither followed nor yielded.
    """
    yield document
    seen = {document.id}
    stack = [document]
    while stack:
        for child in stack.pop().children:
            if child.id in seen:
                continue
            seen.add(child.id)
            node = tx.find_node(child.id)
            if node is not None and document_of(node) == document.id:
                yield node
                stack.append(node)
