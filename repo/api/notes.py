"""Saying something about nodes, beside the graph: annotations."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from ibidem.repo.arguments import checked_time
from ibidem.repo.core import Core

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid
    from ibidem.repo.notes import Notes


class NotesApi(Core):
    """The methods of `Repository` about annotations."""

    def notes(self, space: str = "memory") -> Notes:
        """Returns the events of a space, the ref `notes/SPACE`, to add to and to read."""
        from ibidem.repo.notes import Notes

        return Notes(self, self.operation_log, space, self.note_logs.setdefault(space, {}))

    def now(self, time: int | datetime | None = None) -> int:
        """Returns a time in microseconds since 1970 UTC: the one given, else the clock's."""
        return self.operation_log.time(checked_time(time))

    def note_spaces(self) -> dict[str, CommitCid]:
        """Returns the spaces that have events with their notes heads, by name."""
        from ibidem.repo.notes import NOTES

        return self.operation_log.targets(NOTES)
