"""Random repositories of texts too short to tell their language, some of which name it."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from ibidem.index.analysis import HOME
from ibidem.objects.ids import NodeId

from .world import Facts, finish, random_facts, wide_options

WORDS = (
    *("Gießkanne", "Gießkannen", "Häuser", "und", "die", "der", "chevaux", "cheval", "les", "une"),
    *("affichées", "affichees", "ação", "acao", "información", "informacion", "pensée"),
    *("Gießkanen", "affchée", "retrys", "QUUE", "informatión"),
    *("Retries", "retry", "the", "of", "queue", "東京", "\n", "log_error"),
)
HELD = "english-1"
NAMED = (
    *("german-1", "french-1", "french-1", "spanish-1", "portuguese-1", "english-1", "unicode-1"),
    *("klingon-1", "", 7, ["x"]),
)


def home_facts(rng: random.Random, *, node_count_max: int = 30) -> Facts:
    """Returns a random state of such texts."""
    return rehomed(rng, random_facts(rng, node_count_max=node_count_max))


def rehomed(rng: random.Random, facts: Facts) -> Facts:
    """Returns a state with such words in its texts, and homes, in most of its nodes."""
    nodes = []
    for node in facts.nodes:
        if rng.random() < 0.9:
            node = replace(node, summary=" ".join(rng.choices(WORDS, k=rng.randint(0, 6))))
        if rng.random() < 0.6:
            node = replace(node, props={**node.props, HOME: rng.choice(NAMED)})
        nodes.append(node)
    return finish(facts.config, nodes, facts.vectors, facts.sparse, facts.tombstones, facts.buffer)


def few_facts(rng: random.Random) -> Facts:
    """Returns a state of many documents of one language and few of others."""
    return rehomed_few(rng, random_facts(rng, node_count_max=30))


def rehomed_few(rng: random.Random, facts: Facts) -> Facts:
    """Returns a state with many documents of one language, and sometimes few of others."""
    nodes = []
    for node in facts.nodes:
        home = rng.choice(("german-1", "french-1", "spanish-1")) if rng.random() < 0.2 else HELD
        own = WORDS[-8:] if home == HELD else WORDS[:7]
        words = rng.choices(own, k=rng.randint(0, 6))
        nodes.append(replace(node, summary=" ".join(words), props={**node.props, HOME: home}))
    for _ in range(rng.choice((0, 70, 140)) if nodes else 0):
        words = rng.choices(WORDS[-8:], k=3)
        more = {HOME: HELD}
        one = replace(rng.choice(facts.nodes), id=NodeId(rng.randbytes(16)), children=())
        nodes.append(replace(one, summary=" ".join(words), props=more))
    return finish(facts.config, nodes, facts.vectors, facts.sparse, facts.tombstones, facts.buffer)


def random_home_options(rng: random.Random) -> dict[str, Any]:
    """Returns options for `resolve` with such words in the text, or in one of several."""
    options = wide_options(rng)
    if rng.random() < 0.9 or not {"text", "vector", "sparse"} & set(options):
        options["text"] = " ".join(rng.choices(WORDS, k=rng.randint(1, 4))).strip() or WORDS[0]
    if rng.random() < 0.2:
        options["queries"] = [rng.choice(WORDS[:10])]
    options["limit"] = rng.choice((None, None, 3, 10))
    return options
