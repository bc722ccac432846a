"""Annotations: events about nodes, stored outside the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.repo.event_log import SPACE_DEFAULT
from ibidem.repo.events import NOTES
from ibidem.repo.notes import Notes

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid
    from ibidem.repo.core import Core


class NoteSpaces:
    """The spaces of annotations."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def space(self, name: str = SPACE_DEFAULT) -> Notes:
        """Returns the events of a space, the ref `notes/SPACE`, to add to and to read."""
        core = self._core
        return Notes(core, name, core.note_logs.setdefault(name, {}))

    def spaces(self) -> dict[str, CommitCid]:
        """Returns the heads of the spaces that have events, by name."""
        return self._core.operation_log.targets(NOTES)
