"""Many writers on one branch: how long a commit takes when others commit too, and what is there.

    PYTHONPATH=src python bench/writers.py [--processes 8] [--commits 200] [--readers 0 4]

Every process makes its commits as fast as it can, each with a node of its own and an edge to a node
that all share; readers retrieve all the while, and check that an answer is of one state. In the end
every node must be there, the log must be one line of as many commits, and every block behind the
head must read back.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ibidem
from ibidem.objects.derive import node_id
from ibidem.repo.maintenance.fsck import fsck

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

WRITER = """
import sys, time, ibidem
from ibidem.objects.derive import node_id
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
hub = node_id("", "hub")
with ibidem.open(path) as repo:
    # What a process imports at its first commit, and at the first race, is not what is measured.
    from ibidem.repo.merge import three_way
    with repo.transaction(message=f"{name} is here") as tx:
        tx.add_node("Writer", key=name)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        started = time.perf_counter()
        with repo.transaction(author=name, message=f"{name} {number}") as tx:
            note = tx.add_node("Note", summary=f"note {number} of {name}", key=[name, number])
            tx.add_edge(note, "about", hub)
        print(time.perf_counter() - started, flush=True)
"""
READER = """
import sys, time, ibidem
with ibidem.open(sys.argv[1]) as repo:
    print("ready", flush=True)
    sys.stdin.readline()
    while True:
        started = time.perf_counter()
        at = repo.at()
        items = at.retrieve("note", limit=20).items
        print(time.perf_counter() - started, flush=True)
        assert len({item.node.id for item in items}) == len(items)
        assert all(at.node(item.node.id).cid == item.cid for item in items)
"""


def run(processes: int, commits: int, readers: int, folder: Path) -> list[str]:
    """Runs one race; returns a row of the table."""
    with ibidem.init(folder) as repo, repo.transaction() as tx:
        tx.add_node("Hub", summary="what all notes are about", key="hub")
    asking = [child(READER, folder) for _ in range(readers)]
    writing = [child(WRITER, folder, f"w{number}", commits) for number in range(processes)]
    for each in (*asking, *writing):
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    started = time.perf_counter()
    for each in (*asking, *writing):
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    took = [float(line) for each in writing for line in each.communicate()[0].split()]
    seconds = time.perf_counter() - started
    assert all(each.returncode == 0 for each in writing), "a writer failed"
    asked: list[float] = []
    for each in asking:
        assert each.poll() is None, "a reader failed"
        each.kill()
        asked += [float(line) for line in each.communicate()[0].split()[:-1]]
    total = processes * commits
    with ibidem.open(folder) as repo:
        at = repo.at()
        for number in range(processes):
            for index in range(commits):
                at.node(node_id("", [f"w{number}", index]))
        log = list(repo.history.log())
        assert len(log) == total + processes + 1, f"{len(log)} commits in the log"
        assert len({commit.message for commit in log}) == len(log)
        assert not repo.conflicts()
        report = fsck(repo.core)
        assert not report.faults, report.faults
    milliseconds = sorted(1000 * each for each in took)
    return [
        f"{processes} x {commits}",
        str(readers),
        f"{total / seconds:,.0f}",
        f"{statistics.median(milliseconds):.1f}",
        f"{milliseconds[int(0.99 * len(milliseconds))]:.1f}",
        f"{milliseconds[-1]:.0f}",
        f"{1000 * statistics.median(asked):.1f}" if asked else "-",
        f"{1000 * max(asked):.0f}" if asked else "-",
    ]


def child(program: str, folder: Path, *arguments: object) -> subprocess.Popen[str]:
    """Starts a process that waits for a line."""
    return subprocess.Popen(
        [sys.executable, "-c", program, str(folder), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--readers", type=int, nargs="*", default=[0, 4])
    options = parser.parse_args()
    head = ("writers", "readers", "commits/s", "median ms", "p99 ms", "worst ms")
    print("| " + " | ".join((*head, "retrieve ms", "worst ms")) + " |")
    print("|---" * 8 + "|")
    for readers in options.readers:
        with tempfile.TemporaryDirectory() as folder:
            row = run(options.processes, options.commits, readers, Path(folder))
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
