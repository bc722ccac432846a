"""Random repositories whose texts name each other, with with titles and lower-case namesakes."""

from __future__ import annotations

import random
from typing import Any

from ibidem.objects.node import Node

from .world import Facts, random_facts, wide_options, with_texts

NAMES = (
    "Ada Lovelace",
    "Lovelace",
    "Duke of York",
    "York",
    "J. Smith",
    "open_file",
    "HTTPServer",
    "Zürich West 9",
    "Jean-Paul",
    "Smith & Sons",
    "One Two Three Four Five Six Seven Eight Nine",
)
PLAIN = ("retry", "lock", "the", "of", "ada", "york", "42", "\n", ". ", ", ", "東京")


def naming(rng: random.Random, count: int) -> str:
    """Returns names among other words."""
    words = rng.choices((*NAMES, *PLAIN), k=count)
    return rng.choice((" ", " ", ", ")).join(words)


def named_facts(rng: random.Random, *, node_count_max: int = 30) -> Facts:
    """Returns a random state whose texts have names."""
    return renamed(rng, random_facts(rng, node_count_max=node_count_max))


def renamed(rng: random.Random, facts: Facts) -> Facts:
    """Returns a state with names in its texts."""

    def text(node: Node) -> str | None:
        if rng.random() < 0.1:
            return node.summary
        title = rng.choice((*NAMES[:8], "")) if rng.random() < 0.5 else ""
        return f"{title}\n{naming(rng, rng.randint(0, 6))}"

    return with_texts(facts, text)


def random_mention_options(rng: random.Random) -> dict[str, Any]:
    """Returns options for `resolve` with the lane of mentions."""
    options = wide_options(rng)
    if rng.random() < 0.8 or not {"text", "vector", "sparse"} & set(options):
        options["text"] = naming(rng, rng.randint(1, 3)) + " lock"
    options["limit"] = rng.choice((None, None, 3, 10))
    if rng.random() < 0.2:
        options["graph"] = {"mode": "ppr"}
    options["mentions"] = rng.choice(
        (
            True,
            {},
            {"seeds": 1},
            {"seeds": 5, "max_nodes": 3},
            {"max_nodes": 1},
            {"seeds": 100, "max_nodes": 1000},
        )
    )
    if options.get("weights") and rng.random() < 0.5:
        options["weights"] = {"mentions": rng.choice((0.3, 2, 1e-3))}
    return options
