"""What the oracle says of items that repeat earlier ones.

Spec: retrieval 8.4, packs 2, 4.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dag_cbor

from ibidem.objects.location import document_of
from ibidem.objects.node import Node

from .shown import render

if TYPE_CHECKING:
    from .oracle import World


def repeats(rule: dict[str, Any], earlier: list[Any], mine: Any) -> bool:
    """Whether a node, by what it shares, repeats one of the items before it, by what they share."""
    if rule["by"] == "near":
        percent = rule["percent"]
        earlier = [] if mine is None else [one for one in earlier if one is not None]
        return any(100 * len(one & mine) >= percent * len(one | mine) for one in earlier)
    return mine is not None and mine in earlier


def words(world: World, key: bytes) -> list[str]:
    node = world.nodes[key][1]
    return (world.text(node) or render(node, "", False)).casefold().split()


def runs(world: World, key: bytes) -> set[tuple[str, ...]]:
    found = words(world, key)
    if len(found) < 3:
        return {tuple(found)}
    return set(zip(found, found[1:], found[2:], strict=False))


def shared(world: World, rule: dict[str, Any], view: set[bytes], key: bytes) -> Any:
    """Returns what a node has in common with one that repeats it; None for nothing."""
    document = top_of(world, view, key)
    homes = walked(world, view, document).get(key)
    if rule["by"] in ("near", "text"):
        if homes is None or key in homes:
            return None
        return runs(world, key) if rule["by"] == "near" else words(world, key)
    if rule["by"] == "property":
        for one in (key,) if homes is None else (key, document):
            if rule["property"] in world.nodes[one][1].props:
                return dag_cbor.encode(world.nodes[one][1].props[rule["property"]])
        return None
    if homes is None:
        return None
    sections = (one for one in homes if world.nodes[one][1].ntype == "Section")
    own = next((one for one in sections if world.nodes[one][1].summary), document)
    return own if rule["by"] == "section" else document


def is_bare(world: World, view: set[bytes], key: bytes) -> bool:
    """Whether a node is a document or section of ingest without a passage below it."""
    node = world.nodes[key][1]
    if node.ntype not in ("Document", "Section") or document_of(node) is None:
        return False
    return key not in walked(world, view, top_of(world, view, key))


def top_of(world: World, view: set[bytes], key: bytes) -> bytes:
    """Returns the end of the chain of the parents of a node."""
    from .oracle import parent_of

    for _ in range(64):
        above = parent_of(world, key, view)
        if above is None:
            break
        key = above
    return key


def walked(world: World, view: set[bytes], top: bytes) -> dict[bytes, list[bytes]]:
    """Returns what has a place below a document: for each node the containers around it, or that
    it is, innermost first."""
    found: dict[bytes, list[bytes]] = {}
    met = {top}

    def walk(key: bytes, around: list[bytes]) -> bool:
        node = world.nodes[key][1]
        if not is_container(node):
            found[key] = around
            return True
        has_passages = False
        fresh = []
        for part in (one.id.raw for one in node.children):
            if part in view and part not in met:
                met.add(part)
                fresh.append(part)
        for part in fresh:
            has_passages |= walk(part, [key, *around])
        if has_passages:
            found[key] = [key, *around]
        return has_passages

    if is_container(world.nodes[top][1]):
        walk(top, [])
    return found


def is_container(node: Node) -> bool:
    return bool(node.children) or node.ntype in ("Document", "Section")
