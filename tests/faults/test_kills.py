"""A killed process loses nothing that it had acknowledged, and leaves nothing to repair."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cases import by_suite

from .kills import check, kill_many
from .scenarios import SCENARIOS


@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
def test_a_kill_at_a_random_moment_loses_nothing(scenario: str, tmp_path: Path) -> None:
    kill_many(scenario, 2, 1, tmp_path)


@pytest.mark.parametrize("count", by_suite([20, 60], slow=1))
@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
def test_many_kills_at_random_moments_lose_nothing(
    scenario: str, count: int, tmp_path: Path
) -> None:
    assert kill_many(scenario, count, 2, tmp_path) > count // 3


def test_the_harness_finds_what_is_missing(tmp_path: Path) -> None:
    kill_many("commit", 1, 3, tmp_path)
    with pytest.raises(AssertionError, match="acknowledged and lost"):
        check(tmp_path / "0", ["never committed"])
