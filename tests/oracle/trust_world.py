"""Random graphs with levels, scopes and documents, and the same graphs rebuilt without what a
caller may not see: by looking at every node, one by one, with no index and no bitmap."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ibidem.objects.child import Child
from ibidem.objects.ids import NodeId
from ibidem.objects.location import CONTAINERS, size_of, source_text
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.retrieve.access.policy import (
    ALL_SCOPES,
    Decision,
    TrustPolicy,
    Viewer,
    decide,
)

from .graph_world import edges_in, set_edges, with_edges
from .world import Facts, edited, finish, random_facts, random_text

SCOPES = ("", "a", "b", "team:x")
ODD: tuple[Any, ...] = (9, -1, "odd", True, 1.0, None, [0, 4], [0, 0], [], {"a": 1}, [1, {"a": 1}])


def random_policy(rng: random.Random) -> TrustPolicy:
    return TrustPolicy(
        level=rng.choice(("level", "level", "level", "year")),
        scope=rng.choice(("scope", "scope", "scope", "lang")),
        default_level=rng.randrange(5),
        anonymous_level=rng.randrange(3),
        unscoped=rng.choice(("allow", "allow", "allow", "deny")),
    )


def random_trust(rng: random.Random) -> Viewer:
    return Viewer(
        level=rng.choice((0, 1, 2, 2, 3, 3)),
        scopes=rng.choice(
            ((), ("a",), ("a", "b", "en"), ("a", "b", "team:x"), ("nobody",), ALL_SCOPES)
        ),
        authenticated=rng.random() < 0.9,
    )


def trust_facts(rng: random.Random, policy: TrustPolicy) -> tuple[Facts, Facts]:
    """Returns a state and the one before it, their roots with the policy in them."""
    before = with_documents(
        rng, labelled(rng, random_facts(rng, node_count_max=30), policy), policy
    )
    first = with_edges(rng, before, [])
    later = labelled(rng, edited(rng, before), policy)
    facts = with_edges(rng, later, edges_in(first))
    return with_policy(facts, policy), with_policy(first, policy)


def labelled(rng: random.Random, facts: Facts, policy: TrustPolicy) -> Facts:
    nodes = [
        replace(node, props=random_labels(rng, dict(node.props), policy)) for node in facts.nodes
    ]
    return again(facts, nodes)


def random_labels(rng: random.Random, props: dict[str, Any], policy: TrustPolicy) -> dict[str, Any]:
    if rng.random() < 0.8:
        props[policy.level] = rng.choice((0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 4, rng.choice(ODD)))
    if rng.random() < 0.8:
        scope = rng.choice(SCOPES)
        props[policy.scope] = rng.choice(
            ("", "", "", "a", "a", scope, scope, [scope, rng.choice(SCOPES)], rng.choice(ODD))
        )
    return props


def with_documents(rng: random.Random, facts: Facts, policy: TrustPolicy) -> Facts:
    """Returns the facts with some documents of sections and passages, sizes as they are."""
    nodes: list[Node] = []

    def make(ntype: str, parts: list[Node]) -> Node:
        children = tuple(
            Child(part.id, rng.choice(("", "\n\n", "# é\n")), *size(part)) for part in parts
        )
        node = Node(
            NodeId(rng.randbytes(16)),
            ntype,
            random_text(rng) or "words",
            props=random_labels(rng, {}, policy),
            children=children,
            tail=rng.choice(("", "\n")) if ntype in CONTAINERS else "",
        )
        nodes.append(node)
        return node

    def size(part: Node) -> tuple[int, int]:
        by_id = {node.id: node for node in nodes}
        return size_of(source_text(part.id, by_id.__getitem__))

    for _ in range(rng.randint(0, 2)):
        sections = [
            make("Section", [make("Passage", []) for _ in range(rng.randint(1, 4))])
            for _ in range(rng.randint(0, 2))
        ]
        loose = [make("Passage", []) for _ in range(rng.randint(0, 2))]
        make("Document", loose + sections)
    return again(facts, facts.nodes + nodes)


def again(facts: Facts, nodes: list[Node]) -> Facts:
    return finish(facts.config, nodes, facts.vectors, facts.sparse, facts.tombstones, facts.buffer)


def with_policy(facts: Facts, policy: TrustPolicy) -> Facts:
    config = replace(facts.config, extra={"trust": policy.form()})
    root = Root.decode(facts.buffer.get(facts.root))
    block = replace(root, config=config.to_map(), requires=("trust",)).encode()
    cid = type(root.cid).of(block)
    facts.buffer.put(cid, block)
    return replace(facts, config=config, root=cid)


def trimmed(known: dict[NodeId, Node], full: set[NodeId]) -> Iterator[Node]:
    """Yields the nodes that are seen, without children that are not, their sizes added up again."""
    done: dict[NodeId, Node] = {}

    def of(id_: NodeId) -> Node:
        if id_ not in done:
            node = known[id_]
            children = tuple(
                sized(child) for child in node.children if child.id not in known or child.id in full
            )
            done[id_] = replace(node, children=children)
        return done[id_]

    def sized(child: Child) -> Child:
        if child.id not in known or known[child.id].ntype not in CONTAINERS:
            return child
        node = of(child.id)
        if node == known[child.id]:
            return child
        sizes = [size_of(node.tail)]
        for part in node.children:
            sizes += [size_of(part.lead), (part.size_bytes, part.size_lines)]
        return replace(
            child,
            size_bytes=sum(one[0] for one in sizes),
            size_lines=sum(one[1] for one in sizes),
        )

    return (of(id_) for id_ in known if id_ in full)


def rebuilt(facts: Facts, policy: TrustPolicy, viewer: Viewer) -> Facts:
    """Returns the facts as if what the caller may not see had never been there."""
    full = {node.id for node in facts.nodes if decide(policy, viewer, node.props) is Decision.FULL}
    known = {node.id: node for node in facts.nodes}
    kept = finish(
        replace(facts.config, extra={}),
        list(trimmed(known, full)),
        {
            name: {k: v for k, v in rows.items() if k in full}
            for name, rows in facts.vectors.items()
        },
        {name: {k: v for k, v in rows.items() if k in full} for name, rows in facts.sparse.items()},
        {one for one in facts.tombstones if one in full},
        facts.buffer,
    )
    hidden = known.keys() - full
    edges = [one for one in edges_in(facts) if one.src not in hidden and one.dst not in hidden]
    return set_edges(kept, edges)
