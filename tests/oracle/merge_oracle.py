"""A second merge, written from `spec/merge.md` over plain dictionaries of everything there is.

It visits every id on all sides and compares whole values; it knows no trees, no differences and
no blocks that need not be read. Only canonical bytes and CIDs come from the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any

from blake3 import blake3

from ibidem.objects import codec
from ibidem.objects.cid import Cid

from .merge_layout import document_of, items_of, layouts_merged, listed_below, resize
from .merge_values import (
    Value,
    boxed,
    height,
    is_derived_link,
    lists,
    lower,
    policy,
    rank,
    same,
    whole,
)

Families = dict[str, dict[bytes, Value]]


@dataclass
class State:
    """A root, spelled out."""

    nodes: dict[bytes, Value] = field(default_factory=dict)
    edges: dict[bytes, Value] = field(default_factory=dict)
    tombstones: dict[bytes, Value] = field(default_factory=dict)
    conflicts: dict[bytes, Value] = field(default_factory=dict)
    vectors: Families = field(default_factory=dict)
    sparse: Families = field(default_factory=dict)
    config: Value = field(default_factory=dict)


def cid_of(value: Value) -> Cid:
    return Cid.of(codec.encode(value))


def merge(base: State, ours: State, theirs: State, blocks: dict[Cid, Value]) -> State:
    """Returns the merged state. `blocks` finds values by CID and gets the new ones."""
    return Merge(base, ours, theirs, blocks).run()


def with_tombstones(state: State, tombstones: dict[bytes, Value]) -> State:
    """Returns a state with those of some tombstones on whose nodes it has none."""
    return replace(state, tombstones={**tombstones, **state.tombstones})


class Merge:
    def __init__(self, base: State, ours: State, theirs: State, blocks: dict[Cid, Value]) -> None:
        self.sides = [replace(side, nodes=dict(side.nodes)) for side in (base, ours, theirs)]
        self.blocks = blocks
        self.out = State()
        self.kept: dict[int, set[bytes]] = {1: set(), 2: set()}
        self.erased: dict[bytes, list[Value]] = {}

    def run(self) -> State:
        names = self.configuration()
        for key in sorted(self.all_ids("nodes")):
            if any(document_of(side.nodes.get(key)) == key for side in self.sides):
                self.label_parts(key)
        for key in sorted(self.all_ids("nodes")):
            self.node(key)
        while self.keep_listed():
            pass
        for document in {
            document for key in self.out.nodes for document in self.resized_documents(key)
        }:
            for key, value in resize(self.out.nodes, document).items():
                self.out.nodes[key] = self.keep(value)
        for key in sorted(self.all_ids("edges") | self.edge_conflict_ids()):
            self.edge(key)
        for key in self.all_ids("tombstones"):
            self.tombstone(key)
        for kind in ("vectors", "sparse"):
            self.families(kind, names if kind == "vectors" else {1: {}, 2: {}})
        models = self.out.config["models"]
        for name in {*self.out.vectors} - {*models}:
            sides = [side.config["models"] for side in self.sides[1:]]
            (models[name],) = (side[name] for side in sides if name in side)
        return self.out

    def all_ids(self, name: str) -> set[bytes]:
        return {key for side in self.sides for key in getattr(side, name)}

    def edge_conflict_ids(self) -> set[bytes]:
        return {
            key for side in self.sides for key, c in side.conflicts.items() if c["what"] == "edge"
        }

    def keep(self, value: Value) -> Value:
        self.blocks[cid_of(value)] = value
        return value

    # -- 2 elements ----------------------------------------------------------------------------

    def pairs(self, name: str, key: bytes) -> list[tuple[Value | None, Value | None]]:
        return [(getattr(side, name).get(key), side.conflicts.get(key)) for side in self.sides]

    def element(self, what: str, pairs: list) -> tuple[Value | None, Value | None]:
        base, ours, theirs = pairs
        is_changed = [not same(list(pair), list(base)) for pair in pairs]
        if same(list(ours), list(theirs)) or not is_changed[2]:
            return ours
        if not is_changed[1]:
            return theirs
        standing = self.standing_conflict(base[1], ours[1], theirs[1])
        if ours[0] is None and theirs[0] is None:
            return None, standing
        if ours[0] is None or theirs[0] is None:
            kept, gone = (theirs, ours) if ours[0] is None else (ours, theirs)
            is_settled = base[1] is not None and gone[1] is None
            if base[0] is not None or is_settled:
                new = self.conflict(what, base[0], self.side_cids(base, kept), deleted=True)
                standing = self.union(new, standing)
            return kept[0], standing
        if same(ours[0], theirs[0]):
            return ours[0], standing
        value, clashes = self.fields_merged(what, base, ours, theirs)
        if clashes:
            cids = self.side_cids(base, ours) | self.side_cids(base, theirs)
            standing = self.union(self.conflict(what, base[0], cids, fields=clashes), standing)
        return value, standing

    def node(self, key: bytes) -> None:
        pairs = self.pairs("nodes", key)
        base, ours, theirs = pairs
        stones = [
            side.tombstones[key]
            for side in self.sides[1:]
            if key not in side.nodes and key in side.tombstones
        ]
        if base[0] is not None and stones:
            self.erased[key] = stones
            return
        value, conflict = self.element("node", pairs)
        if base[0] is not None and (ours[0] is None) != (theirs[0] is None):
            gone = 1 if ours[0] is None else 2
            stone = self.sides[3 - gone].tombstones.get(key)
            if stone is not None and not same(stone, self.sides[0].tombstones.get(key)):
                value, conflict = pairs[3 - gone]
            if value is not None:
                self.kept[gone].add(key)
        if value is not None:
            self.out.nodes[key] = self.keep(value)
            if conflict is not None:
                self.out.conflicts[key] = self.keep(conflict)

    def keep_listed(self) -> bool:
        """2-f, once over all nodes; tells whether it kept any."""
        for key, pair in ((key, self.pairs("nodes", key)) for key in self.sides[0].nodes):
            there = [number for number in (1, 2) if pair[number][0] is not None]
            if key in self.out.nodes or key in self.erased or len(there) != 1:
                continue
            if not same(list(pair[there[0]]), list(pair[0])):
                continue
            lacking = self.sides[3 - there[0]].nodes
            for name, value in self.out.nodes.items():
                if lists(value, key) and not lists(lacking.get(name), key):
                    self.out.nodes[key] = self.keep(pair[0][0])
                    if pair[0][1] is not None:
                        self.out.conflicts[key] = self.keep(pair[0][1])
                    self.kept[3 - there[0]].add(key)
                    return True
        return False

    def label_parts(self, document: bytes) -> None:
        """3-k: the parts of a document in the base and on the sides, as the merged document."""
        policy = self.out.config.get("trust")
        there = [side for side in self.sides if document in side.nodes]
        if any(document not in side.nodes for side in self.sides[1:]):
            return
        names = [f"props.{policy[name]}" for name in ("level", "scope")] if policy else []
        names.append("props.analyser")
        boxes = [boxed(side.nodes[document]) for side in there]
        apart = [[box.get(name) for name in names] for box in boxes]
        if all(same(each, apart[0]) for each in apart):
            return
        self.node(document)
        if document not in self.out.nodes:
            return
        label = boxed(self.out.nodes[document])
        parts = self.listed_below(document)
        for side, box in zip(there, boxes, strict=True):
            for key in parts:
                if key not in side.nodes:
                    continue
                found = boxed(side.nodes[key])
                is_silent = side.nodes[key].get("props", {}).get("format") == "code"
                is_silent = is_silent or not side.nodes[key].get("summary")
                for name in names:
                    if is_silent and name == "props.analyser":
                        continue
                    if same(found.get(name), box.get(name)):
                        found.pop(name, None)
                        found.update({name: label[name]} if name in label else {})
                made = whole(side.nodes[key], {name: each[0] for name, each in found.items()})
                side.nodes[key] = self.keep(made)

    def listed_below(self, document: bytes) -> set[bytes]:
        nodes: dict[bytes, Value] = {}
        values: dict[bytes, list[Value]] = {}
        for side in self.sides:
            nodes |= side.nodes
            for key, value in side.nodes.items():
                values.setdefault(key, []).append(value)
            for key, found in self.in_conflict(side).items():
                values.setdefault(key, []).extend(found)
        changed = {
            key
            for key, value in nodes.items()
            if document_of(value) == document
            and not all(
                same(side.nodes.get(key), self.sides[0].nodes.get(key)) for side in self.sides
            )
        }
        return {*listed_below(nodes, document, values), *changed} - {document}

    def in_conflict(self, side: State) -> dict[bytes, list[Value]]:
        """Returns the values of the nodes that are in conflict on a side."""
        return {
            key: [self.blocks[cid] for cid in conflict["sides"]]
            for key, conflict in side.conflicts.items()
            if conflict["what"] == "node"
        }

    def resized_documents(self, key: bytes) -> list[bytes]:
        """The document of a node whose layout is another on each side, for 3-j."""
        values = [side.nodes.get(key) for side in self.sides]
        if values[1] is None or values[2] is None:
            return []
        layouts = [[(value or {}).get(name) for name in ("children", "tail")] for value in values]
        is_apart = all(not same(a, b) for a, b in combinations(layouts, 2))
        document = document_of(values[1])
        return [document] if is_apart and document is not None else []

    def edge(self, key: bytes) -> None:
        pairs = self.pairs("edges", key)
        for which in (1, 2):
            base = pairs[0][0]
            if base and pairs[which][0] is None and {base["src"], base["dst"]} & self.kept[which]:
                pairs[which] = pairs[0]
        value, conflict = self.element("edge", pairs)
        if value is None:
            if conflict is not None and conflict.get("nodes"):
                self.out.conflicts[key] = self.keep(conflict)
            return
        missing = {value["src"], value["dst"]} - self.out.nodes.keys()
        if missing:
            is_gone = conflict is None and is_derived_link(value)
            is_gone = is_gone or same(value, pairs[0][0]) or bool(missing & self.erased.keys())
            if not is_gone:
                nodes = {cid_of(self.last_known(node)) for node in missing}
                was = pairs[0][0]
                new = self.conflict("edge", was, {cid_of(value)}, was is not None, nodes)
                self.keep(value)
                self.out.conflicts[key] = self.keep(self.union(new, conflict))
            return
        self.out.edges[key] = self.keep(value)
        is_changed = any(not same(list(pair), list(pairs[0])) for pair in pairs)
        if is_changed and conflict is not None and "nodes" in conflict:
            conflict = {name: each for name, each in conflict.items() if name != "nodes"}
            if len(conflict["sides"]) == 1:
                conflict = None
        if conflict is not None:
            self.out.conflicts[key] = self.keep(conflict)

    def last_known(self, key: bytes) -> Value:
        found = [side.nodes[key] for side in self.sides[1:] if key in side.nodes]
        return found[0] if found else self.sides[0].nodes[key]

    # -- 3 fields ------------------------------------------------------------------------------

    def fields_merged(self, what: str, base: Any, ours: Any, theirs: Any) -> tuple[Value, set[str]]:
        was = boxed(base[0]) if base[0] is not None else {}
        one, other = boxed(ours[0]), boxed(theirs[0])
        in_conflict = set() if base[1] is None else set(base[1].get("fields", ()))
        settled = [set() if same(pair[1], base[1]) else in_conflict for pair in (ours, theirs)]
        cids = [self.side_cids(base, pair) for pair in (ours, theirs)]
        lowest = min((cids[0] | cids[1]) - (cids[0] & cids[1]), default=None)
        clashes: set[str] = set()
        merged = {}
        for name in was | one | other:
            a, b, c = was.get(name), one.get(name), other.get(name)
            is_by_both = not was or not (
                (same(a, b) and name not in settled[0]) or (same(a, c) and name not in settled[1])
            )
            heights = (0, 0)
            policy = self.out.config.get("trust")
            if what == "node" and policy is not None and name == f"props.{policy['level']}":
                heights = (height(policy, b), height(policy, c))
            if is_by_both and heights[0] != heights[1]:
                value = b if heights[0] > heights[1] else c
            elif same(b, c) or (same(a, c) and name not in settled[1]):
                value = b
            elif same(a, b) and name not in settled[0]:
                value = c
            elif (layout := self.layout(name, settled, ours[0], theirs[0], [a, b, c])) is not None:
                value = [layout]
            else:
                clashes.add(name)
                present = [side for side in (b, c) if side is not None]
                if lowest is None:
                    present.sort(key=partial(rank, name))
                value = present[-1 if lowest in cids[1] else 0]
            if value is not None:
                merged[name] = value[0]
        return whole(ours[0], merged), clashes

    def layout(self, name: str, settled: Any, one: Any, other: Any, boxes: Any) -> Any:
        """3.1, where it applies: the merged layout, None if it is in conflict."""
        document = document_of(one)
        if name != "layout" or document is None or document_of(other) != document:
            return None
        was, mine, other = (box[0] if box else [None, None] for box in boxes)
        is_decided = boxes[0] is None or "layout" in settled[0] | settled[1]
        if is_decided and items_of(mine) != items_of(other):
            return None
        return layouts_merged(was, mine, other)

    def side_cids(self, base: Any, pair: Any) -> set[Cid]:
        value, conflict = pair
        if conflict is not None and not same(conflict, base[1]):
            return set(conflict["sides"])
        self.keep(value)
        return {cid_of(value)}

    # -- 5 conflicts ---------------------------------------------------------------------------

    def conflict(
        self,
        what: str,
        base: Value | None,
        sides: set[Cid],
        deleted: bool = False,
        nodes: set[Cid] | frozenset[Cid] = frozenset(),
        fields: set[str] | frozenset[str] = frozenset(),
    ) -> Value:
        made: Value = {"kind": "conflict", "v": 1, "what": what, "sides": sorted(sides)[:64]}
        if base is not None:
            made["base"] = cid_of(self.keep(base))
        if deleted:
            made["deleted"] = True
        if fields:
            made["fields"] = sorted(fields)
        if nodes:
            made["nodes"] = sorted(nodes)[:64]
        return made

    def union(self, one: Value, other: Value | None) -> Value:
        if other is None:
            return one
        base = min((each["base"] for each in (one, other) if "base" in each), default=None)
        base = self.blocks.get(base)
        return self.conflict(
            one["what"],
            base,
            {*one["sides"], *other["sides"]},
            "deleted" in one or "deleted" in other,
            {*one.get("nodes", ()), *other.get("nodes", ())},
            {*one.get("fields", ()), *other.get("fields", ())},
        )

    def standing_conflict(
        self, base: Value | None, ours: Value | None, theirs: Value | None
    ) -> Value | None:
        if same(ours, theirs) or same(theirs, base):
            return ours
        if same(ours, base):
            return theirs
        return self.union(theirs, ours) if ours is None else self.union(ours, theirs)

    # -- 4 references, 6 vectors ---------------------------------------------------------------

    def attached(self, key: bytes, found: list[Value | None]) -> tuple[Value | None, bool]:
        base, ours, theirs = found
        if key in self.kept[1]:
            return theirs, False
        if key in self.kept[2]:
            return ours, False
        if same(ours, theirs) or same(theirs, base):
            return ours, False
        if same(ours, base):
            return theirs, False
        return None, True

    def tombstone(self, key: bytes) -> None:
        found = [side.tombstones.get(key) for side in self.sides]
        value, is_both = self.attached(key, found)
        if is_both:
            value = min((each for each in found[1:] if each is not None), key=cid_of)
        if key in self.erased:
            value = value or min(self.erased[key], key=cid_of)
        elif key not in self.out.nodes and any(key in side.nodes for side in self.sides):
            return
        if value is not None:
            self.out.tombstones[key] = value

    def families(self, kind: str, names: dict[int, dict[str, str]]) -> None:
        sides = []
        for number, side in enumerate(self.sides):
            renamed = names.get(number, {})
            family = getattr(side, kind)
            sides.append({renamed.get(name, name): family[name] for name in family})
        for name in {name for side in sides for name in side}:
            found = [side.get(name, {}) for side in sides]
            merged = {}
            for key in {key for side in found for key in side} & self.out.nodes.keys():
                value = self.vector(key, [side.get(key) for side in found])
                if value is not None:
                    merged[key] = value
            if merged:
                getattr(self.out, kind)[name] = merged

    def vector(self, key: bytes, found: list[Value | None]) -> Value | None:
        value, is_both = self.attached(key, found)
        if not is_both:
            return value
        there = [each for each in found[1:] if each is not None]
        fitting = [each for each in there if each["of"] == self.text_digest(key)]
        return fitting[0] if len(there) == 2 == len(fitting) + 1 else min(there, key=cid_of)

    def text_digest(self, key: bytes) -> bytes:
        node = self.out.nodes[key]
        parts = [node.get("context_sentence"), node.get("summary")]
        if "content" in node:
            parts.append(node["content"].decode())
        return blake3("\n".join(part for part in parts if part).encode()).digest()

    # -- 7 configuration -----------------------------------------------------------------------

    def configuration(self) -> dict[int, dict[str, str]]:
        base, ours, theirs = (side.config for side in self.sides)
        merged = {
            name: lower(base.get(name), ours.get(name), theirs.get(name))
            for name in {*base, *ours, *theirs} - {"models", "semantics", "trust"}
        }
        merged["trust"] = policy(*(side.get("trust") for side in (base, ours, theirs)))
        self.out.config = {name: value for name, value in merged.items() if value is not None}
        versions = [side["semantics"] for side in (base, ours, theirs)]
        is_one_sided = versions[0] in versions[1:]
        self.out.config["semantics"] = lower(*versions) if is_one_sided else max(versions[1:])
        names: dict[int, dict[str, str]] = {1: {}, 2: {}}
        models: dict[str, Any] = {}
        b, o, t = (side["models"] for side in (base, ours, theirs))
        for name in {*b, *o, *t}:
            was, one, other = b.get(name), o.get(name), t.get(name)
            both = one is not None and other is not None and not same(one, other)
            both = both and not same(was, one) and not same(was, other)
            if both and (one["dim"] != other["dim"] or self.digests_differ(one, other)):
                first, second = sorted((one, other), key=codec.encode)
                other_name = name + "~" + blake3(codec.encode(second)).hexdigest()[:8]
                models[name], models[other_name] = first, second
                names[1 if same(second, one) else 2][name] = other_name
            elif both:
                was = was or {}
                mixed = {
                    key: lower(was.get(key), one.get(key), other.get(key))
                    for key in {*was, *one, *other}
                }
                models[name] = {key: value for key, value in mixed.items() if value is not None}
            elif name not in models:
                value = lower(was, one, other)
                if value is not None:
                    models[name] = value
        self.out.config["models"] = models
        return names

    @staticmethod
    def digests_differ(one: Value, other: Value) -> bool:
        return "digest" in one and "digest" in other and one["digest"] != other["digest"]
