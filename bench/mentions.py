"""What names in texts add to retrieval: questions with and without the lane "mentions".

    python bench/mentions.py DATA [--set SET ...] [--embed MODEL] [--depth N] [--sweep]

DATA holds one folder a set, see `bm25.py`; a passage becomes a node, a conversation a
repository. With `--embed`, the exact embedder installed in the folder MODEL gives every passage and
question a vector, and both rows have the dense lane too.

Columns: recall@5, recall@10, nDCG@10, and the mean average precision of all N nodes that are asked
for, 10 by default (1,000 is usual); behind each the difference to the row without the lane, in
standard errors of the paired differences: below -2 the lane loses. Last, milliseconds a question.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bm25 import SETS, Collection, ndcg

import ibidem

CUTS = (5, 10)
DEPTH = 100
"""Candidates of each lane by default."""
VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("without", {"mentions": False}),
    ("default", {}),
)
SWEEP: tuple[tuple[str, dict[str, Any]], ...] = (
    *((f"seeds {n}", {"mentions": {"seeds": n}}) for n in (1, 3, 4)),
    *((f"max_nodes {n}", {"mentions": {"max_nodes": n}}) for n in (10, 20, 100)),
    *((f"weight {w}", {"weights": {"dense": 0.7, "mentions": w}}) for w in (0.3, 0.5, 0.7, 1.5)),
    *((name, {"mentions": True, "fusion": name}) for name in ("convex", "rrf")),
)


def repositories(data: Collection, embedder: Any) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """Yields each repository in memory with its questions."""
    parts: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for document in data.corpus:
        if not document["meta"].get("empty"):
            parts[document["meta"].get("conv", "")].append(document)
    for part, documents in parts.items():
        repo = ibidem.init("memory:", config=ibidem.Config(fields=("summary",)))
        with repo.transaction(author="bench", message="passages") as tx:
            for document in documents:
                tx.add_node("Passage", summary=document["text"], key=document["id"])
        if embedder is not None:
            repo.embed(embedder, author="bench")
        yield repo, [query for query in data.queries if query["meta"].get("conv", "") == part]


def average_precision(ranked: list[str], gold: set[str]) -> float:
    """Returns the mean of the precisions at the ranks of the gold nodes; 0 for one not ranked."""
    ranks = [rank for rank, name in enumerate(ranked, 1) if name in gold]
    return sum(hit / rank for hit, rank in enumerate(ranks, 1)) / max(1, len(gold))


def measure(
    made: list[tuple[Any, list[dict[str, Any]]]], data: Collection, options: dict[str, Any]
) -> tuple[np.ndarray, float]:
    """Returns (questions, columns), and the milliseconds a question."""
    rows, spent = [], 0.0
    for repo, queries in made:
        for query in queries:
            grades = data.qrels.get(query["id"])
            if not grades:
                continue
            begin = time.perf_counter()
            answer = repo.retrieve(query["text"], **options)
            spent += time.perf_counter() - begin
            ranked = [item.node.key[1] for item in answer.items]
            gold = {name for name, grade in grades.items() if grade > 0}
            found = [len(gold.intersection(ranked[:cut])) / max(1, len(gold)) for cut in CUTS]
            best = ndcg(ranked[: max(CUTS)], grades)
            rows.append([*found, best, average_precision(ranked, gold)])
    return np.array(rows), 1e3 * spent / len(rows)


def main() -> None:
    """Prints a table for each set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--set", choices=SETS, nargs="+", default=SETS)
    parser.add_argument("--embed", type=Path)
    parser.add_argument("--depth", type=int, default=max(CUTS), help="nodes to ask for")
    parser.add_argument("--sweep", action="store_true", help="options one at a time too")
    given = parser.parse_args()
    embedder = None
    asked: dict[str, Any] = {"limit": given.depth, "depth": max(given.depth, DEPTH)}
    if given.embed is not None:
        from ibidem.embed.minilm import ExactMiniLM

        embedder = ExactMiniLM(given.embed, threads=2)
        asked["model"] = embedder.name
    print(
        f"{'':28}"
        + "".join(f"{f'recall@{cut}':>15}" for cut in CUTS)
        + f"{'nDCG@10':>15}{'MAP':>15}"
    )
    for name in given.set:
        data = Collection.read(given.data / name)
        made = list(repositories(data, embedder))
        base: np.ndarray | None = None
        for variant, options in (*VARIANTS, *(SWEEP if given.sweep else ())):
            found, milliseconds = measure(made, data, {**asked, **options})
            base = found if base is None else base
            change = found - base
            error = np.maximum(change.std(axis=0, ddof=1) / np.sqrt(len(change)), 1e-12)
            cells = "".join(
                f"{100 * mean:8.1f} ({t:+4.1f})"
                for mean, t in zip(found.mean(axis=0), change.mean(axis=0) / error, strict=True)
            )
            print(f"{name:14}{variant:14}{cells}{milliseconds:8.2f}", flush=True)


if __name__ == "__main__":
    main()
