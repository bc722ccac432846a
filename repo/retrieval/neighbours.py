"""Suggested neighbours of an answer: the nodes that edges join to its items and that it does not
have, for a reader who wants to go on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.record import record
from ibidem.retrieve.query import checks

if TYPE_CHECKING:
    from ibidem.objects.edge import Edge
    from ibidem.objects.node import Node
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import AnswerItem

LIMIT_MAX = 1000
_EDGES_MAX = 1000
"""The edges of an item that count, by id: a hub suggests everything."""


@record
class Neighbour:
    """A node that is not in the answer, and the items that edges join it to."""

    node: Node
    points: int
    """Each joined item counts once: as many points as items rank at its place or below."""
    items: tuple[int, ...]
    """The positions of these items in the answer, from 0."""

    @property
    def id(self) -> NodeId:
        """The id of the node."""
        return self.node.id

    def to_dict(self) -> dict[str, Any]:
        """Returns the neighbour as plain data."""
        return {
            "id": str(self.id),
            "points": self.points,
            "summary": self.node.summary,
            "items": list(self.items),
        }


class Graph(Protocol):
    """The revision that was asked, as the caller sees it."""

    def edges_of(
        self, id_: NodeId, /, *, limit: int | None = None, after: EdgeId | None = None
    ) -> list[Edge]:
        """Returns the edges of a node, by id."""
        ...

    def find_nodes(self, ids: Sequence[NodeId], /) -> dict[NodeId, Node]:
        """Returns those of the nodes that exist and are not hidden."""
        ...


def neighbours_of(graph: Graph, answer: Answer[AnswerItem], limit: int) -> list[Neighbour]:
    """Returns the nodes that edges join to the items of an answer, those of most points first, ties
    by id.

    Args:
        graph: the revision that was asked, or a later one.
        answer: of any kind.
        limit: most neighbours, 0 to LIMIT_MAX.

    Raises:
        InvalidInputError: `limit` is not such a number.
    """
    checks.count("limit", limit, high=LIMIT_MAX)
    groups = [_nodes_of(item) for item in answer.items]
    inside = frozenset(id_ for group in groups for id_ in group)
    present = graph.find_nodes(list(inside))
    points: dict[NodeId, int] = defaultdict(int)
    items: dict[NodeId, list[int]] = defaultdict(list)
    for position, group in enumerate(groups):
        ends = {
            end
            for id_ in group
            if id_ in present
            for edge in graph.edges_of(id_, limit=_EDGES_MAX)
            for end in (edge.src, edge.dst)
        }
        for end in ends - inside:
            points[end] += len(groups) - position
            items[end].append(position)
    found = graph.find_nodes(list(points))
    order = sorted(found, key=lambda id_: (-points[id_], id_.raw))[:limit]
    return [Neighbour(found[id_], points[id_], tuple(items[id_])) for id_ in order]


def _nodes_of(item: AnswerItem) -> set[NodeId]:
    """Returns the nodes that an item shows: of a pack its members."""
    shown: Sequence[Any] = getattr(item, "members", (item,))
    return {one.id for one in shown}
