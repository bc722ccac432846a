"""Conversations of a repository behind a server: the server appends, and assigns the ords."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ibidem.memory.conversation.changes import Written
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.conversation.message import (
    MESSAGE,
    Message,
    checked_name,
    messages_of,
    thread_id,
    thread_info,
)
from ibidem.repo.revspec import HEAD
from ibidem.repo.served.client import plain
from ibidem.repo.served.members import not_served, serves

if TYPE_CHECKING:
    from ibidem.repo.revision import Revision
    from ibidem.repo.served.repository import ServedRepository


@serves(Conversations)
class ServedConversations(Conversations):
    """Threads of messages behind a server."""

    def __init__(self, repository: ServedRepository) -> None:
        super().__init__(repository)
        self._served = repository

    def append(
        self, thread: str, messages: Iterable[object], *, time: int | datetime | None = None
    ) -> Written:
        """Appends messages to a thread; as `Conversations.append`."""
        if time is not None:
            raise not_served("Conversations.append(time=…)", "give each message its created_at")
        given, name = messages_of(messages), checked_name(thread)
        commit = self._served.send_messages(name, [_sent(one) for one in given])
        revision = self._served.at(HEAD if commit is None else commit.cid)
        return Written(_ords(revision, name, given) if given else (), commit)


def _sent(message: Message) -> dict[str, Any]:
    """Returns a message as the server takes it: its fields."""
    fields = {name: getattr(message, name) for name in Message.__dataclass_fields__}
    empty: tuple[object, ...] = (None, (), {})
    return plain({name: value for name, value in fields.items() if value not in empty})


def _ords(revision: Revision, thread: str, messages: list[Message]) -> tuple[int, ...]:
    """Returns the ords of messages after they were appended: those with an id are found by it, and
    the others are the last of the thread that no id of these has."""
    names = [one.id for one in messages if one.id is not None]
    where: dict[str, Any] = {"thread": thread, "message_id": {"in": names}}
    nodes = revision.query(label=MESSAGE, where=where) if names else []
    of_id: dict[Any, Any] = {node.props["message_id"]: node.props["ord"] for node in nodes}
    ords = set(of_id.values())
    free = (
        position
        for position in range(thread_info(revision.node(thread_id(thread))).next_ord - 1, -1, -1)
        if position not in ords
    )
    found = [next(free) if one.id is None else of_id[one.id] for one in reversed(messages)]
    return tuple(reversed(found))
