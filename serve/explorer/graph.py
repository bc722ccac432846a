"""Graph: the neighbourhood of a node, found breadth first along its edges."""

from __future__ import annotations

import htpy as h

from ibidem import Node, NodeId, Revision, ViewerRevision
from ibidem.pages.html import linked, plural
from ibidem.pages.neighbourhood import Connection, Neighbour, neighbourhood
from ibidem.pages.node import title_of
from ibidem.serve.explorer.form import field, form
from ibidem.serve.explorer.visit import Page, Visit

NODES_MAX = 300
EDGES_MAX = 100
"""Edges of one node that are followed."""
HOPS, HOPS_MAX = 2, 4
HAS_PART = "has part"
"""The name of the connection between a document or a section and a part of it."""


def graph(visit: Visit) -> Page:
    """Returns the neighbourhood of a node."""
    revision = visit.revision()
    start = revision.node_id(visit.path["id"])
    hops = visit.count("hops", default=HOPS, high=HOPS_MAX)
    name = title_of(revision.node(start))

    def drawn() -> h.Node:
        nodes, edges, is_cut = neighbours(revision, start, hops)
        note = f"The nearest {len(nodes)} nodes." if is_cut else f"{plural(len(nodes), 'node')}."
        return [h.p[note], neighbourhood(nodes, edges, links=visit.links)]

    body = [
        form(
            f"/graph/{start}",
            "Neighbourhood",
            field("Edges away", "hops", str(hops), inputmode="numeric", size="3"),
            field("Revision", "at", visit.at, size="14"),
            submit="Show",
        ),
        h.p[linked(visit.links.to(f"node/{start}"), "The node")],
    ]
    return Page(f"Graph around {name}", body, (drawn,))


def neighbours(
    revision: Revision | ViewerRevision, start: NodeId, hops: int
) -> tuple[list[Neighbour], list[Connection], bool]:
    """Returns the nodes up to `hops` edges away, what connects them, and whether there is more."""
    middle = revision.node(start)
    nodes = [Neighbour(start, title_of(middle), 0, None)]
    known = {start: middle}
    connections: dict[Connection, None] = {}
    is_cut = False
    level = [middle]
    for depth in range(1, hops + 1):
        through: dict[NodeId, NodeId] = {}
        for node in level:
            if len(known) + len(through) >= NODES_MAX:
                is_cut = True
                break
            listed = _connections(revision, node)
            is_cut |= len(listed) >= EDGES_MAX
            for one in listed:
                connections[one] = None
                for end in (one.source, one.target):
                    if end not in known:
                        through.setdefault(end, node.id)
        found = revision.find_nodes(through)
        new = [id_ for id_ in through if id_ in found][: NODES_MAX - len(known)]
        is_cut |= len(new) < len(found)
        known |= {id_: found[id_] for id_ in new}
        nodes += [Neighbour(id_, title_of(found[id_]), depth, through[id_]) for id_ in new]
        level = [found[id_] for id_ in new]
    between = [one for one in connections if one.source in known and one.target in known]
    return nodes, between, is_cut


def _connections(revision: Revision | ViewerRevision, node: Node) -> list[Connection]:
    """Returns what a node is connected to: its document, its first edges, its first parts."""
    found = [
        Connection(edge.src, edge.etype, edge.dst)
        for edge in revision.edges_of(node.id, limit=EDGES_MAX)
    ]
    location = revision.locate(node.id)
    if location is not None and location.document_id != node.id:
        found.append(Connection(location.document_id, HAS_PART, node.id))
    return found + [Connection(node.id, HAS_PART, one.id) for one in node.children[:EDGES_MAX]]
