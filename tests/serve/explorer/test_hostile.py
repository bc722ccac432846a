"""Every page that links lead to, over a repository whose every text is hostile: nothing runs, no
invisible character is there, and no link is dead.
"""

from __future__ import annotations

import pytest
from tests.cli import test_hostile_text as hostile
from tests.pages.reading import check_inert, read

import ibidem
from ibidem.serve.explorer.export import export
from ibidem.serve.explorer.routes import ROUTES

from .browsing import Browser, browsing, links

MARKUP = "</p></svg><script>alert(1)</script><img src=x onerror=alert(2)>\"' onload=x &lt; "
PAGES_MAX = 250
GONE = ("/node/", "/graph/", "/run/")
"""Pages whose links may lead to what was removed, hidden, or cannot be read."""


def crawl(browser: Browser) -> dict[str, str]:
    """The texts of all pages that are reached from the navigation, by address."""
    waiting = ["/ask?text=evil", "/compare?text=evil", *links(browser.page("/ask").one("nav"))]
    found: dict[str, str] = {}
    while waiting and len(found) < PAGES_MAX:
        path = waiting.pop(0).partition("#")[0]
        if not path.startswith("/") or path in found:
            continue
        response, text = browser.send("GET", path, cookie=browser.cookie)
        assert response.status == 200 or path.startswith(GONE), f"{path}: {response.status}"
        assert response.status < 500, path
        found[path] = text
        page = read(text)
        check_inert(page)
        assert not page.all("script") + page.all("img"), path
        waiting += links(page)
    return found


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hostile, "EVIL", MARKUP + hostile.EVIL)
        with ibidem.init("memory:") as repo:
            hostile._filled(repo)
            with browsing(repo) as browser:
                return {**crawl(browser), "export": export(repo, "evil words")}


def test_no_page_has_an_invisible_character(pages: dict[str, str]):
    for path, text in pages.items():
        assert not hostile.RAW.search(text), path


def test_the_texts_are_shown(pages: dict[str, str]):
    shown = sum("&lt;script&gt;alert(1)" in text for text in pages.values())
    assert shown > len(pages) // 2


def test_the_links_lead_to_every_kind_of_page(pages: dict[str, str]):
    kinds = {path.split("?")[0].split("/")[1] for path in pages if path != "export"}
    assert {page.path.split("/")[1] for page in ROUTES} <= kinds


def test_no_page_says_that_it_failed(pages: dict[str, str]):
    assert not [path for path, text in pages.items() if "the page failed" in text]
