"""The slow, obvious answer: reads the blocks of a root and evaluates the spec's definitions one by
one.

No index, no numpy, nothing of `retrieve/`. Exact sums are `Fraction`s, logarithms decimals, bytes
are written by the `dag-cbor` package. What it shares with the engine is `objects/` and the
analyser, which have oracles of their own.

Spec: retrieval.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Collection, Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

from ibidem.index.analysis import (
    ANALYSERS,
    ENGLISH,
    analyse,
    analyse_positions,
    analyser_of,
    code_words,
    home_of,
    symbol_words,
    symbols_of,
)
from ibidem.index.analysis.fold import fold
from ibidem.index.analysis.normalise import normalised
from ibidem.index.analysis.related import related_terms
from ibidem.objects.blocks import Source
from ibidem.objects.cid import RootCid
from ibidem.objects.config import Config
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.text import node_text
from ibidem.objects.tree import Tree
from ibidem.objects.vector import Sparse, Vector

from . import recall
from .after import diversified, is_valid, jaccard, rerank
from .graph import walk_lanes
from .mentions import mentioned
from .packing import pack
from .recall import Said

ACCENTED = {
    "dutch-1": "éë",
    "finnish-1": "äö",
    "french-1": "âèéî",
    "italian-1": "àèìò",
    "portuguese-1": "áâãçéêíõ",
    "spanish-1": "áéíó",
    "swedish-1": "ö",
}
LANES = ("lexical", "dense", "sparse", "graph", "community", "mentions")


class World:
    """The state that a root describes, as plain dictionaries by 16-byte id."""

    def __init__(self, source: Source, root: RootCid) -> None:
        self.source = source
        self.cid = root
        value = Root.decode(source.get(root))
        self.config = Config.from_map(value.config)
        self.nodes = {
            key: (cid, Node.decode(source.get(cid)))
            for key, cid in Tree(source, value.nodes).items()
        }
        self.tombstones = {key for key, _ in Tree(source, value.tombstones).items()}
        self.vectors = {
            model: {k: Vector.decode(source.get(c)) for k, c in Tree(source, tree).items()}
            for model, tree in value.vectors.items()
        }
        self.sparse = {
            vocab: {k: Sparse.decode(source.get(c)) for k, c in Tree(source, tree).items()}
            for vocab, tree in value.sparse.items()
        }

    def cids_at(self, root: RootCid | None) -> dict[bytes, Any]:
        """The version of each node in another root."""
        if root is None:
            return {}
        nodes = Root.decode(self.source.get(root)).nodes
        return dict(Tree(self.source, nodes).items())

    def content(self, node: Node) -> bytes | None:
        if isinstance(node.content, tuple):
            return b"".join(self.source.get(part) for part in node.content)
        return node.content

    def home(self, node: Node) -> str:
        return home_of(node.props, self.config.analyser)

    def text(self, node: Node) -> str:
        return node_text(node, self.config.fields, self.content(node))

    def indexed_text(self, node: Node) -> str:
        """Of long content the first 8 MiB, without the character that the cut splits."""
        content = self.content(node)
        if content is not None and len(content) > 8 << 20:
            content = content[: 8 << 20]
            for back in range(1, 4):
                lead = content[-back]
                if lead >= 0xC0:  # begins a character of two bytes or more
                    size = 2 + (lead >= 0xE0) + (lead >= 0xF0)
                    content = content if size == back else content[:-back]
                    break
        return node_text(node, self.config.fields, content)


def is_written(world: World, history: dict[str, Any], key: bytes) -> bool:
    """Whether a node was created and updated when the conditions say."""
    now = world.nodes[key][0]
    was = {name: world.cids_at(base).get(key) for name, base in history.items()}
    return all(
        {
            "created_after": before is None,
            "created_before": before is not None,
            "updated_after": before != now,
            "updated_before": before == now,
        }[name]
        for name, before in was.items()
    )


def answer(
    world: World,
    form: dict[str, Any],
    said: list[Any] | None = None,
    events: list[Said] | None = None,
) -> bytes:
    """Returns the bytes of the result of a query's canonical form; `said` are a reranker's
    scores, `events` those of the notes."""
    view = {key for key in world.nodes if form["include_tombstoned"] or key not in world.tombstones}
    universe = {
        key
        for key in view
        if (not form["labels"] or world.nodes[key][1].ntype in form["labels"])
        and (form["where"] is None or holds(form["where"], world.nodes[key][1].props))
        and is_valid(form["valid"], world.nodes[key][1].props)
        and is_written(world, form.get("history", {}), key)
    }
    lanes, status, floors = ranked(world, form, view, universe)
    for place, further in enumerate(form.get("queries", ())):
        name = f"queries[{place}]"
        lanes[name], status[name], floors[name] = subquery(world, form, further, view, universe)
    walks: list[list[Any]] = []
    alone = dict(lanes)
    if form["graph"] is not None or form["community"] is not None:
        first, _ = fuse(lanes, floors, form, universe)
        walks = walk_lanes(world, form, view, universe, first, lanes, floors, status)
    if form["mentions"] is not None and alone:
        first, _ = fuse(alone, floors, form, universe)
        found = mentioned(world, form, view, universe, first)
        if found:
            lanes["mentions"], status["mentions"], floors["mentions"] = found, "ok", 0.0
    ranking, shares = fuse(lanes, floors, form, universe)
    factors: dict[bytes, dict[str, list[Any]]] = {}
    if "recall" in form:
        ranking, factors = recalled(
            world, form, view, universe, lanes, ranking, shares, status, events or []
        )
    record = None
    if form["rerank"] is not None:
        ranking, record = rerank(ranking, form["rerank"], said or [])
        status["rerank"] = record["status"]
    if form["mmr"] is not None:
        scores = [score for score, _ in ranking]
        if record is not None and record["status"] == "ok":
            found = [score for _, score in record["scores"] if score is not None]
            scores = sorted(found, reverse=True)
        ranking = diversified(
            ranking, form["mmr"], scores, lambda x, y: likeness(world, form, x, y)
        )
    return pack(world, form, lanes, ranking, shares, status, record, walks, factors, view)


Lanes = dict[str, list[tuple[float, bytes]]]


def ranked(
    world: World, form: dict[str, Any], view: set[bytes], universe: set[bytes]
) -> tuple[Lanes, dict[str, str], dict[str, float | None]]:
    """Returns the lanes of the text and the vectors, with their status and lower bounds."""
    lanes: Lanes = {}
    status: dict[str, str] = {}
    floors: dict[str, float | None] = {"lexical": 0.0, "sparse": None}
    if form["text"] is not None:
        lanes["lexical"], status["lexical"] = lexical(world, form, view, universe)
    if form["vector"] is not None:
        metric = world.config.models[form["vector"]["model"]].metric
        floors["dense"] = -1.0 if metric == "cosine" else None
        found, status["dense"] = dense(world, form, view, universe, metric)
        lanes["dense"] = with_passages(world, form, found, view, universe, counts_own=True)
    if form["sparse"] is not None:
        found, status["sparse"] = sparse(world, form, view, universe)
        lanes["sparse"] = with_passages(world, form, found, view, universe, counts_own=True)
    return lanes, status, floors


def subquery(
    world: World,
    form: dict[str, Any],
    further: dict[str, Any],
    view: set[bytes],
    universe: set[bytes],
) -> tuple[list[tuple[float, bytes]], str, float | None]:
    """Returns the lane of a subquery, its status and its lower bound."""
    own = {**form, **{name: further[name] for name in ("text", "vector", "sparse")}}
    lanes, status, floors = ranked(world, own, view, universe)
    found, _ = fuse(lanes, floors, own, universe)
    if len(lanes) == 1:
        [(name, said)] = status.items()
        return found, said, floors[name]
    said = "ok" if "ok" in status.values() else next(iter(status.values()))
    return found[: form["depth"]], said, None


def recalled(
    world: World,
    form: dict[str, Any],
    view: set[bytes],
    universe: set[bytes],
    lanes: dict[str, list[tuple[float, bytes]]],
    ranking: list[tuple[float, bytes]],
    shares: dict[str, dict[bytes, float]],
    status: dict[str, str],
    events: list[Said],
) -> tuple[list[tuple[float, bytes]], dict[bytes, dict[str, list[Any]]]]:
    asked = form["recall"]
    names = [name for name in recall.FACTORS if name in asked]
    return recall.factored(
        ranking,
        names,
        lambda name, key: recall.factor(
            name, asked, form["text"], key, world.nodes[key][1].props, events
        ),
    )


def likeness(world: World, form: dict[str, Any], one: bytes, other: bytes) -> float:
    vectors = world.vectors.get(form["vector"]["model"], {}) if form["vector"] else {}
    if one in vectors and other in vectors:
        rows = [[float(x) for x in vectors[key].to_array().tolist()] for key in (one, other)]
        return measure(rows[0], rows[1], "cosine")
    terms = [
        set(analyse(world.text(node), analyser_of(world.text(node), world.home(node))))
        for node in (world.nodes[key][1] for key in (one, other))
    ]
    return jaccard(terms[0], terms[1])


def holds(form: list[Any], props: Any) -> bool:
    match form:
        case ["eq", name, value]:
            return any(same(value, one) for one in values(props, name))
        case ["in", name, options]:
            return any(same(value, one) for one in values(props, name) for value in options)
        case ["between", name, low, low_open, high, high_open]:
            return any(inside(one, low, low_open, high, high_open) for one in values(props, name))
        case ["exists", name]:
            return name in props
        case ["not", part]:
            return not holds(part, props)
        case ["and", parts]:
            return all(holds(part, props) for part in parts)
        case ["or", parts]:
            return any(holds(part, props) for part in parts)
    raise AssertionError(form)


def values(props: Any, name: str) -> list[Any]:
    if name not in props:
        return []
    value = props[name]
    return list(value) if isinstance(value, (list, tuple)) else [value]


def same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def inside(value: Any, low: Any, low_open: bool, high: Any, high_open: bool) -> bool:
    ends = [end for end in (low, high) if end is not None]
    is_text = isinstance(ends[0], str)
    if isinstance(value, bool) or not isinstance(value, str if is_text else (int, float)):
        return False
    if low is not None and (value < low or (low_open and value == low)):
        return False
    return not (high is not None and (value > high or (high_open and value == high)))


def top(scores: dict[bytes, float], universe: set[bytes], depth: int) -> list[tuple[float, bytes]]:
    pairs = [(score + 0.0, key) for key, score in scores.items() if key in universe]
    return sorted(pairs, key=lambda pair: (-pair[0], pair[1]))[:depth]


def lexical(
    world: World, form: dict[str, Any], view: set[bytes], universe: set[bytes]
) -> tuple[list[tuple[float, bytes]], str]:
    home = world.config.analyser
    documents, analysers = {}, {}
    for key in view:
        node = world.nodes[key][1]
        text = world.indexed_text(node)
        analyser = analyser_of(text, world.home(node))
        terms = analyse(text, analyser)
        if terms:
            documents[key], analysers[key] = terms + symbols_of(text), analyser
    by = list(analysers.values())
    held = [one for one in ANALYSERS if one in by and 64 * by.count(one) >= len(by)] or [home]
    every = [one for one in ANALYSERS if one in by] or [home]
    wide = widened(form, home, held, every, documents) if "minor" in form["match"] else {}
    query = spoken(form, home, held, wide)
    symbols = symbol_words(form["text"]) if "symbols" in form["match"] else []
    symbols += code_words(form["text"]) if "code" in form["match"] else []
    if not query + symbols:
        return [], "no_terms"
    if not documents:
        return [], "ok"
    mean = float(Fraction(sum(map(length_of, documents.values())), len(documents)))
    k1, b = form["k1"], form["b"]
    counts, needed = asked(form, query, documents, home, held, wide)
    counts |= dict.fromkeys(symbols, 1.0)
    weights: dict[str, float] = {}
    for word in sorted(counts):
        frequency = held_by(word, documents)
        for term in word if frequency else ():
            weights[term] = weights.get(term, 0.0) + counts[word] * idf(frequency, documents)
    found = set(weights)
    has_related = "related" in form["match"] and analyser_of(form["text"], home, held) == ENGLISH
    for term in analyse(form["text"], ENGLISH) if has_related else []:
        if term not in found:
            weights[term] = analyse(form["text"], ENGLISH).count(term) * idf(0, documents)
    weights = dict(sorted(weights.items(), key=lambda pair: pair[0].encode()))
    others: dict[str, list[tuple[str, float]]] = {term: [] for term in weights}
    for term, weight in weights.items() if has_related else []:
        for other in related_terms(term):
            frequency = held_by((other,), documents)
            if other not in found and frequency:
                others[term].append((other, 0.9 * min(weight, idf(frequency, documents))))

    def gain(terms: list[str], term: str, weight: float, b: float) -> float:
        tf = float(terms.count(term))
        length = float(length_of(terms)) / mean
        return tf * (k1 + 1.0) / ((length * b + (1.0 - b)) * k1 + tf) * weight if tf else 0.0

    def scored(
        texts: dict[bytes, list[str]], b: float = b, parts: Collection[bytes] = ()
    ) -> dict[bytes, float]:
        scores: dict[bytes, float] = {}
        for key, terms in texts.items():
            if set(terms) & found:
                scores[key] = 0.0
                for term, weight in weights.items():
                    instead = others[term] if key in parts else []
                    both = [(term, weight), *instead]
                    scores[key] += max(gain(terms, *one, b) for one in both)
        return scores

    scores = scored(documents)
    of_phrases = every if "minor" in form["match"] else held
    phrases = quoted(form["text"], of_phrases) if form["match"]["phrases"] else []
    scores = {
        key: score
        for key, score in scores.items()
        if all(set(group) & set(documents[key]) for group in needed)
        and all(any(contains(documents[key], run) for run in runs) for runs in phrases)
    }
    best = [key for _, key in top(scores, universe, form["depth"])]
    match = form["match"]
    if match["operator"] == "or" and not match["phrases"]:
        best = [opened(world, key, documents, view, universe) for key in best]
    whole = {
        key: documents.get(key, [])
        + [term for one in headings(world, key, documents, view) for term in documents[one]]
        for key in best
    }
    wide = {
        key: surroundings(world, key, documents, view) + whole[key][len(documents.get(key, [])) :]
        for key in best
        if is_part(world, key, view)
    }
    around = scored(wide, 0.0)
    final = {
        key: (2.0 * score + around[key]) / 3.0 if key in wide else score
        for key, score in scored(whole, parts=wide).items()
    }
    return top(final, universe, form["depth"]), "ok"


def idf(frequency: int, documents: dict[bytes, list[str]]) -> float:
    context = Context(prec=50, rounding=ROUND_HALF_EVEN)
    ratio = context.divide(Decimal(2 * len(documents) + 2), Decimal(2 * frequency + 1))
    return float(context.ln(ratio))


def length_of(terms: list[str]) -> int:
    """Returns how many of some terms are words: symbols have no length. A number may have a point,
    a word of code has a letter beside it or is in capitals."""
    return sum(
        not set(term) & set("!#$%&*+-/:<=>?@\\^|~")
        and ("." not in term or term.replace(".", "").isdecimal())
        and not term.isupper()
        for term in terms
    )


def parent_of(world: World, key: bytes, view: set[bytes]) -> bytes | None:
    parents = [
        one for one in view if any(part.id.raw == key for part in world.nodes[one][1].children)
    ]
    return min(parents, default=None)


def is_part(world: World, key: bytes, view: set[bytes]) -> bool:
    """Whether a node is a passage of a document or section."""
    home = parent_of(world, key, view)
    return not is_container(world, key) and home is not None and is_container(world, home)


def is_container(world: World, key: bytes) -> bool:
    return world.nodes[key][1].ntype in ("Document", "Section")


def surroundings(
    world: World, key: bytes, documents: dict[bytes, list[str]], view: set[bytes]
) -> list[str]:
    """Returns the terms of a passage and of those around it, as many as fit."""
    home = parent_of(world, key, view)
    assert home is not None
    row = [part.id.raw for part in world.nodes[home][1].children if part.id.raw in view]
    found = list(documents.get(key, []))
    at = row.index(key)
    is_open = {1: True, -1: True}
    for distance in (1, 2, 3, 4):
        for side in (1, -1):
            place = at + side * distance
            is_open[side] = (
                is_open[side]
                and 0 <= place < len(row)
                and not is_container(world, row[place])
                and length_of(found) + length_of(documents.get(row[place], [])) <= 100
            )
            if is_open[side]:
                found += documents.get(row[place], [])
    return found


def is_heading(world: World, key: bytes, documents: dict[bytes, list[str]]) -> bool:
    kind = world.nodes[key][1].ntype
    return kind in ("Document", "Section") and length_of(documents.get(key, [])) <= 32


def headings(
    world: World, key: bytes, documents: dict[bytes, list[str]], view: set[bytes]
) -> list[bytes]:
    """Returns the documents and sections above a node whose text is a heading's."""
    above: list[bytes] = []
    for _ in range(64):
        home = parent_of(world, key, view)
        if home is None or home in above:
            break
        key = home
        above.append(key)
    return [one for one in above if one in documents and is_heading(world, one, documents)]


def opened(
    world: World,
    key: bytes,
    documents: dict[bytes, list[str]],
    view: set[bytes],
    universe: set[bytes],
) -> bytes:
    """Returns the first passage below a heading, or the node itself."""
    if not is_heading(world, key, documents):
        return key
    first = first_passage(world, key, view)
    return first if first is not None and first in universe else key


def with_passages(
    world: World,
    form: dict[str, Any],
    ranked: list[tuple[float, bytes]],
    view: set[bytes],
    universe: set[bytes],
    *,
    counts_own: bool,
) -> list[tuple[float, bytes]]:
    """Returns a lane with the first passage below each heading in its place, each node once; if
    `counts_own`, half of what a passage has is its own."""
    if "passages" not in form:
        return ranked
    scores: dict[bytes, float] = {}
    for score, key in ranked:
        text = world.indexed_text(world.nodes[key][1])
        documents = {key: analyse(text, analyser_of(text, world.config.analyser))}
        shown = opened(world, key, documents, view, universe)
        if counts_own and shown != key:
            own = next((value for value, other in ranked if other == shown), ranked[-1][0])
            score = (score + own) / 2
        scores[shown] = max(score, scores.get(shown, score))
    return top(scores, universe, form["depth"])


def first_passage(world: World, key: bytes, view: set[bytes]) -> bytes | None:
    """Returns the first passage below a document or section."""
    met: set[bytes] = set()

    def walk(node: bytes) -> bytes | None:
        met.add(node)
        value = world.nodes[node][1]
        if value.ntype not in ("Document", "Section") and not any(
            part.id.raw in world.nodes for part in value.children
        ):
            return node
        own = [part.id.raw for part in value.children if part.id.raw in view]
        fresh = [one for one in dict.fromkeys(own) if one not in met]
        met.update(fresh)
        return next((found for one in fresh if (found := walk(one)) is not None), None)

    return walk(key)


def asked(
    form: dict[str, Any],
    query: list[tuple[str, ...]],
    documents: dict[bytes, list[str]],
    home: str,
    held: list[str],
    wide: Mapping[tuple[str, ...], tuple[str, ...]],
) -> tuple[dict[tuple[str, ...], float], list[list[str]]]:
    """Returns by word the factor of its idf, and the groups of which a document needs one each."""
    counts = {word: float(query.count(word)) for word in query}
    groups = {word: list(word) for word in query}
    fuzzy = form["match"]["fuzzy"]
    if fuzzy is not None:
        known = {term for terms in documents.values() for term in terms}
        known -= {term for word in query for term in word}
        reached: dict[str, int] = {}
        expanded = {
            word
            for word in query
            if held_by(word, documents) < fuzzy.get("rare", len(documents) + 1)
            and max(map(len, word)) >= fuzzy["length"]
        }
        for word in expanded:
            long = [term for term in word if len(term) >= fuzzy["length"]]
            less = edited(form, expanded, home, held, wide, word)
            near = sorted(
                (one for one in known if one in less or any(is_near(one, term) for term in long)),
                key=lambda one: (-held_by((one,), documents), one.encode()),
            )[: fuzzy["terms"]]
            groups[word] += near
            for one in near:
                reached[one] = reached.get(one, 0) + query.count(word)
        counts |= {(term,): fuzzy["weight"] * count for term, count in reached.items()}
    return counts, list(groups.values()) if form["match"]["operator"] == "and" else []


def spoken(
    form: dict[str, Any],
    home: str,
    held: list[str],
    wide: Mapping[tuple[str, ...], tuple[str, ...]],
) -> list[tuple[str, ...]]:
    """Returns the words of a question, repeated, each as its forms in ascending order."""
    return [wide.get(word, word) for word, _ in spoken_at(form, home, held)]


def widened(
    form: dict[str, Any],
    home: str,
    held: list[str],
    every: list[str],
    documents: dict[bytes, list[str]],
) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Returns the words that no document has, with the forms under every analyser in addition."""
    found: dict[tuple[str, ...], set[str]] = {}
    own = analyser_of(form["text"], home, held)
    both = zip(spoken_at(form, home, held), spoken_at(form, home, every, own), strict=True)
    for (word, part), (other, same) in both:
        assert part == same
        if not held_by(word, documents):
            found[word] = found.get(word, {*word}) | {*other}
    return {word: tuple(sorted(forms)) for word, forms in found.items()}


def edited(
    form: dict[str, Any],
    expanded: Collection[tuple[str, ...]],
    home: str,
    held: list[str],
    wide: Mapping[tuple[str, ...], tuple[str, ...]],
    word: tuple[str, ...],
) -> set[str]:
    """Returns the terms that a word of a question is after one edit, given all words that are
    looked at."""
    fuzzy = form["match"]["fuzzy"]
    said = [(wide.get(one, one), part) for one, part in spoken_at(form, home, held)]
    every = [one for one in said if one[0] in expanded and len(one[1]) <= 64]
    own = analyser_of(form["text"], home, held)
    if "bounded" in form["match"]:
        short = [part for _, part in every if len(part) <= 24 and len(analyse(part, own)) == 1]
        kept = list(dict.fromkeys(short))[:32]
        every = [one for one in every if one[1] in kept]
    cut = set()
    for part in {part for one, part in every if one == word}:
        cut |= {part[:at] + part[at + 1 :] for at in range(len(part))}
        if "swaps" in fuzzy:
            for at in range(1, len(part)):
                cut.add(part[: at - 1] + part[at] + part[at - 1] + part[at + 1 :])
    found = [analyse(one, analyser) for one in cut for analyser in held]
    if "letters" in fuzzy:
        latin = [part for _, part in every if len(part) <= 24 and is_latin(part)]
        first = list(dict.fromkeys(latin))[:4]
        for part in {part for one, part in every if one == word} & {*first}:
            part = re.sub("[A-Z]", lambda match: match[0].lower(), part)
            for letter in "abcdefghijklmnopqrstuvwxyz":
                for at in range(len(part) + 1):
                    found.append(analyse(f"{part[:at]}{letter}{part[at:]}", own))
                    found.append(analyse(f"{part[:at]}{letter}{part[at + 1 :]}", own))
    return {terms[0] for terms in found if len(terms) == 1}


def is_latin(word: str) -> bool:
    """Returns whether a word consists of Latin letters, with or without marks."""
    return re.fullmatch("[A-Za-z]+", normalised(fold(word))) is not None


def spoken_at(
    form: dict[str, Any], home: str, held: list[str], cut: str | None = None
) -> list[tuple[tuple[str, ...], str]]:
    """Returns the words of a question as they stand, each with the part of the text that it is, as
    the analyser `cut` divides it, by default its own."""
    text = form["text"]
    own = cut or analyser_of(text, home, held)
    words = []
    every = {other: analyse_positions(text, other) for other in held}
    respelt = spelt_words(text, own) if "accents" in form["match"] else []
    for term, start, stop in analyse_positions(text, own):
        forms = {term}
        for other in held:
            forms |= {form for form, first, last in every[other] if (first, last) == (start, stop)}
            if text[start:stop] in respelt:
                forms |= spelt(text[start:stop], other)
        words.append((tuple(sorted(forms)), text[start:stop]))
    return words


def spelt_words(text: str, analyser: str) -> list[str]:
    """Returns the words of a question whose spellings count."""
    words = [text[start:stop] for _, start, stop in analyse_positions(text, analyser)]
    return list(dict.fromkeys(word for word in words if len(word) <= 24))[:32]


def spelt(word: str, analyser: str) -> set[str]:
    """Returns the terms of a word with one accent among its last six letters, two among the last
    four, or none."""
    marked = "".join(fold(one) for one in ACCENTED.get(analyser, ""))
    plain = normalised(fold(word).lower())
    if not marked or not (plain.isascii() and plain.isalpha()):
        return set()
    spellings = {plain}
    if plain == fold(word).lower():
        pairs = list(zip(marked[::2], marked[1::2], strict=True))
        for at, letter in enumerate(plain):
            for mark in [mark for one, mark in pairs if one == letter]:
                once = f"{plain[: at + 1]}{mark}{plain[at + 1 :]}"
                if at >= len(plain) - 6:
                    spellings.add(once)
                for other in range(max(at + 1, len(plain) - 4), len(plain)):
                    if at >= len(plain) - 4:
                        spellings |= {
                            f"{once[: other + 2]}{more}{once[other + 2 :]}"
                            for one, more in pairs
                            if one == plain[other]
                        }
    found = [analyse(one, analyser) for one in spellings]
    return {terms[0] for terms in found if len(terms) == 1}


def held_by(word: tuple[str, ...], documents: dict[bytes, list[str]]) -> int:
    """Returns the df of a word."""
    total = sum(term in terms for terms in documents.values() for term in word)
    return min(total, len(documents))


def is_near(one: str, other: str) -> bool:
    """Returns whether the edit distance is 1."""
    edits = set()
    for place in range(len(other) + 1):
        head, tail = other[:place], other[place:]
        edits |= {head + tail[1:]} if tail else set()
        for character in set(one):
            edits |= {head + character + tail, head + character + tail[1:]}
    return one in edits and one != other


def quoted(text: str, held: list[str]) -> list[list[list[str]]]:
    """Returns for each phrase with terms its terms under each analyser."""
    marks = [place for place, character in enumerate(text) if character == '"']
    phrases = []
    for index in range(0, len(marks) - 1, 2):
        first, last = marks[index], marks[index + 1]
        runs = [
            [
                term
                for term, start, stop in analyse_positions(text, one)
                if first < start and stop <= last
            ]
            for one in held
        ]
        phrases.append([run for run in runs if run])
    return [runs for runs in phrases if runs]


def contains(terms: list[str], phrase: list[str]) -> bool:
    size = len(phrase)
    return any(terms[at : at + size] == phrase for at in range(len(terms) - size + 1))


def dense(
    world: World, form: dict[str, Any], view: set[bytes], universe: set[bytes], metric: str
) -> tuple[list[tuple[float, bytes]], str]:
    vectors = world.vectors.get(form["vector"]["model"], {})
    if not view & set(vectors):
        return [], "no_vectors"
    query = floats(form["vector"]["data"])
    scores = {}
    for key in universe & set(vectors):
        row = [float(x) for x in vectors[key].to_array().tolist()]
        scores[key] = measure(row, query, metric)
    return top(scores, universe, form["depth"]), "ok"


def measure(row: list[float], query: list[float], metric: str) -> float:
    if metric == "euclidean":
        return 0.0 - float(
            sum((Fraction(x) - Fraction(q)) ** 2 for x, q in zip(row, query, strict=True))
        )
    product = exact(row, query)
    if metric == "dot":
        return product
    scale = math.sqrt(exact(row, row)) * math.sqrt(exact(query, query))
    return product / scale if scale else 0.0


def exact(one: list[float], other: list[float]) -> float:
    return float(
        sum((Fraction(x) * Fraction(y) for x, y in zip(one, other, strict=True)), Fraction(0))
    )


def sparse(
    world: World, form: dict[str, Any], view: set[bytes], universe: set[bytes]
) -> tuple[list[tuple[float, bytes]], str]:
    vectors = world.sparse.get(form["sparse"]["vocab"], {})
    if not view & set(vectors):
        return [], "no_vectors"
    query = form["sparse"]["tokens"], form["sparse"]["weights"]
    scores: dict[bytes, float] = {}
    for key in vectors:
        tokens = struct.unpack(f"<{len(vectors[key].indices) // 4}I", vectors[key].indices)
        weights = dict(zip(tokens, floats(vectors[key].weights), strict=True))
        for token, weight in zip(*query, strict=True):
            if token in weights:
                scores[key] = scores.get(key, 0.0) + weights[token] * weight
    return top(scores, universe, form["depth"]), "ok"


def floats(data: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def fuse(
    lanes: dict[str, list[tuple[float, bytes]]],
    floors: dict[str, float | None],
    form: dict[str, Any],
    universe: set[bytes],
) -> tuple[list[tuple[float, bytes]], dict[str, dict[bytes, float]]]:
    if not lanes:
        return [(1.0, key) for key in sorted(universe)], {}
    if len(lanes) == 1:
        [(name, ranked)] = lanes.items()
        return ranked, {name: {key: score for score, key in ranked}}
    fusion = form["fusion"]
    shares: dict[str, dict[bytes, float]] = {}
    total: dict[bytes, float] = {}
    for name in (*LANES, *(one for one in lanes if one.startswith("queries["))):
        if name not in lanes:
            continue
        shares[name] = {}
        weight = fusion["weights"].get(name.partition("[")[0], 1.0)
        ranked = lanes[name]
        for index, (score, key) in enumerate(ranked):
            if fusion["name"] in ("convex", "score_normalised"):
                floor = floors[name] if fusion["name"] == "convex" else None
                low = ranked[-1][0] if floor is None else floor
                high = ranked[0][0]
                share = weight * (1.0 if high == low else (score - low) / (high - low))
            else:
                assert fusion["name"] in ("rrf", "weighted_rrf"), fusion["name"]
                share = weight / (fusion["k"] + (index + 1))
            shares[name][key] = share
            total[key] = total.get(key, 0.0) + share
    return sorted(
        ((score, key) for key, score in total.items()), key=lambda p: (-p[0], p[1])
    ), shares
