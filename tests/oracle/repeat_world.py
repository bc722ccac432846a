"""Random repositories in which much is said twice, and questions that leave it out."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from .world import Facts, finish, random_facts, wide_options

SENTENCES = (
    "retry the lock in the queue",
    "Retry  the LOCK in the queue",
    "retry the lock in the queue again",
    "lock the queue",
    "queue",
    "東京 queue lock retry",
    "",
)


def repeating_facts(rng: random.Random, *, node_count_max: int = 30) -> Facts:
    """Returns a random state of such texts."""
    return repeated(rng, random_facts(rng, node_count_max=node_count_max))


def repeated(rng: random.Random, facts: Facts) -> Facts:
    """Returns a state with few different texts, types and values of a property."""
    nodes = []
    for node in facts.nodes:
        if rng.random() < 0.9:
            node = replace(node, summary=" ".join(rng.choices(SENTENCES, k=rng.choice((1, 1, 2)))))
        if rng.random() < 0.4:
            node = replace(node, ntype=rng.choice(("Document", "Section", "Section")))
        if rng.random() < 0.3:
            node = replace(node, key=("section", [bytes(16), bytes(32), 0]))
        if rng.random() < 0.5:
            node = replace(node, props={**node.props, "story": rng.choice((1, 1.0, "1", None))})
        nodes.append(node)
    return finish(facts.config, nodes, facts.vectors, facts.sparse, facts.tombstones, facts.buffer)


def random_repeat_options(rng: random.Random) -> dict[str, Any]:
    """Returns options for `resolve` that leave out what repeats an item."""
    options = wide_options(rng)
    if rng.random() < 0.8 or not {"text", "vector", "sparse"} & set(options):
        options["text"] = rng.choice(("queue", "retry lock", "queue lock retry"))
    options["limit"] = rng.choice((None, None, 2, 5))
    if rng.random() < 0.4:
        options["headings"] = "drop"
    return options | rng.choice(
        (
            {"dedupe": "near"},
            {"dedupe": "near", "dedupe_percent": rng.choice((1, 50, 67, 100))},
            {"dedupe": "text"},
            {"dedupe": "source"},
            {"dedupe": "section"},
            {"dedupe": "property", "dedupe_property": "story"},
        )
    )
