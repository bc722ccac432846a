"""What `repo status` and `repo commit .` of a folder take, first and when nothing has changed.

    python bench/folder.py [--files 20000] [--runs 5]

Each number is the wall time of a whole process, start-up included: the median of the runs.
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


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=20_000)
    arguments.add_argument("--runs", type=int, default=5)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(options.files):
            below = folder / f"{number // 500:03}"
            below.mkdir(exist_ok=True)
            text = f"# Page {number}\n\nThe page number {number} is short.\n\nIt has two parts.\n"
            (below / f"page-{number}.md").write_text(text, encoding="utf-8")
        call(folder, "init")
        first = [call(folder, "commit", ".", "-m", "first"), call(folder, "status")]
        print("| command | first, s | nothing changed, s | one file changed, s |")
        print("|---|---|---|---|")
        commands = [("commit", ".", "-m", "again"), ("status",)]
        for command, before in zip(commands, first, strict=True):
            same = [call(folder, *command) for _ in range(options.runs)]
            changed = []
            for run in range(options.runs):
                (folder / "000" / "page-0.md").write_text(f"# Page 0\n\nChange {run}.\n")
                changed.append(call(folder, *command))
            row = (before, statistics.median(same), statistics.median(changed))
            print(f"| {command[0]} | " + " | ".join(f"{seconds:.2f}" for seconds in row) + " |")


def call(folder: Path, *arguments: str) -> float:
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "ibidem", *arguments],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "IBIDEM_AUTHOR": "bench"},
    )
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
