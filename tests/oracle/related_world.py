"""Random repositories of documents that say in other words what the questions say."""

from __future__ import annotations

import random
from typing import Any

from ibidem.objects.node import Node

from .world import Facts, random_facts, wide_options, with_texts

SAID = (
    *("disable", "turn", "multiple", "several", "remove", "delete", "omit", "required", "the"),
    *("maximum", "limit", "begin", "start", "und", "die", "\u6771\u4eac", "queue", "log_error"),
)
ASKED = (
    "off",
    "suppress",
    "several",
    "many",
    "longest",
    "erase",
    "mandatory",
    "first",
    "may",
    "needed",
    *SAID,
)


def related_facts(rng: random.Random, *, node_count_max: int = 30) -> Facts:
    """Returns a random state whose texts have words that stand for each other."""
    return reworded(rng, random_facts(rng, node_count_max=node_count_max))


def reworded(rng: random.Random, facts: Facts) -> Facts:
    """Returns a state with such words in most of its texts."""

    def text(node: Node) -> str | None:
        if rng.random() < 0.1:
            return node.summary
        return " ".join(rng.choices(SAID, k=rng.randint(0, 12)))

    return with_texts(facts, text)


def random_related_options(rng: random.Random) -> dict[str, Any]:
    """Returns options for `resolve` whose text, or one of several, has words with related ones."""
    options = wide_options(rng)
    if rng.random() < 0.9 or not {"text", "vector", "sparse"} & set(options):
        options["text"] = " ".join(rng.choices(ASKED, k=rng.randint(1, 5)))
    if rng.random() < 0.2:
        options["queries"] = [" ".join(rng.choices(ASKED, k=rng.randint(1, 2)))]
    if "text" in options or "queries" in options:
        options["related"] = rng.random() < 0.9
    options["limit"] = rng.choice((None, None, 3, 10))
    return options
