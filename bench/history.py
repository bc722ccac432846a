"""What a long history costs: log, diff, merge-base, blame and filters. Prints a table.

    python bench/history.py [FOLDER] [--sizes 2000,20000] [--nodes 2000]

Every history has the same nodes at its end and the same last changes, so a figure that is flat from
one size to the next is flat in what did not change. The claim: log, diff and merge-base of 20,000
commits each below one second. FOLDER keeps the repositories for later runs.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import deque
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import ibidem
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import CommitCid, NodeCid
from ibidem.objects.commit import Commit
from ibidem.objects.derive import node_id
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import mutate
from ibidem.repo.history.ancestry import children_first
from ibidem.repo.history.log_graph import LogGraph
from ibidem.repo.repository import Repository

BATCH = 500
ROUNDS = 5


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", nargs="?", type=Path)
    arguments.add_argument("--sizes", default="2000,20000")
    arguments.add_argument("--nodes", type=int, default=2000)
    options = arguments.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    with tempfile.TemporaryDirectory() as temporary:
        found = [figures(options.folder or Path(temporary), size, options.nodes) for size in sizes]
    print("| best of 5, ms | " + " | ".join(f"{size:,} commits" for size in sizes) + " |")
    print("|---" * (len(sizes) + 1) + "|")
    for name in found[0]:
        print(f"| {name} | " + " | ".join(f"{one[name]:,.2f}" for one in found) + " |")


def figures(folder: Path, size: int, nodes: int) -> dict[str, float]:
    place = folder / f"history-{size}-{nodes}"
    if not place.exists():
        build(place, size, nodes)
    with ibidem.open(place) as repo:
        edited, old = key(0), key(nodes - 1)
        return {
            "log, newest 20": timed(repo, lambda: list(islice(repo.history.log(), 20))),
            "log, all of it": timed(repo, lambda: deque(repo.history.log(), 0)),
            "log, newest 20 drawn": timed(repo, lambda: drawn(repo, 20)),
            "log, all drawn": timed(repo, lambda: drawn(repo)),
            "log of a node, newest change": timed(
                repo, lambda: next(repo.history.touching(node=edited))
            ),
            "log of a node, all of it": timed(
                repo, lambda: deque(repo.history.touching(node=old), 0)
            ),
            "log of a label, newest 20": timed(
                repo, lambda: list(islice(repo.history.touching(label="Note"), 20))
            ),
            "diff of the last 100": timed(repo, lambda: deque(repo.history.diff("main~100"), 0)),
            "diff to the first": timed(repo, lambda: deque(repo.history.diff("start"), 0)),
            "merge-base, branches of 50": timed(
                repo, lambda: repo.history.merge_bases("main", "side")
            ),
            "merge-base, branch at the start": timed(
                repo, lambda: repo.history.merge_bases("main", "start")
            ),
            "blame, changed lately": timed(repo, lambda: repo.history.blame(edited)),
            "blame, not since the first": timed(repo, lambda: repo.history.blame(old)),
        }


def timed(repo: Repository, run: Callable[[], Any]) -> float:
    """Returns the best time of a few, in milliseconds, each with nothing decoded before."""
    best = float("inf")
    for _ in range(ROUNDS):
        repo.core._graph = None
        started = time.perf_counter()
        run()
        best = min(best, (time.perf_counter() - started) * 1000)
    return best


def drawn(repo: Repository, limit: int | None = None) -> None:
    graph = LogGraph()
    for cid, commit in islice(children_first(repo.core.store, repo.head), limit):
        graph.draw(cid, commit)


def key(number: int) -> NodeId:
    return node_id("", number)


def build(place: Path, size: int, nodes: int) -> None:
    """Makes `size` commits that edit one node each, the last node never, and a branch 50 back.

    The commits are written in batches, as blocks, which an import does too.
    """
    with ibidem.init(place, clock=lambda: 0) as repo:
        with repo.transaction(message="nodes") as tx:
            for number in range(nodes):
                tx.add_node("Note", summary=f"node {number}", key=number)
        repo.branch("start")
        tip, buffer = repo.commit_at(), WriteBatch(repo.core.store)
        for number in range(1, size + 1):
            edited = (size - number) % (nodes - 1)
            tip = committed(buffer, tip, edited, number)
            if number % BATCH == 0 or number == size:
                repo.core.store.put(buffer.new)
                buffer = WriteBatch(repo.core.store)
        move(repo, tip.cid)
        repo.branch("side", at="main~50")
        with repo.transaction(message="beside", branch="side") as tx:
            tx.add_node("Beside", key="beside")


def committed(buffer: WriteBatch, parent: Commit, edited: int, number: int) -> Commit:
    root = Root.decode(buffer.get(parent.root))
    block = Node(key(edited), "Note", f"node {edited} {number}", key=("", edited)).encode()
    cid = NodeCid.of(block)
    buffer.put(cid, block)
    nodes = mutate(root.nodes, {key(edited).raw: cid}, buffer)
    made = Root(nodes, root.edges, root.tombstones, root.conflicts, config=root.config)
    buffer.put(made.cid, made.encode())
    commit = Commit(made.cid, (parent.cid,), "ada", number * 1_000_000, f"edit {number}")
    buffer.put(commit.cid, commit.encode())
    return commit


def move(repo: Repository, tip: CommitCid) -> None:
    """Puts the current branch on a commit."""
    from dataclasses import replace

    from ibidem.repo import refs

    repo.core.operation_log.change(
        lambda state, buffer: replace(
            state.view, refs=refs.changed(state.view, {"heads/main": tip}, buffer)
        ),
        author="",
        time=None,
        description="import",
    )


if __name__ == "__main__":
    main()
