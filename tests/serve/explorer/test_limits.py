"""Pages are bounded, whatever is in the repository, and slow parts do not hold up the rest."""

from __future__ import annotations

import ast
import threading
from http.client import HTTPConnection

import pytest
from tests.adapters.test_face_only import FACE, imported
from tests.tools.type_check import HOUSE

import ibidem
from ibidem.pages.html import TEXT_CHARACTERS

from .browsing import Browser, browsing

MODULES = sorted((HOUSE / "serve" / "explorer").glob("*.py"))
SHARED = {
    "ibidem.objects.record",
    "ibidem.objects.printable",
    "ibidem.repo.sync.wire",  # which status an error has
    "ibidem.repo.viewer.exposure",
}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_the_explorer_reads_the_public_face(module):
    tree = ast.parse(module.read_text("utf-8"))
    types = {
        str(step.module)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for step in block.body
        if isinstance(step, ast.ImportFrom)
    }
    below = {
        name
        for name in imported(module)
        if name not in FACE and not name.startswith(("ibidem.pages", "ibidem.serve"))
    }
    assert not below - SHARED - types


def test_a_huge_text_is_cut():
    with ibidem.init("memory:") as repo:
        with repo.transaction(message="huge") as tx:
            id_ = tx.add_node("Note", summary="word " * 100_000, props={"p": "x" * 100_000})
        with browsing(repo) as browser:
            for path in ("/ask?text=word", f"/node/{id_}"):
                _, text = browser.send("GET", path, cookie=browser.cookie)
                assert len(text) < 40 * TEXT_CHARACTERS
        assert "490,000 more characters" in text


def test_what_takes_longer_follows_the_rest_of_the_page(
    repo: ibidem.Repository, browser: Browser, monkeypatch: pytest.MonkeyPatch
):
    may_end = threading.Event()
    compare = type(repo.history).compare

    def slow(*args, **options):
        assert may_end.wait(30)
        return compare(*args, **options)

    monkeypatch.setattr(type(repo.history), "compare", slow)
    connection = HTTPConnection("127.0.0.1", browser.explorer.port, timeout=30)
    connection.request("GET", "/compare?text=payment", headers={"Cookie": browser.cookie})
    response = connection.getresponse()
    first = response.read1().decode()
    assert "<h1>Compare: payment</h1>" in first
    assert "</main>" not in first
    may_end.set()
    assert "Causes" in response.read().decode()
    connection.close()


def test_a_fault_of_ours_is_a_page_without_its_message(
    repo: ibidem.Repository, browser: Browser, monkeypatch: pytest.MonkeyPatch
):
    def failing(*args, **options):
        raise KeyError("a path of this machine")

    monkeypatch.setattr(type(repo.history), "log", failing)
    monkeypatch.setattr(type(repo.history), "compare", failing)
    for page in (browser.page("/history", 500), browser.page("/compare?text=payment")):
        assert "the page failed: KeyError" in page.one("section", role="alert").words
        assert "path" not in page.words


def test_an_error_of_the_slow_part_is_on_the_page(
    repo: ibidem.Repository, browser: Browser, monkeypatch: pytest.MonkeyPatch
):
    def failing(*args, **options):
        raise ibidem.StorageError("the disk <failed>")

    monkeypatch.setattr(type(repo.history), "compare", failing)
    page = browser.page("/compare?text=payment")
    assert "the disk <failed>" in page.one("section", role="alert").words
