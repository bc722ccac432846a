"""A snapshot from plain lists: random ordinals, random segments, rows that died. Slow and
simple."""

from __future__ import annotations

import random
from collections import Counter
from itertools import chain
from types import SimpleNamespace
from typing import Any

import numpy as np
from pyroaring import BitMap

from ibidem.index.analysis import ANALYSERS, analyse, analyser_of, home_of, symbols_of
from ibidem.objects.ids import NodeId
from ibidem.objects.root import Root
from ibidem.objects.text import node_text
from ibidem.objects.tree import EMPTY_TREE, Tree

from .oracle import inside, is_near, same, values
from .world import Facts

NO_EDGES = SimpleNamespace(
    neighbours=np.zeros(0, np.uint32), etypes=(), edge_ids=np.zeros((0, 16), np.uint8)
)


class FakeSnapshot:
    """Answers for the root of some facts, laid out at random."""

    def __init__(self, facts: Facts, rng: random.Random) -> None:
        self.facts = facts
        self.root, self.config = facts.root, facts.config
        self.ordinal_count = 2 * len(facts.nodes) + 3
        places = rng.sample(range(self.ordinal_count), len(facts.nodes))
        self._node = dict(zip(places, facts.nodes, strict=True))
        self._ordinal = {node.id: place for place, node in self._node.items()}
        self.live = BitMap(places)
        self.tombstoned = BitMap(self._ordinal[one] for one in facts.tombstones)
        self.conflicted = BitMap()
        self.contested: dict[int, BitMap] = {}
        self.cache: dict[Any, Any] = {}
        self._rng = rng
        self.lexical = [self._lexical(part) for part in self._parts(self._texts())]
        self._vectors = {
            model: [self._dense(part, rows) for part in self._parts(rows)]
            for model, rows in facts.vectors.items()
        }
        self._sparse = {
            vocab: [self._sparse_segment(part, rows) for part in self._parts(rows)]
            for vocab, rows in facts.sparse.items()
        }

    def ordinal(self, node: NodeId) -> int | None:
        return self._ordinal.get(node)

    def node_ids(self, ordinals: Any) -> Any:
        raw = b"".join(self._node[int(one)].id.raw for one in ordinals)
        return np.frombuffer(raw, np.uint8).reshape(-1, 16)

    def node_cids(self, ordinals: Any) -> Any:
        return [self._node[int(one)].cid for one in ordinals]

    def labels(self) -> dict[str, int]:
        return dict(Counter(node.ntype for node in self._node.values()))

    def label(self, name: str) -> BitMap:
        return BitMap(place for place, node in self._node.items() if node.ntype == name)

    def property_names(self) -> Any:
        return {name for node in self._node.values() for name in node.props}

    def equal(self, name: str, value: Any) -> BitMap:
        return self._where(name, lambda one: same(one, value))

    def between(self, name: str, low: Any, high: Any, *, low_open: bool, high_open: bool) -> BitMap:
        return self._where(name, lambda one: inside(one, low, low_open, high, high_open))

    def exists(self, name: str) -> BitMap:
        return BitMap(place for place, node in self._node.items() if name in node.props)

    def written_since(self, base: Any) -> tuple[BitMap, BitMap]:
        source = self.facts.buffer
        nodes = EMPTY_TREE if base is None else Root.decode(source.get(base)).nodes
        before = {} if nodes == EMPTY_TREE else dict(Tree(source, nodes).items())
        created = BitMap(p for p, node in self._node.items() if node.id.raw not in before)
        same = BitMap(p for p, node in self._node.items() if before.get(node.id.raw) == node.cid)
        return created, self.live - same

    def outgoing(self, ordinal: int) -> Any:
        return NO_EDGES

    incoming = outgoing

    def children(self, ordinal: int) -> Any:
        parts = [self._ordinal.get(part.id) for part in self._node[ordinal].children]
        return SimpleNamespace(ordinals=np.array([p for p in parts if p is not None], np.uint32))

    def child_counts(self, ordinals: Any) -> Any:
        return np.array([len(self._node[one].children) for one in ordinals.tolist()], np.int64)

    def parent(self, ordinal: int, *, among: BitMap | None = None) -> tuple[int, int] | None:
        found = [
            (node.id.raw, index, [part.id for part in node.children].index(self._node[ordinal].id))
            for index, node in self._node.items()
            if (among is None or index in among)
            and any(part.id == self._node[ordinal].id for part in node.children)
        ]
        return min(found)[1:] if found else None

    def vectors(self, model: str) -> Any:
        return self._vectors.get(model, [])

    def segments(self, family: str, name: str) -> Any:
        assert family == "sparse"
        return self._sparse.get(name, [])

    def _where(self, name: str, test: Any) -> BitMap:
        return BitMap(
            place
            for place, node in self._node.items()
            if any(test(one) for one in values(node.props, name))
        )

    def _texts(self) -> dict[NodeId, Terms]:
        found = {}
        for node in self._node.values():
            text = node_text(node, self.config.fields, self.facts.content(node))
            analyser = analyser_of(text, home_of(node.props, self.config.analyser))
            words = analyse(text, analyser)
            found[node.id] = Terms(words + (symbols_of(text) if words else []))
            found[node.id].length = len(words)
            found[node.id].analyser = ANALYSERS.index(analyser)
        return found

    def _parts(self, rows: dict[NodeId, Any]) -> list[Any]:
        """Splits rows over segments; rows that died stand in among the living."""
        parts: list[dict[int, Any]] = [{} for _ in range(self._rng.randint(1, 4))]
        dead: list[set[int]] = [set() for _ in parts]
        for node, row in rows.items():
            index = self._rng.randrange(len(parts))
            parts[index][self._ordinal[node]] = row
            other = self._rng.randrange(len(parts))
            if other != index and self._rng.random() < 0.3:
                parts[other][self._ordinal[node]] = self._rng.choice(list(rows.values()))
                dead[other].add(self._ordinal[node])
        return [(dict(sorted(part.items())), gone) for part, gone in zip(parts, dead, strict=True)]

    def _base(self, part: Any) -> dict[str, Any]:
        rows, dead = part
        live = np.array([place not in dead for place in rows], np.bool_)
        is_plain = not dead and self._rng.random() < 0.7
        return {
            "name": str(self._rng.random()),
            "ordinals": np.array(list(rows), np.uint32),
            "live": None if is_plain else live,
            "cache": {},
        }

    def _lexical(self, part: Any) -> Any:
        texts = list(part[0].values())
        lengths = [terms.length for terms in texts]
        vocabulary = sorted(set(chain.from_iterable(texts)))
        return SimpleNamespace(
            **self._base(part),
            lengths=np.array(lengths, np.uint32),
            analysers=np.array([terms.analyser for terms in texts], np.uint8),
            counted=(sum(map(bool, lengths)), sum(lengths), max(lengths, default=0)),
            reference=None,
            term=lambda term: FakeTerm(texts, term) if term in vocabulary else None,
            terms_near=lambda text: (one for one in vocabulary if is_near(one, text)),
        )

    def _dense(self, part: Any, rows: Any) -> Any:
        vectors = list(part[0].values())
        dim = next(iter(rows.values())).dim if rows else 1
        arrays = [vector.to_array() for vector in vectors]
        return SimpleNamespace(
            **self._base(part),
            rows=np.array(arrays, np.float32).reshape(-1, dim),
            codes=None,
            made_from=lambda some: [vectors[row].of for row in some],
        )

    def _sparse_segment(self, part: Any, rows: Any) -> Any:
        vectors = [
            dict(zip(*[array.tolist() for array in one.to_arrays()], strict=True))
            for one in part[0].values()
        ]
        return SimpleNamespace(**self._base(part), postings=_postings(vectors, np.float32))


class Terms(list[str]):
    """The terms of a text, its symbols behind them, how many are words, and its analyser's position
    in `ANALYSERS`."""

    length: int
    analyser: int


class FakeTerm:
    """A term of a segment, without bounds."""

    impacts = dense = None
    top = 255

    def __init__(self, texts: list[list[str]], term: str) -> None:
        places = [[i for i, one in enumerate(text) if one == term] for text in texts]
        self._places = [row for row in places if row]
        self.rows = np.array([i for i, row in enumerate(places) if row], np.uint32)
        self.frequencies = np.array([len(row) for row in self._places], np.uint32)

    def positions(self) -> Any:
        return np.cumsum(self.frequencies, dtype=np.int64), np.array(
            list(chain.from_iterable(self._places)), np.uint32
        )


def _postings(rows: list[Any], dtype: Any) -> Any:
    def postings(key: Any) -> Any:
        found = [index for index, row in enumerate(rows) if key in row]
        if not found:
            return None
        return np.array(found, np.uint32), np.array([rows[index][key] for index in found], dtype)

    return postings
