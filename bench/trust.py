"""What asking through a trust view costs, beside asking for everything. Prints a table.

    python bench/trust.py FOLDER [--size 100000] [--rounds 200]

The repository is built in FOLDER once. `open` is the same graph in the commit before the policy was
set. A fresh view is that of a caller who never asked before, of the same snapshot.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from hybrid import MODEL, Corpus

import ibidem
from ibidem.repo.repository import Repository
from ibidem.retrieve.trust.policy import ALL, ALL_SCOPES, TrustContext, TrustPolicy

BATCH = 20_000
SCOPES = tuple(f"team:{number}" for number in range(20))


def built(folder: Path, size: int) -> Repository:
    if (folder / ".ibidem").exists():
        return ibidem.open(folder)
    corpus, repo = Corpus(size), ibidem.init(folder)
    for start in range(0, size, BATCH):
        numbers = range(start, min(size, start + BATCH))
        rows = corpus.vectors(len(numbers))
        with repo.transaction() as tx:
            for number, row in zip(numbers, rows, strict=True):
                labels = {"level": number % 5, "scope": SCOPES[number // 5 % 20]}
                if number % 3 == 0:
                    del labels["scope"]
                node = tx.add_node("Doc", summary=corpus.text(), props=labels, key=number)
                tx.set_vector(node, model=MODEL, vector=row)
    repo.tag("open")
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
    return repo


def callers() -> dict[str, list[TrustContext]]:
    """Returns views by what they show, several callers of each that never asked before."""
    return {
        "all levels and scopes": [
            TrustContext(level=4, scopes=[*SCOPES, f"x{number}"]) for number in range(12)
        ],
        "every scope, level 2": [
            TrustContext(level=2, scopes=[*SCOPES, f"x{number}"]) for number in range(12)
        ],
        "five scopes, level 3": [
            TrustContext(level=3, scopes=[*SCOPES[:5], f"x{number}"]) for number in range(12)
        ],
        "one scope, level 1": [
            TrustContext(level=1, scopes=[SCOPES[0], f"x{number}"]) for number in range(12)
        ],
    }


def median_ms(ask: Callable[[int], Any], rounds: int) -> float:
    spent = []
    for number in range(rounds):
        begun = time.perf_counter()
        ask(number)
        spent.append(time.perf_counter() - begun)
    return 1000 * statistics.median(spent)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    repo = built(options.folder / f"trust-{options.size}", options.size)
    corpus = Corpus(7)
    texts = [corpus.text(4) for _ in range(50)]
    rows = corpus.vectors(50)
    before = repo.at("open")
    now = repo.at()
    kinds: dict[str, Callable[[int], dict[str, Any]]] = {
        "lexical": lambda n: {"text": texts[n % 50]},
        "dense": lambda n: {"vector": (MODEL, rows[n % 50])},
        "hybrid": lambda n: {"text": texts[n % 50], "vector": (MODEL, rows[n % 50])},
    }
    print(f"{options.size} nodes, k=10, depth 100; median ms, and the share of `open`")
    for kind, question in kinds.items():
        for trust in (None, ALL):  # both snapshots warm
            at = before if trust is None else now
            median_ms(lambda n, at=at, t=trust: at.retrieve(**question(n), trust=t), 50)
        plain = median_ms(lambda n: before.retrieve(**question(n)), options.rounds)
        print(f"{kind:8} open                     {plain:7.2f}")
        for name, contexts in callers().items():
            first = median_ms(
                lambda n, c=contexts: now.retrieve(**question(0), trust=c[n]), len(contexts)
            )
            warm = contexts[-1]
            median_ms(lambda n, w=warm: now.retrieve(**question(n), trust=w), 50)
            spent = median_ms(
                lambda n, w=warm: now.retrieve(**question(n), trust=w), options.rounds
            )
            now.snapshot().cache.pop(("trust",), None)
            print(
                f"{kind:8} {name:24} {spent:7.2f} {spent / plain:5.2f}x"
                f"   fresh {first:7.2f} {first / plain:5.2f}x"
            )
    assert now.retrieve(text=texts[0], trust=TrustContext(level=0, scopes=ALL_SCOPES)) is not None


if __name__ == "__main__":
    main()
