r"""Nodes rendered as text for a reader with a budget: one field per line, which no value can forge.

The lines and their order follow the retrieval module from which this project developed: `ntype`,
`id`, `context`, `summary`, then the scalar properties by key. The difference is safety: a line
break inside a value continues on an indented line, so every line that starts in the first column
was written by this module.

Spec: retrieval 8.1.
"""

from __future__ import annotations

import re

from ibidem.objects.node import Node

CLIP_CHARS = 8192
"""The number of characters of a summary or a context sentence that are shown."""

_BREAK = "\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]"
_CONTROL = "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]"
_UNSAFE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


def render(node: Node, *, content: bytes | None = None, content_chars: int = 0) -> str:
    """Returns the text of a node; each line ends with a line feed.

    Args:
        node: the node. Lists, maps, links, bytes and null among its properties are left out.
        content: the node's whole content; shown only if it is UTF-8 without NUL.
        content_chars: how many characters of the content are shown, 0 for none.

    Spec: retrieval 8.1.
    """
    lines = [f"ntype: {contain(node.ntype)}\nid: {node.id}\n"]
    if node.context_sentence:
        lines.append(f"context: {contain(clip(node.context_sentence, CLIP_CHARS))}\n")
    if node.summary:
        lines.append(f"summary: {contain(clip(node.summary, CLIP_CHARS))}\n")
    for key in sorted(node.props):
        text = _scalar(node.props[key])
        if text is not None:
            lines.append(f"{contain(key)}: {text}\n")
    if content_chars and content and (text := readable(content)) is not None:
        lines.append(f"content: {contain(clip(text, content_chars))}\n")
    return "".join(lines)


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
    if _UNSAFE.search(text) is None:
        return text
    escaped = re.sub(_CONTROL, lambda found: f"\\x{ord(found[0]):02x}", text)
    return re.sub(_BREAK, "\n  ", escaped)


def readable(content: bytes) -> str | None:
    """Returns the content as text, or None if it is not UTF-8 or contains a NUL."""
    if b"\x00" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


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
