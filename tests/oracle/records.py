"""The slow, obvious answer to a question about records, from the page alone.

What the query itself finds is the oracle's answer to it; the rest is dictionaries and sorting.

Spec: memory 2 to 4.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import dag_cbor

from ibidem.index.analysis import UNICODE, analyse
from ibidem.objects.edge import Edge
from ibidem.objects.root import Root
from ibidem.objects.tree import Tree

from .after import is_valid
from .graph import edge_holds
from .oracle import World, answer, holds
from .packing import is_stale, link, linked
from .recall import halved
from .shown import estimate, render

WEIGHTS = {"retrieved": 1.0, "entity": 1.0, "salience": 0.3, "selector": 0.3}
PREDICATES = {
    **dict.fromkeys(("subject_entity", "object_entity", "fact_subject_of", "fact_object_of"), 25),
    **dict.fromkeys(("mentions_entity", "mentioned_in"), 20),
    **dict.fromkeys(("supports", "supported_by", "depends_on", "dependency_of"), 10),
}
LAYERS = ("Working", "Entity", "Semantic", "Competence", "PlanGraph", "Episodic")
SECOND = 1_000_000


class Event(NamedTuple):
    """An event of the notes; they are in order."""

    kind: str
    node: bytes
    time: int
    value: float | None


def answer_records(world: World, form: dict[str, Any], events: list[Event]) -> bytes:
    """Returns the bytes of the answer to a query about records."""
    asked = form["records"]
    plain = {name: value for name, value in form.items() if name != "records"}
    found = dag_cbor.decode(answer(world, {**plain, "token_budget": None}))
    by_dense: dict[bytes, float] = {}
    if form["vector"] and world.config.models[form["vector"]["model"]].metric == "cosine":
        rows = [(one["id"], one["lanes"].get("dense")) for one in found["items"]]
        by_dense = {key: row[1] for key, row in rows if row is not None}
    native = {one["id"]: one["score"] for one in found["items"]}
    eligible = {
        key
        for key, (_, node) in world.nodes.items()
        if key not in world.tombstones
        and node.ntype in form["labels"]
        and holds(form["where"], node.props)
        and is_valid(form["valid"], node.props)
    }
    now = {key: salience(world, key, events, asked) for key in eligible}
    shown = {key for key in eligible if now[key] >= asked["min_salience"]}
    edges = [edge for edge in edges_of(world) if edge_holds(edge, form["valid"])]
    boost = boosts(world, form["text"], edges)
    ranked = form["text"] is not None or form["vector"] is not None
    listed = [key for key in native if key in shown]
    candidates = list(dict.fromkeys([*listed, *(key for key in boost if key in shown)]))
    chosen = {
        key: selector(world, key, events, asked["as_of"], by_dense)
        for key in candidates
        if world.nodes[key][1].ntype in ("Competence", "PlanGraph")
    }
    lanes = {
        "retrieved": [(native[key], key) for key in listed] if ranked else [],
        "entity": best({key: float(boost[key]) for key in candidates if key in boost}),
        "salience": best({key: now[key] for key in candidates}),
        "selector": best(chosen),
    }
    said: dict[bytes, dict[str, list[Any]]] = {key: {} for key in candidates}
    scores = dict.fromkeys(candidates, 0.0)
    for name, rows in lanes.items():
        for rank, (score, key) in enumerate(rows, 1):
            share = WEIGHTS[name] / (60 + rank)
            said[key][name] = [rank, score, share]
            scores[key] += share
    roots = [key for _, key in best(scores)][: asked["root_limit"]]
    hops, met, nodes_skipped, edges_skipped = walk(edges, roots, shown, asked)
    records = []
    for key in sorted(hops, key=lambda one: (hops[one], -now[one], one)):
        cid, node = world.nodes[key]
        rendered = render(node, world.text(node), False)
        records.append(
            {
                "id": key,
                "cid": link(cid),
                "hop": hops[key],
                "salience": now[key],
                "score": scores[key] if hops[key] == 0 else 0.0,
                "rendered": rendered,
                "tokens": estimate(rendered),
                "lanes": said[key] if hops[key] == 0 else {},
            }
        )
    if "layered" in asked:
        layer = {key: LAYERS.index(world.nodes[key][1].ntype) for key in hops}
        records.sort(key=lambda one: (layer[one["id"]], -one["score"]))
        first = records
    else:
        first = sorted(records, key=lambda one: (one["hop"] > 0, -one["score"]))
    budget, every = form["token_budget"], len(records)
    if budget is not None:
        left, kept = budget, []
        for one in first:
            left -= one["tokens"]
            if left < 0:
                break
            kept.append(one["id"])
        records = [one for one in records if one["id"] in kept]
        met = [edge for edge in met if edge[2] in kept and edge[3] in kept]
        roots = [one for one in roots[: asked["limit"]] if one in kept]
    of_question = {"no_query_terms", "model_missing", "no_vectors", "no_sparse_vectors"}
    warnings = [
        one
        for one in found["warnings"]
        if one[0] not in ("unknown_label", "stale_vectors") and one[2] != "status"
    ]
    stale = sum(is_stale(world, form, found["status"], one["id"]) for one in records)
    if stale:
        place = sum(one[0] in of_question for one in warnings)
        warnings.insert(place, ["stale_vectors", "vector", form["vector"]["model"], stale])
    return dag_cbor.encode(
        {
            "kind": "records",
            "v": 1,
            "root": link(world.cid),
            "query": linked(form),
            "records": records,
            "tokens_used": sum(one["tokens"] for one in records),
            "token_budget": budget,
            "candidates_seen": len(candidates),
            "dropped": [],
            "dropped_counts": {"limit": nodes_skipped, "budget": every - len(records)},
            "warnings": warnings,
            "status": {name: "ok" if rows else "empty" for name, rows in lanes.items()},
            "rerank": None,
            "graph": {
                "edges": met,
                "edges_skipped": edges_skipped,
                "root_ids": roots[: asked["limit"]],
                "selection": selection(lanes["selector"], asked),
                "withheld": [],
            },
        }
    )


def best(scores: dict[bytes, float]) -> list[tuple[float, bytes]]:
    return [(scores[key], key) for key in sorted(scores, key=lambda one: (-scores[one], one))]


def edges_of(world: World) -> list[Edge]:
    tree = Tree(world.source, Root.decode(world.source.get(world.cid)).edges)
    return [Edge.decode(world.source.get(cid)) for _, cid in tree.items()]


def boosts(world: World, text: str | None, edges: list[Edge]) -> dict[bytes, int]:
    words = [] if text is None else analyse(text, UNICODE)
    names = {
        " ".join(words[start : start + size])
        for size in range(1, 9)
        for start in range(len(words) - size + 1)
    }
    found: dict[bytes, int] = {}

    def boost(key: bytes, value: int) -> None:
        found[key] = max(found.get(key, 0), value)

    for key, (_, node) in world.nodes.items():
        for prop, own, related in (("names", 100, 60), ("aliases", 75, 45)):
            if node.ntype == "Entity" and names & set(node.props.get(prop, ())):
                boost(key, own)
                for edge in edges:
                    for one, other in ((edge.src, edge.dst), (edge.dst, edge.src)):
                        if one.raw == key:
                            boost(other.raw, related + PREDICATES.get(edge.etype, 0))
        if names & set(node.props.get("mentions", ())):
            boost(key, 30)
    return found


def salience(world: World, key: bytes, events: list[Event], asked: dict[str, Any]) -> float:
    props, now = world.nodes[key][1].props, asked["as_of"]
    floor, life = props.get("floor", 0.0), props["half_life_seconds"] * SECOND
    undated = now if asked["undated"] is None else asked["undated"]
    began = time = props.get("time", 0) or undated
    age = props.get("max_age_seconds")
    if age is not None and now - began >= age * SECOND:
        return 0.0

    def faded(value: float, to: int) -> float:
        if props.get("pinned", False):
            return value
        return max(floor, value * halved(to - time, life))

    value = max(floor, props.get("salience", 1.0))
    for event in events:
        if event.node == key and event.time <= now and event.kind in ("reinforce", "penalize"):
            change = props.get("gain", 0.1) if event.value is None else event.value
            change = change if event.kind == "reinforce" else -change
            value = min(1.0, max(floor, faded(value, event.time) + change))
            time = max(time, event.time)
    return faded(value, now)


def selector(
    world: World, key: bytes, events: list[Event], now: int, by_dense: dict[bytes, float]
) -> float:
    props = world.nodes[key][1].props
    fits = (by_dense[key] + 1) / 2 if key in by_dense else props.get("confidence", 0.5)
    mine = [event for event in events if event.node == key and event.time <= now]
    outcomes = [event.value == 1.0 for event in mine if event.kind == "outcome"]
    payload = props.get("payload", {})
    good = payload.get("successes", 0) + sum(outcomes)
    count = good + payload.get("failures", 0) + len(outcomes) - sum(outcomes)
    used = [event.time for event in mine if event.kind == "reinforce"]
    recent = halved(now - max(used), 30 * 86_400 * SECOND) if used else 0.5
    return ((fits + (good / count if count else 0.5)) + recent) / 3


def selection(rows: list[tuple[float, bytes]], asked: dict[str, Any]) -> dict[str, Any]:
    top, gap = 0.0, 0.0
    if rows:
        top = rows[0][0]
        gap = min(top, 1.0)
        if len(rows) > 1:
            gap = (top - rows[1][0]) / top if top > 0 else 0.0
    return {
        "selected": [[key, score] for score, key in rows],
        "top": top,
        "gap": gap,
        "needs_more": not rows or top < asked["top_min"] or gap < asked["gap_min"],
    }


def walk(
    edges: list[Edge], roots: list[bytes], shown: set[bytes], asked: dict[str, Any]
) -> tuple[dict[bytes, int], list[list[Any]], int, int]:
    limit = asked["limit"]
    hops = dict.fromkeys(roots[:limit], 0)
    met: list[list[Any]] = []
    keys: set[tuple[bytes, str, bytes]] = set()
    beyond: set[bytes] = set()
    edges_skipped = 0
    waiting = deque(hops)
    while waiting:
        at = waiting.popleft()
        rows = []
        for edge in edges:
            src, dst = edge.src.raw, edge.dst.raw
            if src == at and asked["direction"] != "incoming":
                rows.append((edge.etype.encode(), dst, edge.id.raw, False, edge))
            if dst == at and asked["direction"] != "outgoing":
                rows.append((edge.etype.encode(), src, edge.id.raw, True, edge))
        for _, other, _, _, edge in sorted(rows, key=lambda row: row[:4]):
            triple = (edge.src.raw, edge.etype, edge.dst.raw)
            if triple in keys:
                continue
            if other not in hops:
                if hops[at] >= asked["hops"] or other not in shown:
                    continue
                if len(hops) >= limit:
                    beyond.add(other)
                    continue
                hops[other] = hops[at] + 1
                waiting.append(other)
            keys.add(triple)
            if len(met) < asked["edge_limit"]:
                met.append([edge.id.raw, edge.etype, edge.src.raw, edge.dst.raw, edge.weight])
            else:
                edges_skipped += 1
    return hops, met, len(roots[limit:]) + len(beyond), edges_skipped
