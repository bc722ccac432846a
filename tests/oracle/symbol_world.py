"""Random repositories whose texts have symbols, and questions that have or name them."""

from __future__ import annotations

import random
from typing import Any

from ibidem.objects.node import Node

from .world import Facts, random_facts, wide_options, with_texts

SIGNS = (":=", "`//`", "(@)", "'*'", "C++", "c#,", "/", "->", "a//b", "- ", "\n- x", "==.", "****")
WORDS = ("retry", "lock", "the", "queue", "東京", "\n", "log_error", "häuser", "und", "die")
ASKED = ("slash", "at sign", "asterisk", "cpp", "walrus", "two dashes", *SIGNS)


def signed_facts(rng: random.Random, *, node_count_max: int = 30) -> Facts:
    """Returns a random state whose texts have symbols."""
    return signed(rng, random_facts(rng, node_count_max=node_count_max))


def signed(rng: random.Random, facts: Facts) -> Facts:
    """Returns a state with symbols in most of its texts."""

    def text(node: Node) -> str | None:
        if rng.random() < 0.1:
            return node.summary
        return " ".join(rng.choices((*SIGNS, *WORDS), k=rng.randint(0, 12)))

    return with_texts(facts, text)


def random_symbol_options(rng: random.Random) -> dict[str, Any]:
    """Returns options for `resolve` with symbols in the text, or in one of several."""
    options = wide_options(rng)
    if rng.random() < 0.9 or not {"text", "vector", "sparse"} & set(options):
        text = " ".join(rng.choices((*ASKED, *WORDS), k=rng.randint(1, 5)))
        options["text"] = text if text.strip() else "slash"
    if rng.random() < 0.2:
        options["queries"] = [" ".join(rng.choices(ASKED, k=rng.randint(1, 2)))]
    options["limit"] = rng.choice((None, None, 3, 10))
    return options
