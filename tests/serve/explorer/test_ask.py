"""The page of a question."""

import shlex
from pathlib import Path
from urllib.parse import quote_plus

from click.testing import CliRunner

import ibidem
from ibidem.cli.main import cli
from ibidem.repo.retrieval.printed_frame import frame_of_items
from ibidem.retrieve.query.options import FOR_READERS

from .browsing import Browser, browsing, links
from .conftest import HOSTILE, QUESTION, filled

ASK = f"/ask?text={quote_plus(QUESTION)}"


def test_the_answer_is_that_of_the_library(browser: Browser, repo: ibidem.Repository):
    page = browser.page(ASK + "&limit=2&token_budget=100")
    frame = frame_of_items(QUESTION, {"token_budget": 100})
    found = repo.retrieve(QUESTION, limit=2, token_budget=100, frame=frame, **FOR_READERS)
    assert [f"/node/{item.id}" for item in found] == [
        href for href in links(page.one("main").all("ol", class_="items")[0]) if "/node/" in href
    ]
    assert str(found.cid) in page.words
    assert f"{found.tokens_used} of 100 tokens" in page.words
    assert "left out:" in page.words
    assert "retried" in [mark.words for mark in page.all("mark")]


def test_a_question_of_the_past_is_answered_from_there(browser: Browser, repo: ibidem.Repository):
    page = browser.page(ASK + "&at=HEAD~2")
    assert "three times" in page.words
    assert "seventy times" not in page.words
    assert all("at=HEAD~2" in href for href in links(page) if href.startswith("/node/"))


def test_the_context_is_what_a_model_gets(browser: Browser, repo: ibidem.Repository):
    page = browser.page(ASK + "&token_budget=300")
    prompt = repo.prompt(QUESTION, token_budget=300)
    system, user = (pre.words for pre in page.all("pre"))
    assert system == prompt.system
    assert "A payment is retried seventy times." in user


def test_why_a_node_is_not_in_the_answer(browser: Browser, repo: ibidem.Repository):
    def why(id_: object) -> str:
        return browser.page(f"{ASK}&limit=1&missing={id_}").one("p", role="status").words

    ranked = repo.retrieve(QUESTION, limit=50)
    assert why(ranked.items[0].id) == "It is here: item 1."
    assert "It is ranked 2" in why(ranked.items[1].id)
    ada = ibidem.node_id("", "ada")
    assert f"{ada}" in why(ada)
    assert "There is no such node at HEAD" in why("f" * 32)


def test_what_is_left_out_whatever_its_rank_says_so():
    texts = ("# One\n\nThe tea is hot.\n", "# Two\n\nThe tea is hot.\n", "# Tea\n\n## Tea\n")
    with ibidem.init("memory:", clock=lambda: 1) as repo:
        for number, text in enumerate(texts):
            repo.ingest(text=text, path=f"{number}.md")
        dropped = repo.retrieve("tea", **FOR_READERS).dropped
        with browsing(repo) as browser:
            pages = {one.reason: browser.page(f"/ask?text=tea&missing={one.id}") for one in dropped}
    why = {reason: page.one("p", role="status").words for reason, page in pages.items()}
    assert why.keys() == {"dedupe", "headings"}
    assert "it repeats an item of the answer." in why["dedupe"]
    assert "it is a heading without text." in why["headings"]


def test_a_question_of_nothing_shows_the_form(browser: Browser):
    page = browser.page("/ask?text=")
    assert page.one("form").all("input", name="text")
    assert "nodes" in page.one("dl").words


def test_comparisons_and_searches_ask_the_question_of_the_page():
    with ibidem.init("memory:") as repo:
        for number in range(3):
            repo.ingest(text="The mill grinds from nine to five.", path=f"{number}.md")
        found = repo.retrieve("mill grinds")
        with browsing(repo) as browser:
            compared = browser.page("/compare?text=mill+grinds")
            searched = browser.page(f"/bisect?text=mill+grinds&expect={found[1].id}")
    assert len(compared.one("main").one("table").all("tr")) == 2  # the header and one item
    assert "First to fail" in searched.one("main").words


def test_a_bad_option_is_said_on_the_page(browser: Browser):
    page = browser.page(ASK + "&limit=0", 400)
    assert "limit: got '0', expected 1 to 100" in page.one("section", role="alert").words
    assert browser.page(ASK + "&at=nowhere", 404).one("section", role="alert")


def test_hostile_texts_are_shown_and_do_nothing(browser: Browser):
    page = browser.page(f"/ask?text=retried+{quote_plus(HOSTILE)}")
    assert "<script>alert(1)</script>" in page.one("main").words
    assert not page.all("script")
    assert not page.all("img")


def test_the_command_records_the_receipt_of_the_page(tmp_path: Path):
    with filled(ibidem.init(tmp_path)) as repo:
        with browsing(repo) as browser:
            path = "/ask?text=it%27s+--retried+payment&limit=2&token_budget=90&label=passage"
            page = browser.page(path)
        (receipt,) = [
            value.words
            for name, value in zip(page.all("dt"), page.all("dd"), strict=True)
            if name.words == "receipt"
        ]
    (command,) = [one.words for one in page.all("code") if one.words.startswith("repo retrieve")]
    found = CliRunner().invoke(cli, ["-R", str(tmp_path), *shlex.split(command)[1:]])
    assert found.exit_code == 0, found.output
    assert f"receipt {receipt}" in found.output
