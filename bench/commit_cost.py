"""What a commit of one node costs at several sizes: blocks, bytes, reads, time. Prints a table.

    python bench/commit_cost.py [--sizes 1000,10000,100000]

Counts are the claim (they must stay flat); times are for orientation and belong to the machine.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import ibidem
from ibidem.repo.core import Core
from ibidem.repo.repository import Repository
from ibidem.store.testing import RecordingStore

COMMITS = 200
DIM = 384


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--sizes", default="1000,10000,100000")
    options = arguments.parse_args()
    print("| nodes | load, nodes/s | blocks | bytes | reads | median ms | worst ms |")
    print("|---|---|---|---|---|---|---|")
    for size in map(int, options.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            print(row(Path(folder), size))


def row(folder: Path, size: int) -> str:
    ibidem.init(folder).close()
    with ibidem.open(folder) as opened:
        store = RecordingStore(opened.core.store)
        repo = Repository(Core(store, None, lambda: 0))
        started = time.perf_counter()
        with repo.transaction() as tx:
            for number in range(size):
                tx.add_node("Passage", summary=f"passage {number} of many", key=number)
        rate = size / (time.perf_counter() - started)
        blocks, size_bytes, reads = store.block_count, store.size_bytes, store.get_count
        elapsed = [commit_one(repo, number) for number in range(COMMITS)]
        counts = [
            (store.block_count - blocks) / COMMITS,
            (store.size_bytes - size_bytes) / COMMITS,
            (store.get_count - reads) / COMMITS,
        ]
        return (
            f"| {size:,} | {rate:,.0f} | {counts[0]:.1f} | {counts[1]:,.0f} | {counts[2]:.1f} "
            f"| {statistics.median(elapsed):.2f} | {max(elapsed):.2f} |"
        )


def commit_one(repo: Repository, number: int) -> float:
    """Commits a node with a vector of 384 dimensions; returns the milliseconds."""
    vector = np.full(DIM, number + 1, np.float32)
    started = time.perf_counter()
    with repo.transaction(message="one node") as tx:
        node = tx.add_node("Passage", summary="one more", key=["new", number])
        tx.set_vector(node, model="m", vector=vector)
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
