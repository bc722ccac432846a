"""Messages and threads as nodes: what is kept of them, under which keys, and how it is read.

    Thread  ─children→  ThreadPart (64 messages each)  ─children→  Message

A message's place in its thread, its *ord*, is given once and never again, whatever is removed: the
thread counts on. Its key is the list [thread, ord], so no name of a thread is the beginning of
another one's keys. What is said once is not changed; to take it back is to tombstone it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from ibidem.objects.block import empty
from ibidem.objects.derive import node_id
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.objects.text import content_text
from ibidem.repo.arguments import microseconds
from ibidem.retrieve.answer.render import CLIP_CHARS

if TYPE_CHECKING:
    from ibidem.objects.node import Node
    from ibidem.repo.core import Core

THREAD, PART, MESSAGE, SUMMARY = "Thread", "ThreadPart", "Message", "Summary"
"""Node types."""
PART_MESSAGES = 64
NAME_CHARS_MAX = 200
_PROPS = frozenset({"thread", "ord", "role", "created_at", "valid_to", "message_id"})
_CALLS, _ANSWERS = "tool_calls", "tool_call_id"


@record
class Message:
    """A message to be kept."""

    role: str
    """Such as `user`, `assistant`, `system` or `tool`."""
    text: str
    created_at: int | datetime | None = None
    """Microseconds since 1970 UTC or a moment with an offset; by default that of the saving."""
    expires_at: int | datetime | None = None
    """From then on it is not chosen any more; None for never."""
    id: str | None = None
    """The caller's own id: a message with an id that the thread has is not kept twice."""
    tool_calls: tuple[str, ...] = ()
    """Ids of the calls that it makes; the messages that answer them belong to it."""
    tool_call_id: str | None = None
    """The call that it answers."""
    props: Mapping[str, Any] = field(default_factory=empty)
    """Anything else, kept with it."""

    @classmethod
    def of(cls, given: object) -> Self:
        """Returns a message given as itself, as (role, text), or as a map of its fields."""
        if isinstance(given, cls):
            return given
        if isinstance(given, tuple) and len(given) == 2:
            return cls(*given)
        if isinstance(given, Mapping):
            try:
                fields = dict(given)
                fields["tool_calls"] = tuple(fields.get("tool_calls", ()))
                return cls(**fields)
            except TypeError as error:
                raise InvalidInputError(f"message: {error}") from error
        raise InvalidInputError(f"message: got {given!r:.80}, expected a Message or (role, text)")

    def __post_init__(self) -> None:
        if not isinstance(self.role, str) or not self.role:
            raise InvalidInputError(f"role: got {self.role!r:.80}, expected a text")
        if not isinstance(self.text, str):
            raise InvalidInputError(f"text: got {self.text!r:.80}, expected a text")
        taken = sorted(_PROPS.union((_CALLS, _ANSWERS)).intersection(self.props))
        if taken:
            raise InvalidInputError(f"props.{taken[0]}: got a name that messages use themselves")


@record
class Stored:
    """A message or a summary as it is kept."""

    id: NodeId
    thread: str
    ord: int
    """Of a summary the first place that it stands for."""
    last: int
    """The last place that it stands for; a message's own."""
    role: str
    text: str
    created_at: int
    expires_at: int | None
    message_id: str | None
    tool_calls: tuple[str, ...]
    tool_call_id: str | None
    props: Mapping[str, Any]

    @property
    def is_summary(self) -> bool:
        """Whether it stands for messages that were made shorter."""
        return self.role == SUMMARY


def stored(node: Node, reader: Core) -> Stored:
    """Returns the message or summary that a node keeps."""
    props = node.props
    is_summary = node.ntype == SUMMARY
    first = props["first"] if is_summary else props["ord"]
    known = _PROPS | {_CALLS, _ANSWERS, "first", "last", "model", "sources"}
    content = None if node.content is None else content_text(reader.content_of(node))
    return Stored(
        node.id,
        str(props["thread"]),
        int(first),
        int(props["last"] if is_summary else first),
        SUMMARY if is_summary else str(props["role"]),
        node.summary or content or "",
        int(props["created_at"]),
        props.get("valid_to"),
        props.get("message_id"),
        tuple(props.get(_CALLS, ())),
        props.get(_ANSWERS),
        {name: value for name, value in props.items() if name not in known},
    )


def fields_of(message: Message, thread: str, ord: int, now: int) -> dict[str, Any]:  # noqa: A002
    """Returns the arguments of `add_node` for a message at its place."""
    props: dict[str, Any] = {
        **message.props,
        "thread": thread,
        "ord": ord,
        "role": message.role,
        "created_at": _moment("created_at", message.created_at, now),
    }
    if message.expires_at is not None:
        props["valid_to"] = _moment("expires_at", message.expires_at, now)
    if message.id is not None:
        props["message_id"] = message.id
    if message.tool_calls:
        props[_CALLS] = list(message.tool_calls)
    if message.tool_call_id is not None:
        props[_ANSWERS] = message.tool_call_id
    is_short = len(message.text) <= CLIP_CHARS
    return {
        "summary": message.text if is_short else None,
        "content": None if is_short else message.text,
        "props": props,
        "namespace": MESSAGE,
        "key": [thread, ord],
    }


def checked_name(thread: object) -> str:
    """Returns the name of a thread; raises `InvalidInputError` unless it is a text."""
    if not isinstance(thread, str) or not 0 < len(thread) <= NAME_CHARS_MAX:
        raise InvalidInputError(
            f"thread: got {thread!r:.80}, expected a name of 1 to {NAME_CHARS_MAX} characters"
        )
    return thread


def not_there(thread: str) -> NotFoundError:
    """Returns the error for a thread that there is none of."""
    return NotFoundError(
        f"thread {thread!r} is not there", hint="run 'repo thread list' to see what there is"
    )


def thread_id(thread: str) -> NodeId:
    """Returns the id of a thread."""
    return node_id(THREAD, thread)


def part_id(thread: str, index: int) -> NodeId:
    """Returns the id of 64 messages of a thread."""
    return node_id(PART, [thread, index])


def message_id(thread: str, ord: int) -> NodeId:  # noqa: A002
    """Returns the id of a message."""
    return node_id(MESSAGE, [thread, ord])


def messages_of(given: Iterable[object]) -> list[Message]:
    """Returns messages given in any of their forms."""
    if isinstance(given, (str, bytes, Mapping, Message)):
        raise InvalidInputError(f"messages: got {given!r:.80}, expected a list of messages")
    return [Message.of(one) for one in given]


def _moment(name: str, value: object, now: int) -> int:
    if value is None:
        return now
    if isinstance(value, datetime):
        return microseconds(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInputError(f"{name}: got {value!r:.80}, expected a time")
    return value
