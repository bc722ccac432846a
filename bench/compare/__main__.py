"""Ours and the peers side by side on the same data; prints tables, writes JSON, page and figures.

    python bench/compare [--sizes 1000,10000,100000] [--repeats 3] [--peers ibidem,tantivy]
                         [--limit 10] [--time-limit 120] [--work FOLDER] [--json FILE]
                         [--docs FOLDER] [--release NAME]

Every measurement is a process of its own. At each size every peer loads once; then the peers take
turns, `--repeats` times, at a cold answer of each lane and a warm run; then each inserts nodes.
A cell that takes longer than the time limit, or fails, says so and stops nothing.
Peers need `pip install ibidem[bench]`; one that is not installed is reported as that.
`--report FILE` makes tables, page and figures from the JSON of an earlier run. `--release NAME`
puts it into `bench/history/speed.json`, and the page compares the releases that are there.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import history
from corpus import prepare
from figure import write_figures
from machine import describe
from peer import PEERS
from run import measure
from table import markdown, write_page

HISTORY = Path(__file__).resolve().parents[1] / "history" / "speed.json"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1000,10000,100000", help="node counts")
    parser.add_argument("--repeats", type=int, default=3, help="turns at cold and warm")
    parser.add_argument("--peers", default=",".join(PEERS), help="names, separated by commas")
    parser.add_argument("--limit", type=int, default=10, help="k, the answers a question")
    parser.add_argument("--time-limit", type=float, default=120, help="seconds a process")
    parser.add_argument("--work", type=Path, help="data and indexes; kept when given")
    parser.add_argument("--json", type=Path, help="results; what it has of other sizes stays")
    parser.add_argument("--docs", type=Path, help="folder of benchmarks.md and figures/")
    parser.add_argument("--report", type=Path, help="an earlier JSON; measures nothing")
    parser.add_argument("--release", help="the release whose run this is, for the history")
    parser.add_argument("--history", type=Path, default=HISTORY, help="where that is kept")
    options = parser.parse_args()
    found = json.loads(options.report.read_text()) if options.report else collect(options)
    if options.release:
        history.record(found, options.release, options.history)
    releases = history.read(options.history)
    text = markdown(found) + ("\n\n" + history.markdown(releases) if releases else "")
    print(text)
    if options.docs:
        figures = write_figures(found, options.docs / "figures")
        if releases:
            drawn = options.docs / "figures" / "compare-history.svg"
            drawn.write_text(history.draw(releases), encoding="utf-8")
            figures.append((drawn.name, "Ratios release by release"))
        write_page(text, options.docs / "benchmarks.md", figures)


def collect(options: argparse.Namespace) -> dict[str, Any]:
    """Measures every size and returns the whole, saved after each size."""
    names = [name.strip() for name in options.peers.split(",")]
    unknown = sorted(set(names) - set(PEERS))
    if unknown:
        raise SystemExit(f"unknown peers {', '.join(unknown)}; known are {', '.join(PEERS)}")
    kept = options.json and options.json.exists()
    cells: dict[str, Any] = json.loads(options.json.read_text())["cells"] if kept else {}
    found: dict[str, Any] = {"machine": describe(), "cells": cells}
    found["settings"] = {"limit": options.limit}
    work = options.work or Path(tempfile.mkdtemp(prefix="compare-"))
    try:
        for size in map(int, options.sizes.split(",")):
            data = work / f"data-{size}"
            prepare(str(data), size)
            load_before = os.getloadavg()[0]
            for name, cell in measure(names, size, data, work, options).items():
                cells.setdefault(name, {})[str(size)] = cell | {
                    "turns": options.repeats,
                    "machine_load": [load_before, os.getloadavg()[0]],
                }
            if options.json:
                options.json.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    finally:
        if options.work is None:
            shutil.rmtree(work)
    return found


if __name__ == "__main__":
    main()
