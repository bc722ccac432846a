"""A real Chromium that looks at the explorer of a repository in which an answer went wrong.

Needs the package `playwright` and the system's own Chromium (Debian: `apt-get install chromium`);
no browser is downloaded. The checks of axe-core run after `npm install` in this folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.serve.explorer.conftest import filled

import ibidem
from ibidem.serve.explorer.explorer import Explorer

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"


def world() -> ibidem.Repository:
    """A repository with something on every page."""
    repo = filled(ibidem.init("memory:"))
    with repo.runs.start("support", agent="bot") as run:
        run.at().retrieve("payment")
    repo.conversations.append("talk", [("user", "How often?"), ("assistant", "Three times.")])
    return repo


@pytest.fixture(scope="session")
def explorer() -> Iterator[Explorer]:
    with world() as repo, Explorer(repo) as found:
        yield found.start()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any, explorer: Explorer) -> Iterator[Callable[..., Any]]:
    """Opens a page in a session of its own; at the end, nothing was requested from elsewhere, no
    script failed, and no dialog was opened.
    """
    contexts: list[Any] = []
    faults: list[str] = []

    def opened(path: str = "/ask", **options: Any) -> Any:
        context = chromium.new_context(viewport=options.pop("viewport", None), **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: faults.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: faults.extend(_foreign(request.url, explorer)))
        page.goto(explorer.address())
        page.wait_for_url("**/ask")
        if path != "/ask":
            page.goto(explorer.url + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not faults


def _foreign(url: str, explorer: Explorer) -> list[str]:
    is_own = urlsplit(url).netloc == urlsplit(explorer.url).netloc
    return [] if is_own or url.startswith("data:") else [f"request: {url}"]
