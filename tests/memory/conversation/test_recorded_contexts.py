"""Contexts in runs: one that was recorded before contexts filled their budget replays as it was.

`data/run.car.xz` is the run "old" of `agent`, as the program recorded it that did not fill them.

Spec: memory 13-e, replay 3-e.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ibidem
from ibidem.repo.repository import Repository
from ibidem.repo.runs.recording import Recording

BEFORE = Path(__file__).parent / "data" / "run.car.xz"
LONG = "The parcel went from Bern to Thun. " * 60


def agent(session: Any) -> list[list[int]]:
    """Shows contexts to a model; returns of each what it used of its budget, and the messages."""
    memory = session.conversations
    memory.append("a", [("user", "Where is the parcel?"), ("assistant", LONG)])
    model = session.tool("model", len)
    found = []
    for text, budget in ((None, 12), (None, 24), ("parcel", 300), (None, 300), ("parcel", None)):
        context = memory.context(text, thread="a", token_budget=budget)
        assert model(context.text) == len(context.text)
        found.append([context.tokens_used, *(one.ord for one in context.messages)])
    return found


THEN = [[0], [14, 1], [148, 1], [148, 1], [543, 0, 1]]
NOW = [[9, 1], [24, 0, 1], [297, 0, 1], [297, 0, 1], [543, 0, 1]]


@pytest.fixture
def repo() -> Iterator[Repository]:
    with ibidem.init("memory:", clock=lambda: 1_767_225_600_000_000) as repository:
        yield repository


@pytest.fixture
def old(repo: Repository, tmp_path: Path) -> Recording:
    file = tmp_path / "run.car"
    file.write_bytes(lzma.decompress(BEFORE.read_bytes()))
    return repo.runs.load(str(file))


def test_a_run_that_did_not_fill_contexts_replays(old: Recording):
    assert "fill" not in next(old.read()).request
    with old.replay() as session:
        assert agent(session) == THEN


def test_its_forks_do_not_fill_them_either(repo: Repository, old: Recording):
    with repo.runs.fork(old.name) as fork:
        assert agent(fork) == THEN
    again = repo.runs.open(fork.name)
    assert again.steps == old.steps
    with repo.runs.fork(old.name, step=1) as fork:
        assert agent(fork) == THEN


def test_a_run_says_that_it_fills_contexts(repo: Repository):
    with repo.runs.start("new") as run:
        assert agent(run) == NOW
    assert next(repo.runs.open("new").read()).request["fill"] is True
    with repo.runs.open("new").replay() as session:
        assert agent(session) == NOW
    with repo.runs.fork("new") as fork:
        assert agent(fork) == NOW
