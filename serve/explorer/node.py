"""Node and document: what is known of one, at any revision, and who said so."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import htpy as h

from ibidem import Commit, EdgeId, Node, NodeId, Revision, ViewerRevision
from ibidem.pages import node as node_page
from ibidem.pages.html import linked
from ibidem.serve.explorer.form import field, form
from ibidem.serve.explorer.lines import Lines
from ibidem.serve.explorer.parts import position_of, text_parts
from ibidem.serve.explorer.visit import Page, Visit

EDGES, VERSIONS, PARTS = 50, 20, 50
Graph = Revision | ViewerRevision


def node(visit: Visit) -> Page:
    """Returns a node; a hidden one and a missing one are the same page."""
    revision = visit.revision()
    id_ = revision.node_id(visit.path["id"])
    found = revision.node(id_)

    def described() -> h.Node:
        location = revision.locate(id_)
        level = _level(revision, found)
        return [
            node_page.node(found, location, level=level, links=visit.links),
            h.p[linked(visit.links.to(f"graph/{id_}"), "Neighbourhood")],
            _parts(visit, revision, found),
        ]

    rest = (described, lambda: _edges(visit, revision, id_), lambda: _origin(visit, id_))
    return Page(node_page.title_of(found), _revision_form(visit, f"/node/{id_}"), rest)


def document(visit: Visit) -> Page:
    """Returns the parts of a document with their lines, and the commit of each."""
    revision = visit.revision()
    found = revision.node(revision.node_id(visit.path["id"]))
    start = position_of(visit.text("position"))
    known = Lines(visit.owned, found.id) if visit.is_whole and visit.owned.head else None

    def runs(part: Node) -> Iterable[tuple[int, str, Commit | None]]:
        return [(0, part.summary or "", None)] if known is None else known.runs(visit.at, part)

    def lines() -> h.Node:
        placed = list(islice(text_parts(revision, found, start), PARTS + 1))
        parts = [part for _, part in placed[:PARTS]]
        locations = revision.locate_many([one.id for one in parts])
        more = None
        if len(placed) > PARTS:
            more = visit.links.to(
                f"document/{found.id}", position=".".join(map(str, placed[-1][0]))
            )
        listed = [
            node_page.Lines(
                0 if location is None else location.line_start + before, text, part.id, commit
            )
            for part, location in zip(parts, locations, strict=True)
            for before, text, commit in runs(part)
        ]
        return [
            node_page.document(listed, links=visit.links),
            h.p[linked(more, "Further lines")] if more else None,
        ]

    body = [
        _revision_form(visit, f"/document/{found.id}"),
        h.p[linked(visit.links.to(f"node/{found.id}"), "Its node")],
    ]
    namespace, path = found.key or ("", "")
    name = str(path) if namespace == "document" else node_page.title_of(found)
    return Page(f"Document: {name}", body, (lines,))


def _revision_form(visit: Visit, path: str) -> h.Element:
    return form(path, "At another revision", field("Revision", "at", visit.at), submit="Show")


def _level(revision: Graph, found: Node) -> str | None:
    policy = revision.trust_policy
    if policy is None:
        return None
    value = found.props.get(policy.level)
    return None if value is None else str(value)


def _parts(visit: Visit, revision: Graph, found: Node) -> h.Node:
    if not found.children:
        return None
    nodes = revision.find_nodes([child.id for child in found.children[:PARTS]])
    more = len(found.children) - PARTS
    return h.section[
        h.h2["Parts"],
        h.p[linked(visit.links.to(f"document/{found.id}"), "Lines, with the commit of each")],
        h.ol[
            (
                h.li[linked(visit.links.to(f"node/{id_}"), node_page.title_of(one))]
                for id_, one in nodes.items()
            )
        ],
        h.p[f"and {more:,} more"] if more > 0 else None,
    ]


def _edges(visit: Visit, revision: Graph, id_: NodeId) -> h.Node:
    after = visit.text("after")
    found = revision.edges_of(id_, limit=EDGES + 1, after=EdgeId.parse(after) if after else None)
    shown = found[:EDGES]
    others = {end for edge in shown for end in (edge.src, edge.dst)} - {id_}
    titles = {key: node_page.title_of(one) for key, one in revision.find_nodes(others).items()}
    more = visit.links.to(f"node/{id_}", after=str(shown[-1].id)) if len(found) > EDGES else None
    return h.section[
        h.h2["Edges"],
        node_page.edges(shown, titles, id_, links=visit.links) if shown else h.p["None."],
        h.p[linked(more, "Further edges")] if more else None,
    ]


def _origin(visit: Visit, id_: NodeId) -> h.Node:
    """Returns who set each value, and the versions; for the owner, whose history it is."""
    if not visit.is_whole or visit.owned.head is None:
        return None
    history = visit.owned.history
    touching = list(islice(history.touching(visit.at, node=id_), VERSIONS))
    return [
        h.h2["Who said so"],
        node_page.blame(history.blame(id_, visit.at), links=visit.links),
        h.h2["Versions"],
        node_page.versions(touching, id_, links=visit.links),
    ]
