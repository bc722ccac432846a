"""How the cost of looking after a repository grows: an exponent for each operation.

Three kinds of repository grow to ten times their size: by nodes (each with an edge, loaded in one
transaction), by commits (each of one change), and by branches (each with a commit of its own). The
exponent of an operation is log10 of the ratio of its processor time; 1 is proportional to the size.
Operations that change the repository run on a copy. Nothing is printed of an operation that takes
less than 20 ms at the larger size: there is nothing to grow.
Run: PYTHONPATH=src python bench/growth.py [--nodes N] [--commits N] [--branches N] (larger sizes)
[--grows KIND...].
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import ibidem

SECONDS_MIN = 0.02
CHANGES = 100


def fill_nodes(repo: ibidem.Repository, count: int) -> None:
    """Adds nodes with an edge each, and a branch beside main, with some changes on both."""
    with repo.transaction() as tx:
        ids = []
        for number in range(count):
            ids.append(tx.add_node("Note", key=number, summary=f"note {number} about retries"))
            tx.add_edge(ids[-1], "next", ids[number * 7919 % len(ids)])
        secret(tx)
    repo.branch("side")
    for branch, first in (("main", 0), ("side", count // 2)):
        with repo.transaction(branch=branch) as tx:
            for number in range(first, first + CHANGES):
                tx.update_node(ids[number], summary=f"changed on {branch}")


def fill_commits(repo: ibidem.Repository, count: int) -> None:
    """Adds commits that change one of a hundred nodes each; `side` begins half way."""
    with repo.transaction() as tx:
        ids = [tx.add_node("Note", key=number, summary="first") for number in range(100)]
        secret(tx)
    for number in range(count):
        if number == count // 2:
            repo.branch("side")
        with repo.transaction() as tx:
            tx.update_node(ids[number % 99], summary=f"words of change {number}")
    with repo.transaction(branch="side") as tx:
        tx.update_node(ids[99], summary="changed on the side")


def fill_branches(repo: ibidem.Repository, count: int) -> None:
    """Adds branches with a commit each."""
    with repo.transaction() as tx:
        ids = [tx.add_node("Note", key=number, summary="first") for number in range(200)]
        secret(tx)
    for number in range(count):
        repo.branch(f"b{number}")
        with repo.transaction(branch=f"b{number}") as tx:
            tx.update_node(ids[number % 200], summary=f"words of branch {number}")
    repo.branch("side")
    with repo.transaction(branch="side") as tx:
        tx.update_node(ids[0], summary="changed on the side")


def secret(tx: ibidem.Transaction) -> None:
    tx.add_node("Secret", key="secret", summary="the code of the vault is 4711")


def node(repo: ibidem.Repository, label: str) -> ibidem.NodeId:
    return next(iter(repo.at().page(label=label, limit=1).nodes)).id


def first(repo: ibidem.Repository) -> str:
    return str(list(repo.history.log())[-1].cid)


OPERATIONS: dict[str, Callable[[ibidem.Repository], object]] = {
    "gc": lambda repo: repo.maintenance.gc(),
    "erase": lambda repo: repo.maintenance.erase(node(repo, "Secret")),
    "blame": lambda repo: repo.history.blame(node(repo, "Secret")),
    "log": lambda repo: sum(1 for _ in repo.history.log()),
    "bisect": lambda repo: repo.history.bisect(
        "code of the vault", expect=node(repo, "Secret"), good=first(repo), rank_max=1
    ),
    "diff": lambda repo: sum(1 for _ in repo.history.diff("side")),
    "merge": lambda repo: repo.merge("side"),
    "branches": lambda repo: repo.branches(),
    "fsck": lambda repo: repo.maintenance.fsck(),
}
FILL = {"nodes": fill_nodes, "commits": fill_commits, "branches": fill_branches}


def run(operation: str, path: str) -> None:
    """Prints what one operation costs in this process and its children."""
    with ibidem.open(path) as repo:
        node(repo, "Secret")  # the index is there
        before = sum(os.times()[:4])
        try:
            OPERATIONS[operation](repo)
        except ibidem.InvalidInputError as error:  # nothing to bisect
            print(f"{operation}: {error}", file=sys.stderr)
        print(sum(os.times()[:4]) - before)


def measured(operation: str, path: Path, rounds: int) -> float:
    """Returns the least cost of some runs, each in a process and on a copy of its own."""
    costs = []
    for _ in range(rounds):
        copy = path.parent / "copy"
        shutil.copytree(path, copy)
        done = subprocess.run(
            [sys.executable, __file__, "--one", operation, str(copy)],
            check=True,
            stdout=subprocess.PIPE,
        )
        costs.append(float(done.stdout))
        shutil.rmtree(copy)
    return min(costs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--commits", type=int, default=20_000)
    parser.add_argument("--branches", type=int, default=5_000)
    parser.add_argument("--grows", nargs="+", choices=list(FILL), default=list(FILL))
    parser.add_argument("--operations", nargs="+", default=list(OPERATIONS))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        run(*args.one)
        return
    print("| what grows | operation | CPU s, a tenth | CPU s | exponent |")
    print("|---|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for what in args.grows:
            large: int = getattr(args, what)
            paths = []
            for count in (large // 10, large):
                paths.append(Path(folder) / f"{what}-{count}")
                with ibidem.init(paths[-1]) as repo:
                    FILL[what](repo, count)
            for operation in args.operations:
                costs = [measured(operation, path, args.rounds) for path in paths]
                if costs[1] < SECONDS_MIN:
                    continue
                exponent = math.log10(costs[1] / costs[0])
                print(
                    f"| {large:,} {what} | {operation} | {costs[0]:.2f} | {costs[1]:.2f} | "
                    f"{exponent:.2f} |",
                    flush=True,
                )
            for path in paths:
                shutil.rmtree(path)


if __name__ == "__main__":
    main()
