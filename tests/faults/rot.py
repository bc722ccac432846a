"""Damages every file of an index, times and sizes kept: `python -m tests.faults.rot --count 5000`.

What rots, a torn write and a file in the place of another leave no trace but the bytes. After each
the same questions are asked of the repository opened anew, and have to be answered by the same
bytes; in two rounds of three, large files are made of small ones, so that chunks are compared when
they are read and not when files are opened.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np

import ibidem
from ibidem.index.segments import column, store
from ibidem.objects.child import Child

DIM, NODES = 32, 600
WORDS = tuple(
    f"{first}{last}" for first in ["retry", "budget", "index", "root", "merge"] for last in "abc"
)
SAME, REBUILT, WRONG = "same", "rebuilt", "wrong"


def build(folder: Path) -> None:
    """Makes a repository whose index has every family, in several segments."""
    draw = random.Random(5)
    with ibidem.init(folder, clock=lambda: 0) as repo:
        for commit in range(2):
            with repo.transaction(author="ada", message="more") as tx:
                nodes = []
                for number in range(NODES // 2):
                    text = " ".join(draw.choices(WORDS, k=12))
                    key = [commit, number]
                    parts = nodes[-2:] if number % 50 == 49 else []
                    children = tuple(Child(part, "", 1, 0) for part in parts)
                    props = {"size": number % 7, "name": f"n{number:03d}"}
                    node = tx.add_node(
                        "Note", summary=text, props=props, children=children, key=key
                    )
                    vector = np.array([draw.gauss(0, 1) for _ in range(DIM)], np.float32)
                    tx.set_vector(node, model="m", vector=vector)
                    tx.set_sparse(node, vocab="s", indices=[number % 9], weights=[0.5])
                    nodes.append(node)
                for number, source in enumerate(nodes):
                    tx.add_edge(source, "next", nodes[(number + 1) % len(nodes)], weight=0.5)
                tx.tombstone(nodes[3], reason="gone")
            repo.retrieve("retrya")


def told(folder: Path) -> list[object]:
    """What the index has a part in: answers of every lane, lists, paths, counts."""
    vector = ("m", np.arange(1, DIM + 1, dtype=np.float32))
    with ibidem.open(folder, clock=lambda: 0) as repo:
        at = repo.at()
        first = at.query(label="Note", order_by="name", limit=2)[0].id
        return [
            repo.retrieve("retrya budgetb indexc", limit=5).to_bytes(),
            repo.retrieve('"retrya budgetb"', fuzzy=True, limit=5).to_bytes(),
            repo.retrieve(vector=vector, limit=5, where={"size": 3}).to_bytes(),
            repo.retrieve("mergea", vector=vector, sparse=("s", [3], [1.0])).to_bytes(),
            repo.retrieve("rootb", graph={"mode": "ppr"}, limit=5, adjacency=4).to_bytes(),
            [node.id for node in at.query(where={"size": {"gt": 4}}, order_by="-name", limit=9)],
            [edge.id for edge in at.edges_of(first)],
            at.count(where={"name": "n007"}),
            [str(path) for path in at.paths(first, ["next", "next"])],
        ]


def files(folder: Path) -> list[Path]:
    """Returns the files of the index by their places below it, the lock left out."""
    index = folder / ".ibidem" / "index"
    return sorted(path.relative_to(index) for path in index.glob("*/*"))


def harm(path: Path, draw: random.Random) -> str:
    """Changes a file so that only its bytes tell; returns how."""
    before = path.stat()
    data = bytearray(path.read_bytes())
    kind = draw.choices(("bit", "sector", "swap"), (8, 1, 1))[0]
    if kind == "bit":
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    elif kind == "sector":
        start = draw.randrange(len(data)) // 512 * 512
        data[start : start + 512] = bytes(len(data[start : start + 512]))
    else:
        other = draw.choice(sorted(path.parent.iterdir()))
        data = bytearray(other.read_bytes())
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    return kind


@contextmanager
def sizes(round_: int) -> Iterator[None]:
    """Lets files, or files and columns, of a third of the rounds count as large."""
    with (
        mock.patch.object(store, "SMALL_BYTES", 0 if round_ % 3 else store.SMALL_BYTES),
        mock.patch.object(column, "WHOLE_BYTES", 0 if round_ % 3 == 2 else column.WHOLE_BYTES),
    ):
        yield


def campaign(folder: Path, count: int, seed: int) -> Counter[tuple[str, str]]:
    """Returns how often which harm had which outcome; prints what was wrong."""
    index, kept = folder / "repo" / ".ibidem" / "index", folder / "kept"
    with mock.patch.object(column, "CHUNK_BYTES", 1 << 10):  # several chunks a column
        build(folder / "repo")
        expected = told(folder / "repo")
        shutil.copytree(index, kept)
        names, draw, found = files(folder / "repo"), random.Random(seed), Counter[tuple[str, str]]()
        for number in range(count):
            name = names[number % len(names)]
            kind = harm(index / name, draw)
            before = (index / name).read_bytes()
            with sizes(number // len(names)):
                outcome = SAME if told(folder / "repo") == expected else WRONG
            path = index / name
            if outcome == SAME and (not path.exists() or path.read_bytes() != before):
                outcome = REBUILT
            if outcome == WRONG:
                print(f"{number}: {kind} in {name}: other answers", file=sys.stderr)
            found[kind, outcome] += 1
            shutil.rmtree(index)
            shutil.copytree(kept, index)
    return found


def main() -> None:
    """Prints the outcomes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = campaign(Path(folder), options.count, options.seed)
    for (kind, outcome), count in sorted(found.items()):
        print(f"{kind:8} {outcome:8} {count}")
    sys.exit(any(outcome == WRONG for _, outcome in found))


if __name__ == "__main__":
    main()
