"""What a stream of nodes and edges costs in one transaction, and a node with all of the edges.

    PYTHONPATH=src python bench/stream.py [--size 1000000] [--pages 50]

Batches of 10,000 nodes are staged as they arrive, each node with an edge from one node that all
share, and committed at the end; the same at a tenth of the size, in a process of its own, gives the
growth. Then pages of a hundred edges of the shared node are read, the first and others at random.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ibidem
from ibidem.objects.derive import node_id

BATCH = 10_000
PAGE = 100


def load(folder: Path, size: int) -> dict[str, float]:
    """Commits a stream; returns seconds and megabytes."""
    started, used = time.perf_counter(), time.process_time()
    with ibidem.init(folder) as repo, repo.transaction() as tx:
        hub = tx.add_node("Hub", key="hub")
        for begin in range(0, size, BATCH):
            for number in range(begin, min(size, begin + BATCH)):
                node = tx.add_node("Note", key=number, summary=f"note {number} about retries")
                tx.add_edge(hub, "has", node)
    return {
        "seconds": time.perf_counter() - started,
        "cpu_s": time.process_time() - used,
        "disk_mb": sum(file.stat().st_blocks * 512 for file in folder.rglob("*")) / 1e6,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def pages(folder: Path, count: int) -> dict[str, float]:
    """Reads pages of the edges of the shared node; returns milliseconds."""
    with ibidem.open(folder) as repo:
        state = repo.at()
        hub = node_id("", "hub")
        started = time.perf_counter()
        some = state.edges_of(hub, limit=PAGE)
        found = {"first_of_process_ms": 1e3 * (time.perf_counter() - started)}
        picks = random.Random(1)
        first: list[float] = []
        others: list[float] = []
        for _ in range(count):
            for times, after in ((first, None), (others, picks.choice(some).id)):
                started = time.perf_counter()
                some = state.edges_of(hub, limit=PAGE, after=after)
                times.append(1e3 * (time.perf_counter() - started))
        return found | {
            "first_ms": statistics.median(first),
            "other_ms": statistics.median(others),
        }


def apart(step: str, *arguments: object) -> dict[str, float]:
    """Runs a step in a process of its own."""
    command = [sys.executable, __file__, "--step", step, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=os.environ)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def say(name: str, found: dict[str, float]) -> None:
    print(name, ", ".join(f"{key} {value:,.1f}" for key, value in found.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        name, folder, number = options.step
        print(json.dumps({"load": load, "pages": pages}[name](Path(folder), int(number))))
        return
    with tempfile.TemporaryDirectory() as name:
        small = apart("load", Path(name) / "small", options.size // 10)
        say(f"{options.size // 10:,} nodes and edges:", small)
        large = apart("load", Path(name) / "large", options.size)
        say(f"{options.size:,} nodes and edges:", large)
        say("times the tenth:", {key: large[key] / small[key] for key in large})
        say(
            f"pages of {PAGE} of {options.size:,} edges:",
            apart("pages", Path(name) / "large", options.pages),
        )


if __name__ == "__main__":
    main()
