"""What reading a whole repository costs: fsck, gc and clone, in processor time and memory.

Each operation runs in a process of its own. `CPU s` includes its child processes. `peak MB` is
memory that is no page of a file, of all of them, sampled; `mapped MB` are pages of files that they
have mapped, which the system can drop, counted for each process that has them.
Run: PYTHONPATH=src python bench/maintenance.py [sizes...]; two versions of the program are compared
in one run with `--against FOLDER`, the `src` of the other.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

import ibidem
from ibidem.repo.maintenance.fsck import fsck
from ibidem.repo.maintenance.gc import collect

DIM = 64
BATCH = 10_000
CHANGES = 50
OPERATIONS = ("fsck", "gc", "clone")


def fill(path: Path, count: int) -> None:
    """Makes nodes with a vector and an edge each in commits of 10,000, then some small commits."""
    rng = np.random.default_rng(7)
    ids: list[ibidem.NodeId] = []
    with ibidem.init(path) as repo:
        for start in range(0, count, BATCH):
            with repo.transaction(author="bench") as tx:
                for number in range(start, min(count, start + BATCH)):
                    summary = f"note {number} about retries and back-off of client {number % 97}"
                    ids.append(tx.add_node("Doc", summary=summary, key=number))
                    vector = rng.standard_normal(DIM).astype(np.float32)
                    tx.set_vector(ids[-1], model="m", vector=vector)
                    if number:
                        tx.add_edge(ids[-1], "next", ids[int(rng.integers(number))])
        for number in range(CHANGES):
            with repo.transaction(author="bench") as tx:
                tx.update_node(ids[int(rng.integers(count))], summary=f"changed {number}")


def run(operation: str, path: Path) -> dict[str, float]:
    """Returns what one operation costs in this process."""
    peak, mapped, is_done = 0, 0, threading.Event()

    def sample() -> None:
        nonlocal peak, mapped
        while not is_done.wait(0.01):
            own, of_files = memory_bytes()
            peak, mapped = max(peak, own), max(mapped, of_files)

    before, _ = memory_bytes()
    sampler = threading.Thread(target=sample, daemon=True)
    sampler.start()
    begun, used = time.perf_counter(), processor_seconds()
    if operation == "clone":
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            ibidem.clone(path, Path(folder) / "copy").close()
    else:
        with ibidem.open(path) as repo:
            if operation == "gc":
                collect(repo.core, dry_run=True)
            else:
                assert fsck(repo.core, deep=operation == "deep").is_clean
    costs = {"cpu": processor_seconds() - used, "wall": time.perf_counter() - begun}
    is_done.set()
    sampler.join()
    return {**costs, "peak": (peak - before) / 1e6, "mapped": mapped / 1e6}


def processor_seconds() -> float:
    """Returns what this process and its children that have ended have used."""
    return sum(os.times()[:4])


def memory_bytes() -> tuple[int, int]:
    """Returns what this process and its children have in memory that is no page of a file, and
    what is one."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    found = {"RssAnon": 0, "RssFile": 0}
    for process in ("self", *children):
        with suppress(OSError):
            for line in Path(f"/proc/{process}/status").read_text().splitlines():
                name, _, value = line.partition(":")
                if name in found:
                    found[name] += int(value.split()[0]) * 1024
    return found["RssAnon"], found["RssFile"]


def measured(source: str, operation: str, path: Path) -> dict[str, float]:
    """Returns what one operation costs in a process of its own."""
    command = [sys.executable, __file__, "--one", operation, str(path)]
    environment = {**os.environ, "PYTHONPATH": source}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    return {name: float(value) for name, value in json.loads(done.stdout).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[20_000, 200_000])
    parser.add_argument("--against", help="the `src` folder of another version")
    parser.add_argument("--at", type=Path, help="where repositories are made and left")
    parser.add_argument("--operations", nargs="+", default=list(OPERATIONS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=2, metavar=("OPERATION", "PATH"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(run(args.one[0], Path(args.one[1]))))
        return
    here = str(Path(__file__).resolve().parent.parent / "src")
    sources = {"this": here, **({"other": args.against} if args.against else {})}
    print("| nodes | operation | version | CPU s | wall s | peak MB | mapped MB |")
    print("|---:|---|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for count in args.sizes:
            path = (args.at or Path(folder)) / f"repository-{count}"
            if not path.exists():
                fill(path, count)
            for operation in args.operations:
                found: dict[str, list[dict[str, float]]] = {name: [] for name in sources}
                for _ in range(args.rounds):
                    for name, source in sources.items():
                        found[name].append(measured(source, operation, path))
                for name, costs in found.items():
                    best = {what: min(cost[what] for cost in costs) for what in costs[0]}
                    print(
                        f"| {count:,} | {operation} | {name} | {best['cpu']:.2f} | "
                        f"{best['wall']:.2f} | {best['peak']:.1f} | {best['mapped']:.1f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
