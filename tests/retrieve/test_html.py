"""Answers and comparisons as notebooks show them: complete, and escaped."""

from __future__ import annotations

from html.parser import HTMLParser

import ibidem
from ibidem.retrieve.answer.html import ROWS_SHOWN, table

EVIL = 'mill <script>alert("x")</script> & \u202e\x1b[5m'


class Tags(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_an_answer_is_a_table_in_which_no_text_is_markup():
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            node = tx.add_node("Note", summary=EVIL)
        page = Tags(repo.retrieve("mill <b>", token_budget=100)._repr_html_())
        assert page.tags == {"table", "caption", "tr", "th", "td"}
        assert "1 items for 'mill <b>'" in page.text
        assert "<script>" in page.text
        assert "\u202e" not in page.text
        assert "\x1b" not in page.text
        with repo.transaction() as tx:
            tx.update_node(node, summary="a store")
            tx.add_node("Note", summary=f"another {EVIL}")
        page = Tags(repo.history.compare("mill", before="HEAD~1")._repr_html_())
        assert page.tags == {"table", "caption", "tr", "th", "td"}
        assert "2 of 2 items differ" in page.text
        assert "entered" in page.text
        assert "left" in page.text


def test_packs_and_records_have_tables_too():
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            ibidem.ingest_text(tx, "# A\n\nThe mill turns.\n", path="a.md")
        assert "The mill turns." in repo.packs("mill")._repr_html_()
        assert "<table>" in repo.at().records("mill")._repr_html_()


def test_a_long_table_says_how_many_rows_are_missing():
    page = table("rows", ("n",), [(number,) for number in range(ROWS_SHOWN + 3)])
    assert page.count("<tr>") == ROWS_SHOWN + 1
    assert "rows, and 3 more" in page
