"""An answer has the same bytes with any number of threads, asked alone, at once, and in a child."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ibidem
from ibidem.retrieve.dense.scan import scan
from ibidem.retrieve.dense.tuning import Tuning

ROWS = 6_000
SHARING = Tuning(first_stage_rows=512, shared_rows_min=256, shared_products_min=1_024)
"""Lets threads share the scan of few rows."""


@pytest.fixture(autouse=True)
def sharing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(scan.__kwdefaults__, "tuning", SHARING)
    yield
    ibidem.set_threads(None)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> ibidem.Repository:
    random = np.random.default_rng(4)
    repo = ibidem.init(tmp_path_factory.mktemp("threads") / "r")
    rows = random.standard_normal((ROWS, 16)).astype(np.float32)
    rows[1::50] = rows[0]  # ties
    with repo.transaction(author="ada") as tx:
        for number, row in enumerate(rows):
            tx.set_vector(tx.add_node("Note", key=number, summary="n"), model="m", vector=row)
    return repo


def answers(repo: ibidem.Repository) -> list[str]:
    queries = np.random.default_rng(5).standard_normal((9, 16)).astype(np.float32)
    asked = [{"vector": ("m", row), "limit": 40} for row in queries]
    alone = [repo.retrieve(**one).to_json() for one in asked[:2]]
    return alone + [one.to_json() for one in repo.at("HEAD").retrieve_many(asked)]


def test_an_answer_is_the_same_with_any_number_of_threads(repo: ibidem.Repository) -> None:
    ibidem.set_threads(1)
    expected = answers(repo)
    for count in range(2, 9):
        ibidem.set_threads(count)
        assert answers(repo) == expected, count


def test_questions_at_once_get_the_answers_of_one(repo: ibidem.Repository) -> None:
    ibidem.set_threads(1)
    expected, found = answers(repo), []
    ibidem.set_threads(3)
    asking = [threading.Thread(target=lambda: found.append(answers(repo))) for _ in range(4)]
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    assert found == [expected] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_gets_the_same_answers(repo: ibidem.Repository, tmp_path: Path) -> None:
    ibidem.set_threads(4)
    expected = answers(repo)
    child = os.fork()
    if child == 0:
        try:
            (tmp_path / "same").write_text(str(answers(repo) == expected))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert (tmp_path / "same").read_text() == "True"
