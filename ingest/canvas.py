"""Canvases (JSON Canvas, as Obsidian writes them) to text: the cards, groups and arrows.

A card with text is Markdown, one with a file a link to it. Cards are read from top to bottom, then
from left to right: first those that are in no group with a label, then each group, a section with
the cards whose middle lies in it. Arrows are a list before the groups, each with the first lines of
its two cards.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from ibidem.ingest.extraction import Extraction, Writer, link_text, one_line
from ibidem.objects.errors import InvalidInputError

_NAME_CHARS_MAX = 80
_SIDES = ("x", "y", "width", "height")


def extract(data: bytes) -> Extraction:
    """Returns the text of a canvas."""
    try:
        canvas = json.loads(data.strip() or b"{}")
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{error}, expected JSON") from error
    if not isinstance(canvas, dict):
        raise InvalidInputError("no object, expected one with a list of 'nodes'")
    nodes = sorted(_dicts(canvas.get("nodes")), key=lambda node: (_box(node)[1], _box(node)[0]))
    groups = [
        node for node in nodes if node.get("type") == "group" and one_line(_text(node, "label"))
    ]
    boxes = [_box(group) for group in groups]
    cards: dict[int, list[dict[str, Any]]] = {}
    for node in nodes:
        if node.get("type") != "group":
            cards.setdefault(_group_of(node, boxes), []).append(node)
    writer = Writer()
    for node in cards.get(-1, []):
        _write_card(writer, node)
    writer.block("list", "\n".join(_arrows(nodes, _dicts(canvas.get("edges")))))
    for at, group in enumerate(groups):
        writer.heading(1, _text(group, "label"))
        for node in cards.get(at, []):
            _write_card(writer, node)
    return writer.finish()


def _write_card(writer: Writer, node: dict[str, Any]) -> None:
    if node.get("type") == "file":
        file = one_line(_text(node, "file"))
        writer.block("paragraph", link_text(file, f"/{quote(file)}"), has_links=True)
    elif node.get("type") == "link":
        writer.block("paragraph", one_line(_text(node, "url")))
    else:
        writer.markdown(_text(node, "text"), 1)


def _group_of(node: dict[str, Any], boxes: Iterable[list[float]]) -> int:
    """Returns the index of the smallest group that a card lies in, -1 without one."""
    corner_x, corner_y, width, height = _box(node)
    x, y = corner_x + width / 2, corner_y + height / 2
    found = (
        (box[2] * box[3], at)
        for at, box in enumerate(boxes)
        if box[0] <= x <= box[0] + box[2] and box[1] <= y <= box[1] + box[3]
    )
    return min(found, default=(0, -1))[1]


def _arrows(nodes: Iterable[dict[str, Any]], edges: Iterable[dict[str, Any]]) -> Iterator[str]:
    names = {_text(node, "id"): _name(node) for node in nodes}
    for edge in edges:
        ends = [names.get(_text(edge, key), "") for key in ("fromNode", "toNode")]
        if all(ends):
            label = one_line(_text(edge, "label"))
            yield f"- {ends[0]} -> {ends[1]}{': ' if label else ''}{label}"


def _name(node: dict[str, Any]) -> str:
    """Returns the first line of a card, or its file, address or label."""
    texts = (_text(node, key) for key in ("text", "file", "url", "label"))
    first = next(filter(None, texts), "").lstrip("#\n ").partition("\n")[0]
    return one_line(first)[:_NAME_CHARS_MAX]


def _box(node: dict[str, Any]) -> list[float]:
    """Returns x and y of the corner, width and height; 0 for what is no number."""
    found = (node.get(side) for side in _SIDES)
    return [one if isinstance(one, int | float) and abs(one) < 1e9 else 0 for one in found]


def _text(node: dict[str, Any], key: str) -> str:
    value = node.get(key)
    return value if isinstance(value, str) else ""


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
