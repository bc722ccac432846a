"""What merging costs: common ancestors by the length of history, merges by the size of the graph.

    PYTHONPATH=src python bench/merge.py [--commits 1000,20000] [--nodes 1000,10000,100000]

The second column of each table is what grows; the others have to stay where they are, because both
sides changed ten nodes whatever there is.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import ibidem
from ibidem.objects.cid import CommitCid
from ibidem.objects.commit import Commit
from ibidem.repo.history.ancestry import is_ancestor, merge_bases

CHANGED = 10
REPEATS = 7


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", default="1000,20000")
    parser.add_argument("--nodes", default="1000,10000,100000")
    options = parser.parse_args()
    print(
        "| commits | merge base of forks 10 apart, ms | of forks at the start, ms | in order, ms |"
    )
    print("|---|---|---|---|")
    for count in map(int, options.commits.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            print(history_row(Path(folder), count), flush=True)
    print("\n| nodes | merge, ms | dry run, ms | diff, ms | new blocks |")
    print("|---|---|---|---|---|")
    for count in map(int, options.nodes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            print(graph_row(Path(folder), count), flush=True)


def history_row(folder: Path, count: int) -> str:
    """Measures common ancestors in a straight history with forks near its end and at its start."""
    with ibidem.init(folder) as repo:
        with repo.transaction() as tx:
            tx.add_node("Doc", key="a")
        first = repo.head
        assert first is not None
        root = repo.commit_at().root
        made: dict[CommitCid, bytes] = {}

        def line(start: CommitCid, length: int, name: str) -> CommitCid:
            for number in range(length):
                block = Commit(root, (start,), time=number, message=f"{name} {number}").encode()
                start = CommitCid.of(block)
                made[start] = block
            return start

        fork = line(first, count, "main")
        ours, theirs = line(fork, CHANGED, "ours"), line(fork, CHANGED, "theirs")
        early = line(first, CHANGED, "early")
        repo.core.store.put(made)  # type: ignore[arg-type]
        assert merge_bases(repo.core.store, ours, theirs) == (fork,)
        near = timed(lambda: merge_bases(repo.core.store, ours, theirs))
        far = timed(lambda: merge_bases(repo.core.store, ours, early))
        ordered = timed(lambda: is_ancestor(repo.core.store, fork, ours))
        return f"| {count:,} | {near:.2f} | {far:.0f} | {ordered:.2f} |"


def graph_row(folder: Path, count: int) -> str:
    """Measures a merge of two branches that changed ten nodes each."""
    with ibidem.init(folder) as repo:
        with repo.transaction() as tx:
            ids = [
                tx.add_node("Doc", summary=f"note {number}", key=number) for number in range(count)
            ]
        merges, dry_runs, diffs, blocks = [], [], [], 0
        for turn in range(REPEATS):
            repo.branch(f"side-{turn}")
            for branch, start in (("main", 0), (f"side-{turn}", CHANGED)):
                with repo.transaction(branch=branch) as tx:
                    for node in ids[start : start + CHANGED]:
                        tx.update_node(node, summary=f"{branch} {turn}")
            before = repo.core.store.stats().block_count
            dry_runs.append(once(lambda turn=turn: repo.merge(f"side-{turn}", dry_run=True)))
            merges.append(once(lambda turn=turn: repo.merge(f"side-{turn}")))
            diffs.append(once(lambda: list(repo.history.diff("HEAD~1"))))
            blocks = repo.core.store.stats().block_count - before
        middle = [statistics.median(times) for times in (merges, dry_runs, diffs)]
        return f"| {count:,} | {middle[0]:.1f} | {middle[1]:.1f} | {middle[2]:.1f} | {blocks} |"


def timed(call: Callable[[], object]) -> float:
    """Returns the median time of a call in milliseconds."""
    return statistics.median(once(call) for _ in range(REPEATS))


def once(call: Callable[[], object]) -> float:
    """Returns the time of one call in milliseconds."""
    started = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - started)


if __name__ == "__main__":
    main()
