"""The comparison's harness, on ours alone and fifty nodes: it measures, reports and draws."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow  # it runs the program, in many processes

COMPARE = Path(__file__).resolve().parents[2] / "bench" / "compare"
PAGE = "# Page\n\n<!-- measured: begin -->\nto be replaced\n<!-- measured: end -->\n\nAfter.\n"


def run(*arguments: object) -> str:
    command = [sys.executable, str(COMPARE), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compare")


@pytest.fixture(scope="module")
def found(folder: Path) -> dict[str, Any]:
    path = folder / "found.json"
    peers = "ibidem,chroma"
    run("--peers", peers, "--sizes", 50, "--repeats", 1, "--time-limit", 50, "--json", path)
    return json.loads(path.read_text())


def test_every_row_of_ours_is_a_number(found: dict[str, Any]):
    cell = found["cells"]["ibidem"]["50"]
    lanes = ("lexical", "dense", "hybrid")
    rows = ["load", "disk", "recall", "insert", "insert_first", "rss_mb", "anonymous_mb", "updated"]
    rows += [f"cold_{lane}" for lane in lanes]
    rows += [f"{lane}_{name}" for lane in lanes for name in ("p50", "p95")]
    rows += [f"{lane}_filtered_{share}" for lane in lanes[:2] for share in (1, 10, 50)]
    rows += [f"{lane}_updated" for lane in lanes[:2]]
    rows += [f"served_{way}" for way in ("library", "http")]
    assert {row: type(cell[row]) for row in rows} == dict.fromkeys(rows, float)
    assert cell["recall"] == 1.0


def test_a_peer_that_is_not_there_is_reported(found: dict[str, Any]):
    if importlib.util.find_spec("chromadb") is None:
        assert found["cells"]["chroma"]["50"]["load"] == "not installed"


def test_a_report_of_the_same_results_has_the_same_bytes(folder: Path, found: dict[str, Any]):
    pages = []
    for name in ("one", "two"):
        docs = folder / name
        docs.mkdir()
        (docs / "benchmarks.md").write_text(PAGE)
        run("--report", folder / "found.json", "--docs", docs)
        pages.append({path.name: path.read_bytes() for path in docs.rglob("*.*")})
    assert pages[0] == pages[1]
    text = pages[0]["benchmarks.md"].decode()
    assert text.startswith("# Page\n")
    assert text.endswith("\n\nAfter.\n")
    assert "to be replaced" not in text
    assert pages[0]["compare-dense.svg"].startswith(b"<svg")


def test_releases_are_kept_and_compared_within_their_runs(folder: Path, found: dict[str, Any]):
    history, docs = folder / "speed.json", folder / "releases"
    docs.mkdir()
    (docs / "benchmarks.md").write_text(PAGE)
    ours = found["cells"]["ibidem"]["50"] | {"load": 20.0, "disk": 4.0}
    kept = {key: ours[key] for key in ("note", "versions", "machine_load", "turns")}
    peer = kept | {"lanes": [], "load": 10.0, "disk": 1.0}
    cells = {"ibidem": {"50": ours}, "tantivy": {"50": peer}}
    (folder / "one.json").write_text(json.dumps(found | {"cells": cells}))
    for name in ("1.0", "1.1", "1.1"):
        options = ("--release", name, "--history", history, "--docs", docs)
        run("--report", folder / "one.json", *options)
    releases = json.loads(history.read_text())["releases"]
    assert [one["release"] for one in releases] == ["1.0", "1.1"]
    assert releases[0]["machine"] == found["machine"]
    text = (docs / "benchmarks.md").read_text()
    assert "| Bulk load, nodes a second | 20.0 (2.00) | 20.0 (2.00) |" in text
    assert "| Disk, bytes a node | 4.00 (0.25) | 4.00 (0.25) |" in text
    assert (docs / "figures" / "compare-history.svg").read_text().count("<circle") == 4


def test_an_unknown_peer_is_refused():
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run("--peers", "nobody", "--sizes", 50)
    assert "known are ibidem" in caught.value.stderr
