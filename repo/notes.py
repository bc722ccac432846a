"""Annotations: events about nodes, stored as commits on a separate ref, `notes/SPACE`.

An event is a node that is added and never changed, so two histories of events merge without a
conflict, and are copied and erased like everything else. No reader of events uses the newest ones
implicitly: it names one commit, the notes head, and its result depends on that commit alone.

The id of an event begins with its position in that history. So events of the same time are in the
order in which they were added, and two writers of equal events at the same microsecond both count:
the second writer's event is added after the first one's.

Spec: memory 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.ids import NodeId
from ibidem.repo import refs
from ibidem.repo.argument_checks import check_id
from ibidem.repo.arguments import checked_time, commit_info
from ibidem.repo.event_log import read_log
from ibidem.repo.events import (
    NOTES,
    Event,
    Log,
    outcome_event,
    penalize_event,
    reinforce_event,
    vote_event,
)
from ibidem.repo.transaction.begin import begin, branch_publisher
from ibidem.repo.transaction.reconcile import RECORD

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.state import State


class Notes:
    """The events of one space, for reading and adding."""

    def __init__(self, repository: Core, space: str, logs: dict[CommitCid, Log]) -> None:
        """Opens a space; `logs` caches the events that were read."""
        self.space = refs.check_name("space", space)
        self._repository = repository
        self._operations = repository.operation_log
        self._logs = logs

    @property
    def head(self) -> CommitCid | None:
        """The newest commit of the space; None before the first event."""
        ref = self._operations.ref(NOTES + self.space)
        return None if ref is None else CommitCid(ref.target.raw)

    def at(self, head: CommitCid | None) -> Log:
        """Returns the events at a notes head, none for None; cached events are not read again.

        Raises:
            NotFoundError: there is no such commit here.
            CorruptError: its blocks are damaged. Intact nodes that are no events are left out and
                listed in `Log.damaged`.
        """
        return read_log(self._repository, head, self._logs)

    def log(self) -> Log:
        """Returns the current events."""
        full_name = NOTES + self.space

        def read(state: State) -> Log:
            ref = refs.read(self._operations.store, state.view, full_name)
            return self.at(None if ref is None else CommitCid(ref.target.raw))

        return self._operations.retry_if_collected(read)

    def add(
        self,
        events: Iterable[Event],
        *,
        author: str = "",
        message: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Adds events in one commit and returns the new notes head.

        Args:
            events: an event whose `time` is 0 gets that of the commit, one without an author the
                author.
            author: of the commit.
            message: of the commit.
            time: of the commit; by default the clock's.

        Raises:
            InvalidInputError: an event is malformed, or there is none; nothing was added.
        """
        now = self._operations.time(checked_time(time))
        core = self._repository
        signed = commit_info(author, message, now, core.agent, core.task)
        publisher = branch_publisher(self._repository, None, signed, on_conflict=RECORD)
        with begin(self._repository, publisher, signed) as tx:
            tx.note(self.space, events)
        return tx.noted[self.space]

    def reinforce(
        self,
        target: NodeId | str,
        *,
        gain: float | None = None,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Records that a node was useful; without `gain`, the node's own or the default gain
        applies.
        """
        return self.add(
            [reinforce_event(check_id("target", target, NodeId), gain, author)],
            author=author,
            time=time,
        )

    def penalize(
        self,
        target: NodeId | str,
        amount: float,
        *,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Records that a node should have less weight, by an amount of at least 0."""
        return self.add(
            [penalize_event(check_id("target", target, NodeId), amount, author)],
            author=author,
            time=time,
        )

    def vote(
        self,
        target: NodeId | str,
        value: int,
        *,
        author: str,
        about: Cid | None = None,
        detail: Mapping[str, Any] | None = None,
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Records that a node was right, 1, or wrong, -1, in answer `about`."""
        event = vote_event(check_id("target", target, NodeId), value, author, about, detail or {})
        return self.add([event], author=author, time=time)

    def outcome(
        self,
        target: NodeId | str,
        ok: bool,
        *,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Records that following a node's content succeeded or failed."""
        return self.add(
            [outcome_event(check_id("target", target, NodeId), ok, author)],
            author=author,
            time=time,
        )
