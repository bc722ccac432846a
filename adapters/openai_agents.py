"""OpenAI Agents over a repository: the session of an agent is a thread.

`IbidemSession` fits the `Session` protocol of the `agents` package and does not import it. Items
are stored as they are; their texts are found by `recall` and `context` like other messages. A call
that has begun is finished before a cancellation is raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import ibidem
from ibidem.adapters.collection import count_of, items_of, plain, write

T = TypeVar("T")

_ITEM = "openai"
"""The property of a message that has the whole item."""
_ROLES = {"function_call_output": "tool", "computer_call_output": "tool"}


class IbidemSession:
    """The items of one session; what is written is one commit a call."""

    def __init__(
        self,
        session_id: str,
        repository: ibidem.Repository,
        *,
        session_settings: Any = None,
        viewer: ibidem.Viewer | None = None,
        author: str = "",
    ) -> None:
        """Writes nothing.

        Args:
            session_id: the name of the thread.
            repository: where it is.
            session_settings: those of the `agents` package; `limit` is used.
            viewer: as whom to read, in a repository with a trust policy.
            author: of the commits.
        """
        self.session_id, self.session_settings = session_id, session_settings
        self.repository, self.viewer, self.author = repository, viewer, author
        self.conversations = ibidem.Conversations(repository, viewer=viewer, author=author)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Returns the items, the oldest first; only the last ones if there is a limit."""
        if limit is None:
            limit = getattr(self.session_settings, "limit", None)
        if limit is not None:
            count_of("limit", limit)
        stored = await _finished(lambda: _messages(self.conversations, self.session_id))
        items = [_item(one) for one in stored]
        return items if limit is None else items[len(items) - min(limit, len(items)) :]

    async def add_items(self, items: Sequence[Any]) -> None:
        """Stores items at the end."""
        messages = [_message(one) for one in items_of("items", items)]
        if messages:
            await _finished(lambda: self.conversations.append(self.session_id, messages))

    async def pop_item(self) -> Any | None:
        """Hides the newest item and returns it, None if there is none; no two calls get the same,
        in whatever processes they are."""

        def change(tx: ibidem.Transaction) -> Any | None:
            stored = _messages(ibidem.Conversations(tx, viewer=self.viewer), self.session_id)
            if not stored:
                return None
            tx.tombstone(stored[-1].id, reason="popped")
            return _item(stored[-1])

        message = f"popped from {self.session_id}"
        return await _finished(
            lambda: write(self.repository, change, message=message, author=self.author)
        )

    async def clear_session(self) -> None:
        """Hides all items; older revisions have them."""

        def clear() -> None:
            if _messages(self.conversations, self.session_id):
                self.conversations.clear(self.session_id)

        await _finished(clear)


async def _finished(call: Callable[[], T]) -> T:
    """Returns what a call returns that runs in a thread; a cancellation waits for its end."""
    task = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


def _messages(conversations: ibidem.Conversations, thread: str) -> list[ibidem.Stored]:
    try:
        return conversations.messages(thread)
    except ibidem.NotFoundError:
        return []  # nothing was said yet


def _message(item: object) -> ibidem.Message:
    if not isinstance(item, Mapping):
        raise ibidem.InvalidInputError(f"items: got {item!r:.80}, expected a mapping")
    kind = str(item.get("type", "message"))
    role = item.get("role") or _ROLES.get(kind, "assistant")
    return ibidem.Message(str(role), _text(item), props={_ITEM: dict(item)})


def _text(item: Mapping[str, Any]) -> str:
    """Returns what an item says: its content, a call's arguments or a result."""
    for name in ("content", "output", "summary", "arguments"):
        given = item.get(name)
        if isinstance(given, str) and given:
            return given
        if isinstance(given, list):
            parts = [one.get("text") for one in given if isinstance(one, Mapping)]
            return "\n".join(one for one in parts if isinstance(one, str))
    return ""


def _item(stored: ibidem.Stored) -> Any:
    item = stored.props.get(_ITEM)
    return stored.to_message() if item is None else plain(item)
