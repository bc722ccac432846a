"""Gates on direct answers: what is answered is right, and what has no answer is not answered.

The questions are in `bench/data/direct.jsonl`. Two sets bring what they need: facts of their own,
and the pages in `manual/`. The documents of the other two are no part of the project:
`IBIDEM_QUALITY_DATA` names the folder that has them, as `bench/direct.py` reads it.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"
PRECISION = 0.95
"""The least share of the answers that are right."""
RIGHT = {"facts": 10, "manual": 11, "peps": 14, "fastapi": 5}
"""How many questions of a set are answered rightly, at least: at most one less than measured."""


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("direct")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["facts", "manual"])
def test_answers_are_right_or_there_is_none(name: str, direct: Any) -> None:
    check(name, direct.asked(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["peps", "fastapi"])
def test_answers_over_real_documents_are_right_or_there_is_none(name: str, direct: Any) -> None:
    folder = os.environ.get("IBIDEM_QUALITY_DATA")
    if not folder or not (Path(folder) / f"corpus_{name}").is_dir():
        pytest.skip(f"IBIDEM_QUALITY_DATA names no folder with corpus_{name}")
    check(name, direct.asked(name, Path(folder)))


def check(name: str, found: list[Any]) -> None:
    answered = [one for one in found if one.stated is not None]
    right = sum(one.is_right for one in answered)
    assert right >= RIGHT[name], [one for one in found if not one.is_right]
    assert right >= PRECISION * len(answered), [one for one in answered if not one.is_right]
    assert [one for one in found if one.answer is None and not one.is_right] == []
