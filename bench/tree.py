"""Times the trees: build, get, mutate, diff and merge, from a thousand to a million entries.

    PYTHONPATH=src python bench/tree.py [--json PATH] [--sizes 1000,10000]

Each figure is the best of several runs in one process, on blocks held in a dict; a busy machine
shows in the spread between best and median, which the JSON has too. Blocks are counted, not timed.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import DAG_CBOR_PREFIX, Cid
from ibidem.objects.tree import Tree, build_arrays, diff, merge, mutate, verify
from ibidem.objects.tree.build import as_strings

SIZES = (1000, 10_000, 100_000, 1_000_000)
EDIT_COUNTS = (1, 100, 10_000)
Figure = dict[str, Any]


def timed(call: Callable[[], Any], *, repeat: int = 5, per: int = 1) -> Figure:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) / per)
    return {"best_us": min(times) * 1e6, "median_us": statistics.median(times) * 1e6}


def entries(size: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(size)
    keys = np.frombuffer(rng.bytes(16 * size), np.uint8).reshape(size, 16)
    cids = np.frombuffer(rng.bytes(36 * size), np.uint8).reshape(size, 36).copy()
    cids[:, :4] = np.frombuffer(DAG_CBOR_PREFIX, np.uint8)
    return np.sort(as_strings(keys)).view(np.uint8).reshape(size, 16), cids


def random_edits(keys: np.ndarray, count: int, seed: int) -> dict[bytes, Cid | None]:
    """A third each of changed values, inserts and deletes; of one edit, an insert."""
    rng = np.random.default_rng(seed)
    edits: dict[bytes, Cid | None] = {}
    for number in range(count):
        known = keys[rng.integers(len(keys))].tobytes()
        cid = Cid(DAG_CBOR_PREFIX + rng.bytes(32))
        edits |= ({rng.bytes(16): cid}, {known: cid}, {known: None})[number % 3]
    return edits


def measure(size: int) -> dict[str, Figure]:
    keys, cids = entries(size)
    stored = WriteBatch()
    top = build_arrays(keys, cids, stored)
    tree = Tree(stored, top)
    rng = np.random.default_rng(7)
    probes = [keys[at].tobytes() for at in rng.integers(size, size=2000)]
    figures = {
        "build": timed(lambda: build_arrays(keys, cids, WriteBatch()), repeat=3)
        | {"blocks": len(stored.new), "height": tree.height},
        "get": timed(lambda: [tree.get(key) for key in probes], per=len(probes)),
        "get, new Tree": timed(lambda: [Tree(stored, top).get(key) for key in probes], per=2000),
        "get_many": timed(lambda: tree.get_many(probes), per=len(probes)),
        "arrays": timed(lambda: Tree(stored, top).arrays(), repeat=3),
        "verify": timed(lambda: verify(stored, top), repeat=2),
    }
    for count in EDIT_COUNTS:
        if count > size:
            continue
        figures |= measure_edits(keys, top, stored, count)
    return figures


def measure_edits(keys: np.ndarray, top: Any, stored: WriteBatch, count: int) -> dict[str, Figure]:
    ours, theirs = WriteBatch(stored), WriteBatch(stored)
    our_edits, their_edits = random_edits(keys, count, 1), random_edits(keys, count, 2)
    our_top, their_top = mutate(top, our_edits, ours), mutate(top, their_edits, theirs)
    both = WriteBatch(stored)
    both.new = ours.new | theirs.new
    repeat = 20 if count < 1000 else 3

    def merged() -> None:
        merge(top, our_top, their_top, WriteBatch(both), lambda key, base, one, other: one)

    return {
        f"mutate {count}": timed(lambda: mutate(top, our_edits, WriteBatch(stored)), repeat=repeat)
        | {"blocks": len(ours.new)},
        f"diff {count}": timed(lambda: list(diff(both, top, our_top)), repeat=repeat),
        f"merge {count}": timed(merged, repeat=repeat),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    arguments = parser.parse_args()
    results = {size: measure(int(size)) for size in arguments.sizes.split(",")}
    names = list(dict.fromkeys(name for figures in results.values() for name in figures))
    print(f"{'best, µs':<16}" + "".join(f"{int(size):>14,}" for size in results))
    for name in names:
        cells = [figures.get(name, {}).get("best_us") for figures in results.values()]
        print(f"{name:<16}" + "".join(f"{c:>14,.1f}" if c else f"{'':>14}" for c in cells))
    if arguments.json:
        machine = {"python": platform.python_version(), "numpy": np.__version__}
        report = {"bench": "tree", "machine": machine, "results": results}
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
