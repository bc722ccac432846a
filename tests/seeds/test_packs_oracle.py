"""Packs equal a slow reading of spec/packs.md on random documents, graphs and options."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.cases import by_suite

import ibidem
from ibidem.ingest.ingest import ingest_text
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.retrieve.answer.render import render

from .texts import COMMITTED, clock

WORDS = ("needle", "mill", "stone", "cat")


def random_repository(rng: random.Random) -> Any:
    repo = ibidem.init("memory:", clock=clock)
    with repo.transaction(time=COMMITTED) as tx:
        for number in range(rng.randint(1, 4)):
            parts = []
            for _ in range(rng.randint(0, 12)):
                level = rng.choice((0, 0, 0, 1, 2, 3))
                said = " ".join(rng.choices(WORDS, k=rng.randint(1, 4)))
                parts.append(
                    f"{'#' * level} {said}"
                    if level
                    else f"{said} {rng.choice((rng.random(), 1, 2))}"
                )
            name = f"{number}.md" if rng.random() < 0.7 else f"{number}.txt"
            ingest_text(tx, "\n\n".join(parts), path=name)
        for number in range(rng.randint(0, 5)):
            props = {"lang": rng.choice(("de", "en"))} if rng.random() < 0.5 else {}
            tx.add_node("Fact", summary=rng.choice(WORDS), key=number, props=props)
    ids = [node.id for node in repo.at().nodes()]
    with repo.transaction(time=COMMITTED) as tx:
        for _ in range(rng.randint(0, 12)):
            one, other = rng.choice(ids), rng.choice(ids)
            tx.add_edge(one, rng.choice(("cites", "likes")), other)
        for one in rng.sample(ids, min(len(ids), rng.randint(0, 3))):
            tx.tombstone(one)
    return repo


class World:
    """What can be seen, as dictionaries."""

    def __init__(self, repo: Any) -> None:
        at = repo.at()
        self.nodes: dict[NodeId, Node] = {node.id: node for node in at.nodes()}
        self.parent: dict[NodeId, NodeId] = {}
        for node in sorted(self.nodes.values(), key=lambda node: node.id.raw):
            for child in node.children:
                if child.id in self.nodes:
                    self.parent.setdefault(child.id, node.id)
        self.edges = [(e.etype, e.src, e.dst) for e in at.edges()]

    def shown(self, one: NodeId) -> str:
        return self.nodes[one].summary or render(self.nodes[one], "")

    def is_container(self, one: NodeId) -> bool:
        node = self.nodes[one]
        return bool(node.children) or node.ntype in ("Document", "Section")

    def top(self, one: NodeId) -> NodeId:
        while one in self.parent:
            one = self.parent[one]
        return one

    def below(self, one: NodeId) -> list[NodeId]:
        if not self.is_container(one):
            return [one]
        parts = [child.id for child in self.nodes[one].children if child.id in self.nodes]
        return [leaf for part in parts for leaf in self.below(part)]

    def place(self, one: NodeId) -> tuple[NodeId, int] | None:
        top = self.top(one)
        if not self.is_container(top):
            return None
        inside = self.below(one)
        return (top, self.below(top).index(inside[0])) if inside else None

    def section(self, one: NodeId) -> NodeId | None:
        at: NodeId | None = one
        while at is not None:
            if self.nodes[at].ntype == "Section" and self.nodes[at].summary:
                return at
            at = self.parent.get(at)
        return None

    def walk(self, one: NodeId, edges: dict[str, Any], taken: set[NodeId]) -> list[NodeId]:
        found = frontier = [one]
        for _ in range(edges["hops"]):
            reached: list[NodeId] = []
            for node in frontier:
                near = set()
                for etype, src, dst in self.edges:
                    if edges["etypes"] is not None and etype not in edges["etypes"]:
                        continue
                    if src == node and edges["direction"] != "incoming":
                        near.add((etype.encode(), dst.raw, dst))
                    if dst == node and edges["direction"] != "outgoing":
                        near.add((etype.encode(), src.raw, src))
                fresh: list[NodeId] = []
                for _, _, other in sorted(near):
                    if other in self.nodes and other not in {*found, *reached, *fresh, *taken}:
                        fresh.append(other)
                reached += fresh[: edges["fanout"]]
            found = found + reached
            frontier = reached
        return found


def expected(world: World, ranked: list[tuple[NodeId, float]], form: dict[str, Any]) -> list[Any]:
    """Returns (members, hits, score) of each pack."""
    is_walk = form["expand"] == "edges"
    scored = form["rank"] == "score"
    places = {one: None if is_walk else world.place(one) for one, _ in ranked}

    def key(pair: tuple[NodeId, float]) -> Any:
        document, place = places[pair[0]] or (pair[0], 0)
        return -pair[1] if scored else 0.0, document.raw, place, pair[0].raw

    hits = sorted(ranked, key=key)
    groups: list[tuple[list[NodeId], list[int]]] = []
    if is_walk:
        groups = walks(world, [one for one, _ in hits], form)
    else:
        by_document: dict[NodeId, list[int]] = {}
        for rank, (one, _) in enumerate(hits):
            if places[one] is None:
                groups.append(([one], [rank]))
            else:
                by_document.setdefault(places[one][0], []).append(rank)
        for document, ranks in by_document.items():
            line = world.below(document)
            asked = [asks(world, hits[rank][0], places, line, form) for rank in ranks]
            for inside, who in merged(asked, form["merge"]):
                groups.append(([line[p] for p in inside], [ranks[index] for index in who]))
    groups.sort(key=lambda group: min(group[1]))
    if "dedupe" in form:
        groups = deduped(world, groups, [one for one, _ in hits], form)
    elif form["expand"] == "neighbors":
        shown: list[tuple[list[str], list[NodeId], list[int]]] = []
        for members, who in groups:
            words = [w for one in members for w in world.nodes[one].summary.casefold().split()]
            in_document = world.place(members[0]) is not None
            first = next((group for group in shown if in_document and group[0] == words), None)
            if first is None:
                shown.append((words if in_document else [], members, list(who)))
            else:
                first[2].extend(who)
        groups = [(members, who) for _, members, who in shown]
    return [
        (members, [hits[r][0] for r in sorted(who)], hits[min(who)][1] if scored else 0.0)
        for members, who in groups
    ]


def deduped(world: World, groups: Any, hits: list[NodeId], form: dict[str, Any]) -> list[Any]:
    stay: list[tuple[list[NodeId], list[int]]] = []
    for members, who in groups:
        copied = (one for one in stay if is_copy(world, form, one, (members, who), hits))
        first = next(copied, None)
        if first is None:
            stay.append((members, list(who)))
        else:
            first[1].extend(who)
    return stay


def is_copy(world: World, form: dict[str, Any], one: Any, other: Any, hits: Any) -> bool:
    rule, is_walk = form["dedupe"], form["expand"] == "edges"
    if rule["by"] == "near":
        both = [triples(world, members) for members, _ in (one, other)]
        return 100 * len(both[0] & both[1]) >= rule["percent"] * len(both[0] | both[1])
    keys = []
    for members, who in (one, other):
        best = hits[min(who)]
        has_place = not is_walk and world.place(members[0]) is not None
        document = world.top(members[0]) if has_place else None
        if rule["by"] == "property":
            props = world.nodes[best].props
            if document is not None:
                props = {**world.nodes[document].props, **props}
            keys.append(props.get(rule["property"]))
        elif rule["by"] == "none" or document is None:
            keys.append(None)
        else:
            keys.append((rule["by"] == "section" and world.section(best)) or document)
    return keys[0] is not None and keys[0] == keys[1]


def triples(world: World, members: list[NodeId]) -> set[tuple[str, ...]]:
    words = [w for one in members for w in world.shown(one).casefold().split()]
    if len(words) < 3:
        return {tuple(words)}
    return set(zip(words, words[1:], words[2:], strict=False))


def walks(world: World, hits: list[NodeId], form: dict[str, Any]) -> list[Any]:
    groups: list[tuple[list[NodeId], list[int]]] = []
    for rank, one in enumerate(hits):
        if form["merge"] == "absorb":
            home = next((group for group in groups if one in group[0]), None)
            if home is not None:
                home[1].append(rank)
                continue
            taken = {node for group in groups for node in group[0]}
            groups.append((world.walk(one, form["edges"], taken), [rank]))
            continue
        mine = world.walk(one, form["edges"], set())
        met = [group for group in groups if set(group[0]) & set(mine)]
        if not met:
            groups.append((mine, [rank]))
            continue
        ranks = sorted([rank, *(r for group in met for r in group[1])])
        nodes = [n for r in ranks for n in world.walk(hits[r], form["edges"], set())]
        groups = [group for group in groups if group not in met]
        groups.append((list(dict.fromkeys(nodes)), ranks))
    return groups


def asks(world: World, one: NodeId, places: Any, line: Any, form: Any) -> tuple[int, int, int]:
    place = places[one][1]
    section = world.section(one) if form["expand"] == "section" else None
    if section is not None:
        inside = world.below(section)
        return place, line.index(inside[0]), line.index(inside[-1])
    parent, room = world.parent.get(line[place]), form["window_chars"]
    first = last = place
    sides = {"after": True, "before": True}
    for _ in range(form["per_hit_neighbors"]):
        for side in sides:
            new = last + 1 if side == "after" else first - 1
            inside = range(min(first, new), max(last, new) + 1)
            sides[side] = (
                sides[side]
                and 0 <= new < len(line)
                and world.parent.get(line[new]) == parent
                and (room is None or sum(len(world.nodes[line[i]].summary) for i in inside) <= room)
            )
            if sides[side]:
                first, last = inside[0], inside[-1]
    return place, first, last


def merged(asked: list[tuple[int, int, int]], merge: str) -> list[tuple[list[int], list[int]]]:
    groups: list[tuple[set[int], list[int]]] = []
    for index, (place, first, last) in enumerate(asked):
        taken = set().union(*(inside for inside, _ in groups)) if groups else set()
        if merge == "absorb":
            home = next((group for group in groups if place in group[0]), None)
            if home is not None:
                home[1].append(index)
                continue
            down = up = place
            while down > first and down - 1 not in taken:
                down -= 1
            while up < last and up + 1 not in taken:
                up += 1
            groups.append((set(range(down, up + 1)), [index]))
            continue
        mine, who = set(range(first, last + 1)), [index]
        for group in [group for group in groups if group[0] & mine]:
            groups.remove(group)
            mine, who = mine | group[0], who + group[1]
        groups.append((mine, who))
    return [(sorted(inside), who) for inside, who in groups]


def random_options(rng: random.Random) -> dict[str, Any]:
    expand = rng.choice(("neighbors", "section", "edges"))
    options: dict[str, Any] = {"expand": expand, "merge": rng.choice(("absorb", "coalesce"))}
    options["rank"] = rng.choice(("score", "none"))
    if expand == "edges":
        options |= {"hops": rng.randint(0, 3), "fanout": rng.randint(1, 3)}
        options["direction"] = rng.choice(("outgoing", "incoming", "both"))
        if rng.random() < 0.4:
            options["etypes"] = ["cites"]
    else:
        options["per_hit_neighbors"] = rng.randint(0, 3)
        options["window_chars"] = rng.choice((None, 0, 40, 80, 600))
    rules = [("near",), ("property",), ("none",)]
    if expand != "edges":
        rules += [("source",), ("section",)]
    if rng.random() < 0.6:
        (rule,) = rng.choice(rules)
        options["dedupe"] = rule
        if rule == "near":
            options["dedupe_percent"] = rng.choice((1, 20, 50, 80, 100))
        if rule == "property":
            options["dedupe_property"] = rng.choice(("source", "lang", "nothing"))
    return options


def compared(seed: int) -> None:
    rng = random.Random(seed)
    repo = random_repository(rng)
    world = World(repo)
    for _ in range(6):
        text = " ".join(rng.sample(WORDS, rng.randint(1, 2)))
        options = random_options(rng)
        depth = rng.choice((3, 100))
        ranked = [(i.id, i.score) for i in repo.retrieve(text, limit=None, depth=depth).items]
        packs = repo.packs(text, limit=None, depth=depth, **options)
        assert packs.query.packs is not None
        found = [([m.id for m in p.members], [h.id for h in p.hits], p.score) for p in packs]
        assert found == expected(world, ranked, packs.query.packs.form()), (seed, text, options)


@pytest.mark.parametrize("seed", range(12))
def test_packs_equal_the_oracle(seed):
    compared(seed)


@pytest.mark.parametrize("block", by_suite(range(6), slow=2))
def test_packs_equal_the_oracle_on_many(block):
    for seed in range(100 + 50 * block, 150 + 50 * block):
        compared(seed)
