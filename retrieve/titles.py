"""Titles of what no path of a document names: the thread and the number of a message, what a fact
is about, and the document of a part that has no place in it now.

Spec: packs 7.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pyroaring import BitMap

from ibidem.objects.constants import DOCUMENT_DEPTH_MAX
from ibidem.objects.location import HEADING_WIDTH
from ibidem.objects.node import Node
from ibidem.objects.printable import moment, one_line
from ibidem.retrieve.answer.render import contain
from ibidem.retrieve.protocol import Snapshot

_CHARS_MAX = 60
"""Code points of a name or of what a node is about; of a longer text the beginning is shown."""
_STATUS_CHARS = 12
"""Code points of a status that are shown."""
IN_CONFLICT = "in another version"
"""The last heading of a part that only another version of a document in conflict has."""


class Title(NamedTuple):
    """What stands above a node or a pack."""

    source: str
    headings: tuple[str, ...]

    @property
    def contained(self) -> str:
        """The title in one line that no value can end: as it is in an answer."""
        return " > ".join(" ".join(contain(one).split()) for one in (self.source, *self.headings))

    def __str__(self) -> str:
        headings = (one_line(one, width=HEADING_WIDTH) for one in self.headings)
        return " > ".join((one_line(self.source), *headings))


def title_of_message(node: Node) -> Title | None:
    """Returns the thread of a message, or of a summary, and what it is there; None for any other
    node."""
    props = node.props
    thread, role = props.get("thread"), props.get("role")
    if not isinstance(thread, str) or not thread:
        return None
    if isinstance(role, str) and role and type(props.get("ord")) is int:
        return Title(thread, (_heading_of_message(props),))
    if all(type(props.get(name)) is int for name in ("first", "last")):
        return Title(thread, (_heading_of_summary(props),))
    return None


def message_heading(props: Mapping[str, Any]) -> str:
    """Returns the number of a message in its thread and who said it, by its properties; of a
    summary, what it is of."""
    return _heading_of_message(props) if "role" in props else _heading_of_summary(props)


def title_of_node(node: Node) -> Title | None:
    """Returns the type of a node without a document, and what or whom it is about, its name, or
    when it was so; of a message its own. None if no property says any of this."""
    if found := title_of_message(node):
        return found
    props = node.props
    payload, user, name = (props.get(one) for one in ("payload", "user", "name"))
    about = payload.get("subject") if isinstance(payload, Mapping) else None
    for word, value in (("about ", about), ("of ", user), ("", name)):
        if isinstance(value, str) and value:
            return Title(node.ntype, (word + clipped(value),))
    time = props.get("time")
    if isinstance(time, int) and not isinstance(time, bool):
        return Title(node.ntype, (moment(time, seconds_only=True),))
    return None


def title_of_document(node: Node) -> Title | None:
    """Returns the path of a document; None for any other node."""
    source = node.props.get("source")
    return Title(source, ()) if isinstance(source, str) and source else None


def status_of(node: Node) -> str:
    """Returns what is to be known of a record that does not hold, to be written after its title:
    that it is a proposal, or was superseded or retracted. Empty for any other node."""
    status = node.props.get("status")
    if not isinstance(status, str):
        return ""
    from ibidem.retrieve.records.record import LAYERS, STANDING  # few nodes are records

    if node.ntype not in LAYERS or status in STANDING:
        return ""
    return f" ({one_line(status, width=_STATUS_CHARS)})"


def name_of(node: Node) -> str | None:
    """Returns the property `name` of a node, else its summary, or the beginning of a long one; None
    if it has neither."""
    for one in (node.props.get("name"), node.summary):
        if isinstance(one, str) and one:
            return clipped(one)
    return None


def clipped(text: str) -> str:
    """Returns a text, or the beginning of a long one and an ellipsis."""
    return text if len(text) <= _CHARS_MAX else text[: _CHARS_MAX - 1].rstrip() + "\u2026"


def title_of_part(
    snapshot: Snapshot, visible: BitMap, ordinal: int, node: Callable[[int], Node]
) -> Title | None:
    """Returns the path of the document of a part and the headings above it; also of a part that
    only another version of a document in conflict has, which is added then. None if a node is no
    part of a document with a path.

    Args:
        visible: the nodes that may be named.
        node: returns a node.
    """
    headings: list[str] = []
    at, is_other = ordinal, False
    for _ in range(DOCUMENT_DEPTH_MAX):
        above = snapshot.parent(at, among=visible)
        parent = None if above is None else above[0]
        if parent is None:
            parent = _parent_elsewhere(snapshot, visible, at)
            is_other = is_other or parent is not None
        if parent is None:
            break
        at = parent
        found = node(at)
        if found.ntype == "Section" and found.summary:
            headings.append(found.summary)
    source = None if at == ordinal else node(at).props.get("source")
    if not isinstance(source, str) or not source:
        return None
    return Title(source, (*reversed(headings), *([IN_CONFLICT] if is_other else [])))


def _heading_of_message(props: Mapping[str, Any]) -> str:
    return f"message {props.get('ord')}, {props.get('role')}"


def _heading_of_summary(props: Mapping[str, Any]) -> str:
    return f"summary of messages {props.get('first')} to {props.get('last')}"


def _parent_elsewhere(snapshot: Snapshot, visible: BitMap, ordinal: int) -> int | None:
    """Returns the node in conflict of which another version lists a part."""
    if not snapshot.conflicted:
        return None
    owners = (one for one, parts in snapshot.contested.items() if ordinal in parts)
    return next((one for one in owners if one in visible), None)
