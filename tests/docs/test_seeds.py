"""docs/seeds.md has every feature of the five seeds, and every check is a test."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[2]
PAGE = HOUSE / "docs" / "seeds.md"
LISTS = {"N": "graph", "S": "packs", "P": "conversation", "M": "records", "R": "recall"}
"""By the letter of their ids, the lists of features in `tests/seeds/`."""
CROSS = {"X": 14}
PACKS, CONVERSATION, RECALL = {"PK": 30}, {"CM": 20}, {"AR": 35}
GRAPH = {"TR": 12, "GR": 8, "SE": 3, "DE": 7, "RV": 6, "CO": 4, "EV": 1}
CHECKS = CROSS | PACKS | CONVERSATION | GRAPH | RECALL
"""How many there are of each kind, numbered from 1."""


def numbered(kinds: dict[str, int]) -> set[str]:
    return {f"{kind}{number}" for kind, count in kinds.items() for number in range(1, count + 1)}


def features() -> dict[str, str]:
    """Returns what each feature is, by id."""
    found: dict[str, str] = {}
    for letter, name in LISTS.items():
        lines = (HOUSE / "tests" / "seeds" / f"{name}.tsv").read_text("utf-8").splitlines()
        ids = [line.partition("\t")[0] for line in lines]
        assert ids == [f"{letter}{number}" for number in range(1, len(ids) + 1)]
        found |= {line.partition("\t")[0]: line.partition("\t")[2] for line in lines}
    return found


@dataclass(frozen=True)
class Row:
    """One row of the page; without a begin and checks if the feature is left out."""

    feature: str
    here: str
    begin: str
    checks: tuple[str, ...]


def rows() -> dict[str, Row]:
    """Returns the rows by the id of their feature."""
    found = re.findall(
        r"^\| ([A-Z]\d+) \| ([^|]+) \| ([^|]+) \|([^|]*)\|([^|]*)\|$",
        PAGE.read_text("utf-8"),
        re.MULTILINE,
    )
    ids = [one[0] for one in found]
    assert len(set(ids)) == len(ids), "a feature twice"
    return {
        id_: Row(feature.strip(), here, begin.strip(" `"), tuple(checks.replace("`", "").split()))
        for id_, feature, here, begin, checks in found
    }


def names_of_tests() -> set[str]:
    names = (
        name
        for path in (HOUSE / "tests").rglob("test_*.py")
        for name in re.findall(r"def test_([a-z]+\d+)_", path.read_text("utf-8"))
    )
    return {name.upper() for name in names}


def is_test(check: str) -> bool:
    """Whether a check is a test by its place, or the id of tests."""
    path, _, name = check.partition("::")
    if not name:
        return check in numbered(CHECKS)
    file = HOUSE / path
    return file.is_file() and re.search(rf"def {name}\(", file.read_text("utf-8")) is not None


def test_every_feature_has_a_row() -> None:
    assert {id_: row.feature for id_, row in rows().items()} == features()


def test_every_row_begins_at_a_file_and_has_a_check_or_says_why_not() -> None:
    for id_, row in rows().items():
        if not row.begin:
            assert row.here.startswith("not built: "), id_
            assert not row.checks, id_
        else:
            assert (HOUSE / row.begin).is_file(), id_
            assert row.checks, id_
        for reason in re.findall(r"(?:not built|left out):(.*)", row.here):
            assert len(reason.strip(" :;")) > 10, f"{id_}: why?"


def test_every_check_that_a_row_names_is_one() -> None:
    named = {check for row in rows().values() for check in row.checks}
    assert {check for check in named if not is_test(check)} == set()


def test_every_check_is_a_test_under_its_name() -> None:
    assert numbered(CHECKS) - names_of_tests() == set()
