"""A bit that flipped on the disk is found, or changes nothing that the repository says."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.cases import by_suite

from .flips import DETECTED, DIED, HARMLESS, REFUSED, WRONG, build, files, flip_each, places


@pytest.mark.parametrize("count", by_suite([30, 100, 1_200], fast=1, slow=2))
def test_a_flipped_bit_is_found_or_without_effect(tmp_path: Path, count: int) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    build(folder)
    counts, bad = flip_each(folder, places(folder, random.Random(count), count))
    assert not bad
    assert counts[WRONG] == counts[DIED] == 0
    assert counts[DETECTED] + counts[REFUSED] + counts[HARMLESS] == count
    assert counts[DETECTED] > count // 20


def test_every_byte_of_the_format_file_counts_or_is_white_space(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    build(folder)
    mine = [place for place in places(folder, random.Random(1)) if place[0].name == "format"]
    counts, bad = flip_each(folder, mine)
    assert not bad
    assert counts[REFUSED] + counts[DETECTED] >= len(mine) - 2
    assert (folder / ".ibidem" / "format") in files(folder)
