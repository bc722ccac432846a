"""A hint is one that a model can follow: it has tools, and no shell."""

from __future__ import annotations

import pytest

import ibidem
from ibidem.adapters.mcp.hints import hint_of


def raised(call) -> ibidem.IbidemError:
    with pytest.raises(ibidem.IbidemError) as caught:
        call()
    return caught.value


def test_a_hint_names_no_command():
    repo = ibidem.init("memory:")
    repo.add("tea is at five")
    unknown = raised(lambda: repo.at("nowhere"))
    assert "repo " in (unknown.hint or "")
    found = hint_of(unknown)
    assert (
        found
        == "the resource ibidem://status lists the branches and tags; HEAD is the newest state"
    )
    for error in (
        raised(lambda: repo.receipts.find(str(repo.head))),
        ibidem.CorruptError("index: it is damaged", hint="run 'repo index build'"),
        ibidem.InvalidInputError("model: none", hint="set one with tx.set_config, or --model NAME"),
    ):
        assert (
            hint_of(error) == f"ask the person who runs this server, who can do this: {error.hint}"
        )


@pytest.mark.parametrize("hint", [None, "write Z after it for UTC", "give 300 tokens or more"])
def test_a_hint_that_a_model_can_follow_stays(hint: str | None):
    assert hint_of(ibidem.InvalidInputError("x: got y", hint=hint)) == hint


def test_the_hint_about_a_time_without_an_offset_is_for_the_model():
    error = raised(lambda: ibidem.init("memory:").at("2026-01-01T00:00:00"))
    assert error.hint is not None
    assert hint_of(error) == error.hint
