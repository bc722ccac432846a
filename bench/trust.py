"""What asking through a trust view costs, beside asking for everything. Prints a table.

    python bench/trust.py FOLDER [--size 100000] [--rounds 200]

The repository is built in FOLDER once. `open` is the same graph in the commit before the policy was
set; it and the view are asked in turn. A fresh view is that of a caller who never asked before;
beside it stands the first question of a process that has the index's files and nothing in memory.
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
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer

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


def callers() -> dict[str, list[Viewer]]:
    """Returns views by what they show, several callers of each that never asked before."""
    return {
        "all levels and scopes": [
            Viewer(level=4, scopes=[*SCOPES, f"x{number}"]) for number in range(12)
        ],
        "every scope, level 2": [
            Viewer(level=2, scopes=[*SCOPES, f"x{number}"]) for number in range(12)
        ],
        "five scopes, level 3": [
            Viewer(level=3, scopes=[*SCOPES[:5], f"x{number}"]) for number in range(12)
        ],
        "one scope, level 1": [
            Viewer(level=1, scopes=[SCOPES[0], f"x{number}"]) for number in range(12)
        ],
    }


def spent_ms(ask: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    ask()
    return 1000 * (time.perf_counter() - begun)


def beside(one: Callable[[int], Any], other: Callable[[int], Any], rounds: int) -> list[float]:
    """Returns the medians of two kinds of question, asked in turn."""
    spent = [(spent_ms(lambda n=n: one(n)), spent_ms(lambda n=n: other(n))) for n in range(rounds)]
    return [statistics.median(column) for column in zip(*spent, strict=True)]


def first_ms(repo: Repository, options: dict[str, Any]) -> float:
    """Returns what the first question costs where nothing is in memory but the files are there."""
    spent = []
    for _ in range(5):
        repo.core.drop_derived()
        at = repo.at("open")
        spent.append(spent_ms(lambda at=at: at.retrieve(**options)))
    return statistics.median(spent)


def measure(repo: Repository, kind: str, question: Callable[[int], dict[str, Any]], rounds: int):
    first = first_ms(repo, question(0))
    before, now = repo.at("open"), repo.at()
    for n in range(30):
        before.retrieve(**question(n))
        now.retrieve(**question(n), viewer=ALL)
    for name, contexts in callers().items():
        fresh = statistics.median(
            spent_ms(lambda c=c: now.retrieve(**question(0), viewer=c)) for c in contexts
        )
        warm = contexts[-1]
        for n in range(50):
            now.retrieve(**question(n), viewer=warm)
        plain, seen = beside(
            lambda n: before.retrieve(**question(n)),
            lambda n, w=warm: now.retrieve(**question(n), viewer=w),
            rounds,
        )
        now.snapshot().cache.pop(("viewer",), None)
        print(
            f"{kind:8} {name:22} {plain:8.2f} {seen:8.2f} {seen / plain:6.2f}x   "
            f"fresh view {fresh:7.2f} {fresh / plain:6.2f}x   "
            f"first of all {first:7.2f} {fresh / first:5.2f}x"
        )


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
    print(f"{options.size} nodes, k=10, depth 100; median ms: open, through the view, share")
    measure(repo, "lexical", lambda n: {"text": texts[n % 50]}, options.rounds)
    measure(repo, "dense", lambda n: {"vector": (MODEL, rows[n % 50])}, options.rounds)
    measure(
        repo,
        "hybrid",
        lambda n: {"text": texts[n % 50], "vector": (MODEL, rows[n % 50])},
        options.rounds,
    )


if __name__ == "__main__":
    main()
