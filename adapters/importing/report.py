"""What an import did, or would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ibidem import CommitCid


@dataclass(frozen=True)
class ImportReport:
    """The result of an import."""

    format: str
    is_dry_run: bool
    record_count: int
    """How many records the input has."""
    nodes_added: int = 0
    nodes_changed: int = 0
    nodes_unchanged: int = 0
    nodes_removed: int = 0
    edge_count: int = 0
    """Edges that the input states, new or not; vectors and tombstones likewise."""
    vector_count: int = 0
    tombstone_count: int = 0
    messages_added: int = 0
    messages_unchanged: int = 0
    omitted: Mapping[str, int] = field(default_factory=dict)
    """By reason, how much of the input was not carried over."""
    commits: tuple[CommitCid, ...] = ()
    """The new commits, oldest first; none if nothing changed."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the report as plain data."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            **found,
            "omitted": [{"reason": one, "count": count} for one, count in self.omitted.items()],
            "commits": [str(commit) for commit in self.commits],
        }
