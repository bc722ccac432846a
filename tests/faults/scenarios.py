"""What a process is doing when it is killed: endless work that says what was acknowledged.

A scenario works on a repository in a folder until it is killed. `say(name)` comes after the call
returned: from then on the node with the key `name` must never be missing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import ibidem

Say = Callable[[str], None]
Scenario = Callable[[Path, random.Random, Say], None]


def commit(folder: Path, chance: random.Random, say: Say) -> None:
    """Commits of one to thirty nodes, some with content of several pages."""
    with ibidem.open(folder) as repo:
        while True:
            names = [f"{chance.getrandbits(64):x}" for _ in range(chance.choice((1, 1, 2, 30)))]
            with repo.transaction(author="ada") as tx:
                for name in names:
                    content = bytes(chance.choice((0, 100, 9000)))
                    tx.add_node("Doc", summary=f"retry {name}", content=content, key=name)
            for name in names:
                say(name)


def retrieve(folder: Path, chance: random.Random, say: Say) -> None:
    """Commits, each followed by a question, so that the index is written and merged as well."""
    with ibidem.open(folder) as repo:
        while True:
            name = f"{chance.getrandbits(64):x}"
            with repo.transaction(author="ada") as tx:
                tx.add_node("Doc", summary=f"retry {name}", key=name)
            say(name)
            assert [item.node.key for item in repo.retrieve(name).items] == [("", name)]


SCENARIOS: dict[str, Scenario] = {function.__name__: function for function in (commit, retrieve)}
