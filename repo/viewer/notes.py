"""Annotations as a restricted viewer gets them: events about visible nodes.

An event is shown with those of its nodes that are visible, and without its id, which begins with
the position of the event among all. The viewer can only add events about visible nodes.

Spec: trust 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ibidem.objects.errors import NotFoundError
from ibidem.repo.event_log import SPACE_DEFAULT
from ibidem.repo.events import Event, Log
from ibidem.repo.viewer.exposure import Proxy, not_permitted

if TYPE_CHECKING:
    from ibidem.objects.cid import Cid, CommitCid
    from ibidem.objects.ids import NodeId
    from ibidem.repo.api.notes import NoteSpaces
    from ibidem.repo.notes import Notes
    from ibidem.repo.viewer.revision import ViewerRevision

Time = int | datetime | None
Head = Callable[[], "ViewerRevision"]
"""Returns the graph at the head, as the viewer sees it."""


class ViewerNotes(Proxy):
    """The spaces of annotations."""

    proxy_of = "NoteSpaces"

    def __init__(self, spaces: NoteSpaces, head: Head, author: str) -> None:
        self._spaces = spaces
        self._head = head
        self._author = author

    def space(self, name: str = SPACE_DEFAULT) -> ViewerSpace:
        """Returns the events of a space, to add to and to read."""
        return ViewerSpace(self._spaces.space(name), self._head, self._author)

    def spaces(self) -> dict[str, CommitCid]:
        """Returns the spaces that have events with their notes heads, by name."""
        return self._spaces.spaces()


class ViewerSpace(Proxy):
    """The events of one space about nodes that a viewer sees."""

    proxy_of = "Notes"

    def __init__(self, notes: Notes, head: Head, author: str) -> None:
        self._notes = notes
        self._graph = head
        self._author = author

    @property
    def head(self) -> CommitCid | None:
        """The newest commit of the space; None before the first event."""
        return self._notes.head

    def at(self, head: CommitCid | None) -> Log:
        """Returns the events at a notes head about nodes visible at the head of the graph."""
        return self._visible(self._notes.at(head))

    def log(self) -> Log:
        """Returns the current events; as `at`."""
        return self._visible(self._notes.log())

    def add(
        self, events: Iterable[Event], *, author: str = "", message: str = "", time: Time = None
    ) -> CommitCid:
        """Adds events in one commit and returns the notes head that has them.

        Raises:
            NotFoundError: an event is about a node that is not visible or does not exist.
        """
        found = list(events)
        graph = self._graph()
        for one in found:
            for target in one.targets:
                if not graph.is_visible(target):
                    raise NotFoundError(f"node {target} is not in the graph at this revision")
        by = self._by(author)
        signed = [replace(one, author=self._by(one.author) or by) for one in found]
        return self._notes.add(signed, author=by, message=message, time=time)

    def reinforce(
        self,
        target: NodeId | str,
        *,
        gain: float | None = None,
        author: str = "",
        time: Time = None,
    ) -> CommitCid:
        """Records that a node was useful; as `Notes.reinforce`."""
        self._graph().node(target, include_tombstoned=True)
        return self._notes.reinforce(target, gain=gain, author=self._by(author), time=time)

    def penalize(
        self, target: NodeId | str, amount: float, *, author: str = "", time: Time = None
    ) -> CommitCid:
        """Records that a node should count less; as `Notes.penalize`."""
        self._graph().node(target, include_tombstoned=True)
        return self._notes.penalize(target, amount, author=self._by(author), time=time)

    def vote(
        self,
        target: NodeId | str,
        value: int,
        *,
        author: str,
        about: Cid | None = None,
        detail: Mapping[str, Any] | None = None,
        time: Time = None,
    ) -> CommitCid:
        """Records that a node was right, 1, or wrong, -1; as `Notes.vote`."""
        self._graph().node(target, include_tombstoned=True)
        by = self._by(author)
        return self._notes.vote(target, value, author=by, about=about, detail=detail, time=time)

    def outcome(
        self, target: NodeId | str, ok: bool, *, author: str = "", time: Time = None
    ) -> CommitCid:
        """Records whether acting on a node succeeded; as `Notes.outcome`."""
        self._graph().node(target, include_tombstoned=True)
        return self._notes.outcome(target, ok, author=self._by(author), time=time)

    def _by(self, author: str) -> str:
        """Returns the author to record; a viewer with an author cannot name another."""
        if self._author and author not in ("", self._author):
            raise not_permitted("another author")
        return self._author or author

    def _visible(self, log: Log) -> Log:
        graph = self._graph()
        events: list[Event] = []
        by_target: dict[NodeId, list[Event]] = {}
        for one in log.events:
            targets = tuple(target for target in one.targets if graph.is_visible(target))
            if targets:
                event = replace(one, targets=targets, id=None)
                events.append(event)
                for target in targets:
                    by_target.setdefault(target, []).append(event)
        about = {target: tuple(found) for target, found in by_target.items()}
        return Log(log.head, tuple(events), (), about)
