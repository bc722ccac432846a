"""Answers, comparisons and graphs as notebooks show them: complete, and escaped."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest
from tests.pages.reading import Tag, read

import ibidem
from ibidem.pages.html import render
from ibidem.pages.notebook import ROWS_SHOWN, table
from ibidem.retrieve.access.policy import TrustPolicy

EVIL = 'mill <script>alert("x")</script> & \u202e\x1b[5m'
TAGS = {"", "#text", "div", "img", "table", "caption", "tr", "th", "td"}


def shown(value: Any) -> Tag:
    """The elements of a value, of which none can run or reach anything."""
    text = value._repr_html_()
    assert text == value._repr_html_()
    assert not set(text) & set("\u202e\x1b")
    page = read(text)
    assert {tag.name for tag in page.walk()} <= TAGS
    for picture in page.all("img"):
        assert picture.attributes["alt"]
        kind, _, data = (picture.attributes["src"] or "").partition(",")
        assert kind == "data:image/svg+xml;base64"
        drawn = read(b64decode(data).decode())
        assert not drawn.all("script")
        assert not drawn.all("a")
    return page


def pictures(page: Tag) -> list[str]:
    return [tag.attributes["alt"] or "" for tag in page.all("img")]


@pytest.fixture
def repo():
    with ibidem.init("memory:") as repo:
        with repo.transaction(message="first", author="ada") as tx:
            mill = tx.add_node("Note", summary=EVIL, key="mill")
            dam = tx.add_node("Note", summary="a dam", key="dam")
            tx.add_edge(mill, "behind", dam)
        with repo.transaction(message=f"second {EVIL}", author="eve") as tx:
            tx.add_node("Note", summary="a store", key="mill", replace=True)
            tx.add_node("Note", summary=f"another {EVIL}")
        yield repo


def test_an_answer_has_bars_and_a_table(repo: ibidem.Repository):
    page = shown(repo.retrieve("mill <b>", token_budget=100))
    assert pictures(page) == ["what each lane contributed to each item"]
    assert "1 item for 'mill <b>'" in page.words
    assert "<script>" in page.words
    assert pictures(shown(repo.retrieve("nothing of it"))) == []


def test_a_comparison_has_lines_and_the_commit(repo: ibidem.Repository):
    page = shown(repo.history.compare("mill", before="HEAD~1"))
    assert pictures(page) == ["lines from old ranks to new ones"]
    assert "2 of 2 items differ" in page.words
    assert {"entered", "left"} <= {cell.words for cell in page.all("td")}
    assert "second" in page.words
    assert "by eve" in page.words


def test_a_comparison_for_others_names_no_commit(repo: ibidem.Repository):
    with repo.transaction(message="policy") as tx:
        tx.set_trust_policy(TrustPolicy())
    with repo.transaction(message="a secret message") as tx:
        tx.add_node("Note", summary="mill", props={"level": 0})
    viewer = ibidem.Viewer(level=1, scopes=())
    page = shown(repo.history.compare("mill", before="HEAD~1", viewer=viewer))
    assert "entered" in page.words
    assert "secret" not in page.words


def test_paths_and_bisections_are_shown(repo: ibidem.Repository):
    start = repo.retrieve("store").items[0]
    (path,) = repo.at().paths(start.id, ["behind"])
    page = shown(path)
    assert pictures(page) == ["a path of 2 nodes"]
    assert str(path.edges[0]) in page.words
    found = repo.history.bisect("mill", expect=start.id)
    page = shown(found)
    assert "fails first at" in page.words
    assert "second" in page.words


def test_records_are_shown_with_their_relations():
    with ibidem.init("memory:") as repo:
        told = [
            ibidem.Record(ibidem.RecordType.SEMANTIC, text, "")
            for text in (EVIL, "the mill is old")
        ]
        repo.records.add(told, relations=[(0, "of", 1)])
        page = shown(repo.at().records("mill"))
    assert pictures(page)[-1] == "2 records and their relations"
    assert "1 relation" in page.words


def test_packs_have_a_table():
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            ibidem.ingest_text(tx, "# A\n\nThe mill turns.\n", path="a.md")
        assert "The mill turns." in shown(repo.packs("mill")).words


def test_a_long_table_says_how_many_rows_are_missing():
    page = render(table("rows", ("n",), [(number,) for number in range(ROWS_SHOWN + 3)]))
    assert page.count("<tr>") == ROWS_SHOWN + 1
    assert "rows, and 3 more" in page
