"""`repo thread append` and `repo thread compact` with a threshold in the configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ibidem.objects.errors import StorageError

from .conftest import Run

Data = Callable[..., dict[str, Any]]
SENTENCE = "The gate was painted red in May, and everybody liked it. "


def test_a_thread_that_grows_is_compacted_by_append(notes: Run, data: Data):
    notes("config", "set", "compact_over", "100")
    notes("config", "set", "compact_recent", "1")
    made = [data("thread", "append", "a", SENTENCE * 3) for _ in range(5)]
    assert made[0]["compacted"] == []
    assert [one for each in made for one in each["compacted"]][-1]["thread"] == "a"
    shown = data("thread", "show", "a")["messages"]
    assert shown[0]["role"] == "Summary"
    assert shown[-1]["ord"] == 4
    assert "summarised: a: 0 to" in notes("thread", "append", "a", SENTENCE * 9).stdout
    assert len(data("thread", "show", "a", "--raw")["messages"]) == 6


def test_without_a_threshold_nothing_happens(notes: Run, data: Data):
    assert data("thread", "append", "a", SENTENCE * 99)["compacted"] == []
    assert "--over is missing" in notes("thread", "compact", code=2).stderr


def test_a_dry_run_says_what_the_run_does(notes: Run, data: Data):
    for thread in ("a", "b"):
        for _ in range(12):
            notes("thread", "append", thread, SENTENCE)
    notes("thread", "append", "short", "hello")
    head = data("log")["commits"][0]["cid"]
    would = data("thread", "compact", "--over", "50", "--dry-run")
    assert would["compacted"] == [{"thread": name, "first": 0, "last": 1} for name in ("a", "b")]
    assert data("log")["commits"][0]["cid"] == head
    done = data("thread", "compact", "--over", "50")
    assert (done["compacted"], done["is_dry_run"]) == (would["compacted"], False)
    one = data("thread", "compact", "a", "--over", "1")
    assert one["compacted"] == []  # the end is never summarised
    notes("config", "set", "compact_recent", "0")
    assert data("thread", "compact", "a", "--over", "1")["compacted"] == [
        {"thread": "a", "first": 0, "last": 11}
    ]


def test_a_model_that_fails_does_not_lose_the_message(
    notes: Run, data: Data, monkeypatch: pytest.MonkeyPatch
):
    class Broken:
        name = "broken"

        def complete(self, system: str, prompt: str) -> str:
            raise StorageError("the model is not there")

    monkeypatch.setattr("ibidem.cli.embedders.language_model", lambda *_: Broken())
    notes("config", "set", "language_model", "ollama:none", "--local")
    notes("config", "set", "compact_over", "1")
    notes("config", "set", "compact_recent", "0")
    notes("thread", "append", "a", SENTENCE)
    failed = notes("thread", "append", "a", SENTENCE)
    assert "kept: 1 message" in failed.stdout
    assert "warning: not compacted: the model is not there" in failed.stderr
    assert len(data("thread", "show", "a")["messages"]) == 2
    assert "the model is not there" in notes("thread", "compact", code=15).stderr


@pytest.mark.parametrize(
    "arguments", [("a", "0"), ("a", "0", "1", "x", "--over", "9"), ("--made-by", "ada")]
)
def test_what_does_not_fit_together_is_refused(notes: Run, arguments: tuple[str, ...]):
    notes("thread", "append", "a", "hello")
    notes("thread", "compact", *arguments, code=2)
