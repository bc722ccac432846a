"""Changes of a copy that keep it readable: each says what an attacker would try.

A change takes a source of chance and a copy, and returns what it did, or None where the copy has
nothing that it could change. Values go into places that a reader may believe: a property of another
type, a list that names one thing a thousand times, a link to something of another kind.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

from .graph import (
    Block,
    Copy,
    Link,
    Path,
    Ref,
    Tree,
    Unwritable,
    decode,
    drop,
    encode,
    places,
    put,
    refs_in,
)
from .values import BYTES, ESCAPES, FLOATS, INTEGERS, LABELS, PROPS, TEXTS, junk, like

Mutation = Callable[[Random, Copy], "str | None"]

BLOB_BYTES = 1 << 20
TRIES_MAX = 20
"""Changes that are drawn until one fits the copy."""


# Any block


def replace_value(chance: Random, copy: Copy) -> str | None:
    """A value of another type in any place."""
    block, path, _ = _place(chance, copy)
    put(block.value, path, junk(chance))
    return f"{block.kind}{path}"


def like_value(chance: Random, copy: Copy) -> str | None:
    """Another value of the same type in any place."""
    block, path, item = _place(chance, copy)
    put(block.value, path, like(chance, item))
    return f"{block.kind}{path}"


def drop_value(chance: Random, copy: Copy) -> str | None:
    """A field or an item left out."""
    block, path, _ = _place(chance, copy)
    drop(block.value, path)
    return f"{block.kind}{path}"


def extra_field(chance: Random, copy: Copy) -> str | None:
    """A field that the format does not know, in a block or deeper."""
    block = chance.choice(_plain(copy))
    maps = [block.value, *(item for _, item in places(block.value) if isinstance(item, dict))]
    name = chance.choice(("x", "zz", "extra", "links", "requires", "\x1b[31m", "", *PROPS))
    chance.choice(maps)[name] = junk(chance)
    return f"{block.kind}.{name!r}"


def crossed_value(chance: Random, copy: Copy) -> str | None:
    """A value of another block in the place of one of the same name."""
    block, path, _ = _place(chance, copy)
    name = path[-1]
    found = [
        item
        for other in _plain(copy)
        if other is not block
        for there, item in places(other.value)
        if there[-1] == name
    ]
    if not found or isinstance(name, int):
        return None
    put(block.value, path, chance.choice(found))
    return f"{block.kind}{path}"


def escaped_text(chance: Random, copy: Copy) -> str | None:
    """Control characters and line feeds, in every text of a block."""
    block = chance.choice(_plain(copy))
    found = [
        (path, item)
        for path, item in places(block.value)
        if isinstance(item, str) and path[-1] not in ("kind", "what", "dtype", "action")
    ]
    if not found:
        return None
    for path, item in found:
        put(block.value, path, item + chance.choice(ESCAPES))
    return f"{block.kind}, {len(found)} texts"


def swapped_link(chance: Random, copy: Copy) -> str | None:
    """A link to another block: of the same kind, of any kind, or to nothing."""
    found = [
        (block, path, item)
        for block in _plain(copy)
        for path, item in places(block.value)
        if isinstance(item, Ref)
    ]
    block, path, item = chance.choice(found)
    other = _other(chance, copy, item.block)
    put(block.value, path, other)
    what = other.block.kind if isinstance(other, Ref) else "nothing"
    return f"{block.kind}{path}: {item.block.kind} -> {what}"


def _other(chance: Random, copy: Copy, before: Block) -> Ref | Link:
    alike = [block for block in copy.of_kind(before.kind) if block is not before]
    match chance.randrange(10):
        case 0:
            return Link(b"\x01\x71\x1e\x20" + chance.randbytes(32))
        case 1 | 2:
            return Ref(chance.choice(copy.blocks()))
        case _:
            return Ref(chance.choice(alike or copy.blocks()))


def _plain(copy: Copy) -> list[Block]:
    """Returns the blocks that are maps; the root less often, as most changes of it are refused."""
    return [block for block in copy.blocks() if block.kind not in ("raw", "tree")]


def _place(chance: Random, copy: Copy) -> tuple[Block, Path, Any]:
    kinds = sorted({block.kind for block in _plain(copy)})
    block = chance.choice(copy.of_kind(chance.choice(kinds)))
    found = [
        (path, item)
        for path, item in places(block.value)
        if path not in (("kind",), ("v",)) or chance.random() < 0.1
    ]
    path, item = chance.choice(found)
    return block, path, item


# Trees


def swapped_entry(chance: Random, copy: Copy) -> str | None:
    """A tree with another value under one of its keys, or two values exchanged."""
    tree = _tree(chance, copy)
    if tree is None:
        return None
    key = chance.choice(list(tree.value))
    if chance.random() < 0.3 and len(tree.value) > 1:
        other = chance.choice(list(tree.value))
        tree.value[key], tree.value[other] = tree.value[other], tree.value[key]
        return "exchanged"
    link = tree.value[key]
    before = link.block if isinstance(link, Ref) else copy.root
    tree.value[key] = _other(chance, copy, before)
    return before.kind


def added_entry(chance: Random, copy: Copy) -> str | None:
    """A tree with a value under another key: of another tree, at random, or next to one."""
    tree = _tree(chance, copy)
    if tree is None:
        return None
    keys = [key for other in _trees(copy) for key in other.value]
    key = chance.choice((chance.choice(keys), chance.randbytes(16), bytes(16), b"\xff" * 16))
    tree.value[key] = chance.choice(list(tree.value.values()))
    if chance.random() < 0.5:
        tree.keyed = ""
    return None if len(key) != 16 else "added"


def removed_entry(chance: Random, copy: Copy) -> str | None:
    """A tree without one of its entries, or without any: what needs them stays."""
    tree = _tree(chance, copy)
    if tree is None:
        return None
    if chance.random() < 0.2:
        tree.value.clear()
        return "all"
    del tree.value[chance.choice(list(tree.value))]
    return "one"


def swapped_tree(chance: Random, copy: Copy) -> str | None:
    """A root with the tree of another root, or of another family."""
    root = _root(chance, copy)
    names = [name for name in ("nodes", "edges", "tombstones", "conflicts") if name in root.value]
    name = chance.choice(names)
    other = _root(chance, copy)
    source = name if chance.random() < 0.7 else chance.choice(names)
    root.value[name] = other.value.get(source, root.value[name])
    return f"{name} of {source}"


def _trees(copy: Copy) -> list[Tree]:
    return [block for block in copy.blocks() if isinstance(block, Tree) and block.value]


def _tree(chance: Random, copy: Copy) -> Tree | None:
    trees = _trees(copy)
    return chance.choice(trees) if trees else None


def _root(chance: Random, copy: Copy) -> Block:
    return chance.choice(copy.of_kind("root"))


# Nodes and edges


def props_value(chance: Random, copy: Copy) -> str | None:
    """A property that some feature reads, of a wrong type or extreme."""
    node = _one(chance, copy, "node", "edge")
    if node is None:
        return None
    props = node.value.setdefault("props", {})
    if not isinstance(props, dict):
        return None
    said = []
    for _ in range(chance.randint(1, 3)):
        name = chance.choice((*props, *PROPS)) if props else chance.choice(PROPS)
        props[name] = (
            like(chance, props[name]) if name in props and chance.random() < 0.5 else junk(chance)
        )
        said.append(name)
    return f"{node.kind}: {', '.join(said)}"


def props_gone(chance: Random, copy: Copy) -> str | None:
    """A node whose label promises properties that it does not have."""
    found = [node for node in copy.of_kind("node") if node.value.get("props")]
    if not found:
        return None
    node = chance.choice(found)
    props = node.value["props"]
    if not isinstance(props, dict) or chance.random() < 0.3:
        del node.value["props"]
        return f"{node.value.get('ntype')!r:.40}: all"
    name = chance.choice(list(props))
    del props[name]
    if not props:
        del node.value["props"]
    return f"{node.value.get('ntype')!r:.40}: {name}"


def other_label(chance: Random, copy: Copy) -> str | None:
    """A node with the label of something else."""
    node = _one(chance, copy, "node")
    if node is None:
        return None
    before, node.value["ntype"] = node.value.get("ntype"), chance.choice(LABELS)
    return f"{before!r:.40} -> {node.value['ntype']!r}"


def other_text(chance: Random, copy: Copy) -> str | None:
    """A node or edge with a text that is long, empty, or steers a terminal."""
    node = _one(chance, copy, "node", "edge")
    if node is None:
        return None
    names = ("etype",) if node.kind == "edge" else ("summary", "context_sentence", "tail", "ntype")
    name = chance.choice(names)
    text = chance.choice((*TEXTS, "retry " * 60_000, "y" * 400_000, "é" * 99_999, "\n" * 300_000))
    node.value[name] = text
    if not text:
        del node.value[name]
    return f"{node.kind}.{name}"


def children(chance: Random, copy: Copy) -> str | None:
    """Parts of a document that are no tree: twice the same, itself, its parent, in a chain."""
    nodes = copy.of_kind("node")
    if len(nodes) < 3:
        return None
    parents = [node for node in nodes if node.value.get("children")] or nodes
    node = chance.choice(parents)
    rows = node.value.setdefault("children", [])
    ids = [other.value["id"] for other in nodes if isinstance(other.value.get("id"), bytes)]
    match chance.randrange(6):
        case 0:
            rows *= chance.choice((2, 3, 40))
            said = "repeated"
        case 1:
            rows.append([node.value["id"], "lead ", 10, 0])
            said = "itself"
        case 2:
            rows.append([chance.choice(ids), chance.choice(TEXTS), *_sizes(chance)])
            said = "another"
        case 3 if rows:
            row = chance.choice(rows)
            row[2:] = _sizes(chance)
            said = "sizes"
        case 4 if rows:
            chance.choice(rows)[0] = chance.choice((*ids, chance.randbytes(16)))
            said = "id"
        case _:
            chosen = chance.sample(nodes, min(len(nodes), chance.randint(3, 40)))
            width = chance.choice((1, 2, 3))
            for parent, child in pairwise(chosen):
                if isinstance(child.value.get("id"), bytes):
                    parent.value["children"] = [[child.value["id"], "lead ", 10, 0]] * width
            if chance.random() < 0.3:
                chosen[-1].value["children"] = [[chosen[0].value["id"], "", 0, 0]]
            said = f"a chain of {len(chosen)}, each {width} times"
    if not rows:
        node.value.pop("children", None)
    return said


def _sizes(chance: Random) -> list[int]:
    return [chance.choice((0, 1, 10, 2**31, 2**63 - 1, 2**64 - 1)) for _ in range(2)]


def document_chain(chance: Random, copy: Copy) -> str | None:
    """New sections, each with the next one twice: few bytes stand for a large document."""
    tree = _nodes_of_head(copy)
    if tree is None:
        return None
    depth, width = chance.choice((10, 20, 38, 60, 63, 200)), chance.choice((1, 2, 3, 16))
    ids = [chance.randbytes(16) for _ in range(depth)]
    for at, own in enumerate(ids):
        label = "Document" if at == 0 else "Section" if at < depth - 1 else "Passage"
        fields: dict[str, Any] = {"kind": "node", "v": 1, "id": own, "ntype": label}
        fields["summary"] = "retry section"
        if at < depth - 1:
            fields["children"] = [[ids[at + 1], "lead ", 10, 0]] * width
        tree.value[own] = Ref(Block(fields))
    if chance.random() < 0.3:
        last = tree.value[ids[-1]].block
        last.value["children"] = [[ids[0], "", 0, 0]]
    return f"{depth} deep, {width} wide"


def content(chance: Random, copy: Copy) -> str | None:
    """Content that names one raw block many times, is cut as no writer cuts it, or is not text."""
    node = _one(chance, copy, "node")
    if node is None:
        return None
    match chance.randrange(6):
        case 0:
            raw = Block((b"retry queue words " * 60_000)[:BLOB_BYTES])
            node.value["content"] = [Ref(raw)] * chance.choice((2, 50, 1000, 20_000))
            return f"{len(node.value['content'])} times a MiB"
        case 1:
            node.value["content"] = [Ref(Block(b"x"))] * chance.choice((1, 2, 20_000))
            return "a short block often"
        case 2:
            node.value["content"] = [Ref(Block(b"")), Ref(Block(b"\xff\xfe" * 3000))]
            return "an empty block, bytes that are no text"
        case 3:
            node.value["content"] = chance.choice((*BYTES, b"retry\n" * 600)) or b"x"
            return "inline"
        case 4:
            node.value["content"] = [chance.choice([Ref(b) for b in copy.blocks()])]
            return "a link to another kind"
        case _:
            size = chance.choice((4097, 5000, BLOB_BYTES + 1, 1_900_000))
            node.value["content"] = [
                Ref(Block(chance.choice((b"\n", b"a ", b"\x00")) * (size // 2)))
            ]
            return f"one block of {size} bytes"


def edge_ends(chance: Random, copy: Copy) -> str | None:
    """An edge to itself, to nothing, or to another kind of id."""
    edge = _one(chance, copy, "edge")
    if edge is None:
        return None
    keys = [key for tree in _trees(copy) for key in tree.value if len(key) == 16]
    name = chance.choice(("src", "dst"))
    other = "dst" if name == "src" else "src"
    edge.value[name] = chance.choice((chance.choice(keys), edge.value[other], chance.randbytes(16)))
    return name


def edge_fields(chance: Random, copy: Copy) -> str | None:
    """An edge with an extreme weight, another type or key."""
    edge = _one(chance, copy, "edge")
    if edge is None:
        return None
    name = chance.choice(("weight", "etype", "key", "props"))
    if name == "weight":
        edge.value[name] = chance.choice(FLOATS)
    elif name == "etype":
        edge.value[name] = chance.choice(TEXTS) or "x"
    elif name == "key":
        edge.value[name] = junk(chance) or 1
    else:
        edge.value[name] = {chance.choice(PROPS): junk(chance)}
    if edge.value.get("weight") == 1.0:
        del edge.value["weight"]
    return name


def node_key(chance: Random, copy: Copy) -> str | None:
    """A node with another key, so another id: what named the old one dangles or follows."""
    found = [node for node in copy.of_kind("node") if "key" in node.value]
    if not found:
        return None
    node = chance.choice(found)
    node.value["key"] = [chance.choice(TEXTS), junk(chance)]
    return "key"


def followed_id(chance: Random, copy: Copy) -> str | None:
    """An id replaced by that of another node wherever it stands."""
    ids = [node.value["id"] for node in copy.of_kind("node") if _is_id(node.value.get("id"))]
    if len(ids) < 2:
        return None
    before, after = chance.sample(ids, 2)
    count = 0
    for block in _plain(copy):
        for path, item in places(block.value):
            if isinstance(item, bytes) and item == before and path != ("id",):
                put(block.value, path, after)
                count += 1
    return f"{count} places" if count else None


def _is_id(value: object) -> bool:
    return isinstance(value, bytes) and len(value) == 16


def _one(chance: Random, copy: Copy, *kinds: str) -> Block | None:
    found = [block for block in copy.of_kind(*kinds) if isinstance(block.value, dict)]
    return chance.choice(found) if found else None


def _head_roots(copy: Copy) -> list[Block]:
    """Returns the roots that refs lead to."""
    commits = [ref.block for ref in refs_in(copy.root.value) if ref.block.kind == "commit"]
    roots = [commit.value.get("root") for commit in commits]
    return [ref.block for ref in roots if isinstance(ref, Ref) and ref.block.kind == "root"]


def _tree_of_head(copy: Copy, name: str) -> Tree | None:
    for root in _head_roots(copy):
        ref = root.value.get(name)
        if isinstance(ref, Ref) and isinstance(ref.block, Tree):
            return ref.block
    return None


def _nodes_of_head(copy: Copy) -> Tree | None:
    return _tree_of_head(copy, "nodes")


def crowd(chance: Random, copy: Copy) -> str | None:
    """Many nodes, edges around one of them, or edges all in a ring."""
    nodes, edges = _tree_of_head(copy, "nodes"), _tree_of_head(copy, "edges")
    if nodes is None or edges is None or not nodes.value or nodes is edges:
        return None
    count, is_star = chance.choice((300, 1500)), chance.random() < 0.5
    ids = [chance.randbytes(16) for _ in range(count)]
    for own in ids:
        fields = {"kind": "node", "v": 1, "id": own, "ntype": chance.choice(LABELS[:-1])}
        nodes.value[own] = Ref(Block({**fields, "summary": "retry queue"}))
    edges = _own_tree(copy, "edges") or edges
    edges.keyed = "id"
    for one, other in zip(ids, [*ids[1:], ids[0]], strict=True):
        fields = {"kind": "edge", "v": 1, "id": b"", "etype": "cites"}
        ends = {"src": ids[0] if is_star else one, "dst": other}
        edges.value[one] = Ref(Block({**fields, **ends}))
    return f"{count} nodes in a {'star' if is_star else 'ring'}"


def _own_tree(copy: Copy, name: str) -> Tree | None:
    """Gives the head's root a tree of its own in the place of one that other roots share."""
    for root in _head_roots(copy):
        ref = root.value.get(name)
        if isinstance(ref, Ref) and isinstance(ref.block, Tree):
            tree = Tree(dict(ref.block.value), keyed=ref.block.keyed)
            root.value[name] = Ref(tree)
            return tree
    return None


# Vectors, tombstones, conflicts, configuration


def vector(chance: Random, copy: Copy) -> str | None:
    """A vector of zeros, of huge or tiny numbers, of another text, of another type."""
    found = _one(chance, copy, "vector")
    if found is None:
        return None
    value, dim = found.value, found.value.get("dim")
    if not isinstance(dim, int) or not 0 < dim < 5000:
        return None
    match chance.randrange(4):
        case 0:
            number = chance.choice((0.0, 3e38, -3e38, 1e-45, 1e-38, 1e19))
            value["data"], value["dtype"] = struct.pack("<f", number) * dim, "f32"
            return f"all {number}"
        case 1:
            value["of"] = chance.randbytes(32)
            return "stale"
        case 2:
            value["dtype"], value["data"] = (
                "i8",
                bytes(chance.choices((0, 1, 127, 128, 255), k=dim)),
            )
            return "i8"
        case _:
            value["dtype"], value["data"] = "f16", struct.pack("<e", 65504.0) * dim
            return "f16"


def dimension(chance: Random, copy: Copy) -> str | None:
    """All vectors with another number of components, and a configuration that says so."""
    vectors = copy.of_kind("vector")
    if not vectors:
        return None
    dim = chance.choice((1, 2, 3, 65_536))
    for found in vectors:
        found.value.update(dim=dim, dtype="f32", data=struct.pack("<f", 0.5) * dim)
    for root in copy.of_kind("root"):
        models = root.value.get("config", {}).get("models")
        for model in models.values() if isinstance(models, dict) else ():
            if isinstance(model, dict):
                model.update(dim=dim)
    return f"{dim}"


def sparse(chance: Random, copy: Copy) -> str | None:
    """A sparse vector with extreme indices or weights, or very many."""
    found = _one(chance, copy, "sparse")
    if found is None:
        return None
    count = chance.choice((1, 3, 100_000))
    start = chance.choice((0, 7, 2**32 - count))
    weight = chance.choice((0.0, 1.0, -1.0, 3e38, -3e38, 1e-45))
    indices = range(start, start + count)
    found.value["indices"] = struct.pack(f"<{count}I", *indices)
    found.value["weights"] = struct.pack("<f", weight) * count
    return f"{count} from {start}, {weight}"


def tombstone(chance: Random, copy: Copy) -> str | None:
    """A tombstone on a node that is there, on an edge, or on nothing."""
    tree = _own_tree(copy, "tombstones")
    if tree is None:
        return None
    keys = [key for other in _trees(copy) for key in other.value if len(key) == 16]
    key = chance.choice((*chance.sample(keys, min(4, len(keys))), chance.randbytes(16)))
    tree.value[key] = Ref(
        Block({"kind": "tombstone", "v": 1, "reason": chance.choice(TEXTS) or "x"})
    )
    return "on one"


def conflict(chance: Random, copy: Copy) -> str | None:
    """A conflict between values of one or several nodes or edges, under any id."""
    tree = _own_tree(copy, "conflicts")
    if tree is None:
        return None
    what = chance.choice(("node", "edge"))
    values = copy.of_kind(what) or copy.of_kind("node")
    if not values:
        return None
    sides = chance.sample(values, min(len(values), chance.choice((1, 2, 3, 64))))
    fields: dict[str, Any] = {"kind": "conflict", "v": 1, "what": what}
    own = chance.choice(sides).value.get("id")
    if chance.random() < 0.6 and _is_id(own):
        same = [one for one in values if one.value.get("id") == own]
        sides = chance.sample(same, min(len(same), chance.randint(1, 3)))
    fields["sides"] = [Ref(side) for side in sides]
    if chance.random() < 0.5:
        fields["base"] = Ref(chance.choice(values))
    if len(sides) == 1 or chance.random() < 0.3:
        fields["deleted"] = True
    if chance.random() < 0.3:
        fields["fields"] = sorted(
            {chance.choice(("summary", "props.n", "x", "content", "kind")) for _ in "ab"}
        )
    if what == "edge" and chance.random() < 0.5:
        fields["nodes"] = [Ref(node) for node in copy.of_kind("node")[:3]]
    keys = [key for other in _trees(copy) for key in other.value if len(key) == 16]
    key = own if _is_id(own) and chance.random() < 0.7 else chance.choice(keys)
    tree.value[key] = Ref(Block(fields))
    return f"{what}, {len(sides)} sides"


def config(chance: Random, copy: Copy) -> str | None:
    """A configuration whose known fields mean something else or nothing."""
    roots = _head_roots(copy) or copy.of_kind("root")
    if not roots:
        return None
    root = chance.choice(roots)
    found = root.value.setdefault("config", {})
    if not isinstance(found, dict):
        return None
    name = chance.choice(
        ("trust", "trust", "semantics", "analyser", "fields", "models", "fusion", "x")
    )
    policy = {
        "level": "level",
        "scope": "scope",
        "default_level": 1,
        "anonymous_level": 0,
        "unscoped": "allow",
    }
    policy[chance.choice(list(policy))] = junk(chance)
    model = {
        "dim": chance.choice((1, 4, 65_536)),
        "metric": chance.choice(("cosine", "dot", "x")),
        "dtype": "f32",
    }
    fusions = (
        {"name": "score_normalised", "weights": {"dense": chance.choice(FLOATS)}},
        {"name": chance.choice(TEXTS)},
        {"name": "rrf", "k": chance.choice(INTEGERS)},
    )
    fields = [
        chance.choice(("summary", "content", "props.n", "props.tags", "props.", "x")) for _ in "abc"
    ]
    found[name] = {
        "trust": chance.choice((policy, junk(chance))),
        "semantics": chance.choice((1, 2, 2**63)),
        "analyser": chance.choice(TEXTS),
        "fields": chance.choice((fields, [])),
        "models": {
            **(found["models"] if isinstance(found.get("models"), dict) else {}),
            "other": model,
        },
        "fusion": chance.choice((*fusions, junk(chance))),
        "x": junk(chance),
    }[name]
    if not found[name]:
        del found[name]
    if not found:
        del root.value["config"]
    return name


# History


def commit_fields(chance: Random, copy: Copy) -> str | None:
    """A commit of a time before all time, with texts that steer, without or with other parents."""
    commit = _one(chance, copy, "commit")
    if commit is None:
        return None
    value = commit.value
    match chance.randrange(4):
        case 0:
            value["time"] = chance.choice((0, 1, -1, 2**63 - 1, -(2**63), 10**18, -(10**15)))
            return "time"
        case 1:
            name = chance.choice(("author", "message", "agent", "task"))
            value[name] = chance.choice(TEXTS) or "x"
            return name
        case 2:
            value.pop("parents", None)
            return "no parents"
        case _:
            others = [other for other in copy.of_kind("commit") if other is not commit]
            chosen = chance.sample(others, min(len(others), chance.choice((1, 2, 8))))
            if not chosen:
                return None
            value["parents"] = [Ref(other) for other in chosen]
            return f"{len(chosen)} parents"


def commit_chain(chance: Random, copy: Copy) -> str | None:
    """A long history, or one where every commit has the two before it as parents."""
    found = [ref for ref in refs_in(copy.root.value) if ref.block.kind == "commit"]
    if not found:
        return None
    ref = chance.choice(found)
    count, width = chance.choice((50, 1500)), chance.choice((1, 2))
    last = [ref.block]
    for at in range(count):
        fields = {"kind": "commit", "v": 1, "root": ref.block.value.get("root"), "time": at + 1}
        fields["parents"] = [Ref(parent) for parent in last[-width:]]
        last.append(Block(fields))
    ref.block = last[-1]
    return f"{count} commits, {width} parents"


def refs(chance: Random, copy: Copy) -> str | None:
    """Refs that point at another kind than their name says, more of them, odd names."""
    found = copy.root.value.get("refs")
    if not isinstance(found, dict) or not found:
        return None
    blocks = [
        block
        for block in copy.blocks()
        if block.kind in ("commit", "step", "receipt", "root", "node")
    ]
    names = (
        *("heads/evil", "tags/evil", "runs/evil/1", "receipts/abcd", "notes/memory", "notes/evil"),
        *(
            "runs/nightly/1",
            "heads/main",
            "heads/a/b/c",
            "heads/" + "x" * 200,
            "runs/evil/99999999999",
        ),
    )
    match chance.randrange(4):
        case 0:
            name = chance.choice(list(found))
            found[name] = {"seq": 0, "target": Ref(chance.choice(blocks))}
            return f"{name.partition('/')[0]} elsewhere"
        case 1:
            name = chance.choice((*names, chance.choice(TEXTS)))
            alike = chance.choice(list(found.values()))
            found[name] = (
                alike if chance.random() < 0.4 else {"seq": 0, "target": Ref(chance.choice(blocks))}
            )
            return f"{name!r:.30} added"
        case 2:
            one, other = chance.choice(list(found)), chance.choice(list(found))
            found[one], found[other] = found[other], found[one]
            return "exchanged"
        case _:
            copy.root.value["head"] = chance.choice((*found, *names))
            return "head"


# Runs, receipts, notes, erasures, the local log


def step_value(chance: Random, copy: Copy) -> str | None:
    """A step that asked or was answered something else, or nothing that can be read."""
    step = _one(chance, copy, "step")
    if step is None:
        return None
    name = chance.choice(("request", "answer"))
    before = step.value.get(name)
    match chance.randrange(4):
        case 0 if isinstance(before, bytes):
            try:
                value = decode(before)
                found = [((), value), *places(value)]
                path, item = chance.choice(found)
                new = junk(chance) if chance.random() < 0.6 else like(chance, item)
                if path:
                    put(value, path, new)
                else:
                    value = new
                step.value[name] = encode(value)
            except (ValueError, KeyError, IndexError, Unwritable, UnicodeDecodeError):
                step.value[name] = chance.choice(BYTES) or b"\xf6"
            said = "changed"
        case 1:
            step.value[name] = chance.choice(BYTES) or b"\xf6"
            said = "bytes"
        case 2:
            step.value[name] = [
                Ref(Block(b"\x81" * (1 << chance.choice((4, 12, 20)))))
            ] * chance.choice((1, 2))
            said = "a raw block"
        case _:
            step.value[name] = _packed(chance)
            said = "another value"
    if isinstance(step.value[name], bytes) and len(step.value[name]) > 4096:
        step.value[name] = [Ref(Block(step.value[name]))]
    return f"{step.value.get('action')!r:.20}.{name} {said}"


def _packed(chance: Random) -> bytes:
    try:
        return encode(junk(chance))
    except Unwritable:
        return b"\xf6"


def step_fields(chance: Random, copy: Copy) -> str | None:
    """A step of another action, name, time, place or commit."""
    step = _one(chance, copy, "step")
    if step is None:
        return None
    actions = [one.value.get("action") for one in copy.of_kind("step")]
    name = chance.choice(
        ("action", "name", "time", "index", "commit", "receipt", "root", "previous")
    )
    match name:
        case "action":
            step.value[name] = chance.choice((*actions, *(text for text in TEXTS if text), "call"))
        case "name":
            step.value[name] = chance.choice(TEXTS) or "x"
        case "time":
            step.value[name] = chance.choice((0, -1, 2**63 - 1, -(2**63)))
        case "index":
            step.value[name] = chance.choice((0, 1, 2, 5, 2**63, 2**64 - 1))
        case "commit":
            step.value[name] = chance.choice(BYTES) or b"\xa0"
        case _:
            kind = {"receipt": "receipt", "root": "root", "previous": "step"}[name]
            blocks = copy.of_kind(kind) if chance.random() < 0.7 else copy.blocks()
            if not blocks or chance.random() < 0.2:
                step.value.pop(name, None)
            else:
                step.value[name] = Ref(chance.choice(blocks))
    return name


def receipt_fields(chance: Random, copy: Copy) -> str | None:
    """A receipt whose query, items or reranking are not of their form."""
    receipt = _one(chance, copy, "receipt")
    if receipt is None:
        return None
    found = [
        (path, item)
        for path, item in places(receipt.value)
        if path[0] in ("query", "items", "models", "rerank", "semantics", "text_digest")
    ]
    path, item = chance.choice(found)
    put(receipt.value, path, junk(chance) if chance.random() < 0.5 else like(chance, item))
    return ".".join(map(str, path[:3]))


def event_fields(chance: Random, copy: Copy) -> str | None:
    """An event of the notes with other targets, value, kind or time."""
    events = [node for node in copy.of_kind("node") if node.value.get("ntype") == "Event"]
    if not events:
        return None
    node = chance.choice(events)
    props = node.value.setdefault("props", {})
    if not isinstance(props, dict):
        return None
    name = chance.choice((*props, "kind", "targets", "value", "time", "author", "about", "detail"))
    ids = [other.value.get("id") for other in copy.of_kind("node")]
    usual = {
        "targets": [chance.choice(ids) for _ in range(3)],
        "kind": chance.choice(("reinforce", "penalize", "vote", "outcome", "not_useful", "zzz")),
        "value": chance.choice(FLOATS),
        "time": chance.choice(INTEGERS),
    }
    props[name] = usual[name] if name in usual and chance.random() < 0.5 else junk(chance)
    return name


def erasure(chance: Random, copy: Copy) -> str | None:
    """An erasure of another node, or of blocks that the copy needs."""
    found = _one(chance, copy, "erasure")
    if found is None:
        return None
    blocks = [block.cid for block in copy.blocks() if block.cid]
    if chance.random() < 0.3:
        found.value["node"] = chance.randbytes(16)
        return "node"
    chosen = chance.sample(blocks, min(len(blocks), chance.choice((1, 3, 20))))
    found.value["cids"] = b"".join(sorted(set(chosen)))
    return f"{len(chosen)} blocks"


def local_log(chance: Random, copy: Copy) -> str | None:
    """A full copy whose views and operations do not fit together."""
    found = _one(chance, copy, "view", "operation", "ref")
    if found is None:
        return None
    path, item = chance.choice(
        [place for place in places(found.value) if place[0] not in (("kind",), ("v",))]
    )
    if isinstance(item, Ref):
        put(found.value, path, _other(chance, copy, item.block))
    elif found.kind == "ref" and path == ("name",):
        names = [one.value.get("name") for one in copy.of_kind("ref")]
        found.value["name"] = chance.choice((*names, "runs/evil/1", "heads/evil", "tags/evil"))
    else:
        put(found.value, path, like(chance, item))
    return f"{found.kind}{path}"


def unrepaired(chance: Random, copy: Copy) -> str | None:
    """What follows from other fields is left as it was."""
    copy.is_repaired = False
    return "ids and orders"


GENERIC: dict[str, Mutation] = {
    one.__name__: one
    for one in (
        replace_value,
        like_value,
        drop_value,
        extra_field,
        crossed_value,
        escaped_text,
        swapped_link,
    )
}
FORMED: dict[str, Mutation] = {
    one.__name__: one
    for one in (
        *(swapped_entry, added_entry, removed_entry, swapped_tree, props_value, props_gone),
        *(other_label, other_text, children, document_chain, content, edge_ends, edge_fields),
        *(node_key, followed_id, crowd, vector, dimension, sparse, tombstone, conflict, config),
        *(commit_fields, commit_chain, refs, step_value, step_fields, receipt_fields),
        *(event_fields, erasure, local_log),
    )
}
MUTATIONS: dict[str, Mutation] = {**GENERIC, **FORMED, "unrepaired": unrepaired}
WEIGHTS = {name: 3 if name in FORMED else 2 for name in MUTATIONS} | {
    "props_value": 8,
    "escaped_text": 5,
    "extra_field": 4,
    "unrepaired": 1,
    "crowd": 1,
    "step_fields": 5,
    "step_value": 8,
    "event_fields": 4,
    "receipt_fields": 4,
    "conflict": 5,
    "children": 5,
    "commit_chain": 1,
    "other_label": 5,
    "props_gone": 5,
}


def mutate(chance: Random, copy: Copy) -> tuple[str, str] | None:
    """Changes a copy once; returns (name, what was done), None where nothing could be changed."""
    for _ in range(TRIES_MAX):
        name = chance.choices(list(MUTATIONS), [WEIGHTS[one] for one in MUTATIONS])[0]
        try:
            said = MUTATIONS[name](chance, copy)
        except (IndexError, KeyError, TypeError, AttributeError):
            # Another change has taken away what this one counts on.
            return None
        if said is not None:
            return name, said
    return None
