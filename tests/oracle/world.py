"""Random repositories and queries: small, full of ties, edges and oddities."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ibidem.index.index import Index
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.child import Child
from ibidem.objects.cid import RootCid
from ibidem.objects.config import Config, Model
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node, split_content
from ibidem.objects.root import Root
from ibidem.objects.text import node_text, text_digest
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.tree import build
from ibidem.objects.vector import Sparse, Vector
from ibidem.retrieve.query.fusion import FUSIONS
from ibidem.retrieve.query.options import TIMES_OF_RECORDS
from ibidem.store.memory import MemoryStore

WORDS = [
    "retry",
    "backoff",
    "queue",
    "lock",
    "the",
    "of",
    "naïve",
    "Zürich",
    "東京",
    "log_error",
    "42",
    "queues",
    "qveue",
    "locks",
    "block",
    "die",
    "und",
    "der",
    "h\u00e4user",
]
LABELS = ("Doc", "Part", "Note", "Section", "Document")
MODELS = {
    "cos": Model(dim=3, metric="cosine"),
    "dot": Model(dim=5, metric="dot", dtype="f16"),
    "far": Model(dim=2, metric="euclidean"),
}
VALUES: tuple[Any, ...] = (1, 1.0, True, False, 0, -2, 2.5, 2**60, "en", "de", "", None, b"\x00", 3)


@dataclass
class Facts:
    """One state as lists, and the root block that says the same."""

    config: Config
    nodes: list[Node]
    vectors: dict[str, dict[NodeId, Vector]]
    sparse: dict[str, dict[NodeId, Sparse]]
    tombstones: set[NodeId]
    buffer: WriteBatch
    root: RootCid

    def content(self, node: Node) -> bytes | None:
        if isinstance(node.content, tuple):
            return b"".join(self.buffer.get(part) for part in node.content)
        return node.content


def random_facts(rng: random.Random, *, node_count_max: int = 40) -> Facts:
    """Returns a random state."""
    buffer = WriteBatch()
    config = Config(
        models=MODELS,
        analyser=rng.choice(("english-1", "unicode-1")),
        fields=rng.choice(
            (("context_sentence", "summary", "content"), ("summary", "props.lang"), ("summary",))
        ),
    )
    nodes = [random_node(rng, buffer) for _ in range(rng.randint(0, node_count_max))]
    nodes = with_parts(rng, list({node.id: node for node in nodes}.values()))
    vectors: dict[str, dict[NodeId, Vector]] = {model: {} for model in MODELS}
    sparse: dict[str, dict[NodeId, Sparse]] = {"vocab": {}}
    for node in nodes:
        add_vectors(rng, config, node, buffer, vectors, sparse)
    tombstones = {node.id for node in nodes if rng.random() < 0.15}
    return finish(config, nodes, vectors, sparse, tombstones, buffer)


def edited(rng: random.Random, facts: Facts) -> Facts:
    """Returns a state some edits later: nodes changed, removed and added, vectors and tombstones
    too."""
    nodes = {node.id: node for node in facts.nodes if rng.random() < 0.9}
    vectors = {
        m: {k: v for k, v in rows.items() if k in nodes} for m, rows in facts.vectors.items()
    }
    sparse = {m: {k: v for k, v in rows.items() if k in nodes} for m, rows in facts.sparse.items()}
    for node in [random_node(rng, facts.buffer) for _ in range(rng.randint(0, 6))]:
        nodes[node.id] = node
    for key in [key for key in nodes if rng.random() < 0.2]:
        other = random_node(rng, facts.buffer)
        nodes[key] = replace(other, id=key)
        if rng.random() < 0.5:
            add_vectors(rng, facts.config, nodes[key], facts.buffer, vectors, sparse)
    nodes = {node.id: node for node in with_parts(rng, list(nodes.values()))}
    tombstones = {key for key in facts.tombstones if rng.random() < 0.8 and key in nodes}
    tombstones |= {key for key in nodes if rng.random() < 0.1}
    return finish(facts.config, list(nodes.values()), vectors, sparse, tombstones, facts.buffer)


def add_vectors(
    rng: random.Random,
    config: Config,
    node: Node,
    buffer: WriteBatch,
    vectors: dict[str, dict[NodeId, Vector]],
    sparse: dict[str, dict[NodeId, Sparse]],
) -> None:
    """Gives a node some vectors, one in three of them stale."""
    content = node.content
    if isinstance(content, tuple):
        content = b"".join(buffer.get(part) for part in content)
    text = node_text(node, config.fields, content)
    for model, settings in MODELS.items():
        if rng.random() < 0.7:
            of = text_digest(text if rng.random() < 0.7 else text + " before")
            array = random_vector(rng, settings.dim, is_small=settings.dtype == "f16")
            vectors[model][node.id] = Vector.from_array(array, of=of, dtype=settings.dtype)
    if rng.random() < 0.7:
        tokens = sorted(rng.sample(range(8), rng.randint(1, 4)))
        weights = [rng.choice((0.5, 1.0, -1.0, rng.random())) for _ in tokens]
        sparse["vocab"][node.id] = Sparse.from_arrays(
            np.array(tokens, np.uint32), np.array(weights, np.float32), of=text_digest(text)
        )


def finish(
    config: Config,
    nodes: list[Node],
    vectors: dict[str, dict[NodeId, Vector]],
    sparse: dict[str, dict[NodeId, Sparse]],
    tombstones: set[NodeId],
    buffer: WriteBatch,
) -> Facts:
    """Writes the blocks of a state and returns it with its root."""

    def tree(values: Any) -> Any:
        entries = []
        for key, value in sorted(values, key=lambda pair: pair[0].raw):
            block = value.encode()
            cid = type(value).CID.of(block)
            buffer.put(cid, block)
            entries.append((key.raw, cid))
        return build(entries, buffer)

    root = Root(
        nodes=tree([(node.id, node) for node in nodes]),
        edges=build([], buffer),
        tombstones=tree([(one, Tombstone(reason="x")) for one in tombstones]),
        conflicts=build([], buffer),
        vectors={model: tree(rows.items()) for model, rows in vectors.items() if rows},
        sparse={vocab: tree(rows.items()) for vocab, rows in sparse.items() if rows},
        config=config.to_map(),
    )
    block = root.encode()
    cid = RootCid.of(block)
    buffer.put(cid, block)
    return Facts(config, nodes, vectors, sparse, tombstones, buffer, cid)


def random_node(rng: random.Random, buffer: WriteBatch) -> Node:
    """Returns a node; ids often share their first bytes, so that ties go deep."""
    raw = (
        bytes([rng.randrange(2)]) * 8 + rng.randbytes(8)
        if rng.random() < 0.5
        else rng.randbytes(16)
    )
    data = rng.choice(
        (b"", random_text(rng).encode(), b"\xff\x00", (random_text(rng) * 400).encode())
    )
    content, parts = split_content(data)
    for cid, part in parts.items():
        buffer.put(cid, part)
    return Node(
        id=NodeId(raw),
        ntype=rng.choice(LABELS),
        summary=random_text(rng) or None,
        context_sentence=rng.choice((None, random_text(rng), "x" * 8200)),
        props=random_props(rng),
        content=content,
    )


def with_parts(rng: random.Random, nodes: list[Node]) -> list[Node]:
    """Returns the nodes, some with parts from those after them: trees and shared parts."""

    def parts(index: int) -> tuple[Child, ...]:
        after = [node.id for node in nodes[index + 1 :]]
        return tuple(Child(one, "", 0, 0) for one in rng.sample(after, min(len(after), 3)))

    return [
        replace(node, children=parts(index) if rng.random() < 0.4 else ())
        if node.ntype in ("Section", "Document", "Part")
        else node
        for index, node in enumerate(nodes)
    ]


def random_props(rng: random.Random) -> dict[str, Any]:
    """Returns properties: scalars, lists of scalars, things that are neither."""
    props: dict[str, Any] = {}
    for name in ("lang", "year", "odd\nid: 0"):
        if rng.random() < 0.5:
            value = rng.choice(VALUES)
            props[name] = rng.choice((value, value, [value, rng.choice(VALUES)], [], {"a": 1}))
    for name in ("valid_from", "valid_to"):
        if rng.random() < 0.4:
            value = rng.randint(0, 5)
            props[name] = rng.choice((value, value, float(value), [value, 9], None, "x"))
    return props


def with_texts(facts: Facts, text: Callable[[Node], str | None]) -> Facts:
    """Returns a state whose nodes have other summaries."""
    nodes = [replace(node, summary=text(node)) for node in facts.nodes]
    return finish(facts.config, nodes, facts.vectors, facts.sparse, facts.tombstones, facts.buffer)


def random_text(rng: random.Random) -> str:
    """Returns some words and now and then something that a renderer must contain."""
    words = rng.choices(WORDS, k=rng.randint(0, 8))
    if rng.random() < 0.2:
        words.append(rng.choice(("\nid: forged", "a\r\nb", "\x1b[2J", "\u2028", "\t")))
    return " ".join(words)


def random_vector(rng: random.Random, dim: int, *, is_small: bool = False) -> Any:
    """Returns components with many ties, and now and then extreme ones."""
    kind = rng.random()
    if kind < 0.5:
        values = [rng.choice((-1.0, 0.0, 0.5, 1.0)) for _ in range(dim)]
    elif kind < 0.85 or is_small:
        values = [rng.uniform(-1, 1) for _ in range(dim)]
    else:
        values = [rng.choice((0.0, 3e38, -3e38, 1e-45, 1e-38, 1e19)) for _ in range(dim)]
    return np.array(values, np.float32)


def random_history(rng: random.Random, bases: Sequence[RootCid | None]) -> dict[str, Any]:
    """Returns conditions on the history."""
    names = rng.sample(TIMES_OF_RECORDS, rng.choice((1, 1, 2, 4)))
    return {name: rng.choice(bases) for name in names}


def random_options(rng: random.Random, bases: Sequence[RootCid | None] = ()) -> dict[str, Any]:
    """Returns options for `resolve` that ask for something; `bases` are roots that the history
    may have had."""
    options: dict[str, Any] = {}
    if rng.random() < 0.6:
        options["text"] = " ".join(rng.choices([*WORDS, "absent", "!!"], k=rng.randint(1, 5)))
        if rng.random() < 0.4:
            add_match(rng, options)
    if rng.random() < 0.5:
        model = rng.choice(tuple(MODELS))
        options["vector"] = (model, random_vector(rng, MODELS[model].dim))
    if rng.random() < 0.4:
        tokens = rng.sample(range(9), rng.randint(1, 4))
        options["sparse"] = (
            rng.choice(("vocab", "vocab", "other")),
            tokens,
            [rng.choice((1.0, -0.5, rng.random())) for _ in tokens],
        )
    if rng.random() < 0.3:
        options["label"] = rng.choice(("Doc", ["Doc", "Note"], "Nothing"))
    if rng.random() < 0.4 or not options:
        options["where"] = random_where(rng)
    if rng.random() < 0.3:
        options["as_of"] = rng.randint(-1, 6)
        options["valid_missing"] = rng.choice((None, "pass", "drop"))
    if bases and rng.random() < 0.4:
        options["history"] = random_history(rng, bases)
    options |= random_stages(rng, options)
    options["depth"] = rng.choice((1, 2, 5, 100))
    options["limit"] = rng.choice((0, 1, 3, 10, None))
    options["token_budget"] = rng.choice((None, None, 0, 20, 60, 400))
    options["metadata"] = rng.random() < 0.3
    options["include_tombstoned"] = rng.random() < 0.2
    fusion = rng.choice((None, *FUSIONS))
    options["fusion"] = fusion
    if fusion not in (None, "rrf") and rng.random() < 0.7:
        options["weights"] = {
            rng.choice(("lexical", "dense", "sparse")): rng.choice((0.3, 2, 1e-3))
        }
    if fusion in ("rrf", "weighted_rrf") and rng.random() < 0.3:
        options["rrf_k"] = rng.choice((0, 1, 60.5))
    if rng.random() < 0.3:
        options["k1"], options["b"] = rng.choice((0.0, 0.9, 2)), rng.choice((0, 0.4, 1))
    return options


def with_queries(rng: random.Random, options: dict[str, Any]) -> dict[str, Any]:
    """Returns options with subqueries, if they have what subqueries go with."""
    if not {"text", "vector", "sparse"} & set(options):
        return options
    weights = {**options.get("weights", {}), "queries": rng.choice((0.5, 3))}
    return {
        **options,
        "queries": random_queries(rng),
        **({"weights": weights} if "weights" in options else {}),
    }


def random_queries(rng: random.Random) -> list[Any]:
    """Returns subqueries of one, two or three lanes."""
    found: list[Any] = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        one: dict[str, Any] = {}
        if rng.random() < 0.7:
            one["text"] = " ".join(rng.choices([*WORDS, "!!"], k=rng.randint(1, 3)))
        if rng.random() < 0.4:
            model = rng.choice(tuple(MODELS))
            one["vector"] = (model, random_vector(rng, MODELS[model].dim))
        if rng.random() < 0.3 or not one:
            one["sparse"] = (rng.choice(("vocab", "other")), [rng.randrange(9)], [1.0])
        found.append(one["text"] if set(one) == {"text"} else one)
    return found


def random_stages(rng: random.Random, options: dict[str, Any]) -> dict[str, Any]:
    """Returns options of what comes after fusion."""
    found: dict[str, Any] = {}
    if rng.random() < 0.3:
        found["rerank"] = Said.random(rng)
        found["rerank_depth"] = rng.choice((None, 1, 3, 25))
        if "text" not in options or rng.random() < 0.2:
            found["rerank_text"] = "which"
    if rng.random() < 0.3 and {"text", "vector", "sparse"} & set(options):
        found["mmr"] = rng.choice(
            ({}, {"lambda": 0.3}, {"lambda": 1, "depth": 3}, {"depth": 2}, {"lambda": 0})
        )
    return found


@dataclass(frozen=True)
class Said:
    """A reranker that says the same whatever it is shown."""

    scores: tuple[float | None, ...]
    name: str = "said"

    @property
    def digest(self) -> bytes:
        return text_digest(repr(self.scores))

    @classmethod
    def random(cls, rng: random.Random) -> Said:
        choices: tuple[float | None, ...] = (None, 0, 1, 1.5, -2.0, -0.0, 1e300)
        scores = [rng.choice(choices) for _ in range(rng.choice((2, 60, 60, 60)))]
        if rng.random() < 0.1:
            scores[rng.randrange(2)] = float("nan")
        return cls(tuple(scores))

    def rerank(self, text: str, rendered: Any) -> Any:
        """Returns one for each text, as far as there are some."""
        return self.scores[: len(rendered)]


def add_match(rng: random.Random, options: dict[str, Any]) -> None:
    """Gives a text misspelt words, quotes and the options that are about them."""
    words = options["text"].split()
    if rng.random() < 0.5:
        place = rng.randrange(len(words))
        word = words[place]
        at = rng.randrange(len(word) + 1)
        edit, tail = rng.choice(("", "x", "o", "swap")), word[at + rng.randrange(2) :]
        if edit == "swap":
            edit, tail = word[at : at + 2][::-1], word[at + 2 :]
        words[place] = word[:at] + edit + tail
    if rng.random() < 0.6:
        first = rng.randrange(len(words))
        words[first] = '"' + words[first]
        words.insert(rng.randint(first + 1, len(words)), '"')
    options["text"] = " ".join(words) or "lock"
    options["operator"] = rng.choice(("or", "and"))
    options["phrases"] = rng.random() < 0.6
    options["fuzzy"] = rng.choice(
        (
            None,
            False,
            True,
            {"length": 2, "weight": 0.3},
            {"terms": 1, "length": 1, "weight": 1},
            {"rare": 3},
        )
    )


def wide_options(rng: random.Random) -> dict[str, Any]:
    """Returns options of which few narrow or rerank what the lanes find."""
    options = random_options(rng)
    for name, share in (("where", 0.8), ("label", 0.7), ("as_of", 0.9), ("token_budget", 0.7)):
        if rng.random() < share:
            options.pop(name, None)
    for name in ("rerank", "rerank_text", "rerank_depth", "valid_missing"):
        options.pop(name, None)
    return options


def random_where(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    """Returns conditions in their public spelling."""
    where: dict[str, Any] = {}
    for name in rng.sample(("lang", "year", "odd\nid: 0", "never"), rng.randint(1, 2)):
        where[name] = rng.choice(
            (
                rng.choice(VALUES),
                {"ne": rng.choice(VALUES)},
                {"in": rng.sample(VALUES, 3)},
                {"exists": rng.random() < 0.5},
                {"gte": rng.choice((0, 1, 1.0, 2**60 - 1))},
                {"gt": rng.choice((0, 1.0)), "lte": rng.choice((3, 1e300))},
                {"lt": rng.choice(("en", "f", ""))},
            )
        )
    if depth < 2 and rng.random() < 0.3:
        kind = rng.choice(("and", "or", "not"))
        inner = [random_where(rng, depth + 1) for _ in range(rng.randint(0, 2))]
        where[kind] = random_where(rng, depth + 1) if kind == "not" else inner
    return where


def layouts(facts: Facts, before: Facts) -> list[Any]:
    """Returns snapshots of one root: built, advanced from another one by edits, and compacted."""
    store = MemoryStore()
    store.put(facts.buffer.new)
    index = Index(None, store)
    index.snapshot(before.root)
    advanced = index.snapshot(facts.root, near=[before.root])
    return [Index(None, store).build(facts.root), advanced, index.compact(facts.root)]
