"""What the pages point at exists, and the glossary is in order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[2]
PAGES = sorted([*HOUSE.glob("*.md"), *(HOUSE / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(HOUSE)))
def test_links_lead_somewhere(page: Path):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} points at {target}"


DESIGN = [
    *sorted((HOUSE / "docs" / "design").glob("*.md")),
    HOUSE / "CONTRIBUTING.md",
    HOUSE / "SECURITY.md",
]
ROOMS = (
    "objects store index retrieve embed repo ingest memory serve testing cli spec docs tests bench"
)


@pytest.mark.parametrize("page", DESIGN, ids=lambda page: page.name)
def test_paths_that_design_pages_name_exist(page: Path):
    rooms = ROOMS.replace(" ", "|")
    named = re.findall(rf"`((?:{rooms})/[\w./-]*)`", page.read_text(encoding="utf-8"))
    missing = {path for path in named if not (HOUSE / path).exists()}
    assert not missing, f"{page.name} names {sorted(missing)}"


def test_the_glossary_is_sorted_and_says_each_word_once():
    text = (HOUSE / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\*\*(.+?)\*\*:", text, re.MULTILINE)
    assert words == sorted(set(words), key=str.lower)
