"""The neighbourhood of a node as HTML: a picture to walk through, and the same as a list.

The node is in the middle, and what is n edges away is on the nth circle. Each node has a part of
its circle that is as wide as the number of nodes that lie behind it. All of this is computed in
integers from the order of the ids, so everybody sees the same picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import htpy as h

from ibidem.objects.printable import one_line
from ibidem.objects.record import record
from ibidem.pages import svg
from ibidem.pages.html import NOWHERE, Links, linked, table

if TYPE_CHECKING:
    from ibidem.objects.edge import Edge
    from ibidem.objects.ids import NodeId

TICKS = 1 << 16
"""Parts of a full circle."""
CIRCLE = 300
"""Distance between two circles."""
RADIUS = 9
LABELS_MAX = 60
"""Nodes up to which a picture has labels; beyond, they would cover each other."""
LABEL_CHARACTERS = 24


@record
class Neighbour:
    """A node of a neighbourhood."""

    id: NodeId
    title: str
    depth: int
    """Edges between it and the middle."""
    parent: NodeId | None
    """The node through which it was found; None for the middle."""


def neighbourhood(
    nodes: Sequence[Neighbour], edges: Sequence[Edge], *, links: Links = NOWHERE
) -> h.Node:
    """Returns a neighbourhood as a picture and a list.

    Args:
        nodes: the middle first, each after the node through which it was found.
        edges: those between these nodes.
    """
    titles = {one.id: one.title for one in nodes}
    rows = [
        (
            linked(links.to(f"node/{edge.src}"), titles[edge.src]),
            one_line(edge.etype),
            linked(links.to(f"node/{edge.dst}"), titles[edge.dst]),
        )
        for edge in edges
    ]
    return [
        h.figure[picture_of(nodes, edges, links=links)],
        h.section[h.h2["As a list"], table(f"{len(edges):,} edges", ("From", "Type", "To"), rows)],
    ]


def picture_of(
    nodes: Sequence[Neighbour], edges: Sequence[Edge], *, links: Links = NOWHERE
) -> h.Element:
    """Returns the picture of a neighbourhood; each node leads to its own neighbourhood."""
    points = positions(nodes)
    size = 2 * (max((one.depth for one in nodes), default=0) * CIRCLE + CIRCLE // 2)
    has_labels = len(nodes) <= LABELS_MAX
    lines = [_line(edge, points, size // 2) for edge in edges]
    dots = [_dot(one, points[one.id], size // 2, links, has_labels=has_labels) for one in nodes]
    return svg.picture(f"{len(nodes)} nodes and {len(edges)} edges", size, size, lines, dots)


def positions(nodes: Sequence[Neighbour]) -> dict[NodeId, tuple[int, int]]:
    """Returns where each node is, with the middle at (0, 0)."""
    children: dict[NodeId, list[NodeId]] = {one.id: [] for one in nodes}
    for one in nodes:
        if one.parent is not None:
            children[one.parent].append(one.id)
    ends = {one.id: 0 for one in nodes}
    for one in reversed(nodes):
        ends[one.id] = ends[one.id] or 1
        if one.parent is not None:
            ends[one.parent] += ends[one.id]
    parts = {one.id: (0, TICKS) for one in nodes[:1]}
    found: dict[NodeId, tuple[int, int]] = {}
    for one in nodes:
        start, stop = parts[one.id]
        middle = (start + stop) // 2
        radius = one.depth * CIRCLE
        found[one.id] = (radius * _cosine(middle) // TICKS, radius * _sine(middle) // TICKS)
        before, whole = 0, max(sum(ends[child] for child in children[one.id]), 1)
        for child in children[one.id]:
            after = before + ends[child]
            width = stop - start
            parts[child] = (start + width * before // whole, start + width * after // whole)
            before = after
    return found


def _sine(ticks: int) -> int:
    """Returns the sine of a part of a circle in units of 1 / TICKS, by Bhaskara's formula, which is
    off by at most 0.2 percent.
    """
    half = TICKS // 2
    halves, rest = divmod(ticks, half)
    product = rest * (half - rest)
    value = 16 * product * TICKS // (5 * half * half - 4 * product)
    return -value if halves % 2 else value


def _cosine(ticks: int) -> int:
    return _sine(ticks + TICKS // 4)


def _line(edge: Edge, points: Mapping[NodeId, tuple[int, int]], middle: int) -> h.Node:
    (x1, y1), (x2, y2) = points[edge.src], points[edge.dst]
    path = f"M{x1 + middle} {y1 + middle}L{x2 + middle} {y2 + middle}"
    return h.path(".line", d=path)[h.title[one_line(edge.etype)]]


def _dot(
    one: Neighbour, point: tuple[int, int], middle: int, links: Links, *, has_labels: bool
) -> h.Node:
    x, y = point[0] + middle, point[1] + middle
    dot = h.circle(".dot", cx=x, cy=y, r=RADIUS)[h.title[one.title]]
    label = None
    if has_labels:
        text = one_line(one.title, width=LABEL_CHARACTERS)
        label = h.text(x=x, y=y + 2 * RADIUS + 6, text_anchor="middle")[text]
    href = links.to(f"graph/{one.id}")
    return [dot, label] if href is None else h.a(href=href, aria_label=one.title)[dot, label]
