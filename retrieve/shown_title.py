"""What stands above a node for a person where no path of a document does: the thread and the number
of a message, what a fact is about, and the document of a part that has no place in it now.

Nothing of this is part of an answer: it is in no bytes and no count of tokens, and no program reads
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyroaring import BitMap

from ibidem.objects.constants import DOCUMENT_DEPTH_MAX
from ibidem.objects.errors import IbidemError
from ibidem.objects.location import HEADING_WIDTH
from ibidem.objects.node import Node
from ibidem.objects.printable import moment, one_line
from ibidem.retrieve.protocol import Snapshot

IN_CONFLICT = ", in another version"
"""After the place of a part that only another version of a document in conflict has."""


def title_of_message(node: Node) -> str:
    """Returns the thread of a message and what it is there; empty for any other node."""
    thread = node.props.get("thread")
    known = isinstance(thread, str) and ("role" in node.props or "first" in node.props)
    return _on_one_line(str(thread), message_heading(node.props)) if known else ""


def message_heading(props: Mapping[str, Any]) -> str:
    """Returns the place of a message in its thread and who said it, by its properties; of a
    summary, what it is of."""
    if "role" in props:
        return f"message {props.get('ord')}, {props['role']}"
    return f"summary of messages {props.get('first')} to {props.get('last')}"


def title_of_node(node: Node) -> str:
    """Returns what a node without a document is: a message; a fact, with what or whom it is about,
    else when it was so; a thread or another node that has a name. Empty if no property says."""
    if found := title_of_message(node):
        return found
    payload = node.props.get("payload")
    about = payload.get("subject") if isinstance(payload, Mapping) else None
    for word, value in (("about", about), ("of", node.props.get("user"))):
        if isinstance(value, str) and value:
            return f"{one_line(node.ntype)} {word} {one_line(value, width=HEADING_WIDTH)}"
    name, time = node.props.get("name"), node.props.get("time")
    if isinstance(name, str):
        return _on_one_line(name)
    if isinstance(time, int) and not isinstance(time, bool):
        return f"{one_line(node.ntype)}, {moment(time, seconds_only=True)}"
    return ""


def title_of_part(
    snapshot: Snapshot, visible: BitMap, ordinal: int, node: Callable[[int], Node]
) -> str:
    """Returns the path of the document of a part and the headings above it; also of a part that
    only another version of a document in conflict has, which is added then. Empty if a node is no
    part, or a block on the way is missing.

    Args:
        visible: the nodes that may be named.
        node: returns a node.
    """
    headings: list[str] = []
    at, is_other = ordinal, False
    try:
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
    except IbidemError:
        return ""
    if not isinstance(source, str):
        return ""
    return _on_one_line(source, *reversed(headings)) + (IN_CONFLICT if is_other else "")


def _parent_elsewhere(snapshot: Snapshot, visible: BitMap, ordinal: int) -> int | None:
    """Returns the node in conflict of which another version lists a part."""
    if not snapshot.conflicted:
        return None
    owners = (one for one, parts in snapshot.contested.items() if ordinal in parts)
    return next((one for one in owners if one in visible), None)


def _on_one_line(name: str, *headings: str) -> str:
    return " > ".join((one_line(name), *(one_line(one, width=HEADING_WIDTH) for one in headings)))
