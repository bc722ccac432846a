"""Packs that are streamed are those of the whole answer, one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ibidem
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer
from ibidem.retrieve.answer.protocol import json_text
from ibidem.retrieve.context import assemble

from .settings import set_local

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"limit": None},
    {"limit": None, "token_budget": 60},
    {"limit": None, "token_budget": 60, "overflow": "skip"},
    {"limit": None, "token_budget": 60, "overflow": "stop", "dedupe": "near"},
    {"expand": "edges", "merge": "coalesce"},
    {"sources": {"thread": "t", "documents": 2}, "limit": None, "token_budget": 100},
    {"label": "Nothing"},
)


@pytest.fixture
def repo() -> Repository:
    opened = ibidem.init("memory:")
    for number in range(6):
        text = f"# Mill {number}\n\nThe needle {'needle ' * number}is here.\n\nStones {number}.\n"
        opened.ingest(text=text, path=f"{number}.md")
    opened.add("a needle in a fact")
    opened.conversations.append("t", [{"role": "user", "content": "Where is the needle?"}])
    return opened


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("cache", [0, 1 << 20])
def test_what_is_streamed_is_the_whole_answer(
    repo: Repository, options: dict[str, Any], cache: int
) -> None:
    set_local(repo, answer_cache=cache)
    whole = repo.packs("needle", **options)
    for _ in range(2):
        stream = repo.at().stream_packs("needle", **options)
        assert stream.answer is None
        assert tuple(stream) == whole.items
        assert stream.answer is not None
        assert stream.answer.to_bytes() == whole.to_bytes()
        assert stream.answer.receipt == whole.receipt
        assert next(stream, None) is None
        assert stream.answer.receipt == whole.receipt


def test_a_pack_comes_before_the_next_one_is_made(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = 0
    make = assemble._Making._pack

    def counted(self: Any, group: Any) -> Any:
        nonlocal made
        made += 1
        return make(self, group)

    monkeypatch.setattr(assemble._Making, "_pack", counted)
    stream = repo.at().stream_packs("needle", limit=None)
    for number, _ in enumerate(stream, 1):
        assert made == number
    assert made > 5


def test_who_stops_early_leaves_no_receipt(repo: Repository) -> None:
    before = len(list(repo.receipts.list()))
    stream = repo.at().stream_packs("needle", limit=None)
    next(stream)
    del stream
    assert len(list(repo.receipts.list())) == before
    assert repo.core.answer_cache.size_bytes == 0


def test_what_is_wrong_is_said_at_once(repo: Repository) -> None:
    with pytest.raises(InvalidInputError, match="expand"):
        repo.at().stream_packs("needle", expand="everything")


@pytest.mark.parametrize("viewer", [None, ALL, Viewer(level=1, scopes=())])
def test_after_damage_the_rest_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, viewer: Viewer | None
) -> None:
    with ibidem.init(tmp_path) as repo:
        if viewer is not None:
            with repo.transaction() as tx:
                tx.set_trust_policy(TrustPolicy())
        for number in range(4):
            repo.ingest(text=f"The needle {number}.\n", path=f"{number}.txt")
        whole = repo.packs("needle", viewer=viewer)
        repo.core.answer_cache.clear()
        stream = repo.at(viewer=viewer).stream_packs("needle")
        first = next(stream)
        recovered = []
        make = assemble._Making._pack

        def failing(self: Any, group: Any) -> Any:
            if not recovered:
                raise ValueError
            return make(self, group)

        index = type(repo.core.search_index.current)
        monkeypatch.setattr(index, "recover", lambda *_: recovered.append(1) or True)
        monkeypatch.setattr(assemble._Making, "_pack", failing)
        assert (first, *stream) == whole.items
        assert recovered == [1]


def test_a_run_records_what_it_streams(repo: Repository) -> None:
    with repo.runs.start("reader", author="ada") as run:
        stream = run.at().stream_packs("needle")
        assert tuple(stream) == repo.packs("needle").items
        assert stream.answer is not None
    assert "retrieve" in [step.action for step in repo.runs.open("reader").steps]


def test_the_lines_are_the_answer_in_parts(repo: Repository) -> None:
    whole = repo.packs("needle").to_json()
    *items, last = repo.at().stream_packs("needle").lines()
    answer = {**last["answer"], "items": [one["item"] for one in items]}
    assert json_text(answer) == whole
