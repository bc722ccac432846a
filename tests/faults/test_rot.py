"""What rots in an index, is torn or put in another's place changes no answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cases import by_suite

from .rot import WRONG, campaign


@pytest.mark.parametrize("count", by_suite([15, 200, 5_000], fast=1, slow=2))
def test_damage_that_leaves_times_and_sizes_changes_no_answer(tmp_path: Path, count: int):
    found = campaign(tmp_path, count, seed=1)
    assert found.total() == count
    assert not [key for key in found if WRONG in key]
