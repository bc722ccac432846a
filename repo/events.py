"""Events about nodes, and the log of all events at one notes head. `repo/notes.py` stores them.
Readers, the gate and `repo fsck` all decode events with `Event.of`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any

from ibidem.objects.block import empty
from ibidem.objects.cid import Cid, CommitCid, TreeCid
from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.objects.tree import EMPTY_TREE
from ibidem.repo.argument_checks import check_id, check_text
from ibidem.retrieve.records.noted import OUTCOME, PENALIZE, REINFORCE

NOTES = "notes/"
"""The prefix of the refs of spaces."""
EVENT = "Event"
"""The node type of events."""
VOTE, NOT_USEFUL = "vote", "not_useful"
"""Kinds in addition to those of `retrieve/records/noted.py`."""
QUESTION, WORDS = "question", "words"
"""Details that describe the question of a vote or a `not_useful` mark without its words."""
REASON = "reason"
"""The detail with the author's reason for a vote or a `not_useful` mark."""
TARGETS_MAX = 1000
_KNOWN = frozenset(("kind", "targets", "author", "time", "value", "about"))


@record
class Event:
    """A statement by an author about nodes at a time."""

    kind: str
    """Such as `vote`; the rooms that read events define their kinds."""
    targets: tuple[NodeId, ...]
    """The nodes it is about; they need not all exist in one graph."""
    author: str = ""
    time: int = 0
    """Microseconds since 1970 UTC."""
    value: float | None = None
    about: Cid | None = None
    """The result or other block that it refers to."""
    detail: Mapping[str, Any] = field(default_factory=empty)
    """Further fields of its kind; any values of the codec."""
    id: NodeId | None = None
    """Assigned when it is added; starts with the position of the event in the history of the notes.
    """

    def props(self) -> dict[str, Any]:
        """Returns the properties of its node."""
        fields: dict[str, Any] = {
            **self.detail,
            "kind": self.kind,
            "targets": [target.raw for target in self.targets],
            "author": self.author,
            "time": self.time,
        }
        if self.value is not None:
            fields["value"] = self.value
        if self.about is not None:
            fields["about"] = self.about
        return fields

    @classmethod
    def of(cls, node: Node) -> Event:
        """Decodes the event in a node. Readers, the gate and `repo fsck` all use this.

        Raises:
            CorruptError: it is no valid event; the message names the field.
        """
        props = node.props
        missing = [name for name in ("kind", "targets", "author", "time") if name not in props]
        targets = props.get("targets")
        try:
            if node.ntype != EVENT:
                raise InvalidInputError(f"ntype: got {node.ntype!r:.80}, expected {EVENT!r}")
            if missing:
                raise InvalidInputError(f"{missing[0]}: got nothing, expected the property")
            if not isinstance(targets, list) or not all(map(_is_id, targets)):
                raise InvalidInputError(
                    f"targets: got {targets!r:.80}, expected a list of ids of {ID_BYTES} bytes"
                )
            return checked_event(
                cls(
                    kind=props["kind"],
                    targets=tuple(map(NodeId, targets)),
                    author=props["author"],
                    time=props["time"],
                    value=props.get("value"),
                    about=props.get("about"),
                    detail=MappingProxyType(
                        {name: value for name, value in props.items() if name not in _KNOWN}
                    ),
                    id=node.id,
                )
            )
        except InvalidInputError as error:
            raise CorruptError(f"event {node.id}: {error}") from error


@record
class Log:
    """All events at one notes head."""

    head: CommitCid | None
    events: tuple[Event, ...]
    """Ordered by time, then id; events of the same time are in the order in which they were added.
    """
    damaged: tuple[tuple[NodeId, str], ...] = ()
    """Nodes in the notes that are no valid events, by id, with the reason; they are ignored."""
    _by_target: Mapping[NodeId, tuple[Event, ...]] = field(default_factory=dict)
    _nodes: TreeCid = EMPTY_TREE

    def about(self, target: NodeId) -> tuple[Event, ...]:
        """Returns the events about a node, by time, then id."""
        return self._by_target.get(target, ())

    def targets(self) -> Iterable[NodeId]:
        """Returns all nodes that any event is about."""
        return self._by_target.keys()

    def of_kind(self, kind: str) -> tuple[Event, ...]:
        """Returns the events of one kind, by time, then id."""
        return tuple(event for event in self.events if event.kind == kind)


def checked_event(event: Event) -> Event:
    """Returns the event if its fields are valid; raises `InvalidInputError` otherwise."""
    check_text("kind", event.kind)
    if not 1 <= len(event.targets) <= TARGETS_MAX or len(set(event.targets)) < len(event.targets):
        raise InvalidInputError(
            f"targets: got {len(event.targets)}, expected 1 to {TARGETS_MAX}, none twice"
        )
    for target in event.targets:
        check_id("targets", target, NodeId)
    if not isinstance(event.author, str):
        raise InvalidInputError(f"author: got {event.author!r:.80}, expected text")
    if type(event.time) is not int:
        raise InvalidInputError(f"time: got {event.time!r:.80}, expected microseconds since 1970")
    if event.value is not None and (
        type(event.value) is not float or not abs(event.value) < float("inf")
    ):
        raise InvalidInputError(f"value: got {event.value!r:.80}, expected a finite float")
    if event.about is not None and not isinstance(event.about, Cid):
        raise InvalidInputError(f"about: got {event.about!r:.80}, expected a CID")
    taken = sorted(_KNOWN & event.detail.keys())
    if taken:
        raise InvalidInputError(
            f"detail: got {taken[0]!r}, expected another name, this one is reserved"
        )
    if event.kind == VOTE and event.value not in (1.0, -1.0):
        raise InvalidInputError(f"value: got {event.value!r:.80}, expected 1.0 or -1.0 of a vote")
    if event.kind == VOTE and type(event.detail.get(QUESTION, b"")) is not bytes:
        raise InvalidInputError(
            f"{QUESTION}: got {event.detail[QUESTION]!r:.80}, expected the digest of a question"
        )
    if event.kind in (VOTE, NOT_USEFUL) and not isinstance(event.detail.get(REASON, ""), str):
        raise InvalidInputError(f"{REASON}: got {event.detail[REASON]!r:.80}, expected text")
    if event.kind == NOT_USEFUL:
        words = event.detail.get(WORDS)
        if not isinstance(words, (list, tuple)) or not all(type(word) is bytes for word in words):
            raise InvalidInputError(
                f"{WORDS}: got {words!r:.80}, expected digests of the words of a question"
            )
    return event


def vote_event(
    target: NodeId, value: int, author: str, about: Cid | None, detail: Mapping[str, Any]
) -> Event:
    """Returns the event of a vote: 1 for a node that was right, -1 for one that was wrong."""
    if type(value) is not int or value not in (-1, 1):
        raise InvalidInputError(f"value: got {value!r:.80}, expected 1 or -1")
    if not author:
        raise InvalidInputError("author: got nothing, expected who votes")
    return Event(VOTE, (target,), author, 0, float(value), about, detail)


def outcome_event(target: NodeId, ok: bool, author: str) -> Event:
    """Returns the event that following a node's content succeeded or failed."""
    if type(ok) is not bool:
        raise InvalidInputError(f"ok: got {ok!r:.80}, expected True or False")
    return Event(OUTCOME, (target,), author, value=1.0 if ok else 0.0)


def reinforce_event(target: NodeId, gain: float | None, author: str) -> Event:
    """Returns the event that a node was useful; without a gain, the node's own or the default one
    applies.
    """
    value = None if gain is None else _amount("gain", gain)
    return Event(REINFORCE, (target,), author, value=value)


def penalize_event(target: NodeId, amount: float, author: str) -> Event:
    """Returns the event that a node should have less weight, by an amount of at least 0."""
    return Event(PENALIZE, (target,), author, value=_amount("amount", amount))


def _is_id(value: object) -> bool:
    return type(value) is bytes and len(value) == ID_BYTES


def _amount(field_name: str, value: object) -> float:
    """Returns a finite float of at least 0."""
    is_number = type(value) in (int, float)
    if not is_number or not 0.0 <= value < float("inf"):  # type: ignore[operator]
        raise InvalidInputError(
            f"{field_name}: got {value!r:.80}, expected a finite number from 0 on"
        )
    return float(value) + 0.0  # type: ignore[arg-type]
