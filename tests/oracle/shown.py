"""What the oracle shows of a node, and what it costs: line by line, character by character.

Spec: retrieval 8.1, 8.2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ibidem.objects.node import Node

from .graph import edge_holds, edges_of

BREAKS = ("\r\n", "\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029")


def render(node: Node, text: str, metadata: bool, edges: str = "") -> str:
    head = (metadata_lines(node) if metadata or text == "" else "") + edges
    if text == "":
        return head.removesuffix("\n")
    shown = contain(clip(text, 8192), "\n")
    return head + "\n" + shown if head else shown


def metadata_lines(node: Node) -> str:
    lines = [("ntype", contain(node.ntype)), ("id", node.id.raw.hex())]
    for key in sorted(node.props, key=lambda key: key.encode()):
        value = node.props[key]
        if isinstance(value, bool):
            lines.append((contain(key, " "), "true" if value else "false"))
        elif isinstance(value, (int, float)):
            lines.append((contain(key, " "), repr(value)))
        elif isinstance(value, str):
            lines.append((contain(key, " "), contain(value)))
    return "".join(f"{name}: {value}\n" for name, value in lines)


def edge_lines(world: Any, form: dict[str, Any], key: bytes) -> str:
    if not form["adjacency"]:
        return ""
    text = ""
    for title, arrow in (("Outgoing", "->"), ("Incoming", "<-")):
        rows = []
        for edge in edges_of(world):
            ends = (edge.src.raw, edge.dst.raw)
            here, other = ends if arrow == "->" else ends[::-1]
            hidden = not form["include_tombstoned"] and other in world.tombstones
            if (
                here == key
                and other in world.nodes
                and not hidden
                and edge_holds(edge, form["valid"])
            ):
                rows.append((edge.etype, other, edge.id.raw))
        rows.sort()
        text += f"{title}:\n" if rows else ""
        for etype, other, _ in rows[: form["adjacency"]]:
            label = contain(etype).replace("\n", "\n  ")
            text += f"  {label} {arrow} {other.hex()}\n"
        more = len(rows) - form["adjacency"]
        text += f"  ... (+{more} more)\n" if more > 0 else ""
    return text


def clip(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[:chars]} <...+{len(text) - chars} chars>"


def contain(text: str, line_break: str = "\n  ") -> str:
    out = []
    index = 0
    while index < len(text):
        if text[index : index + 2] == "\r\n":
            index += 1
        character = text[index]
        index += 1
        if character in BREAKS:
            out.append(line_break)
        elif character != "\t" and (ord(character) < 32 or 127 <= ord(character) < 160):
            out.append(f"\\x{ord(character):02x}")
        else:
            out.append(character)
    return "".join(out)


def estimate(text: str) -> int:
    ascii_count = sum(ord(character) < 128 for character in text)
    other_count = len(text) - ascii_count
    return math.ceil(Fraction(ascii_count, 4)) + math.ceil(Fraction(other_count * 2, 3))
