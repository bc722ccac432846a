"""What a receipt adds to a warm retrieve: the same questions with it and without. Prints a table.

    python bench/receipt.py [FOLDER] [--size 100000] [--rounds 200]

The two ways alternate question by question, so that both meet the same machine, and are measured in
processor time, so that another program does not count. FOLDER keeps the repository for later runs.

A receipt of ten items adds 0.10 to 0.13 ms, which is about a quarter of the shortest answer, a
lexical one, and 7 % of a dense one over 100,000 nodes. Of 0.10 ms, hashing (the answer, its
texts, the receipt) takes 0.02, the append to the log another 0.02, most of it four system calls and
one that reads whether the log is on, and writing the canonical bytes the rest, in steps of a
microsecond: 0.01 for the query, 0.02 for the items and their lanes, 0.01 for what was left out,
0.02 for the receipt. In a loop that does nothing else, all of it takes half as long: the rest is
memory that the answer before has displaced. The bytes of the answer and the hashes are needed for
any receipt; because of the append a killed process loses none. Where the log is off, nothing is
hashed for it or locked.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ibidem
from ibidem.repo.repository import Repository
from ibidem.repo.retrieval import retrieve

DIM = 384
BATCH = 20_000
QUESTIONS = 40
_WORDS = [
    "".join(chr(97 + number // 26**place % 26) for place in range(4)) for number in range(50_000)
]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", nargs="?", type=Path)
    arguments.add_argument("--size", type=int, default=100_000)
    arguments.add_argument("--rounds", type=int, default=200)
    options = arguments.parse_args()
    if options.folder is not None:
        report(options.folder, options.size, options.rounds)
        return
    with tempfile.TemporaryDirectory() as folder:
        report(Path(folder), options.size, options.rounds)


def report(folder: Path, size: int, rounds: int) -> None:
    place = folder / f"receipt-{size}"
    if not place.exists():
        load(place, size)
    print(f"{size:,} nodes, vectors of {DIM}, {rounds} rounds, warm, processor time")
    print("| question | without, ms | with, ms | ratio | receipt, bytes |")
    print("|---|---|---|---|---|")
    with ibidem.open(place) as repo:
        for name, asked in questions(size):
            print(row(repo, name, asked, rounds))


def load(place: Path, size: int) -> None:
    """Builds a repository of texts of 80 Zipf-like words, each with a vector."""
    random = np.random.default_rng(size)
    words = np.array(_WORDS)
    with ibidem.init(place) as repo:
        for start in range(0, size, BATCH):
            numbers = range(start, min(size, start + BATCH))
            vectors = random.standard_normal((len(numbers), DIM), np.float32)
            with repo.transaction() as tx:
                for number, vector in zip(numbers, vectors, strict=True):
                    picks = (len(_WORDS) * random.random(80) ** 3).astype(np.int64)
                    node = tx.add_node("Passage", summary=" ".join(words[picks]), key=number)
                    tx.set_vector(node, model="m", vector=vector)
        repo.maintenance.reindex()


def questions(size: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yields kinds of questions, several of each."""
    random = np.random.default_rng(size + 1)
    texts = [
        " ".join(_WORDS[int(50_000 * random.random() ** 3)] for _ in range(6))
        for _ in range(QUESTIONS)
    ]
    vectors = random.standard_normal((QUESTIONS, DIM), np.float32)
    yield "lexical", [{"text": text} for text in texts]
    yield "dense", [{"vector": ("m", vector)} for vector in vectors]
    both = list(zip(texts, vectors, strict=True))
    yield "hybrid", [{"text": text, "vector": ("m", vector)} for text, vector in both]
    yield (
        "hybrid, 100 items",
        [{"text": text, "vector": ("m", vector), "limit": 100} for text, vector in both],
    )


def row(repo: Repository, name: str, asked: list[dict[str, Any]], rounds: int) -> str:
    revision = repo.core.graph()

    def without(options: dict[str, Any]) -> Any:
        return retrieve.execute_query(
            repo.core, revision, retrieve.ask(repo.core, revision, **options)
        )

    def with_receipt(options: dict[str, Any]) -> Any:
        return retrieve.retrieve(repo.core, revision, **options)

    for options in asked:
        without(options)
        with_receipt(options)
    spent: dict[Callable[..., Any], list[float]] = {without: [], with_receipt: []}
    for number in range(rounds):
        options = asked[number % len(asked)]
        order = (without, with_receipt) if number % 2 else (with_receipt, without)
        for way in order:
            started = time.process_time_ns()
            way(options)
            spent[way].append((time.process_time_ns() - started) / 1e6)
    before, after = (statistics.median(spent[way]) for way in (without, with_receipt))
    receipt = repo.retrieve(**asked[0]).receipt
    size_bytes = 0 if receipt is None else len(receipt.encode())
    return f"| {name} | {before:.3f} | {after:.3f} | {after / before:.3f} | {size_bytes:,} |"


if __name__ == "__main__":
    main()
