"""`repo import` and `repo export` in formats other than car."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run

MEMORIES = json.dumps(
    {
        "results": [{"id": "1", "memory": "likes tea", "user_id": "ada"}],
        "relations": [{"source": "ada", "relationship": "likes", "destination": "tea"}],
    }
)


def test_an_import_is_counted_first_then_made_once(notes: Run):
    Path("memories.json").write_text(MEMORIES, "utf-8")
    found = notes("import", "memories.json", "--dry-run").stdout
    assert found.splitlines() == ["3 nodes would be added, 0 changed, 0 unchanged", "1 edge"]
    done = notes("import", "memories.json", "--json")
    report = json.loads(done.stdout)
    assert (report["format"], report["nodes_added"], len(report["commits"])) == ("mem0", 3, 1)
    assert "nothing has changed" in notes("import", "memories.json").stdout
    assert "likes tea" in notes("retrieve", "tea").stdout
    notes("undo")
    assert "likes tea" not in notes("retrieve", "tea").stdout


@pytest.mark.parametrize("suffix", ["ndjson", "graphml", "jsonld"])
def test_a_graph_goes_through_a_file_and_through_a_pipe(notes: Run, suffix: str):
    notes("export", f"graph.{suffix}")
    data = notes("export", "-", "--format", suffix).stdout_bytes
    assert data == Path(f"graph.{suffix}").read_bytes()
    assert "exists already" in notes("export", f"graph.{suffix}", code=2).stderr
    notes("init", "elsewhere")
    notes("import", f"graph.{suffix}", "-R", "elsewhere")
    assert notes("export", "-", "--format", suffix, "-R", "elsewhere").stdout_bytes == data


def test_standard_input_is_read_in_the_format_that_was_named(notes: Run):
    data = notes("export", "-", "--format", "ndjson").stdout_bytes
    notes("init", "elsewhere")
    notes("import", "-", "--format", "ndjson", "--batch", "2", "-R", "elsewhere", stdin=data)
    assert notes("export", "-", "--format", "ndjson", "-R", "elsewhere").stdout_bytes == data


def test_wrong_options_and_input_are_refused(notes: Run):
    Path("bad.json").write_text('[{"memory": "x"}]', "utf-8")
    head = notes("log", "--json").stdout
    told = notes("import", "bad.json", code=2).stderr
    assert "bad.json: memory 0: id: got None, expected a text" in told
    notes("import", "nothing.json", code=3)
    notes("import", "bad.json", "--format", "odd", code=2)
    notes("import", "x.car", "--format", "car", "--dry-run", code=2)
    notes("export", "x.ndjson", "--full", code=2)
    notes("export", "x.car", "--include-tombstoned", code=2)
    notes("export", "x.ndjson", "--format", "odd", code=2)
    assert notes("log", "--json").stdout == head
    assert not Path("x.ndjson").exists()


def test_a_restricted_viewer_is_refused_both(notes: Run, monkeypatch: pytest.MonkeyPatch):
    Path("memories.json").write_text(MEMORIES, "utf-8")
    monkeypatch.setenv("IBIDEM_VIEWER", "low")
    for call in (("export", "x.ndjson"), ("import", "memories.json")):
        assert "refused to a viewer" in notes(*call, code=2).stderr
    assert not Path("x.ndjson").exists()
