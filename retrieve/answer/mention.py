"""Mentions: how a name led to an item, for its explanation.

Spec: retrieval 5.6.
"""

from __future__ import annotations

from typing import Any

from ibidem.objects.ids import NodeId
from ibidem.objects.plain import fields_of
from ibidem.objects.record import record


@record
class Mention:
    """A name that a node shares with the question or with one of the best nodes."""

    name: str
    source: NodeId | None
    """The node whose text has the name; None for the question."""
    node_count: int
    """The number of other nodes that have it."""
    is_title: bool
    """Whether the item begins with it."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the mention as plain data."""
        return fields_of(self, "name", "source", "node_count", "is_title")

    def __str__(self) -> str:
        whence = "the question" if self.source is None else str(self.source)
        where = "titled" if self.is_title else f"in {self.node_count} nodes"
        return f'through "{self.name}" of {whence}, {where}'
