"""One process against 2 and 4 workers over HTTP: milliseconds, requests and bytes of a question.

    PYTHONPATH=src python bench/workers.py [--rows 100000] [--dim 384] [--questions 20]

Every process opens the same folder on this machine, so that the figures are those of the protocol
and of the processors, not of a network. Questions alternate between the layouts, and the minimum of
each question counts; the answers are compared byte by byte. Workers use one thread each.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import ibidem
from ibidem.index.tuning import Tuning
from ibidem.objects import parallel

TOKEN = "a-token-of-forty-characters-0123456789ab"
SEGMENTS = 16
REPEATS = 5


def filled(repo: ibidem.Repository, rows: int, dim: int) -> None:
    """Commits nodes with random vectors and texts of ten words."""
    rng = np.random.default_rng(7)
    repo.core.search_index.tuning = Tuning(chunk_rows=max(1, rows // SEGMENTS))
    for start in range(0, rows, 10_000):
        with repo.transaction() as tx:
            for number in range(start, min(rows, start + 10_000)):
                words = " ".join(f"w{one}" for one in rng.integers(0, 5_000, 10).tolist())
                node = tx.add_node("Note", summary=words, key=number)
                vector = rng.standard_normal(dim).astype(np.float32)
                tx.set_vector(node, model="m", vector=vector)
    repo.retrieve("w1")


def started(stack: ExitStack, folder: Path) -> str:
    """Starts a server as a worker and returns its address."""
    environment = {**os.environ, "IBIDEM_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"}
    code = (
        "import sys, ibidem; ibidem.set_threads(1); from ibidem.cli.main import main; "
        "sys.argv = ['repo', 'serve', '--port', '0', '-R', sys.argv[1]]; main()"
    )
    process = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "-c", code, str(folder)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
    )
    stack.callback(process.kill)
    assert process.stdout is not None
    return process.stdout.readline().split()[0]


def main() -> None:
    """Prints a line for each number of workers and kind of question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--questions", type=int, default=20)
    given = parser.parse_args()
    parallel.set_threads(1)
    rng = np.random.default_rng(8)
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        folder = Path(place) / "notes"
        with ibidem.init(folder) as repo:
            filled(repo, given.rows, given.dim)
        addresses = [started(stack, folder) for _ in range(4)]
        repos = {}
        for count in (0, 2, 4):
            repos[count] = stack.enter_context(ibidem.open(folder))
            repos[count].use_workers(addresses[:count], token=TOKEN)
        segments = len(repos[0].at().snapshot().vectors("m"))
        print(
            f"{given.rows:,} rows x {given.dim}, {segments} segments, load {os.getloadavg()[0]:.1f}"
        )
        kinds: dict[str, list[dict[str, Any]]] = {"vector": [], "text": [], "both": []}
        for _ in range(given.questions):
            vector = "m", rng.standard_normal(given.dim).astype(np.float32)
            text = " ".join(f"w{one}" for one in rng.integers(0, 5_000, 4).tolist())
            kinds["vector"].append({"vector": vector})
            kinds["text"].append({"text": text, "fuzzy": False})
            kinds["both"].append({"vector": vector, "text": text, "fuzzy": False})
        for kind, questions in kinds.items():
            best = {count: [float("inf")] * len(questions) for count in repos}
            for count in repos:
                repos[count].retrieve(**questions[0])
            before = {count: sent(repos[count]) for count in repos}
            for _ in range(REPEATS):
                for number, question in enumerate(questions):
                    answers = set()
                    for count, repo in repos.items():
                        start = time.perf_counter()
                        answers.add(repo.retrieve(**question).to_bytes())
                        took = time.perf_counter() - start
                        best[count][number] = min(best[count][number], took)
                    assert len(answers) == 1, "BUG: workers gave another answer"
            for count, repo in repos.items():
                requests, out, back = (
                    (after - one) / REPEATS / len(questions)
                    for after, one in zip(sent(repo), before[count], strict=True)
                )
                middle = sorted(best[count])[len(questions) // 2]
                print(
                    f"{kind:8} {count} workers {1e3 * middle:8.1f} ms {requests:5.1f} requests "
                    f"{out:8.0f} bytes sent {back:8.0f} received"
                )


def sent(repo: ibidem.Repository) -> tuple[int, int, int]:
    """Returns requests, bytes sent and bytes received so far."""
    workers = repo.core.workers
    if workers is None:
        return 0, 0, 0
    return workers.request_count, workers.sent_bytes, workers.received_bytes


if __name__ == "__main__":
    main()
