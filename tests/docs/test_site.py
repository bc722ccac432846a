"""The site has every page, and the reference has every public name, with an example that runs."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path

import ibidem

from .test_samples import blocks

HOUSE = Path(__file__).resolve().parents[2]
DOCS = HOUSE / "docs"
CONFIG = (HOUSE / "mkdocs.yml").read_text("utf-8")
REFERENCE = {page: page.read_text("utf-8") for page in sorted((DOCS / "reference").glob("*.md"))}
WITHOUT_EXAMPLE = {
    *("OnnxEmbedder", "SentenceTransformersEmbedder"),
    *("TiktokenEstimator", "TokenizersEstimator"),
}
"""Public names that need a library which is not installed everywhere; the set may only shrink."""


def test_the_navigation_has_every_page():
    _, _, nav = CONFIG.partition("\nnav:\n")
    listed = Counter(re.findall(r"([\w./-]+\.md)$", nav, re.MULTILINE))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert listed == Counter(pages)


def test_the_reference_has_every_public_name():
    named = Counter(name for page in REFERENCE.values() for name in _names(page))
    assert named == Counter(ibidem.__all__)


def test_every_public_name_has_an_example():
    lacking = {
        name
        for page, text in REFERENCE.items()
        for name in _names(text)
        if name not in _used(page) and not _has_doctest(name)
    }
    assert lacking == WITHOUT_EXAMPLE


def test_the_site_asks_no_other_machine():
    """Its theme would load fonts, and the plugin for offline search a script."""
    assert "\n  font: false\n" in CONFIG
    assert "offline" not in CONFIG


def _names(text: str) -> list[str]:
    return re.findall(r"^::: ibidem\.(\w+)$", text, re.MULTILINE)


def _used(page: Path) -> set[str]:
    """Returns the names of the library in the samples of a page, which `test_samples` runs."""
    code = "\n".join(block.body for block in blocks(page) if block.language == "python")
    return set(re.findall(r"\b(?:ibidem\.|from ibidem import )(\w+)", code))


def _has_doctest(name: str) -> bool:
    value = getattr(ibidem, name)
    own = value.__doc__ if inspect.isclass(value) or inspect.isroutine(value) else None
    return ">>>" in (own or "")
