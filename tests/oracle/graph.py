"""The slow, obvious lanes that walk edges: dictionaries and integers, edge by edge.

Spec: retrieval 5.
"""

from __future__ import annotations

from typing import Any

from ibidem.objects.edge import Edge
from ibidem.objects.root import Root
from ibidem.objects.tree import Tree

LARGEST = 1.7976931348623157e308
Arcs = dict[bytes, list[tuple[bytes, float]]]
Ranked = list[tuple[float, bytes]]


def edges_of(world: Any) -> list[Edge]:
    """Returns the edges of the root."""
    tree = Tree(world.source, Root.decode(world.source.get(world.cid)).edges)
    return [Edge.decode(world.source.get(cid)) for _, cid in tree.items()]


def walk_lanes(
    world: Any,
    form: dict[str, Any],
    view: set[bytes],
    universe: set[bytes],
    first: Ranked,
    lanes: dict[str, Ranked],
    floors: dict[str, float | None],
    status: dict[str, str],
) -> list[list[Any]]:
    """Adds the lanes that the query asks for; returns their warnings."""
    from .oracle import with_passages

    cut: list[list[Any]] = []
    empty: list[list[Any]] = []
    for lane in ("graph", "community"):
        options = form[lane]
        if options is None:
            continue
        seeds = [key for _, key in first[: options["seeds"]]]
        arcs = visible(world, view, options, form["valid"])
        floors[lane], lanes[lane] = 0.0, []
        if not seeds:
            status[lane] = "no_seeds"
            continue
        if not any(arcs[seed] for seed in seeds):
            status[lane] = "no_edges"
            empty.append(["no_edges", lane, None, None])
            continue
        status[lane] = "ok"
        walk = community if lane == "community" else decay if options["mode"] == "decay" else ppr
        scores, left_out = walk(arcs, seeds, universe, options)
        if left_out:
            cut.append(["frontier_cut", lane, None, left_out])
        depth = min(form["depth"], options.get("max_expand") or form["depth"])
        ranked = order(scores, universe)[:depth]
        lanes[lane] = with_passages(world, form, ranked, view, universe, counts_own=False)
    return empty + cut


def unknown_types(world: Any, form: dict[str, Any]) -> list[list[Any]]:
    known = {edge.etype for edge in edges_of(world)}
    return [
        ["unknown_edge_type", lane, name, None]
        for lane in ("graph", "community")
        if form[lane] is not None
        for name in sorted({*(form[lane]["etypes"] or []), *form[lane]["weights"]} - known)
    ]


def edge_holds(edge: Edge, valid: dict[str, Any] | None) -> bool:
    """Whether an edge holds at the time of a question."""
    if valid is None:
        return True
    start, stop = edge.props.get("valid_from"), edge.props.get("valid_to")
    for bound in (start, stop):
        if bound is not None and type(bound) not in (int, float):
            return False
    return (start is None or start <= valid["at"]) and (stop is None or valid["at"] < stop)


def visible(
    world: Any, view: set[bytes], options: dict[str, Any], valid: dict[str, Any] | None
) -> Arcs:
    arcs: Arcs = {key: [] for key in view}
    direction = options.get("direction", "both")
    for edge in edges_of(world):
        source, target = edge.src.raw, edge.dst.raw
        if source not in view or target not in view or not edge_holds(edge, valid):
            continue
        if options["etypes"] is not None and edge.etype not in options["etypes"]:
            continue
        weight = min(edge.weight * options["weights"].get(edge.etype, 1.0), LARGEST)
        if weight <= 0.0:
            continue
        if direction in ("outgoing", "both"):
            arcs[source].append((target, weight))
        if direction in ("incoming", "both"):
            arcs[target].append((source, weight))
    return arcs


def order(scores: dict[bytes, float], universe: set[bytes]) -> Ranked:
    return sorted(
        ((score, key) for key, score in scores.items() if score > 0.0 and key in universe),
        key=lambda pair: (-pair[0], pair[1]),
    )


def decay(
    arcs: Arcs, seeds: list[bytes], universe: set[bytes], options: dict[str, Any]
) -> tuple[dict[bytes, float], int]:
    scores = {seed: 1.0 / rank for rank, seed in enumerate(seeds, 1)}
    origins = {seed: place for place, seed in enumerate(seeds)}
    frontier, left_out = list(seeds), 0
    for _ in range(options["depth"]):
        frontier.sort(key=lambda key: (-scores[key], key))
        left_out += len(frontier[options["max_frontier"] :])
        arrivals: dict[bytes, tuple[float, int]] = {}
        for key in frontier[: options["max_frontier"]]:
            for target, weight in arcs[key]:
                value = min((scores[key] * options["decay"]) * weight, LARGEST)
                found = (value, -origins[key])
                arrivals[target] = max(arrivals.get(target, found), found)
        frontier = [key for key, found in arrivals.items() if found[0] > scores.get(key, 0.0)]
        for key in frontier:
            scores[key], origins[key] = arrivals[key][0], -arrivals[key][1]
    if options["max_per_seed"] is not None:
        for place in range(len(seeds)):
            own = {k: s for k, s in scores.items() if origins[k] == place and k not in seeds}
            for _, key in order(own, universe)[options["max_per_seed"] :]:
                del scores[key]
    return scores, left_out


def ppr(
    arcs: Arcs, seeds: list[bytes], universe: set[bytes], options: dict[str, Any]
) -> tuple[dict[bytes, float], int]:
    total = 0.0
    for rank in range(1, len(seeds) + 1):
        total += 1.0 / rank
    mass = [int(((1.0 / rank) / total) * 2**40) for rank in range(1, len(seeds) + 1)]
    restart = 2**20 - int(options["damping"] * 2**20)
    enough = int(options["epsilon"] * 2**40)
    held = dict.fromkeys(arcs, 0) | dict(zip(seeds, mass, strict=True))
    ranks = dict.fromkeys(arcs, 0)
    for _ in range(options["rounds"]):
        active = [
            key for key in arcs if held[key] and held[key] // max(1, len(arcs[key])) >= enough
        ]
        arrived = dict.fromkeys(arcs, 0)
        back = 0
        for key in active:
            kept = held[key] * restart >> 20
            ranks[key] += kept
            rest, held[key] = held[key] - kept, 0
            if not arcs[key]:
                back += rest
                continue
            parts = units(arcs[key])
            moved = [rest * part // sum(parts) for part in parts]
            for (target, _), share in zip(arcs[key], moved, strict=True):
                arrived[target] += share
            arrived[key] += rest - sum(moved)
        shares = [back * (one >> 20) >> 20 for one in mass]
        shares[0] += back - sum(shares)
        for seed, share in zip(seeds, shares, strict=True):
            arrived[seed] += share
        for key in arcs:
            held[key] += arrived[key]
        assert sum(held.values()) + sum(ranks.values()) == sum(mass)
    found = {key: ranks[key] + (held[key] * restart >> 20) for key in arcs}
    others = [found[key] for key in universe - set(seeds) if found[key]]
    for place, seed in enumerate(seeds if others else ()):
        found[seed] = min(found[seed], max(others) + len(seeds) - place)
    return {key: units / 2**40 for key, units in found.items()}, 0


def units(arcs: list[tuple[bytes, float]]) -> list[int]:
    largest = max((weight for _, weight in arcs), default=1.0)
    return [int((weight / largest) * 2**20) for _, weight in arcs]


def community(
    arcs: Arcs, seeds: list[bytes], universe: set[bytes], options: dict[str, Any]
) -> tuple[dict[bytes, float], int]:
    hops = dict.fromkeys(seeds, 0)
    refused: set[bytes] = set()
    for hop in range(1, options["hops"] + 1):
        edge = {target for key, at in hops.items() if at == hop - 1 for target, _ in arcs[key]}
        fresh = sorted(edge - set(hops) - refused)
        room = max(0, options["max_nodes"] - len(hops))
        refused |= set(fresh[room:])
        hops |= dict.fromkeys(fresh[:room], hop)
    inner = {key: [(t, w) for t, w in arcs[key] if t in hops] for key in hops}
    parts = {key: units(inner[key]) for key in hops}
    labels = {key: key for key in hops}
    for _ in range(options["rounds"]):
        after = {}
        for key in hops:
            votes = {labels[key]: 2**20}
            for (target, _), part in zip(inner[key], parts[key], strict=True):
                votes[labels[target]] = votes.get(labels[target], 0) + part
            after[key] = min(votes, key=lambda label: (-votes[label], label))
        labels = after
    scores: dict[bytes, float] = {}
    for key in hops:
        best = max((1.0 / r for r, s in enumerate(seeds, 1) if labels[s] == labels[key]), default=0)
        score = float(best)
        for _ in range(max(1, hops[key])):
            score = score * options["decay"]
        inside = sum(
            part
            for (target, _), part in zip(inner[key], parts[key], strict=True)
            if labels[target] == labels[key]
        )
        scores[key] = score * (inside / max(1, sum(parts[key])))
    if options["max_per_community"] is not None:
        for label in set(labels.values()):
            own = {key: score for key, score in scores.items() if labels[key] == label}
            for _, key in order(own, universe)[options["max_per_community"] :]:
                del scores[key]
    return scores, len(refused)
