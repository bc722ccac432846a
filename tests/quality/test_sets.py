"""Gates on the ranking of real data sets: not behind BM25 elsewhere, nor behind what it was.

The sets are no part of the project: `IBIDEM_QUALITY_DATA` names the folder that has them, as
`bench/quality.py` reads it, and without it there is nothing to measure.
"""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"
SETS = ("locomo", "cranfield", "cacm", "musique100", "hotpotqa100")
SLACK = 0.005
"""How far below its mean before a measure may fall."""
BEHIND = -2.0
"""In standard errors of the paired differences: further behind is no noise."""


@pytest.fixture
def quality(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("quality")


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_a_set_ranks_as_before_and_not_behind_others(name: str, quality: Any) -> None:
    folder = os.environ.get("IBIDEM_QUALITY_DATA")
    if not folder:
        pytest.skip("IBIDEM_QUALITY_DATA names no folder")
    scores = quality.scores_of(name, quality.Collection.read(Path(folder) / name))
    ours = scores[quality.IBIDEM]
    before = json.loads(quality.HISTORY.read_text("utf-8"))[name][quality.IBIDEM]
    now = quality.means(ours)
    assert now.keys() == before.keys()
    assert {one: now[one] for one in now if now[one] < before[one] - SLACK} == {}
    for way in scores.keys() & quality.PEERS.keys():
        for measure, values in ours.items():
            assert quality.distance(values, scores[way][measure]) > BEHIND, (way, measure)
