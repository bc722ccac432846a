"""Random graphs, and random edits that leave every reference in place, for merges to try."""

from __future__ import annotations

import random
from copy import copy

import numpy as np
from blake3 import blake3

from ibidem.objects import codec
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.config import Config
from ibidem.objects.derive import edge_id, node_id
from ibidem.objects.ids import NodeId
from ibidem.objects.root import Root
from ibidem.objects.tree import Tree, build
from ibidem.objects.vector import Sparse, Vector
from ibidem.retrieve.access.policy import TrustPolicy

from .merge_oracle import State, cid_of
from .merge_values import Value, fields, whole

KEYS = "abcdef"
IDS = [node_id("", key).raw for key in KEYS]
ETYPES = ("cites", "links_to")
WORDS = ("queue", "retry", "lock", "tide")
MODELS = ("m", "n")
POLICIES = tuple(
    TrustPolicy(level=name, default_level=level).form()
    for name, level in (("level", 1), ("level", 3), ("a", 2))
)
FIELDS = (
    ("default_level", range(5)),
    ("anonymous_level", range(5)),
    ("unscoped", ("allow", "deny")),
    ("level", ("level", "a", "scope")),
    ("scope", ("scope", "b", "level")),
)
LEVELS = (0, 1, 2, 3, 4, 4, [0, 3], [], "high", True, None, {"a": 1})
_TREES = ("nodes", "edges", "tombstones", "conflicts")


def copied(state: State) -> State:
    made = copy(state)
    for name in _TREES:
        setattr(made, name, dict(getattr(state, name)))
    for kind in ("vectors", "sparse"):
        setattr(made, kind, {name: dict(found) for name, found in getattr(state, kind).items()})
    models = {name: dict(model) for name, model in state.config["models"].items()}
    made.config = {**state.config, "models": models}
    return made


def empty_state(*, policy: int | None = None) -> State:
    """Returns a root of nothing, with one of POLICIES."""
    state = State(config=Config.default().to_map())
    if policy is not None:
        state.config["trust"] = POLICIES[policy]
    return state


def under_policies(random_: random.Random) -> tuple[State, State, State]:
    """Returns a base and two sides that change its policy, which one of them may lack."""
    base = Editor(random_, empty_state(policy=random_.randrange(3))).edited(3)
    sides = []
    for side in (base, base):
        changed = copied(side)
        for name, values in random_.sample(FIELDS, random_.choice((1, 2, 3))):
            changed.config["trust"] = {**changed.config["trust"], name: random_.choice(values)}
        policy = changed.config["trust"]
        if policy["level"] == policy["scope"]:
            policy["scope"] = "other"
        sides.append(changed)
    lacking = random_.choice((base, *sides, None, None, None))
    if lacking is not None:
        del lacking.config["trust"]
    return base, *sides


class Editor:
    """Makes random edits to one state, as a transaction would leave them."""

    def __init__(self, random_: random.Random, state: State, *, has_lists: bool = False) -> None:
        self.random = random_
        self.has_lists = has_lists
        self.state = copied(state)

    def edited(self, count: int) -> State:
        moves = (
            *(self.put_node,) * 4,
            *(self.change_node,) * 6,
            *(self.remove_node,) * 2,
            self.erase_node,
            *(self.put_edge,) * 4,
            *(self.change_edge,) * 2,
            self.remove_edge,
            *(self.tombstone,) * 2,
            *(self.put_vector,) * 4,
            self.remove_vector,
            self.settle,
            self.configure,
        )
        if "trust" in self.state.config:
            moves = (*moves, *(self.set_level,) * 24)
        if self.has_lists:
            moves = (*moves, *(self.list_children,) * 16, *(self.replace_child,) * 8)
        for _ in range(count):
            self.random.choice(moves)()
        for kind in ("vectors", "sparse"):
            families = getattr(self.state, kind)
            setattr(self.state, kind, {name: found for name, found in families.items() if found})
        return self.state

    def pick(self, of: dict[bytes, Value]) -> bytes | None:
        return self.random.choice(sorted(of)) if of else None

    def put_node(self) -> None:
        key = self.random.choice(IDS)
        if key not in self.state.nodes:
            letter = KEYS[IDS.index(key)]
            node: Value = {"kind": "node", "v": 1, "id": key, "ntype": "Doc", "key": ["", letter]}
            self.state.nodes[key] = self.varied(node)

    def change_node(self) -> None:
        key = self.pick(self.state.nodes)
        if key is not None:
            self.state.nodes[key] = self.varied(self.state.nodes[key])

    def set_level(self) -> None:
        key = self.pick(self.state.nodes)
        if key is not None:
            name = f"props.{self.state.config['trust']['level']}"
            found = fields(self.state.nodes[key])
            found.pop(name, None)
            if self.random.random() < 0.8:
                found[name] = self.random.choice(LEVELS)
            self.state.nodes[key] = whole(self.state.nodes[key], found)

    def varied(self, value: Value) -> Value:
        found = fields(value)
        for _ in range(self.random.choice((1, 1, 2, 3))):
            name = self.random.choice(
                ("summary", "props.a", "props.b", "content", "context_sentence", "layout", "later")
            )
            if value["kind"] == "edge":
                name = self.random.choice(("weight", "weight", "props.a", "props.b"))
            if self.random.random() < 0.2 and name != "weight":
                found.pop(name, None)
            else:
                found[name] = self.some(name)
        return whole(value, found)

    def some(self, name: str) -> object:
        word = self.random.choice(WORDS)
        match name:
            case "weight":
                return self.random.choice((0.0, 1.0, 2.0, 0.5))
            case "content":
                return word.encode()
            case "layout":
                return self.random.choice(([None, word], [[[IDS[0], "", 1, 0]], None]))
            case "props.b":
                return self.random.choice((True, 1, 1.0, None, [1], {"a": [word]}))
        return word

    def list_children(self) -> None:
        """Makes some nodes the children of one."""
        parent = self.pick(self.state.nodes)
        if parent is not None:
            children = self.random.sample(IDS, self.random.randrange(4))
            self.put_children(parent, [[child, "", 1, 0] for child in children])

    def replace_child(self) -> None:
        """Takes a node away and out of the children of all others, as ingest does."""
        before = set(self.state.nodes)
        self.remove_node()
        for gone in before - self.state.nodes.keys():
            for parent, value in list(self.state.nodes.items()):
                left = [child for child in value.get("children", ()) if child[0] != gone]
                self.put_children(parent, left)

    def put_children(self, parent: bytes, children: list[object]) -> None:
        value = {
            name: each for name, each in self.state.nodes[parent].items() if name != "children"
        }
        self.state.nodes[parent] = value | ({"children": children} if children else {})

    def remove_node(self) -> None:
        key = self.pick(self.state.nodes)
        if key is None or key in self.state.tombstones:
            return
        del self.state.nodes[key]
        self.state.conflicts.pop(key, None)
        for edge, value in list(self.state.edges.items()):
            if key in (value["src"], value["dst"]):
                del self.state.edges[edge]
                self.state.conflicts.pop(edge, None)
        for kind in ("vectors", "sparse"):
            for found in getattr(self.state, kind).values():
                found.pop(key, None)

    def erase_node(self) -> None:
        key = self.pick(self.state.nodes)
        stone = None if key is None else self.state.tombstones.pop(key, None)
        before = set(self.state.nodes)
        self.remove_node()
        for gone in before - self.state.nodes.keys():
            self.state.tombstones[gone] = {"kind": "tombstone", "v": 1, "reason": "erased"}
        if stone is not None and key in self.state.nodes:
            self.state.tombstones[key] = stone

    def put_edge(self) -> None:
        src, dst = self.pick(self.state.nodes), self.pick(self.state.nodes)
        if src is None or dst is None:
            return
        etype = self.random.choice(ETYPES)
        key = edge_id(NodeId(src), etype, NodeId(dst)).raw
        if key not in self.state.edges:
            edge = {"kind": "edge", "v": 1, "id": key, "etype": etype, "src": src, "dst": dst}
            self.state.edges[key] = edge if etype == "links_to" else self.varied(edge)
            self.state.conflicts.pop(key, None)

    def change_edge(self) -> None:
        key = self.pick(self.state.edges)
        if key is not None:
            self.state.edges[key] = self.varied(self.state.edges[key])

    def remove_edge(self) -> None:
        key = self.pick(self.state.edges)
        if key is not None:
            del self.state.edges[key]
            self.state.conflicts.pop(key, None)

    def tombstone(self) -> None:
        key = self.pick(self.state.nodes)
        if key is None:
            return
        if key in self.state.tombstones and self.random.random() < 0.6:
            del self.state.tombstones[key]
            return
        stone: Value = {"kind": "tombstone", "v": 1}
        if self.random.random() < 0.5:
            stone["reason"] = self.random.choice(WORDS)
        self.state.tombstones[key] = stone

    def put_vector(self) -> None:
        key = self.pick(self.state.nodes)
        if key is None:
            return
        of = self.digest(key) if self.random.random() < 0.7 else bytes(32)
        if self.random.random() < 0.3:
            indices = np.array([self.random.randrange(9)], np.uint32)
            sparse = Sparse.from_arrays(indices, np.ones(1, np.float32), of=of)
            self.state.sparse.setdefault("v", {})[key] = _plain(sparse.encode())
            return
        name = self.random.choice(MODELS)
        models = self.state.config["models"]
        if name not in models:
            models[name] = {"dim": self.random.choice((2, 2, 2, 3)), "metric": "cosine"}
            models[name]["dtype"] = "f32"
            if self.random.random() < 0.3:
                models[name]["digest"] = bytes([self.random.randrange(2)]) * 32
        parts = [float(self.random.randrange(1, 4)) for _ in range(models[name]["dim"])]
        vector = Vector.from_array(np.array(parts, np.float32), dtype="f32", of=of)
        self.state.vectors.setdefault(name, {})[key] = _plain(vector.encode())

    def digest(self, key: bytes) -> bytes:
        node = self.state.nodes[key]
        parts = [node.get("context_sentence"), node.get("summary")]
        parts.append(node["content"].decode() if "content" in node else None)
        return blake3("\n".join(part for part in parts if part).encode()).digest()

    def remove_vector(self) -> None:
        kind = self.random.choice(("vectors", "sparse"))
        for found in getattr(self.state, kind).values():
            key = self.pick(found)
            if key is not None:
                del found[key]

    def settle(self) -> None:
        key = self.pick(self.state.conflicts)
        if key is not None and (key in self.state.nodes or key in self.state.edges):
            del self.state.conflicts[key]

    def configure(self) -> None:
        names = ("semantics", "analyser", "mine", "trust")
        name = self.random.choice(names if "trust" in self.state.config else names[:3])
        if name == "trust":
            self.state.config[name] = self.random.choice(POLICIES)
            return
        values = {"semantics": (1, 2, 3), "analyser": ("english-1", "plain-1"), "mine": (1, 2, 3)}
        self.state.config[name] = self.random.choice(values[name])


def _plain(block: bytes) -> Value:
    value = codec.decode(block)
    assert isinstance(value, dict)
    return value


def rooted(state: State, buffer: WriteBatch) -> RootCid:
    """Puts a state and returns its root."""

    def tree(values: dict[bytes, Value]) -> object:
        entries = []
        for key, value in values.items():
            block = codec.encode(value)
            cid = Cid.of(block)
            buffer.put(cid, block)
            entries.append((key, cid))
        return build(entries, buffer)

    root = Root(
        *(tree(getattr(state, name)) for name in _TREES),  # type: ignore[arg-type]
        vectors={name: tree(found) for name, found in state.vectors.items()},  # type: ignore[misc]
        sparse={name: tree(found) for name, found in state.sparse.items()},  # type: ignore[misc]
        config=state.config,
    )
    block = root.encode()
    cid = RootCid.of(block)
    buffer.put(cid, block)
    return cid


def state_of(root_cid: RootCid, buffer: WriteBatch) -> State:
    """Returns a root, spelled out."""
    root = Root.decode(buffer.get(root_cid))

    def values(tree: object) -> dict[bytes, Value]:
        found = Tree(buffer, tree).items()  # type: ignore[arg-type]
        return {key: _plain(buffer.get(cid)) for key, cid in found}

    return State(
        *(values(getattr(root, name)) for name in _TREES),
        vectors={name: values(tree) for name, tree in root.vectors.items()},
        sparse={name: values(tree) for name, tree in root.sparse.items()},
        config=dict(root.config),
    )


def known(state: State, blocks: dict[Cid, Value]) -> None:
    """Notes the values of a state by CID."""
    for values in (state.nodes, state.edges, state.conflicts):
        for value in values.values():
            blocks[cid_of(value)] = value


def kept_as_listed(merged: State, base: State, ours: State, theirs: State) -> int:
    """Nothing that a side lists and has is missing; returns how often the other took it away."""
    count = 0
    for side, other in ((ours, theirs), (theirs, ours)):
        for parent, node in merged.nodes.items():
            was = {each[0] for each in other.nodes.get(parent, {}).get("children", ())}
            for child in {each[0] for each in node.get("children", ())} & side.nodes.keys() - was:
                assert child in merged.nodes or child in other.tombstones
                count += child in base.nodes and child not in other.nodes
    return count
