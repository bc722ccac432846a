"""Messages and threads as nodes: their properties, their keys, and how they are read.

    Thread  ─children→  ThreadPart (64 messages each)  ─children→  Message

A message's place in its thread, its *ord*, is assigned once and never reused, whatever is removed.
Its key is the list [thread, ord], so no thread's name is a prefix of another thread's keys.
Messages never change; a tombstone retracts one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, cast

from ibidem.memory.conversation import wire
from ibidem.objects.block import empty
from ibidem.objects.derive import node_id
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.plain import plain
from ibidem.objects.record import record
from ibidem.objects.text import content_text
from ibidem.repo.argument_checks import check_mapping, check_names
from ibidem.repo.arguments import checked_time
from ibidem.retrieve.answer.render import CLIP_CHARS
from ibidem.retrieve.query import checks

if TYPE_CHECKING:
    from ibidem.objects.node import Node
    from ibidem.repo.revision import Revision

Reader = Callable[["Node"], bytes | None]
"""Returns the whole content of a node."""

THREAD, PART, MESSAGE, SUMMARY = "Thread", "ThreadPart", "Message", "Summary"
"""Node types."""
PART_MESSAGES = 64
ORD_MAX = 1 << 48
"""Exclusive: a greater one is nobody's, and none follows it."""
SOURCES_MAX = 4096
"""Maximal number of messages per summary."""
NAME_CHARS_MAX = 200
_PROPS = frozenset({"thread", "ord", "role", "created_at", "valid_to", "message_id"})
_CALLS, _ANSWERS, _RESULTS, _RAW = "tool_calls", "tool_call_id", "tool_results", "message"
_OWN = {_CALLS, _ANSWERS, _RESULTS, _RAW}


@record
class Message:
    """A message to store."""

    role: str
    """Such as `user`, `assistant`, `system` or `tool`."""
    text: str
    created_at: int | datetime | None = None
    """Microseconds since 1970 UTC or a moment with an offset; by default the time of storing."""
    expires_at: int | datetime | None = None
    """Expiry: from then on it is not selected; None for never."""
    id: str | None = None
    """The caller's own id; a message whose id the thread already has is not stored again."""
    tool_calls: tuple[str, ...] = ()
    """Ids of the tool calls it makes; their answers belong to the same unit."""
    tool_call_id: str | None = None
    """The id of the tool call it answers."""
    tool_results: tuple[str, ...] = ()
    """Ids of the tool calls it answers, if it has several results."""
    props: Mapping[str, Any] = field(default_factory=empty)
    """Further properties, stored with it."""
    raw: Mapping[str, Any] | None = None
    """The message as it was given in the form of `wire`, if it is more than a role and a text."""

    @classmethod
    def of(cls, given: object) -> Self:
        """Returns a message given as itself, as (role, text), as a map of its fields, or as a map
        with `role` and `content`, in the form of `wire`.
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, tuple) and len(given) == 2:
            return cls(*given)
        if isinstance(given, Mapping) and "text" not in given:
            found = wire.read(given)
            id_ = given.get("id")
            return cls(
                given["role"],
                found.text,
                id=id_ if isinstance(id_, str) else None,
                tool_calls=found.calls,
                tool_results=found.results,
                raw=found.raw,
            )
        if isinstance(given, Mapping):
            try:
                return cls(**given)
            except TypeError as error:
                unknown = sorted(given.keys() - cls.__dataclass_fields__.keys(), key=str)
                raise InvalidInputError(
                    f"{unknown[0] if unknown else 'role'}: "
                    f"got {'a field that messages do not have' if unknown else 'nothing'}, "
                    f"expected some of {', '.join(cls.__dataclass_fields__)}"
                ) from error
        raise InvalidInputError(
            f"got {given!r:.80}, expected a map with role and content, (role, text) or a Message"
        )

    def __post_init__(self) -> None:
        if not isinstance(self.role, str) or not self.role:
            raise InvalidInputError(f"role: got {self.role!r:.80}, expected a text")
        if not isinstance(self.text, str):
            raise InvalidInputError(f"text: got {self.text!r:.80}, expected a text")
        for name in ("id", _ANSWERS):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InvalidInputError(f"{name}: got {value!r:.80}, expected a text or None")
        for name in (_CALLS, _RESULTS):
            object.__setattr__(self, name, tuple(check_names(name, getattr(self, name))))
        if self.raw is not None:
            check_mapping("raw", self.raw)
        object.__setattr__(self, "props", check_mapping("props", self.props))
        taken = sorted((_PROPS | _OWN).intersection(self.props))
        if taken:
            raise InvalidInputError(f"props.{taken[0]}: got a name that messages use themselves")


@record
class Stored:
    """A stored message or summary."""

    id: NodeId
    thread: str
    ord: int
    """Its ord; of a summary, that of the first message covered."""
    last: int
    """The last ord covered by a summary; of a message, its own."""
    role: str
    text: str
    created_at: int
    expires_at: int | None
    message_id: str | None
    tool_calls: tuple[str, ...]
    tool_call_id: str | None
    tool_results: tuple[str, ...]
    props: Mapping[str, Any]
    raw: Mapping[str, Any] | None

    def to_message(self) -> dict[str, Any]:
        """Returns the message in the form of `wire`, as it was given; a summary as one of the
        system.
        """
        if self.raw is not None:
            return deepcopy(dict(self.raw))
        found: dict[str, Any] = {
            "role": "system" if self.is_summary else self.role,
            "content": self.text,
        }
        if self.tool_calls:
            found["tool_calls"] = [{"id": one} for one in self.tool_calls]
        if self.tool_call_id is not None:
            found["tool_call_id"] = self.tool_call_id
        return found

    @property
    def sort_key(self) -> tuple[int, int, NodeId]:
        """What messages of a thread are ordered by: two have the same ord if the writer of one did
        not see the other."""
        return self.ord, self.created_at, self.id

    @property
    def is_summary(self) -> bool:
        """Whether it is a summary."""
        return self.role == SUMMARY

    def to_dict(self) -> dict[str, Any]:
        """Returns the message as plain data."""
        return {one.name: plain(getattr(self, one.name)) for one in fields(self)}


@record
class ThreadInfo:
    """The metadata of a thread, available without reading its messages."""

    name: str
    next_ord: int
    """The ord of the next message: the number of messages ever stored."""
    cleared: int
    """The ord below which messages are hidden."""
    summaries: tuple[tuple[int, int], ...]
    """First and last ord covered by each summary."""
    title: str = ""
    """Its property `title`, which imports set; empty for none."""


def reader_of(revision: Revision) -> Reader:
    """Returns a function that reads the content of nodes of a revision, as its caller sees them."""
    return lambda node: revision.content(node.id)


def stored(node: Node, reader: Reader) -> Stored:
    """Returns the message or summary that a node keeps.

    Raises:
        InvalidInputError: it is none; the message names the node.
    """
    is_summary = node.ntype == SUMMARY
    props = _Props(node, "summary" if is_summary else "message")
    first = props.count("first" if is_summary else "ord")
    last = props.count("last") if is_summary else first
    if not first <= last < first + SOURCES_MAX:
        raise props.wrong("last", f"a place of {first} to {first + SOURCES_MAX - 1}")
    known = _PROPS | _OWN | {"first", "last", "model", "sources"}
    content = None if node.content is None else content_text(reader(node))
    return Stored(
        node.id,
        props.text("thread"),
        first,
        last,
        SUMMARY if is_summary else props.text("role"),
        node.summary or content or "",
        props.time("created_at"),
        props.time("valid_to") if "valid_to" in node.props else None,
        props.text("message_id") if "message_id" in node.props else None,
        props.texts(_CALLS),
        props.text(_ANSWERS) if _ANSWERS in node.props else None,
        props.texts(_RESULTS),
        {name: value for name, value in node.props.items() if name not in known},
        props.map(_RAW) if _RAW in node.props else None,
    )


def stored_of(nodes: Iterable[Node], reader: Reader) -> Iterator[Stored]:
    """Yields the messages and summaries among nodes, skipping invalid ones."""
    for node in nodes:
        try:
            yield stored(node, reader)
        except InvalidInputError:
            continue


def thread_info(node: Node) -> ThreadInfo:
    """Decodes the metadata of a thread from its node.

    Raises:
        InvalidInputError: it is none; the message names the node.
    """
    props = _Props(node, "thread")
    name, next_ord, cleared = props.text("name"), props.count("next"), props.count("cleared")
    if node.ntype != THREAD or (node.key is not None and node.id != thread_id(name)):
        raise props.wrong("name", "a thread, with the id of its name")
    if cleared > next_ord:
        raise props.wrong("cleared", f"at most {next_ord}")
    title = node.props.get("title")
    return ThreadInfo(
        name,
        next_ord,
        cleared,
        props.ranges("summaries"),
        title if isinstance(title, str) else "",
    )


class _Props:
    """Reads untrusted properties of a node with type checks."""

    def __init__(self, node: Node, noun: str) -> None:
        self._node = node
        self._noun = noun

    def wrong(self, name: str, expected: str) -> InvalidInputError:
        """Returns the error for a property."""
        found = checks.show(self._node.props.get(name))
        return InvalidInputError(
            f"node {self._node.id} is no {self._noun}: "
            f"props.{name}: got {found}, expected {expected}"
        )

    def text(self, name: str) -> str:
        value = self._node.props.get(name)
        if not isinstance(value, str):
            raise self.wrong(name, "a text")
        return value

    def time(self, name: str) -> int:
        value = self._node.props.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(name, "a time in microseconds")
        return value

    def count(self, name: str) -> int:
        value = self._node.props.get(name)
        if not _is_count(value):
            raise self.wrong(name, "a count")
        return cast("int", value)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._node.props.get(name, ())
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise self.wrong(name, "a list of texts")
        return tuple(cast("list[str]", value))

    def map(self, name: str) -> Mapping[str, Any]:
        value = self._node.props.get(name)
        if not isinstance(value, Mapping):
            raise self.wrong(name, "a map")
        return value

    def ranges(self, name: str) -> tuple[tuple[int, int], ...]:
        value = self._node.props.get(name, ())
        if not isinstance(value, list | tuple) or not all(map(_is_range, value)):
            raise self.wrong(name, "a list of first and last places")
        return tuple((first, last) for first, last in cast("list[list[int]]", value))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_range(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(map(_is_count, value))


def fields_of(message: Message, thread: str, ord: int, now: int) -> dict[str, Any]:  # noqa: A002
    """Returns the arguments of `add_node` for a message at an ord."""
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
    if message.tool_results:
        props[_RESULTS] = list(message.tool_results)
    if message.raw is not None:
        props[_RAW] = dict(message.raw)
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
    """Returns the error for a missing thread."""
    return NotFoundError(
        f"thread {thread!r} does not exist", hint="run 'repo thread list' to list the threads"
    )


def thread_id(thread: str) -> NodeId:
    """Returns the id of the node of a thread, which follows from its name alone."""
    return node_id(THREAD, thread)


def part_id(thread: str, index: int) -> NodeId:
    """Returns the id of 64 messages of a thread."""
    return node_id(PART, [thread, index])


def message_id(thread: str, ord: int) -> NodeId:  # noqa: A002
    """Returns the id of a message."""
    return node_id(MESSAGE, [thread, ord])


def messages_of(given: Iterable[object]) -> list[Message]:
    """Returns messages given in any of their forms."""
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes, Mapping)):
        raise InvalidInputError(f"messages: got {given!r:.80}, expected a list of messages")
    return [_message(position, one) for position, one in enumerate(given)]


def _message(position: int, given: object) -> Message:
    """Returns a message of a list; raises `InvalidInputError` that names its position and field."""
    try:
        return Message.of(given)
    except InvalidInputError as error:
        text = str(error)
        joint = " " if text.startswith("got ") else "."
        raise InvalidInputError(
            f"messages[{position}]{':' if joint == ' ' else ''}{joint}{text}",
            kind=error.kind,
            hint=error.hint,
        ) from error


def _moment(name: str, value: Any, now: int) -> int:
    moment = checked_time(value, name)
    return now if moment is None else moment
