"""Pages: their structure by a parser, and what hostile texts become."""

import re
from pathlib import Path

import pytest
from tests.pages.reading import check_inert, read

import ibidem
from ibidem.pages import answer, comparison, html

HOSTILE = "</p><script>alert(1)</script> \x1b[2J \u202etxt.exe \" onload='x' & <b>"


@pytest.fixture(scope="module")
def repo():
    with ibidem.init("memory:") as repo:
        with repo.transaction(message="first", author="Ada", time=1) as tx:
            tx.add_node("Fact", summary="Retries back off twice.")
            tx.add_node("Fact", summary="A retry waits.")
        with repo.transaction(message=f"second {HOSTILE}", author=HOSTILE, time=2) as tx:
            tx.add_node("Fact", summary=f"retry retry {HOSTILE}")
        yield repo


def shown(*body: object) -> str:
    return html.document("A title <i>", *body)  # type: ignore[arg-type]


def test_an_answer_is_shown_with_its_words_bars_drops_and_receipt(repo: ibidem.Repository):
    found = repo.retrieve("retry", limit=2)
    text = shown(answer.answer(found, "english-1", links=html.Links("/view")))
    page = read(text)
    check_inert(page)
    items = page.one("main").one("ol", class_="items").all("li")
    assert len(items) == 2
    assert "retry" in [mark.words for mark in items[0].all("mark")]
    assert "lexical" in items[0].one("svg").one("title").words
    assert items[0].one("a").attributes["href"] == f"/view/node/{found.items[0].id}"
    assert "1 left out: 1 by limit" in page.words
    assert str(found.cid) in page.words


def test_hostile_texts_stay_texts(repo: ibidem.Repository):
    found = repo.retrieve("retry")
    compared = repo.history.compare("retry", before="HEAD~1", after="HEAD")
    text = shown(
        answer.answer(found, "english-1"),
        comparison.comparison(compared, before=HOSTILE, after="HEAD"),
    )
    page = read(text)
    check_inert(page)
    assert not page.all("script")
    assert not page.all("a")[1:], "a document that stands alone links to nothing"
    assert "<script>alert(1)</script>" in page.words
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", text)


def test_a_comparison_names_moves_and_their_commit(repo: ibidem.Repository):
    compared = repo.history.compare("retry", before="HEAD~1", after="HEAD")
    page = read(shown(comparison.comparison(compared, before="HEAD~1", after="HEAD")))
    assert [row.one("th").words[:5] for row in page.one("tbody").all("tr")]
    assert {tag.words for tag in page.one("tbody").all("span", class_="tag")} >= {"entered"}
    assert "second" in page.all("h3")[0].words


def test_a_document_that_stands_alone_has_its_style_and_a_policy_that_allows_only_that():
    text = shown("text")
    assert text.count("<!doctype html>") == 1
    page = read(text)
    policy = page.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
    assert policy == f"default-src 'none'; style-src {html.style_hash()}"
    assert page.one("style").words == html.style_sheet()
    assert not page.all("link")


def test_a_served_document_names_the_style_sheet():
    page = read(html.document("t", "text", style="/view/style.css"))
    assert page.one("link").attributes["href"] == "/view/style.css"
    assert not page.all("style")


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_have_the_contrast_of_wcag_aa(theme: int):
    blocks = re.findall(r":root \{(.*?)\}", html.style_sheet(), re.DOTALL)
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", blocks[theme]))
    pairs = [("text", "page"), ("text", "panel"), ("muted", "page"), ("muted", "panel")]
    pairs += [("link", "page"), ("link", "panel"), ("mark-text", "mark")]
    pairs += [(name, f"{name}-page") for name in ("added", "removed", "moved")]
    for one, other in pairs:
        assert contrast(colours[one], colours[other]) >= 4.5, (one, other)
    lanes = [name for name in colours if name.startswith("lane-")]
    assert len(lanes) == 6
    for name in lanes:
        assert contrast(colours[name], colours["panel"]) >= 3, name


def test_pages_are_functions_of_their_arguments():
    folder = Path(html.__file__).parent
    for module in folder.glob("*.py"):
        for word in ("import os", "import time", "datetime.now", "open(", "random", "environ"):
            assert word not in module.read_text("utf-8"), module.name
