"""A random repository divided into several, and what the oracle says of all of them together."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from ibidem.objects import codec
from ibidem.objects.cid import RootCid
from ibidem.objects.edge import Edge
from ibidem.objects.ids import NodeId
from ibidem.retrieve.query.query import Query

from .graph_world import edges_in, set_edges
from .world import Facts, finish


def split(rng: random.Random, facts: Facts, count: int) -> tuple[dict[NodeId, int], list[Edge]]:
    """Returns the part of each node, a node with its children in one, and the edges within."""
    home = {node.id: node.id for node in facts.nodes}

    def top(id_: NodeId) -> NodeId:
        while home[id_] != id_:
            id_ = home[id_]
        return id_

    for node in facts.nodes:
        for child in node.children:
            if child.id in home:
                home[top(child.id)] = top(node.id)
    part_of = {id_: rng.randrange(count) for id_ in home}
    parts = {id_: part_of[top(id_)] for id_ in home}
    within = [
        edge
        for edge in edges_in(facts)
        if edge.src in parts and parts[edge.src] == parts.get(edge.dst)
    ]
    return parts, within


def part(facts: Facts, parts: dict[NodeId, int], index: int, edges: list[Edge]) -> Facts:
    """Returns the facts about the nodes of one part."""

    def mine(rows: dict[str, Any]) -> dict[str, Any]:
        return {
            name: {id_: one for id_, one in values.items() if parts.get(id_) == index}
            for name, values in rows.items()
        }

    found = finish(
        facts.config,
        [node for node in facts.nodes if parts[node.id] == index],
        mine(facts.vectors),
        mine(facts.sparse),
        {id_ for id_ in facts.tombstones if parts.get(id_) == index},
        facts.buffer,
    )
    return set_edges(found, [edge for edge in edges if parts.get(edge.src) == index])


def of_several(answer: bytes, query: Query, roots: Mapping[bytes, RootCid]) -> bytes:
    """Returns the answer over several roots, given the oracle's over one root with all nodes.

    Args:
        answer: to the query that names no roots.
        query: the same one that names them.
        roots: that of each node by its id.
    """
    assert query.union is not None
    fields: dict[str, Any] = codec.decode(answer)
    fields["root"], fields["query"] = query.union.roots[0], query.form()
    fields["items"] = [{**item, "root": roots[item["id"]]} for item in fields["items"]]
    return codec.encode(fields)
