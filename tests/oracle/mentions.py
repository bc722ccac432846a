"""The slow, obvious lane of mentions: every name is looked for in the terms of every node.

Spec: retrieval 5.6.
"""

from __future__ import annotations

import re
from typing import Any

from ibidem.index.analysis import analyse, analyse_positions, analyser_of, home_of

ONE = 2**20
JOINT = re.compile(r"|[ '\u2019.-]| & ")
Ranked = list[tuple[float, bytes]]


def mentioned(
    world: Any, form: dict[str, Any], view: set[bytes], universe: set[bytes], first: Ranked
) -> Ranked:
    """Returns the lane, empty if no name leads anywhere."""
    from .oracle import contains, first_passage

    analyser = world.config.analyser
    documents = {
        key: own_terms(world.indexed_text(node), home_of(node.props, analyser))
        for key, (_, node) in sorted(world.nodes.items())
        if key in view
    }

    def shown(key: bytes) -> bytes:
        if world.nodes[key][1].ntype not in ("Document", "Section"):
            return key
        return first_passage(world, key, view) or key

    def led(names: list[list[str]], own: bytes | None) -> dict[bytes, int]:
        found: dict[bytes, int] = {}
        for name in names:
            if min(sum(term in terms for terms in documents.values()) for term in name) > 4096:
                continue
            having = [key for key in documents if key != own and contains(documents[key], name)]
            if len(having) > form["mentions"]["max_nodes"]:
                continue
            titled = [key for key in having if documents[key][: len(name)] == name]
            for keys, share in ((having, ONE // 2), (titled, ONE)):
                for key in keys:
                    found[shown(key)] = found.get(shown(key), 0) + share // len(keys)
        return {key: min(ONE, units) for key, units in found.items()}

    seeds = [key for _, key in first[: form["mentions"]["seeds"]]]
    question = form["text"] or ""
    total = led(names(question, analyser), None)
    for place, seed in enumerate(seeds):
        node = world.nodes[seed][1]
        home = home_of(node.props, analyser)
        asked = set(analyse(question, home))
        own = [name for name in names(world.text(node), home) if not set(name) <= asked]
        for key, units in led(own, seed).items():
            total[key] = total.get(key, 0) + ((ONE // (place + 1)) * units >> 20)
    others = {
        key: min(ONE, units)
        for key, units in total.items()
        if units and key in universe and key not in seeds
    }
    if not others:
        return []
    tops = {seed: ONE + len(seeds) - place for place, seed in enumerate(seeds)}
    ranked = sorted((others | tops).items(), key=lambda pair: (-pair[1], pair[0]))
    return [(units / 2**20, key) for key, units in ranked[: form["depth"]]]


def own_terms(text: str, home: str) -> list[str]:
    """Returns the terms of a text as it is indexed, in its own language."""
    return list(analyse(text, analyser_of(text, home)))


def names(text: str, analyser: str) -> list[list[str]]:
    text = text[:4096]
    words: list[list[tuple[str, int, int]]] = []
    for term in analyse_positions(text, analyser):
        if words and term[1] < max(stop for _, _, stop in words[-1]):
            words[-1].append(term)
        else:
            words.append([term])
    runs: list[list[list[tuple[str, int, int]]]] = []
    is_open = False
    for word in words:
        written = text[begin(word) : end(word)]
        capital = "_" in written or any(map(str.isupper, written))
        if is_open and (capital or re.search("[0-9]", written)):
            before = runs[-1][-1]
            gap = text[end(before) : begin(word)]
            initial = gap == ". " and end(before) - begin(before) == 1
            if JOINT.fullmatch(gap) or initial:
                runs[-1].append(word)
                continue
        is_open = capital
        if capital:
            runs.append([word])
    found: list[list[str]] = []
    for run in runs:
        terms = [term for word in run for term, _, _ in word]
        if len(terms) <= 8 and terms not in found:
            found.append(terms)
    return found[:64]


def begin(word: list[tuple[str, int, int]]) -> int:
    return word[0][1]


def end(word: list[tuple[str, int, int]]) -> int:
    return max(stop for _, _, stop in word)
