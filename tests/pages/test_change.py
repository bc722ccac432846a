"""Reports of changed answers: their parts, their bounds, and what is left of hostile texts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pages.reading import check_inert, read

import ibidem
from ibidem.pages import change, change_markdown
from ibidem.pages.html import render
from ibidem.repo.history import answer_change
from ibidem.repo.history.answer_change import AnswerChange, compared

STRUCTURE = [
    *("p", "svg", "table", "h3 Texts", "li left", "li entered", "li rescored", "h3 Causes"),
    *("h3 bafyr4i", "dl"),
]


@pytest.fixture(scope="module")
def found() -> AnswerChange:
    with ibidem.init("memory:") as repo:
        with repo.transaction(message="first", author="ada", time=1) as tx:
            told = tx.add_node("Note", summary="Retries back off twice.", key="told")
            tx.add_node("Note", summary="A retry waits for a second.", key="waits")
        with repo.transaction(message="second", author="eve", time=2) as tx:
            tx.update_node(told, summary="Retries back off three times, then a retry stops.")
            tx.add_node("Note", summary="Nothing here.", key="waits", replace=True)
            tx.add_node("Note", summary="retry retry `x` | y", key="new")
        before, after = "HEAD~1", "HEAD"
        comparison = repo.history.compare("a retry", before=before, after=after)
        return compared(repo.core.store, comparison, before=before, after=after)


def shown(found: AnswerChange, **values: Any) -> str:
    return change.report("T", "1 of 1.", [change.Part("<i>", "1 left", change.section(found))])


def test_a_page_has_the_parts_of_a_change_in_order(found: AnswerChange):
    page = read(shown(found))
    check_inert(page)
    body = page.one("section", id="change-1")
    parts = []
    for tag in body.walk():
        if tag.name in ("svg", "table", "dl"):
            parts.append(tag.name)
        elif tag.name == "h3":
            parts.append(f"h3 {tag.words[:7].strip()}")
        elif tag.name == "li" and tag.all("p", class_="text"):
            parts.append(f"li {tag.all('span', class_='tag')[0].words}")
    assert ["p", *parts] == STRUCTURE
    assert body.one("h2").words == "1. <i>"
    texts = body.all("p", class_="text")
    assert [one.words for one in texts[2].all("del")] == ["twice"]
    assert "".join(one.words for one in texts[2].all("ins")) == "three times, then a retry stops"
    assert shown(found) == shown(found)


def test_a_comment_has_the_same_parts(found: AnswerChange):
    text = change_markdown.section(found)
    assert "| entered | - → 1 | `` retry retry `x` \\| y `` |" in text
    assert "```diff\n- Retries back off twice.\n+ Retries back off three times" in text
    assert "commit `bafyr4i" in text
    assert "`second` by `eve`, 1970-01-01T00:00:00Z" in text


@pytest.mark.parametrize("module", [change, change_markdown])
def test_a_report_is_bounded(module: Any, monkeypatch: pytest.MonkeyPatch):
    bound = "REPORT_CHARACTERS" if module is change else "COMMENT_CHARACTERS"
    monkeypatch.setattr(module, bound, 5000)
    part = change.Part("q", "1 left", module.text_section("x" * 900))
    text = module.report("T", "9 of 9.", [part] * 9)
    assert 4000 < text.count("x" * 900) * 900 <= 5000
    assert "4 further questions" in text or "and 4 more" in text
    small = module.report("T", "2 of 2.", [part] * 2)
    assert "further" not in small
    assert "more" not in small


def test_long_texts_and_answers_are_cut(monkeypatch: pytest.MonkeyPatch):
    for name in ("ITEMS_LISTED_MAX", "TEXTS_LISTED_MAX"):
        monkeypatch.setattr(answer_change, name, 2)
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            tx.add_node("Note", summary="apart")
        with repo.transaction() as tx:
            for number in range(5):
                tx.add_node("Note", summary=f"retry {number} " + "long " * 1000)
        comparison = repo.history.compare("retry", before="HEAD~1")
        found = compared(repo.core.store, comparison, before="HEAD~1", after="HEAD")
    assert found.summary == "5 entered"
    assert len(found.moves) == len(found.texts) == 2
    assert "and 3 more items" in read(change.section(found)).words
    assert "and 3 more" in change_markdown.section(found)
    assert all(len(one.after or "") == answer_change.TEXT_CHARACTERS for one in found.texts)
    assert len(change.section(found)) < 20_000


@pytest.mark.parametrize(
    ("before", "after", "marked"),
    [
        ("one two", "one three", "one <del>two</del><ins>three</ins>"),
        (None, "new <b>", "<ins>new &lt;b&gt;</ins>"),
        ("old", None, "<del>old</del>"),
        ("abc", "xyz", "<del>abc</del><ins>xyz</ins>"),
        (None, None, "<small>the text is not in this repository</small>"),
        ("a", "", "<del>a</del>"),
    ],
)
def test_words_that_differ_are_marked(before: str | None, after: str | None, marked: str):
    import htpy as h

    assert render(h.p[change.words(before, after)]) == f"<p>{marked}</p>"


@pytest.mark.parametrize("text", ["a", "`", "``a`` b", "", "\n\n", "x" * 500, "a|b\r\x1b[2J"])
def test_a_code_span_ends_where_its_text_ends(text: str):
    span = change_markdown.span(text, width=50)
    fence = span[: len(span) - len(span.lstrip("`"))]
    assert span.endswith(fence)
    assert fence not in span[len(fence) : -len(fence)]
    assert len(span.splitlines()) == 1
