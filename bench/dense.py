"""Exact dense retrieval beside faiss `IndexFlatIP`, on the same rows in one run.

    python bench/dense.py --sizes 1000000 --data random,near --k 10,100 [--filters] [--json FILE]

Ours reads vector segments as a build writes them, in files, mapped, and returns exact tops of nodes
from resolved queries. Queries of the two take turns, so that both meet the same machine; faiss runs
with one thread and with all, and its better median counts. Rows are generated, nothing is read.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from ibidem.index.arrays import bitmap_bytes, to_bitmap
from ibidem.index.families.vector_rows import VectorSegment
from ibidem.index.incremental import CHUNK_COMPONENTS
from ibidem.index.segments.codes import encode_rows
from ibidem.index.segments.merge_rows import Part
from ibidem.index.segments.store import FolderSegmentStore
from ibidem.index.tuning import TUNING
from ibidem.objects.config import Config, Model
from ibidem.objects.parallel import set_threads
from ibidem.retrieve.dense.kernel import numkong_module, simsimd_module
from ibidem.retrieve.dense.lane import rank_dense_many
from ibidem.retrieve.filter import NodeSet, Universe, universe
from ibidem.retrieve.query.query import resolve

Rows = npt.NDArray[np.float32]
CLOCK: list[Callable[[], float]] = [time.perf_counter]
"""What times are measured by: the wall, or processor time of the calling thread with --cpu, which
leaves out what other threads do: then both sides have one."""


def rows_of(kind: str, count: int, dim: int, seed: int) -> Iterator[Rows]:
    """Yields unit rows of a distribution in blocks, as many as a build puts in one segment.

    `random`; `clustered`: a thousand clusters, members at a cosine of about 0.6; `anisotropic`: a
    power-law spectrum and an offset; `near` and `self`: near-duplicates of one vector; `nears`: of
    a thousand.
    """
    fixed, random = np.random.default_rng(0), np.random.default_rng(seed)
    block = min(TUNING.chunk_rows, CHUNK_COMPONENTS // dim)
    centres = fixed.standard_normal((1_000, dim), np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    spectrum = (np.arange(1, dim + 1) ** -0.5).astype(np.float32)
    for start in range(0, count, block):
        size = min(block, count - start)
        noise = random.standard_normal((size, dim), np.float32)
        pick = random.integers(1_000, size=size)
        if kind == "clustered":
            noise = centres[pick] + noise * np.float32(0.8 / dim**0.5)
        elif kind == "anisotropic":
            noise = noise * spectrum + centres[0]
        elif kind in ("near", "self"):
            noise = centres[0] + noise * np.float32(1e-3)
        elif kind == "nears":
            noise = centres[pick] + noise * np.float32(1e-3)
        yield noise / np.linalg.norm(noise, axis=1, keepdims=True)


class Ours:
    """A snapshot of vectors alone, in segments as a build writes them."""

    def __init__(self, directory: Path, kind: str, count: int, dim: int) -> None:
        segment_store = FolderSegmentStore(directory)
        self.parts: list[Part] = []
        self.encoding = 0.0
        start = 0
        for rows in rows_of(kind, count, dim, seed=1):
            ordinals = np.arange(start, start + len(rows), dtype=np.uint32)
            started = time.perf_counter()
            codes = encode_rows(rows)
            self.encoding += time.perf_counter() - started
            digests = np.zeros((len(rows), 32), np.uint8)
            columns = {"ordinals": ordinals, "rows": rows, "cids": digests, "of": digests}
            named = segment_store.put(
                columns | codes | {"set": bitmap_bytes(to_bitmap(ordinals))}
            ).name
            self.parts.append(Part(FolderSegmentStore(directory).open(named)))
            start += len(rows)
        ids = np.random.default_rng(2).integers(0, 256, (count, 16), dtype=np.uint8)
        views = tuple(VectorSegment(part) for part in self.parts)
        self.config = Config(models={"m": Model(dim)})
        self.snapshot: Any = SimpleNamespace(
            config=self.config,
            live=BitMap(range(count)),
            tombstoned=BitMap(),
            ordinal_count=count,
            cache={},
            node_ids=lambda ordinals: ids[ordinals],
            vectors=lambda model: views,
        )

    def ask(self, vectors: Rows, depth: int, members: BitMap | None = None) -> list[list[int]]:
        """Returns the ordinals of the best `depth` for each of (m, d) vectors."""
        universes = []
        for vector in vectors:
            asked = resolve(self.config, vector=("m", vector), depth=depth)
            found = universe(self.snapshot, asked)
            if members is not None:
                found = Universe(asked, found.view, NodeSet(self.snapshot, members))
            universes.append(found)
        return [top.ordinals.tolist() for top in rank_dense_many(universes)]


class Theirs:
    """faiss `IndexFlatIP` over the same rows."""

    def __init__(self, kind: str, count: int, dim: int) -> None:
        self.index = faiss.IndexFlatIP(dim)
        for rows in rows_of(kind, count, dim, seed=1):
            self.index.add(rows)

    def ask(self, vectors: Rows, depth: int, threads: int) -> list[list[int]]:
        """Returns the numbers of the best `depth` rows for each of (m, d) vectors."""
        faiss.omp_set_num_threads(threads)
        found: list[list[int]] = self.index.search(vectors, depth)[1].tolist()
        return found


def milliseconds(work: Callable[[], Any]) -> float:
    """Returns how long a call takes by the chosen clock."""
    started = CLOCK[0]()
    work()
    return 1e3 * (CLOCK[0]() - started)


def alternate(runs: dict[str, Callable[[int], Any]], rounds: int) -> dict[str, float]:
    """Returns the median of each, taken in turns after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds + 1):
        for name, run in runs.items():
            # Threads of a library that go on waiting in a loop would take from whoever is next.
            time.sleep(0.02)
            spent = milliseconds(lambda run=run, turn=turn: run(turn))  # type: ignore[misc]
            if turn:
                times[name].append(spent)
    return {name: statistics.median(values) for name, values in times.items()}


def compare(ours: Ours, theirs: Theirs, queries: Rows, k: int, batch: int) -> dict[str, float]:
    """Returns one line of the table: milliseconds, ratios and how often the orders agree."""
    threads = 1 if CLOCK[0] is time.thread_time else len(os.sched_getaffinity(0))
    one = {
        "ours": lambda turn: ours.ask(queries[turn : turn + 1], k),
        "faiss_1": lambda turn: theirs.ask(queries[turn : turn + 1], k, 1),
        "faiss_all": lambda turn: theirs.ask(queries[turn : turn + 1], k, threads),
    }
    many = {
        "batch": lambda turn: ours.ask(queries[:batch], k),
        "batch_faiss_1": lambda turn: theirs.ask(queries[:batch], k, 1),
        "batch_faiss_all": lambda turn: theirs.ask(queries[:batch], k, threads),
    }
    found = alternate(one, len(queries) - 1 if len(queries) < 16 else 15) | alternate(many, 3)
    found["ratio"] = min(found["faiss_1"], found["faiss_all"]) / found["ours"]
    best = min(found["batch_faiss_1"], found["batch_faiss_all"])
    found["batch_ratio"] = best / found["batch"]
    exact, other = ours.ask(queries[:batch], k), theirs.ask(queries[:batch], k, 1)
    found["faiss_order_differs"] = sum(a != b for a, b in zip(exact, other, strict=True))
    return found


def filtered(ours: Ours, queries: Rows, count: int) -> dict[str, float]:
    """Returns milliseconds for k=10 when a share of the nodes ranks, by share."""
    random = np.random.default_rng(3)
    found: dict[str, float] = {}
    for share in (1.0, 0.9, 0.5, 0.2, 0.1, 0.01, 0.001):
        members = to_bitmap(np.flatnonzero(random.random(count) < share).astype(np.uint32))
        times = alternate(
            {"t": lambda turn, m=members: ours.ask(queries[turn : turn + 1], 10, m)}, 5
        )  # type: ignore[misc]
        found[str(share)] = times["t"]
    return found


def own_memory() -> float:
    """Returns the megabytes of memory that no file backs."""
    text = Path("/proc/self/status").read_text() if Path("/proc/self/status").exists() else ""
    for line in text.splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def machine() -> dict[str, Any]:
    """Returns what the figures depend on."""
    simsimd, numkong = simsimd_module(), numkong_module()
    features = simsimd.get_capabilities() if simsimd else {}
    return {
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "features": [name for name, has in features.items() if has],
        "simsimd": getattr(simsimd, "__version__", None),
        "numkong": getattr(numkong, "__version__", None),
        "numpy": np.__version__,
        "faiss": faiss.__version__,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def measure(kind: str, count: int, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yields one record a k, with what is measured once in the first."""
    # Near-duplicates are asked from elsewhere, except by `self`, whose queries are such themselves.
    asked = "random" if kind == "near" else kind
    queries = np.concatenate(
        list(rows_of(asked, max(options.batch, options.queries), options.dim, 9))
    )
    with tempfile.TemporaryDirectory() as directory:
        ours = Ours(Path(directory), kind, count, options.dim)
        before = own_memory()
        first = milliseconds(lambda: ours.ask(queries[:1], 10))
        ours.ask(queries[: options.batch], 100)
        extra: dict[str, Any] = {
            "encode_s": ours.encoding,
            "first_ms": first,
            "memory_mb": own_memory() - before,
        }
        if options.filters:
            extra["filtered_ms"] = filtered(ours, queries, count)
        theirs = Theirs(kind, count, options.dim)
        for k in options.k:
            line = compare(
                ours, theirs, queries[: max(options.queries, options.batch)], k, options.batch
            )
            yield {"data": kind, "rows": count, "k": k} | line | extra
            extra = {}


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default="100000")
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--data", default="random,clustered,anisotropic,near")
    parser.add_argument("--k", default="10,100")
    parser.add_argument("--queries", type=int, default=12)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--filters", action="store_true", help="also measure filters")
    parser.add_argument("--cpu", action="store_true", help="processor time: for a busy machine")
    parser.add_argument("--threads", type=int, help="of ours; by default one a processor")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.cpu:
        CLOCK[0], options.threads = time.thread_time, 1
    set_threads(options.threads)
    options.k = [int(text) for text in options.k.split(",")]
    records: list[dict[str, Any]] = []
    print(json.dumps(machine()))
    print(
        "| data | rows | k | ours ms | faiss 1 / all ms | ratio "
        "| batch ms | faiss 1 / all ms | ratio |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for size in options.sizes.split(","):
        for kind in options.data.split(","):
            for one in measure(kind, int(size), options):
                records.append(one)
                print(
                    f"| {kind} | {one['rows']:,} | {one['k']} | {one['ours']:.2f} "
                    f"| {one['faiss_1']:.1f} / {one['faiss_all']:.1f} | {one['ratio']:.2f} "
                    f"| {one['batch']:.1f} | {one['batch_faiss_1']:.0f} / "
                    f"{one['batch_faiss_all']:.0f} | {one['batch_ratio']:.2f} |",
                    flush=True,
                )
                rest = {
                    key: one[key]
                    for key in ("encode_s", "first_ms", "memory_mb", "filtered_ms")
                    if key in one
                }
                if rest:
                    print(f"  {json.dumps(rest)}")
    if options.json:
        text = json.dumps({"machine": machine(), "records": records}, indent=1)
        options.json.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
