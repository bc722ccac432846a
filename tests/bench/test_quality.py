"""The table of retrieval quality: its measures, and a way that is not installed."""

import gzip
import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"
TEXTS = {
    "a": "cats chase mice",
    "b": "dogs chase cats",
    "c": "salt is white",
    "d": "mice like salt",
}
QUERIES = {"q1": ("who chases mice", {"a": 1}), "q2": ("white salt", {"c": 1, "d": 1})}


@pytest.fixture
def quality(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("quality")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    files: dict[str, list[dict[str, Any]]] = {
        "corpus": [{"id": one, "text": text, "meta": {}} for one, text in TEXTS.items()],
        "queries": [{"id": one, "text": text, "meta": {}} for one, (text, _) in QUERIES.items()],
        "qrels": [
            {"qid": one, "docid": document, "grade": grade}
            for one, (_, grades) in QUERIES.items()
            for document, grade in grades.items()
        ],
    }
    folder = tmp_path / "cacm"
    folder.mkdir()
    for name, rows in files.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    return tmp_path


def test_a_set_is_measured_and_compared(
    quality: Any, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("bm25s", "tantivy"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(quality, "HISTORY", data / "before.json")
    (data / "before.json").write_text(json.dumps({"cacm": {"ibidem": {"MAP": 0.5}}}))
    monkeypatch.setattr(sys, "argv", ["quality.py", str(data), "--set", "cacm", "--write"])
    quality.main()
    found = capsys.readouterr().out.splitlines()
    assert found[0].split() == ["cacm", "nDCG@10", "MAP"]
    assert found[1].split() == ["ibidem", *2 * ["100.0", "\u00b1", "0.0", "(", "+0.0)"]]
    assert [line.split() for line in found[2:4]] == [
        ["bm25s", "not", "installed"],
        ["tantivy", "not", "installed"],
    ]
    assert found[4].split() == ["before", "50.0"]
    assert json.loads((data / "before.json").read_text())["cacm"]["ibidem"] == {
        "nDCG@10": 1.0,
        "MAP": 1.0,
    }
