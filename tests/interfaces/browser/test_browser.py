"""Every page in a real Chromium: accessible, reached by keyboard alone, quiet, in both themes and
on a narrow screen. See `conftest.py` for what it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus

import pytest
from tests.serve.explorer.conftest import QUESTION

import ibidem
from ibidem.memory.conversation.message import thread_id

from .conftest import AXE

pytestmark = pytest.mark.slow
Open = Callable[..., Any]

ASKED = f"/ask?text={quote_plus(QUESTION)}&limit=3"
DOCUMENT = ibidem.node_id("document", "handbook.md")
PAGES = {
    "ask": ASKED + "&missing=" + str(ibidem.node_id("", "ada")),
    "compare": f"/compare?text={quote_plus(QUESTION)}&before=HEAD~2&after=HEAD~1",
    "course": f"/compare?text={quote_plus(QUESTION)}&before=HEAD~2",
    "bisect": f"/bisect?text={quote_plus(QUESTION)}&expect={DOCUMENT}&limit=1",
    "history": "/history",
    "operations": "/operations",
    "commit": "/commit/HEAD~1",
    "node": f"/node/{ibidem.node_id('', 'ada')}",
    "document": f"/document/{DOCUMENT}",
    "graph": f"/graph/{DOCUMENT}",
    "conversations": "/threads",
    "conversation": f"/thread/{thread_id('talk')}",
    "runs": "/runs",
    "run": "/run/support/1",
    "health": "/health?full=1",
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", sorted(PAGES))
def test_axe_finds_nothing_serious(open_page: Open, name: str, theme: str):
    if not AXE.exists():
        pytest.skip(f"npm install in {AXE.parents[2]}")
    page = open_page(PAGES[name], color_scheme=theme)
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run()")
    serious = [
        (one["id"], [node["html"] for node in one["nodes"]][:3])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    assert not serious


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_narrow_screen_scrolls_one_way_only(open_page: Open, name: str):
    page = open_page(PAGES[name], viewport={"width": 360, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def focus(page: Any, wanted: str) -> None:
    """Presses Tab until an element has the focus that matches a selector."""
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate("wanted => document.activeElement.matches(wanted)", wanted):
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", f"{wanted}: the focus is not visible"
            return
    raise AssertionError(f"no Tab leads to {wanted}")


def enter(page: Any, wanted: str, address: str) -> None:
    """Follows a link by keyboard."""
    focus(page, wanted)
    with page.expect_navigation(url=address):
        page.keyboard.press("Enter")


def test_every_page_is_reached_by_keyboard_alone(open_page: Open):
    page = open_page()
    focus(page, "input[name=text]")
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_url("**/ask?text=*")
    passage = page.locator("ol.items a", has_text="handbook.md").first.get_attribute("href")
    enter(page, f"ol a[href='{passage}']", "**/node/**")
    enter(page, "main a[href^='/document/']", "**/document/**")
    enter(page, "td a[href^='/commit/']", "**/commit/**")
    page.go_back()
    enter(page, "main a[href^='/node/']", "**/node/**")
    enter(page, "a[href^='/graph/']", "**/graph/**")
    enter(page, "svg a[href^='/graph/']", "**/graph/**")
    enter(page, "main a[href^='/node/']", "**/node/**")
    enter(page, "a[href^='/commit/']", "**/commit/**")
    enter(page, "nav a[href='/compare']", "**/compare")
    enter(page, "main a[href='/bisect']", "**/bisect")
    enter(page, "nav a[href='/history']", "**/history")
    enter(page, "a[href='/operations']", "**/operations")
    enter(page, "nav a[href='/threads']", "**/threads")
    enter(page, "main a[href^='/thread/']", "**/thread/**")
    enter(page, "nav a[href='/runs']", "**/runs")
    enter(page, "main a[href^='/run/']", "**/run/**")
    enter(page, "nav a[href='/health']", "**/health")


def test_how_an_answer_came_about_is_played_by_keyboard(open_page: Open):
    page = open_page(PAGES["course"])
    assert shown(page, 0) == 0
    focus(page, "nav a[href='#state-1']")
    page.keyboard.press("Enter")
    second = shown(page, 1)
    focus(page, ".states")
    page.keyboard.press("ArrowRight")
    shown(page, second + 1)


def shown(page: Any, low: int) -> int:
    """How far the states are scrolled, once that is at least `low`."""
    for _ in range(100):
        found = page.evaluate("Math.round(document.querySelector('.states').scrollLeft)")
        if found >= low:
            return int(found)
        page.wait_for_timeout(50)
    raise AssertionError(f"the states are scrolled by {found}, expected {low}")


def test_the_skip_link_comes_first_and_leads_to_the_content(open_page: Open):
    page = open_page("/history")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_the_code_leaves_the_address_bar(open_page: Open):
    assert "#" not in open_page().url


def test_the_policy_stops_a_script_that_got_into_a_page(chromium: Any, explorer: Any):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(explorer.address())
    page.wait_for_url("**/ask")
    blocked: list[str] = []
    page.on("console", lambda message: blocked.append(message.text))
    page.evaluate(
        "() => { const one = document.createElement('script'); one.text = 'window.ran = 1';"
        "document.body.append(one);"
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 2\">') }"
    )
    page.wait_for_timeout(300)
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in one for one in blocked)
    context.close()
