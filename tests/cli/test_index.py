"""`repo index`: what is indexed of each head, and building, dropping and proving it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibidem

from .conftest import Run

Data = Callable[..., dict[str, Any]]


def states(data: Data, *arguments: str) -> dict[str, str]:
    heads = data("index", *(arguments or ("list",)))["heads"]
    assert all((head["size_bytes"] > 0) is (head["state"] == "current") for head in heads)
    return {head["name"]: head["state"] for head in heads}


def test_heads_are_listed_built_dropped_and_proved(notes: Run, data: Data, tmp_path: Path):
    notes("branch", "draft")
    (tmp_path / "notes/more.md").write_text("Another deadline.", encoding="utf-8")
    notes("commit", "notes", "-m", "more")
    missing = {"heads/draft": "missing", "heads/main": "missing"}
    assert states(data) == missing
    assert states(data, "build", "draft") == {"heads/draft": "current", "heads/main": "stale"}
    assert "heads/main   stale" in notes("index", "list").output
    assert set(states(data, "build", "--all").values()) == {"current"}
    assert notes("index", "verify", "--all").output == "every index is what the blocks give\n"
    assert states(data, "drop", "main") == {"heads/draft": "current", "heads/main": "stale"}
    assert "bytes were freed" in notes("index", "drop", "--all").output
    assert states(data) == missing
    assert len(data("retrieve", "deadline")["items"]) == 2


def test_a_damaged_head_is_named_and_the_others_are_checked(notes: Run, data: Data, tmp_path: Path):
    notes("branch", "draft")
    (tmp_path / "notes/more.md").write_text("Another deadline.", encoding="utf-8")
    notes("commit", "notes", "-m", "more")
    with ibidem.open(tmp_path) as repo:
        repo.core.store.delete([repo.branches()["draft"]])
    output = notes("index", "verify", "--all", code=12).output
    assert "index: heads/draft: block" in output
    assert "heads/main" not in output


def test_what_is_not_meant_is_refused(notes: Run):
    assert "expected branches or tags, or --all" in notes("index", "drop", code=2).output
    assert "expected one of the two" in notes("index", "build", "main", "--all", code=2).output
    assert "no branch or tag 'nowhere'" in notes("index", "verify", "nowhere", code=3).output


def test_the_settings_of_the_index_are_local_and_checked(notes: Run, data: Data, tmp_path: Path):
    notes("config", "set", "index_build", "commit")
    notes("config", "set", "index_budget", "0")
    (row,) = data("config", "get", "index_budget")["settings"]
    assert row == {"name": "index_budget", "value": 0, "origin": "local"}
    assert len(data("log")["commits"]) == 1
    (tmp_path / "notes/more.md").write_text("Another deadline.", encoding="utf-8")
    notes("commit", "notes", "-m", "more")
    assert states(data) == {"heads/main": "current"}
    for name, value in (("index_build", "never"), ("index_budget", "-1"), ("index_budget", "x")):
        assert name in notes("config", "set", "--", name, value, code=2).output
    notes("config", "unset", "index_build")
    (row,) = data("config", "get", "index_build")["settings"]
    assert (row["value"], row["origin"]) == ("question", "default")


def test_a_branch_whose_commit_is_missing_is_named_beside_the_others(
    notes: Run, data: Data, tmp_path: Path
) -> None:
    notes("branch", "broken")
    notes("switch", "broken")
    (tmp_path / "notes/more.md").write_text("Another deadline.", encoding="utf-8")
    notes("commit", "notes", "-m", "more")
    notes("switch", "main")
    with ibidem.open(tmp_path) as repo:
        gone = repo.core.branches()["broken"]
        repo.core.store.delete([gone])
    assert states(data, "build", "--all") == {"heads/broken": "damaged", "heads/main": "current"}
    found = notes("index", "list")
    assert "heads/main    current" in found.stdout
    expected = f"warning: heads/broken: its commit {gone} is missing or damaged"
    assert expected in found.stderr
    assert data("index", "list")["heads"][0]["root"] is None
    assert str(gone) in notes("fsck", code=12).output
