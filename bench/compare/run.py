"""Runs the steps of every peer in turn and sums them up, one cell a row, peer and size.

A cell is a number, or a string that says why there is none.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus import DIM
from peer import LANES
from worker import PASSING

WORKER = Path(__file__).with_name("worker.py")
SOURCE = Path(__file__).resolve().parents[2] / "src"
Answer = dict[str, Any] | str


def measure(
    names: list[str], size: int, data: Path, work: Path, options: argparse.Namespace
) -> dict[str, dict[str, Any]]:
    """Returns the cells of one size by peer."""
    cells: dict[str, dict[str, Any]] = {name: {} for name in names}
    ready = []
    for name in names:
        folder = work / f"{name.replace(' ', '-')}-{size}"
        shutil.rmtree(folder, ignore_errors=True)
        found = _step(options, "load", name, folder, data, size)
        if isinstance(found, str):
            cells[name]["load"] = found
            continue
        cells[name] |= {key: found[key] for key in ("lanes", "extra", "note", "versions")}
        cells[name]["load"] = size / found["load_s"]
        cells[name]["load_peak_mb"] = found["peak_mb"]
        cells[name]["disk"] = _disk(folder) / size
        ready.append((name, folder))
    turns: dict[str, list[tuple[str, Answer]]] = {name: [] for name, _ in ready}
    for turn in range(options.repeats):
        for name, folder in ready if turn % 2 == 0 else reversed(ready):
            lanes = cells[name]["lanes"]
            turns[name] += _turn(options, name, lanes, folder, data, size, turns[name])
    for name, folder in ready:
        cells[name] |= _sum_up(turns[name], cells[name]["lanes"], data, options.limit)
        for step, rows in _further(cells[name]):
            found = _step(options, step, name, folder, data, size)
            for row in rows:
                spent = found if isinstance(found, str) else found[row]
                cells[name][row] = spent if isinstance(spent, str) else statistics.median(spent)
        if options.work is None:
            shutil.rmtree(folder, ignore_errors=True)
        print(f"{size:>9,} {name:14}", _short(cells[name]), file=sys.stderr, flush=True)
    return cells


def _turn(
    options: argparse.Namespace,
    name: str,
    lanes: list[str],
    folder: Path,
    data: Path,
    size: int,
    before: list[tuple[str, Answer]],
) -> list[tuple[str, Answer]]:
    """Returns what one turn at cold and warm gave; what failed once is not tried again."""
    failed = {step for step, found in before if isinstance(found, str)}
    given: list[tuple[str, Answer]] = []
    for lane in lanes:
        if f"cold_{lane}" in failed:
            continue
        started = time.perf_counter()
        found = _step(options, "cold", name, folder, data, size, lane)
        if not isinstance(found, str):
            found["ms"] = 1e3 * (time.perf_counter() - started)
        given.append((f"cold_{lane}", found))
    if "warm" not in failed:
        given.append(("warm", _step(options, "warm", name, folder, data, size)))
    return given


def _sum_up(
    given: list[tuple[str, Answer]], lanes: list[str], data: Path, limit: int
) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for step in [f"cold_{lane}" for lane in LANES]:
        found = [answer for name, answer in given if name == step]
        reasons = [answer for answer in found if isinstance(answer, str)]
        if found:
            spent = [answer["ms"] for answer in found if not isinstance(answer, str)]
            cells[step] = reasons[0] if reasons else statistics.median(spent)
    warm = [answer for name, answer in given if name == "warm"]
    reasons = [answer for answer in warm if isinstance(answer, str)]
    if reasons:
        missing = [f"{lane}_{name}" for lane in lanes for name in ("p50", "p95")]
        return cells | dict.fromkeys([*missing, "rss_mb", "anonymous_mb"], reasons[0])
    for lane in LANES:
        runs = [answer[lane] for answer in warm if not isinstance(answer, str) and lane in answer]
        if runs:
            cells[f"{lane}_p50"] = statistics.median(statistics.median(run["ms"]) for run in runs)
            cells[f"{lane}_p95"] = statistics.median(_late(run["ms"]) for run in runs)
            cells[f"{lane}_questions"] = len(runs[0]["ms"])
        if runs and lane == "dense":
            cells["recall"] = _recall(runs[0]["answers"], data, limit)
    for name in ("rss_mb", "anonymous_mb"):
        cells[name] = statistics.median(run[name] for run in warm if not isinstance(run, str))
    return cells


def _further(cells: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yields what is measured after the turns, one process each, and the cells that it gives."""
    lanes = [lane for lane in cells["lanes"] if lane != "hybrid"]
    if "filtered" in cells["extra"]:
        yield "filtered", [f"{lane}_filtered_{share}" for lane in lanes for share in PASSING]
    if "served" in cells["extra"]:
        yield "served", ["served_library", "served_http", "served_mcp"]
    yield "insert", ["insert", "insert_first"]
    if "updated" in cells["extra"]:
        yield "updated", ["updated", *(f"{lane}_updated" for lane in lanes)]


def _step(
    options: argparse.Namespace,
    step: str,
    name: str,
    folder: Path,
    data: Path,
    size: int,
    *rest: str,
) -> Answer:
    """Runs a worker; returns what it says, or why it says nothing."""
    command = [sys.executable, str(WORKER), step, name, str(folder), str(data), str(size)]
    command += [str(options.limit), *rest]
    paths = [str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=options.time_limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"over {options.time_limit:g} s"
    if process.returncode:
        lines = [line for line in errors.splitlines() if line.strip()]
        reason = lines[-1].strip() if lines else f"exit status {process.returncode}"
        missing = reason.startswith("ModuleNotFoundError")
        return "not installed" if missing and step == "load" else f"failed: {reason[:160]}"
    answer: dict[str, Any] = json.loads(output.splitlines()[-1])
    return answer


def _recall(answers: list[list[int]], data: Path, limit: int) -> float:
    """Returns the share of the exact best `limit` that is in the answers, in float64."""
    import numpy as np

    rows = np.fromfile(data / "vectors.f32", "<f4").reshape(-1, DIM)
    asked = np.fromfile(data / "query.f32", "<f4").reshape(-1, DIM).astype(np.float64)
    hits = 0
    for place, answer in enumerate(answers):
        near = np.argpartition(
            -(rows @ asked[place].astype(np.float32)), min(4 * limit, len(rows) - 1)
        )
        near = near[: 4 * limit]
        scores = rows[near].astype(np.float64) @ asked[place]
        best = near[np.lexsort((near, -scores))][:limit]
        hits += len(set(answer) & set(best.tolist()))
    return hits / (len(answers) * min(limit, len(rows)))


def _late(spent: list[float]) -> float:
    return sorted(spent)[int(0.95 * len(spent))]


def _disk(folder: Path) -> int:
    """Returns the bytes that the files take, holes not counted."""
    return sum(512 * path.stat().st_blocks for path in folder.rglob("*") if path.is_file())


def _short(cells: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {value if isinstance(value, str) else format(value, '.4g')}"
        for name, value in cells.items()
        if isinstance(value, str | float) and name != "note"
    )
