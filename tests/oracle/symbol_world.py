"""Random repositories whose texts have symbols, and questions that have or name them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from ibidem.objects.node import Node

from .world import Facts, random_facts, wide_options, with_texts

WORDS = ("retry", "lock", "the", "queue", "東京", "\n", "log_error", "häuser", "und", "die")


@dataclass(frozen=True)
class SymbolWorld:
    """Symbols that random texts have, with what stands around them, and what is asked for."""

    symbols: tuple[str, ...]
    asked: tuple[str, ...]

    def facts(self, rng: random.Random, *, node_count_max: int = 30) -> Facts:
        """Returns a random state whose texts have symbols."""
        return self.reworded(rng, random_facts(rng, node_count_max=node_count_max))

    def reworded(self, rng: random.Random, facts: Facts) -> Facts:
        """Returns a state with symbols in most of its texts."""

        def text(node: Node) -> str | None:
            if rng.random() < 0.1:
                return node.summary
            return " ".join(rng.choices((*self.symbols, *WORDS), k=rng.randint(0, 12)))

        return with_texts(facts, text)

    def options(self, rng: random.Random) -> dict[str, Any]:
        """Returns options for `resolve` with symbols in the text, or in one of several."""
        options = wide_options(rng)
        if rng.random() < 0.9 or not {"text", "vector", "sparse"} & set(options):
            text = " ".join(rng.choices((*self.asked, *WORDS), k=rng.randint(1, 5)))
            options["text"] = text if text.strip() else self.asked[0]
        if rng.random() < 0.2:
            options["queries"] = [" ".join(rng.choices(self.asked, k=rng.randint(1, 2)))]
        options["limit"] = rng.choice((None, None, 3, 10))
        return options


_SIGNS = (":=", "`//`", "(@)", "'*'", "C++", "c#,", "/", "->", "a//b", "- ", "\n- x", "==.", "****")
_NAMED = ("slash", "at sign", "asterisk", "cpp", "walrus", "two dashes")
SIGNED = SymbolWorld(_SIGNS, (*_NAMED, *_SIGNS))
_CODE = (
    *("--all", "-d,", "-D", "--[no-]lock", "`push.default`", "std::queue", "my-lock.txt", "e.g."),
    *("WITH", "`with`", '"not in"', "the or operator", "IS", "ALL", "`for x in y`"),
)
CODE = SymbolWorld(
    (
        *_CODE,
        *("(--no-lock)", "Push.Default.", "a--all", "-1", "--queue=--all", "https://x1.org/the"),
        *("built-in operator", "each statement", "`a-with`", "in\nloops", "`` ` or ` ``", "with"),
    ),
    (
        *_CODE,
        *(
            "--lock",
            "--queue",
            "queue",
            "PUSH.DEFAULT?",
            "the std::queue",
            "//",
            "x1.org",
            "log_error",
            "slash",
        ),
        *("the with statement", "a for loop", "OR", "'in'"),
    ),
)
