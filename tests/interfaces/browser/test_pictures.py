"""From a wrong answer to the sentence that made it so: the clicks of docs/how-to/explore.md.

`python -m tests.interfaces.browser.test_pictures` takes its pictures anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.browser.conftest import CHROMIUM

import ibidem
from ibidem.serve.explorer.explorer import Explorer
from ibidem.serve.explorer.routes import ROUTES

pytestmark = pytest.mark.slow
HOUSE = Path(__file__).resolve().parents[3]
PAGE = HOUSE / "docs" / "how-to" / "explore.md"
FIGURES = HOUSE / "docs" / "figures"
HEIGHTS = {"node": 1000, "graph": 860, "compare": 820, "bisect": 900, "health": 1560}
"""Of pictures that show what is further down."""
QUESTION = "how often is a payment retried"
DAY = 86_400_000_000
START = 1_767_225_600_000_000
HANDBOOK = """# Payments

A payment that fails is retried three times, with a minute in between.

## Limits

A customer can pay up to 2,000 euros a day. Larger payments are checked by hand.

## Refunds

A refund is paid within two days. A failed refund is retried by hand.
"""


def world() -> ibidem.Repository:
    """A handbook of four commits, of which the third makes an answer wrong."""
    repo = ibidem.init("memory:", clock=lambda: START + 4 * DAY)
    limits = HANDBOOK.replace("2,000", "3,000")
    wrong = limits.replace("retried three times", "retried thirty times")
    last = wrong.replace("two days", "three days")
    commits = (
        ("add the handbook", "Ada", HANDBOOK),
        ("raise the limit", "Eve", limits),
        ("tidy up the wording", "Bob", wrong),
        ("refunds take longer now", "Ada", last),
    )
    for number, (message, author, text) in enumerate(commits):
        time = START + number * DAY
        with repo.transaction(message=message, author=author, time=time) as tx:
            ibidem.ingest_text(tx, text, path="handbook.md")
            if not number:
                team = tx.add_node("Team", summary="The team of payments", key="team")
                for name in ("Ada", "Bob", "Eve"):
                    one = tx.add_node("Person", summary=f"{name} works on payments", key=name)
                    tx.add_edge(one, "member of", team)
    return repo


def talk(repo: ibidem.Repository) -> None:
    """Adds a conversation, and the run of an agent that answered in it."""
    messages = [("user", "How often is a payment retried?"), ("assistant", "Thirty times.")]
    repo.conversations.append("support", messages, time=START + 4 * DAY)
    with repo.runs.start("support", agent="helper", task="answer a customer") as run:
        run.at("HEAD~1").retrieve(QUESTION, limit=1)


def path(page: Any, explorer: Explorer) -> Iterator[str]:
    """Clicks from the wrong answer to its cause, and yields the name of each page on the way."""
    page.goto(explorer.address(QUESTION))
    page.wait_for_url("**/ask?*")
    yield "ask"
    page.click("ol.items a >> nth=0")
    yield "node"
    page.click("table a[href^='/commit/'] >> nth=-1")
    yield "commit"


def others(page: Any, explorer: Explorer, repo: ibidem.Repository) -> Iterator[str]:
    """Visits the other pages that the docs show."""
    page.goto(explorer.url + "/history")
    yield "history"
    page.goto(f"{explorer.url}/compare?text={QUESTION.replace(' ', '+')}&before=HEAD~3")
    yield "compare"
    page.goto(f"{explorer.url}/graph/{ibidem.node_id('', 'team')}")
    yield "graph"
    page.goto(f"{explorer.url}/document/{ibidem.node_id('document', 'handbook.md')}")
    yield "document"
    asked = QUESTION.replace(" ", "+")
    right = repo.at("HEAD~3").retrieve(QUESTION, limit=1).items[0].id
    page.goto(f"{explorer.url}/bisect?text={asked}&expect={right}&good=HEAD~3")
    yield "bisect"
    talk(repo)
    page.goto(explorer.url + "/operations")
    yield "operations"
    page.goto(explorer.url + "/threads")
    page.click("main a >> nth=0")
    yield "conversation"
    page.goto(explorer.url + "/runs")
    page.click("main a >> nth=0")
    yield "run"
    page.goto(explorer.url + "/health?check=1")
    yield "health"


def test_the_commit_the_author_and_the_sentence_are_two_clicks_away(chromium: Any):
    with world() as repo, Explorer(repo).start() as explorer:
        page = chromium.new_page()
        names = list(path(page, explorer))
        assert len(names) - 1 <= 6
        text = page.inner_text("main")
        assert "Bob" in text
        assert "tidy up the wording" in text
        assert page.inner_text("del") == "three"
        assert page.inner_text("ins") == "thirty"
        page.close()


def test_every_page_has_a_picture(chromium: Any):
    with world() as repo, Explorer(repo).start() as explorer:
        page = chromium.new_page()
        names = {*path(page, explorer), *others(page, explorer, repo)}
        page.close()
    assert names == {one.stem.removeprefix("explorer-") for one in FIGURES.glob("explorer-*.png")}
    in_pictures = {"thread": "conversation"}
    listed = {"runs", "threads"}  # which are lists of links alone
    assert {in_pictures.get(one.name, one.name) for one in ROUTES} - listed == names


def test_the_page_shows_every_picture():
    shown = set(re.findall(r"\.\./figures/(explorer-[a-z]+\.png)", PAGE.read_text("utf-8")))
    assert shown == {one.name for one in FIGURES.glob("explorer-*.png")}
    assert all(one.stat().st_size < 200_000 for one in FIGURES.glob("explorer-*.png"))


def take() -> None:
    """Writes the pictures of the docs."""
    from playwright import sync_api

    with (
        world() as repo,
        Explorer(repo).start() as explorer,
        sync_api.sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        for name in chain(path(page, explorer), others(page, explorer, repo)):
            page.wait_for_load_state()
            page.set_viewport_size({"width": 860, "height": HEIGHTS.get(name, 560)})
            page.screenshot(path=FIGURES / f"explorer-{name}.png")
        browser.close()


if __name__ == "__main__":
    take()
