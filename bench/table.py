"""Runs the benches that the table of `docs/design/speed.md` is made of, one after the other.

    python bench/table.py FOLDER [--only NAME...] [--time-limit SECONDS]

Each writes FOLDER/NAME.txt, with its command first and the seconds that it took last; FOLDER also
holds the repositories of 100,000 and 1,000,000 nodes (14 GB) that several of them read. The whole
takes 40 minutes on two cores, which must have nothing else to do: most figures are wall time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

BENCH = Path(__file__).parent
LARGE = "1000000"


def commands(folder: Path) -> dict[str, list[str]]:
    """Returns the arguments of each bench, in an order in which later ones find what they read."""
    large = str(folder / LARGE)
    dense = ["dense.py", "--sizes", LARGE]
    return {
        "dense-384": dense,
        "dense-768": [*dense, "--dim", "768", "--data", "random", "--k", "10"],
        "dense-1024": [*dense, "--dim", "1024", "--data", "random", "--k", "10"],
        "lexical": ["lexical.py"],
        "hybrid": ["hybrid.py", str(folder), "--sizes", f"100000,{LARGE}"],
        "fsck": ["maintenance.py", "--one", "fsck", large],
        "gc": ["maintenance.py", "--one", "gc", large],
        "maintenance": ["maintenance.py", "--rounds", "1"],
        "growth": ["growth.py", "--rounds", "1"],
        "receipt": ["receipt.py"],
        "writers": ["writers.py"],
        "stream": ["stream.py"],
        "whole": ["compare", "--sizes", "100000", "--peers", "ibidem", "--repeats", "1"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", help="names of benches")
    parser.add_argument("--time-limit", type=float, default=1200, help="seconds for each bench")
    options = parser.parse_args()
    folder = options.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    known = commands(folder)
    if unknown := set(options.only or ()) - set(known):
        parser.error(f"--only: {', '.join(sorted(unknown))}: one of {', '.join(known)} is expected")
    for name, arguments in known.items():
        if options.only is None or name in options.only:
            print(
                f"{name}: {run(folder / f'{name}.txt', arguments, options.time_limit)}", flush=True
            )


def run(file: Path, arguments: list[str], limit: float) -> str:
    """Runs one bench into a file; returns how it ended, which is also the file's last line."""
    started = time.perf_counter()
    with file.open("w", encoding="utf-8") as output:
        output.write(f"python bench/{' '.join(arguments)}\n\n")
        output.flush()
        try:
            done = subprocess.run(
                [sys.executable, str(BENCH / arguments[0]), *arguments[1:]],
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=limit,
                env={**os.environ, "PYTHONPATH": str(BENCH.parent / "src")},
            )
            ended = f"exit code {done.returncode}"
        except subprocess.TimeoutExpired:
            ended = "stopped"
        ended = f"{ended} after {time.perf_counter() - started:.0f} s"
        output.write(f"\n{ended}\n")
    return ended


if __name__ == "__main__":
    main()
