r"""Nodes rendered as text for a reader with a budget, which counts what is shown.

A node is shown as its text. Its type, id and properties, and its edges, are shown if the query
asks for them, and the first three also of a node without a text. They are the head: it stands
before the text, and ends at the first empty line. A line break in a value continues on an indented
line, and one in a name is a space, so no value, name or text can add a line to a head.

Spec: retrieval 8.1.
"""

from __future__ import annotations

import re

from ibidem.objects.node import Node

CLIP_CHARS = 8192
"""The number of characters of a text that are shown."""

_BREAK = re.compile("\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_UNSAFE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


def render(node: Node, text: str, *, metadata: bool = False, edges: str = "") -> str:
    r"""Returns what is shown of a node.

    Args:
        node: the node. Lists, maps, links, bytes and null among its properties are left out.
        text: the node's text, as `objects.text.node_text` returns it.
        metadata: whether type, id and properties are shown although the node has a text.
        edges: the lines of the node's edges, each ended by a line feed.

    Spec: retrieval 8.1.
    """
    head = edges
    if metadata or not text:
        head = "".join(f"{line}\n" for line in _metadata(node)) + edges
    if not text:
        return head[:-1]
    shown = _escaped(clip(text, CLIP_CHARS), "\n")
    return f"{head}\n{shown}" if head else shown


def clip(text: str, chars: int) -> str:
    """Returns the first `chars` characters, with a note of how many are missing.

    >>> clip("abcdef", 4)
    'abcd <...+2 chars>'
    """
    if len(text) <= chars:
        return text
    return f"{text[:chars]} <...+{len(text) - chars} chars>"


def contain(text: str) -> str:
    r"""Returns `text` with line breaks indented and control characters escaped.

    >>> contain("a\nid: forged\x1b[2J")
    'a\n  id: forged\\x1b[2J'
    """
    return _escaped(text, "\n  ")


def _escaped(text: str, line_break: str) -> str:
    """Returns `text` with this for each line break, and control characters escaped."""
    if _UNSAFE.search(text) is None:
        return text
    escaped = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    return _BREAK.sub(line_break, escaped)


def _metadata(node: Node) -> list[str]:
    lines = [f"ntype: {contain(node.ntype)}", f"id: {node.id}"]
    for key in sorted(node.props):
        text = _scalar(node.props[key])
        if text is not None:
            lines.append(f"{_escaped(key, ' ')}: {text}")
    return lines


def _scalar(value: object) -> str | None:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value)
        case str():
            return contain(value)
        case _:
            return None
