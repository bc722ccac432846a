"""docs/seeds.md has every feature of the four seeds, and every check has a test of its name."""

from __future__ import annotations

import re
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[2]
PAGE = HOUSE / "docs" / "seeds.md"
FEATURES = {"S": 30, "P": 27, "M": 28, "R": 30}
CROSS = {"X": 14}
PACKS, CONVERSATION, RECALL = {"PK": 30}, {"CM": 20}, {"AR": 35}
GRAPH = {"TR": 12, "GR": 8, "SE": 3, "DE": 7, "RV": 6, "CO": 4, "EV": 1}
CHECKS = CROSS | PACKS | CONVERSATION | GRAPH | RECALL
"""How many there are of each kind, numbered from 1."""


def numbered(kinds: dict[str, int]) -> set[str]:
    return {f"{kind}{number}" for kind, count in kinds.items() for number in range(1, count + 1)}


def rows() -> dict[str, tuple[str, set[str]]]:
    """Returns by feature the file that it begins at and its checks."""
    found = re.findall(
        r"^\| ([A-Z]\d+) \| [^|]+ \| [^|]+ \| `([^`|]+)` \| ([A-Z0-9 ]+) \|$",
        PAGE.read_text("utf-8"),
        re.MULTILINE,
    )
    assert len({feature for feature, _, _ in found}) == len(found), "a feature twice"
    return {feature: (path, set(checks.split())) for feature, path, checks in found}


def names_of_tests() -> set[str]:
    names = (
        name
        for path in (HOUSE / "tests").rglob("test_*.py")
        for name in re.findall(r"def test_([a-z]+\d+)_", path.read_text("utf-8"))
    )
    return {name.upper() for name in names}


def test_every_feature_has_a_row():
    assert set(rows()) == numbered(FEATURES)


def test_every_row_begins_at_a_file_that_is_there():
    assert [path for path, _ in rows().values() if not (HOUSE / path).is_file()] == []


def test_every_check_that_a_row_names_is_one():
    named = set().union(*(checks for _, checks in rows().values()))
    assert named - numbered(CHECKS) == set()


def test_every_check_is_a_test_under_its_name():
    assert numbered(CHECKS) - names_of_tests() == set()
