"""What a repository on disk costs: loading, opening, asking, committing, memory. Prints tables.

    python bench/hybrid.py FOLDER [--sizes 10000,100000] [--commits 1000]

Repositories are built in FOLDER once and used again by later runs: SIZE as it was loaded, and
SIZE-grown, the same after one-node commits, a tenth of its nodes deleted, and late vectors. The
last line of a size is what several readers answer at once, processes or threads, beside one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ibidem
from ibidem.objects.ids import NodeId
from ibidem.objects.parallel import set_threads
from ibidem.repo.repository import Repository

DIM = 384
TOKENS = 80
LOAD_BATCH = 100_000
"""Nodes in one transaction of a load, some 400 MB: each rewrites most of the two trees, so that few
large ones cost less than many."""
BATCH = 20_000
MODEL = "m"
LATE_SHARE = 10
"""One node in so many gets its vector after loading, and one in so many is deleted."""
READERS = ((1, 1), (2, 1), (4, 1), (1, 2), (1, 4))
"""Processes, and threads of each that ask."""
READING_S, WARM_UP_S = 3.0, 5.0
_WORDS = [
    "".join(chr(97 + number // 26**place % 26) for place in range(4)) for number in range(50_000)
]
_RANKS = {word: rank for rank, word in enumerate(_WORDS)}


class Corpus:
    """Texts of Zipf-like words and unit vectors, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._words = np.array(_WORDS)

    def text(self, tokens: int = TOKENS) -> str:
        picks = (len(_WORDS) * self._random.random(tokens) ** 3).astype(np.int64)
        return " ".join(self._words[picks])

    def vectors(self, count: int) -> np.ndarray:
        return self._random.standard_normal((count, DIM), np.float32)


def load(folder: Path, size: int) -> dict[str, float]:
    """Builds a repository of `size` nodes, nine in ten with vectors; returns what it took."""
    corpus, spent, begun = Corpus(size), 0.0, time.process_time()
    repo = ibidem.init(folder)
    for start in range(0, size, LOAD_BATCH):
        numbers = range(start, min(size, start + LOAD_BATCH))
        texts, vectors = [corpus.text() for _ in numbers], corpus.vectors(len(numbers))
        started = time.perf_counter()
        with repo.transaction() as tx:
            for number, text, vector in zip(numbers, texts, vectors, strict=True):
                node = tx.add_node(
                    f"Label{number % 3}",
                    summary=text,
                    props={"number": number, "group": f"g{number % 97}"},
                    key=number,
                )
                if number % LATE_SHARE:
                    tx.set_vector(node, model=MODEL, vector=vector)
        spent += time.perf_counter() - started
    started = time.perf_counter()
    repo.retrieve("aaaa", vector=(MODEL, vectors[0]))
    indexed = time.perf_counter() - started
    repo.close()
    cpu = time.process_time() - begun
    return {"objects_s": spent, "index_s": indexed, "cpu_s": cpu, "peak_mb": peak()}


def grow(folder: Path, size: int, commits: int) -> dict[str, Any]:
    """Commits nodes one by one, deletes a tenth, adds vectors late; returns what it took."""
    corpus = Corpus(size + 1)
    with ibidem.open(folder) as repo:
        ask(repo, *next(questions(size, 1)))
        commit, first, cpu = [], [], []
        for number in range(commits):
            text, vector = corpus.text(), corpus.vectors(1)[0]
            started, begun = time.perf_counter(), time.process_time()
            with repo.transaction() as tx:
                node = tx.add_node(f"Label{number % 3}", summary=text, key=["new", number])
                tx.set_vector(node, model=MODEL, vector=vector)
            cpu.append(1e3 * (time.process_time() - begun))
            between = time.perf_counter()
            # By its rarest words: frequent ones are in so many nodes that others come first.
            words = " ".join(sorted(set(text.split()), key=_RANKS.__getitem__)[-4:])
            result = repo.retrieve(words, vector=(MODEL, vector), limit=1)
            assert result.items[0].node.id == node
            commit.append(1e3 * (between - started))
            first.append(1e3 * (time.perf_counter() - between))
        ids = [node_of(number) for number in range(size)]
        late = [number for number in range(size) if number % LATE_SHARE == 0]
        for start in range(0, len(late), BATCH):
            with repo.transaction() as tx:
                for number in late[start : start + BATCH]:
                    tx.set_vector(ids[number], model=MODEL, vector=corpus.vectors(1)[0])
        gone = [number for number in range(size) if number % LATE_SHARE == 3]
        for start in range(0, len(gone), BATCH):
            with repo.transaction() as tx:
                for number in gone[start : start + BATCH]:
                    tx.remove_node(ids[number])
        ask(repo, *next(questions(size, 1)))
    return {"commit": commit, "commit cpu": cpu, "first": first, "peak_mb": peak()}


def node_of(number: int) -> NodeId:
    from ibidem.objects.derive import node_id

    return node_id("", number)


def questions(size: int, count: int) -> Iterator[tuple[str, np.ndarray]]:
    corpus = Corpus(size + 2)
    for _ in range(count):
        yield corpus.text(4), corpus.vectors(1)[0]


def ask(repo: Repository, text: str, vector: np.ndarray) -> Any:
    return repo.retrieve(
        text,
        vector=(MODEL, vector),
        label="Label1",
        limit=10,
        depth=100,
        token_budget=2000,
    )


def warm(folder: Path, size: int, rounds: int = 60) -> dict[str, float]:
    """Opens a repository and asks; returns milliseconds and megabytes."""
    started = time.perf_counter()
    repo = ibidem.open(folder)
    found = {"open": 1e3 * (time.perf_counter() - started)}
    started = time.perf_counter()
    repo.at().snapshot()
    found["snapshot"] = 1e3 * (time.perf_counter() - started)
    spent = []
    begun = time.process_time()
    for text, vector in questions(size, rounds):
        started = time.perf_counter()
        ask(repo, text, vector)
        spent.append(1e3 * (time.perf_counter() - started))
    found["cpu_mean"] = 1e3 * (time.process_time() - begun) / rounds
    found["first"] = spent[0]
    late = sorted(spent[10:])
    found |= {"p50": statistics.median(late), "p95": late[int(0.95 * len(late))]}
    lexical = []
    for text, _ in questions(size, rounds):
        started = time.perf_counter()
        repo.retrieve(text, label="Label1", token_budget=2000)
        lexical.append(1e3 * (time.perf_counter() - started))
    found["lexical"] = statistics.median(lexical)
    return found | memory()


def read(folder: Path, size: int, threads: int, begin: int) -> dict[str, float]:
    """Asks from some threads, each question on one thread, from a second of the clock on; returns
    how many answers there were."""
    set_threads(1)
    repo = ibidem.open(folder)
    all_questions = list(questions(size, 64))
    for text, vector in all_questions[:8]:
        ask(repo, text, vector)
    time.sleep(max(0.0, begin - time.time()))
    counts = [0] * threads

    def answer(number: int) -> None:
        while time.time() < begin + READING_S:
            ask(repo, *all_questions[(number * 16 + counts[number]) % 64])
            counts[number] += 1

    workers = [threading.Thread(target=answer, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return {"answers": sum(counts)}


def readers(folder: Path, size: int) -> dict[str, float]:
    """Returns the answers a second of one reader, and how many times that several give."""
    found: dict[str, float] = {}
    for processes, threads in READERS:
        begin = int(time.time() + WARM_UP_S)
        command = [sys.executable, __file__, "--step", "read"]
        command += [str(folder), str(size), str(threads), str(begin)]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(processes)]
        answers = sum(json.loads(one.communicate()[0])["answers"] for one in running)
        if not found:
            found["one reader, answers/s"] = answers / READING_S
        else:
            name = f"{processes} processes" if processes > 1 else f"{threads} threads"
            found[name] = answers / READING_S / found["one reader, answers/s"]
    return found


def memory() -> dict[str, float]:
    """Returns what this process keeps beyond the page cache, and peak."""
    totals = {"Private_Dirty": 0, "Anonymous": 0, "Rss": 0}
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in totals:
            totals[name] = int(value.split()[0])
    return {
        "anonymous_mb": totals["Anonymous"] / 1024,
        "private_dirty_mb": totals["Private_Dirty"] / 1024,
        "rss_mb": totals["Rss"] / 1024,
    }


def peak() -> float:
    """Returns the peak of memory that is not file-backed, as far as the kernel tells: RSS."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def process(folder: Path, size: int) -> dict[str, float]:
    """Returns the milliseconds of whole `repo retrieve` processes."""
    text, vector = next(questions(size, 1))
    file = folder / "query.npy"
    np.save(file, vector)
    base = [sys.executable, "-m", "ibidem", "retrieve", text, "--label", "Label1"]
    kinds = {"process_lexical": base, "process_vector": [*base, "--vector", f"{MODEL}={file}"]}
    paths = os.pathsep.join(str(Path(path).resolve()) for path in sys.path)
    environment = os.environ | {"PYTHONPATH": paths}
    # An installed program has its bytecode; the first run, which is not counted, writes it here.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    found = {}
    for name, command in kinds.items():
        spent = []
        for _ in range(6):
            started = time.perf_counter()
            subprocess.run(command, cwd=folder, check=True, capture_output=True, env=environment)
            spent.append(1e3 * (time.perf_counter() - started))
        found[name] = statistics.median(spent[1:])
    return found


def apart(step: str, *arguments: object) -> dict[str, Any]:
    """Runs a step in a process of its own."""
    command = [sys.executable, __file__, "--step", step, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def remembered(path: Path, step: str, *arguments: object) -> dict[str, Any]:
    """Runs a step that builds, unless what it said is there."""
    if not path.exists():
        path.write_text(json.dumps(apart(step, *arguments)))
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def run(folder: Path, size: int, commits: int) -> None:
    base, grown = folder / str(size), folder / f"{size}-grown"
    note = folder / f"{size}.json"
    if not note.exists():
        shutil.rmtree(base, ignore_errors=True)
    loaded = remembered(note, "load", base, size)
    objects, whole = loaded["objects_s"], loaded["objects_s"] + loaded["index_s"]
    print(
        f"{size:,} nodes: objects {size / objects:,.0f}/s, index {size / loaded['index_s']:,.0f}/s,"
        f" both {size / whole:,.0f}/s, peak {loaded['peak_mb']:,.0f} MB"
    )
    say("  loaded", apart("warm", base, size) | process(base, size))
    note = folder / f"{size}-grown.json"
    if not note.exists():
        shutil.rmtree(grown, ignore_errors=True)
        shutil.copytree(base, grown)
        os.sync()  # else the first commit waits for the copy to reach the disk
    changed = remembered(note, "grow", grown, size, commits)
    for name in ("commit", "commit cpu", "first"):
        spent = sorted(changed[name])
        print(
            f"  {name} of one: median {statistics.median(spent):.2f} ms, "
            f"p99 {spent[int(0.99 * len(spent))]:.1f}, worst {spent[-1]:.1f}"
        )
    say("  grown", apart("warm", grown, size) | process(grown, size))
    say("  readers", readers(base, size))


def say(name: str, found: dict[str, float]) -> None:
    print(name, ", ".join(f"{key} {value:.2f}" for key, value in found.items()), flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", nargs="?", type=Path)
    arguments.add_argument("--sizes", default="10000,100000")
    arguments.add_argument("--commits", type=int, default=1000)
    arguments.add_argument("--step", nargs="+")
    options = arguments.parse_args()
    if options.step:
        name, folder, *numbers = options.step
        steps = {"load": load, "grow": grow, "warm": warm, "read": read}
        print(json.dumps(steps[name](Path(folder), *map(int, numbers))))
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    for size in map(int, options.sizes.split(",")):
        run(options.folder, size, options.commits)


if __name__ == "__main__":
    main()
