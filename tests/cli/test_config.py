"""`repo config`: the defaults of a repository, and each of them at work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.cli.options.settings import LOCAL, ROOT, SETTINGS, reference
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.retrieve.query.options import OF_CONVERSATIONS

from .conftest import Run

Data = Callable[..., dict[str, Any]]
HOUSE = Path(__file__).resolve().parents[2]
CHANGED: dict[str, tuple[str, str, Any]] = {
    "model": ("m", "vector.model", "m"),
    "operator": ("and", "match.operator", "and"),
    "phrases": ("true", "match.phrases", True),
    "related": ("true", "match.related", True),
    "k1": ("2.5", "k1", 2.5),
    "b": ("0.1", "b", 0.1),
    "fusion": ("convex", "fusion.name", "convex"),
    "rrf_k": ("7", "fusion.k", 7.0),
    "weights": ('{"dense": 0.25}', "fusion.weights", {"dense": 0.25}),
    "adjacency": ("3", "adjacency", 3),
    "metadata": ("true", "metadata", True),
    "token_budget": ("77", "token_budget", 77),
    "depth": ("9", "depth", 9),
    "limit": ("1", "limit", 1),
}
"""Each setting of questions: a value as typed, and where the resolved query has it."""


class Constant:
    """An embedder that gives every text the same vector."""

    name = "m"
    digest = bytes(32)
    dim = 2

    def embed(self, texts: Sequence[str]) -> Any:
        return np.ones((len(texts), 2), np.float32)


def test_the_page_is_the_table_of_today():
    page = (HOUSE / "docs" / "settings.md").read_text(encoding="utf-8")
    assert page == reference(), "run python -m ibidem.cli.options.settings > docs/settings.md"


def test_every_setting_of_questions_is_tried_below():
    of_root = {name for name, one in SETTINGS.items() if one.scope == ROOT}
    assert set(CHANGED) == of_root - OF_CONVERSATIONS.keys()


@pytest.mark.parametrize("name", sorted(OF_CONVERSATIONS))
def test_a_setting_of_conversations_is_kept_in_the_root(notes: Run, data: Data, name: str):
    (row,) = data("config", "set", name, "7")["settings"]
    assert row == {"name": name, "value": 7, "origin": "root"}
    assert len(data("retrieve", "deadline")["items"]) > 0
    refused = notes("config", "set", name, "7", "--local", code=2)
    assert "expected it in the root" in refused.stderr


@pytest.mark.parametrize("name", sorted(CHANGED))
@pytest.mark.parametrize("place", [(), ("--local",)], ids=["root", "local"])
def test_a_question_takes_its_default_from_the_setting(
    notes: Run,
    data: Data,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    place: tuple[str, ...],
):
    text, path, value = CHANGED[name]
    with ibidem.open(tmp_path) as repo:
        repo.embed(Constant(), author="ada")
    monkeypatch.setattr("ibidem.cli.embedders.embedder", lambda environment, model: Constant())
    if name == "rrf_k":
        notes("config", "set", "fusion", "rrf", *place)
    if name == "related":  # a new repository has it
        notes("config", "unset", name)
    head = data("log")["commits"][0]["cid"]
    (row,) = data("config", "set", name, text, *place)["settings"]
    assert row == {"name": name, "value": value, "origin": "local" if place else "root"}
    assert (data("log")["commits"][0]["cid"] == head) is bool(place)
    assert data("config", "get", name)["settings"] == [row]
    assert asked(data, tmp_path, path) == value
    notes("config", "unset", name, *place)
    assert asked(data, tmp_path, path) != value


def asked(data: Data, folder: Path, path: str) -> Any:
    """Returns a part of the query in the receipt of a question without options."""
    receipt = data("retrieve", "deadline")["receipt"]
    with ibidem.open(folder) as repo:
        found = repo.receipts.find(receipt)[1].query.form()
    for key in path.split("."):
        found = (found or {}).get(key)
    return found


def test_an_option_of_the_command_wins(notes: Run, data: Data):
    notes("config", "set", "limit", "1")
    notes("config", "set", "limit", "2", "--local")
    assert len(data("retrieve", "retried", "--limit", "all")["items"]) > 2
    assert len(data("retrieve", "retried")["items"]) == 2
    notes("config", "unset", "limit", "--local")
    assert len(data("retrieve", "retried")["items"]) == 1
    assert len(data("packs", "retried")["items"]) == 1
    assert len(data("retrieve", "retried", "--limit", "all")["items"]) > 1


def test_an_older_revision_is_asked_with_its_own_settings(notes: Run, data: Data):
    notes("config", "set", "limit", "1")
    assert len(data("retrieve", "retried", "--at", "HEAD~1")["items"]) > 1


def test_a_setting_is_undone_merged_and_reverted_as_any_change(notes: Run, data: Data):
    notes("branch", "side")
    notes("config", "set", "limit", "1")
    notes("switch", "side")
    notes("config", "set", "depth", "50")
    notes("merge", "main")
    values = {row["name"]: row["value"] for row in data("config")["settings"]}
    assert (values["limit"], values["depth"]) == (1, 50)
    notes("undo")
    origins = {row["name"]: row["origin"] for row in data("config")["settings"]}
    assert (origins["limit"], origins["depth"]) == ("default", "root")
    notes("revert", "HEAD")
    assert data("config", "get", "depth")["settings"][0]["origin"] == "default"
    notes("cherry-pick", "main")
    assert data("config", "get", "limit")["settings"][0]["value"] == 1
    notes("fsck")


def test_the_author_of_this_copy(notes: Run, data: Data, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("IBIDEM_AUTHOR")
    notes("config", "set", "author", "Grace Hopper")
    notes("node", "add", "Note", "--summary", "x")
    notes("commit", "-m", "a note")
    assert data("log")["commits"][0]["author"] == "Grace Hopper"
    assert SETTINGS["author"].scope == LOCAL


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["set", "limt", "1"], "did you mean limit?"),
        (["set", "limit", "--", "-1"], "limit: got -1, expected an integer from 0"),
        (["set", "limit", "many"], "limit: got 'many', expected an integer from 0"),
        (["set", "weights", '{"dance": 1}'], "got the lane 'dance'"),
        (["set", "fusion", "best"], "fusion: got 'best', expected one of"),
        (["set", "model", "m"], "the graph has no vectors of 'm'"),
        (["fusion", "rrf"], "run 'repo config set fusion rrf'"),
        (["limit"], "run 'repo config get limit'"),
        (["get", "colour"], "unknown setting 'colour'"),
        (["unset", "colour"], "unknown setting 'colour'"),
    ],
)
def test_a_wrong_setting_changes_nothing(notes: Run, data: Data, arguments: list[str], told: str):
    before = data("config")
    assert told in notes("config", *arguments, code=2).stderr
    assert data("config") == before


def test_no_line_of_the_settings_ends_with_blanks(notes: Run):
    for arguments in ([], ["list"], ["set", "limit", "5"], ["unset", "limit"]):
        lines = notes("config", *arguments).stdout.splitlines()
        assert lines == [line.rstrip() for line in lines]


def test_a_damaged_file_of_local_settings_is_named(notes: Run, tmp_path: Path):
    (tmp_path / ".ibidem" / "local").mkdir(exist_ok=True)
    (tmp_path / ".ibidem" / "local" / "settings.json").write_text("[1]")
    assert "local/settings.json: got list" in notes("retrieve", "x", code=2).stderr


def test_a_library_question_takes_the_configured_model():
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            tx.add_node("Note", summary="a mill")
        repo.embed(Constant())
        with repo.transaction() as tx:
            tx.configure(model="m", limit=1)
        assert repo.retrieve("mill").query.vector is not None
        assert repo.retrieve("mill").query.limit == 1
        assert repo.retrieve("mill", limit=10).query.limit == 10
        assert repo.retrieve("mill", model=None).query.vector is None
        assert repo.retrieve(label="Note").query.vector is None
        repo.core.embedders.clear()
        with pytest.raises(InvalidInputError) as caught:
            repo.retrieve("mill")
        assert caught.value.kind is ErrorKind.UNKNOWN_MODEL
        assert "model=None" in (caught.value.hint or "")
