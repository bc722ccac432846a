"""Graph: the neighbourhood of a node, found breadth first along its edges."""

from __future__ import annotations

from ibidem import Edge, EdgeId, NodeId, Revision, ViewerRevision
from ibidem.pages.html import linked
from ibidem.pages.neighbourhood import Neighbour, neighbourhood
from ibidem.pages.node import title_of
from ibidem.serve.explorer.form import field, form
from ibidem.serve.explorer.visit import Page, Visit

NODES_MAX = 300
EDGES_MAX = 100
"""Edges of one node that are followed."""
HOPS, HOPS_MAX = 2, 4


def graph(visit: Visit) -> Page:
    """Returns the neighbourhood of a node."""
    revision = visit.revision()
    start = revision.node_id(visit.path["id"])
    hops = visit.count("hops", default=HOPS, high=HOPS_MAX)
    nodes, edges, is_cut = neighbours(revision, start, hops)
    name = nodes[0].title
    note = f"The nearest {len(nodes)} nodes. " if is_cut else f"{len(nodes)} nodes. "
    return Page(
        f"Graph around {name}",
        [
            form(
                f"/graph/{start}",
                "Neighbourhood",
                field("Edges away", "hops", str(hops), inputmode="numeric", size="3"),
                field("Revision", "at", visit.at, size="14"),
                submit="Show",
            ),
            note,
            linked(visit.links.to(f"node/{start}"), "The node"),
            neighbourhood(nodes, edges, links=visit.links),
        ],
    )


def neighbours(
    revision: Revision | ViewerRevision, start: NodeId, hops: int
) -> tuple[list[Neighbour], list[Edge], bool]:
    """Returns the nodes up to `hops` edges away, the edges that were read between them, and whether
    there are more nodes or edges."""
    nodes = [Neighbour(start, title_of(revision.node(start)), 0, None)]
    known: set[NodeId] = {start}
    edges: dict[EdgeId, Edge] = {}
    is_cut = False
    level = [start]
    for depth in range(1, hops + 1):
        found: dict[NodeId, NodeId] = {}
        for id_ in level:
            if len(known) + len(found) >= NODES_MAX:
                is_cut = True
                break
            listed = revision.edges_of(id_, limit=EDGES_MAX)
            is_cut |= len(listed) == EDGES_MAX
            for edge in listed:
                edges[edge.id] = edge
                for end in (edge.src, edge.dst):
                    if end not in known:
                        found.setdefault(end, id_)
        titles = revision.find_nodes(found)
        level = [id_ for id_ in found if id_ in titles][: NODES_MAX - len(known)]
        is_cut |= len(level) < len(titles)
        known.update(level)
        nodes += [Neighbour(id_, title_of(titles[id_]), depth, found[id_]) for id_ in level]
    between = [edge for edge in edges.values() if edge.src in known and edge.dst in known]
    return nodes, sorted(between, key=lambda edge: edge.id), is_cut
