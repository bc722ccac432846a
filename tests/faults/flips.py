"""Flips bytes of a small repository, one at a time: `python -m tests.faults.flips`.

Each flip is either found by `fsck`, or refused with a typed error, or without effect: everything
that the repository says is what it said before. A process that dies of a flip is a finding.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import ibidem
from ibidem.objects.errors import IbidemError

DETECTED, REFUSED, HARMLESS, WRONG, DIED = "detected", "refused", "harmless", "wrong", "died"


def build(folder: Path) -> None:
    """Makes a small repository with some of everything, and asks it something."""
    with ibidem.init(folder, clock=lambda: 0) as repo:
        with repo.transaction(author="ada", message="first") as tx:
            one = tx.add_node("Doc", summary="retry the queue", content=b"x" * 300, key=1)
            two = tx.add_node("Doc", summary="a deadline passed", props={"n": 2}, key=2)
            tx.add_edge(one, "cites", two)
            tx.set_vector(one, model="m", vector=np.asarray([1, 0, 2], np.float32))
        with repo.transaction(author="ada", message="second") as tx:
            tx.update_node(two, summary="a deadline that passed")
        repo.tag("v1")
        result = repo.retrieve("retry deadline", vector=("m", [1.0, 0.0, 0.0]))
        assert result.receipt is not None
        repo.receipts.keep(result.receipt)


def told(folder: Path) -> list[object]:
    """Everything that the repository says: refs, log, nodes, edges, an answer, a replay."""
    with ibidem.open(folder, clock=lambda: 0) as repo:
        at = repo.at("HEAD")
        result = repo.retrieve("retry deadline", vector=("m", [1.0, 0.0, 0.0]))
        kept = repo.receipts.list()
        return [
            (repo.head, repo.branches(), repo.tags(), repo.current_branch),
            [commit.encode() for commit in repo.history.log()],
            [operation.encode() for operation in repo.history.operations()],
            [node.encode() for node in at.nodes()],
            [edge.encode() for edge in at.edges()],
            [node.encode() for node in repo.at("v1~1").nodes()],
            result.to_bytes(),
            [repo.receipts.replay(one.receipt).to_bytes() for one in kept],
        ]


def files(folder: Path) -> list[Path]:
    """The repository's files that hold something, locks left out."""
    found = sorted(path for path in (folder / ".ibidem").rglob("*") if path.is_file())
    return [path for path in found if path.stat().st_size and "lock" not in path.name]


def flip(folder: Path, path: Path, offset: int, bit: int, before: list[object]) -> str:
    """Flips one bit of a file and looks; returns what came of it."""
    with path.open("r+b", buffering=0) as file:
        file.seek(offset)
        byte = file.read(1)
        file.seek(offset)
        file.write(bytes([byte[0] ^ 1 << bit]))
    try:
        with ibidem.open(folder, clock=lambda: 0) as repo:
            faults = repo.maintenance.fsck().faults
    except IbidemError:
        return REFUSED
    if faults:
        return DETECTED
    try:
        return HARMLESS if told(folder) == before else WRONG
    except IbidemError:
        return WRONG  # fsck has not seen it


def flip_each(
    folder: Path, places: Iterable[tuple[Path, int, int]]
) -> tuple[Counter[str], list[str]]:
    """Flips each (file, offset, bit) in a process of its own kind; counts and what went wrong."""
    before, counts, bad = told(folder), Counter[str](), list[str]()
    waiting = list(places)
    while waiting:
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(reader)
            _work(folder, waiting, before, writer)
        os.close(writer)
        with os.fdopen(reader) as lines:
            said = lines.read().split()
        os.waitpid(pid, 0)
        counts.update(said)
        bad += [_place(place) for place, one in zip(waiting, said, strict=False) if one == WRONG]
        if len(said) < len(waiting):
            counts[DIED] += 1
            bad.append(f"{_place(waiting[len(said)])} died")
            said.append(DIED)
        waiting = waiting[len(said) :]
    return counts, bad


def _work(
    folder: Path, places: list[tuple[Path, int, int]], before: list[object], writer: int
) -> None:
    try:
        for path, offset, bit in places:
            copy = folder.with_name(f"{folder.name}-flipped")
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(folder, copy)
            found = flip(copy, copy / path.relative_to(folder), offset, bit, before)
            os.write(writer, f"{found}\n".encode())
    finally:
        sys.stderr.flush()
        os._exit(0)


def _place(place: tuple[Path, int, int]) -> str:
    path, offset, bit = place
    return f"{path.name} at {offset} bit {bit}"


def places(
    folder: Path, chance: random.Random, count: int | None = None
) -> list[tuple[Path, int, int]]:
    """Every byte of every file with a bit of it, or so many of them."""
    every = [
        (path, offset, chance.randrange(8))
        for path in files(folder)
        for offset in range(path.stat().st_size)
    ]
    return every if count is None else chance.sample(every, min(count, len(every)))


def main() -> None:
    """Flips every byte, or a sample, and prints the counts by file."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.flips")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="1/1", help="such as 1/2: only that part of the bytes")
    arguments = parser.parse_args()
    part, parts = (int(number) for number in arguments.part.split("/"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "repository"
        folder.mkdir()
        build(folder)
        chosen = places(folder, random.Random(arguments.seed), arguments.count)
        chosen = chosen[part - 1 :: parts]
        for path in files(folder):
            mine = [place for place in chosen if place[0] == path]
            counts, bad = flip_each(folder, mine)
            print(f"{path.relative_to(folder)}: {len(mine)} flips, {dict(counts)}", flush=True)
            for line in bad[:20]:
                print(f"  {line}", flush=True)


if __name__ == "__main__":
    main()
