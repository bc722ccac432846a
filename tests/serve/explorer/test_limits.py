"""Pages are bounded, whatever is in the repository, and slow parts do not hold up the rest."""

from __future__ import annotations

import ast
import threading
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest
from tests.adapters.test_face_only import FACE, imported
from tests.tools.type_check import HOUSE

import ibidem
from ibidem.memory.conversation.message import thread_id
from ibidem.pages.html import TEXT_CHARACTERS
from ibidem.repo.graph import Graph
from ibidem.serve.explorer.reading import StoppedError, check_stopped, reading
from ibidem.serve.explorer.routes import ROUTES

from .browsing import Browser, browsing
from .conftest import filled

MODULES = sorted((HOUSE / "serve" / "explorer").glob("*.py"))
SHARED = {
    "ibidem.objects.record",
    "ibidem.objects.printable",
    "ibidem.repo.sync.wire",  # which status an error has
    "ibidem.repo.viewer.exposure",
    "ibidem.repo.receipts.log",  # which gets no receipt of a page
    "ibidem.repo.retrieval.printed_frame",  # with which the command asks the same
    "ibidem.retrieve.query.options",  # with which packs are made for readers
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


def files_of(repo: ibidem.Repository) -> dict[str, bytes]:
    """The files of a repository but for its index, which is a cache, and the locks of readers."""
    assert repo.folder is not None
    return {
        str(path.relative_to(repo.folder)): path.read_bytes()
        for path in sorted(repo.folder.rglob("*"))
        if path.is_file() and "index" not in path.parts and path.name != "lock.mdb"
    }


def test_no_page_writes_anything(tmp_path: Path):
    with filled(ibidem.init(tmp_path)) as repo:
        repo.conversations.append("talk", [("user", "How often?")])
        with repo.runs.start("support") as run:
            run.at().retrieve("payment")
        before = files_of(repo)
        with browsing(repo) as browser:
            for path in (
                "/ask?text=payment+retried&missing=" + str(ibidem.node_id("", "ada")),
                "/compare?text=payment&before=HEAD~2",
                "/run/support/1?check=1",
                "/run/support/1?other=support/1",
                "/threads",
                f"/thread/{thread_id('talk')}?text=how+often",
                "/health?full=1",
            ):
                assert not browser.page(path).all("section", role="alert")
        assert files_of(repo) == before
        repo.retrieve("payment retried")
        assert files_of(repo) != before


def test_a_browser_that_leaves_stops_what_is_computed_for_it(
    repo: ibidem.Repository, browser: Browser, monkeypatch: pytest.MonkeyPatch
):
    reached, has_ended = threading.Event(), threading.Event()
    seen: list[BaseException] = []

    def endless(*args, **options):
        reached.set()
        try:
            for done in range(3000):
                time.sleep(0.01)
                repo.core.progress("checking", done, None)
        except BaseException as error:
            seen.append(error)
            raise
        finally:
            has_ended.set()

    monkeypatch.setattr(type(repo.maintenance), "checkup", endless)
    connection = HTTPConnection("127.0.0.1", browser.explorer.port, timeout=30)
    connection.request("GET", "/health?full=1", headers={"Cookie": browser.cookie})
    assert "<h1>Health</h1>" in connection.getresponse().read1().decode()
    assert reached.wait(30)
    connection.close()
    assert has_ended.wait(20)
    assert [type(error) for error in seen] == [StoppedError]
    assert "Health" in browser.page("/health").words


def test_only_a_page_that_nobody_waits_for_is_stopped():
    stopped = threading.Event()
    check_stopped("checking", 0, None)
    with reading(stopped):
        check_stopped("checking", 0, None)
        stopped.set()
        check_stopped("indexing nodes", 0, None)
        with pytest.raises(StoppedError):
            check_stopped("checking", 1, None)
    check_stopped("checking", 1, None)


def test_the_frame_of_every_page_is_there_before_the_index(monkeypatch: pytest.MonkeyPatch):
    may_build = threading.Event()
    snapshot = Graph.snapshot

    def slow(graph: Graph) -> object:
        assert may_build.wait(60)
        return snapshot(graph)

    ada, document = ibidem.node_id("", "ada"), ibidem.node_id("document", "handbook.md")
    given = {
        "bisect": f"?text=payment&expect={document}",
        "compare": "?text=payment",
        "node": f"/{ada}",
        "document": f"/{document}",
        "graph": f"/{ada}",
        "commit": "/HEAD~1",
        "thread": f"/{thread_id('talk')}",
        "run": "/support/1",
    }
    with filled(ibidem.init("memory:")) as repo:
        repo.conversations.append("talk", [("user", "How often?")])
        with repo.runs.start("support") as run:
            run.at().retrieve("payment")
        monkeypatch.setattr(Graph, "snapshot", slow)
        with browsing(repo) as browser:
            for path in ["/ask?text=payment"] + [
                f"/{route.path.split('/')[1]}{given.get(route.name, '')}" for route in ROUTES
            ]:
                may_build.clear()
                connection = HTTPConnection("127.0.0.1", browser.explorer.port, timeout=30)
                connection.request("GET", path, headers={"Cookie": browser.cookie})
                response = connection.getresponse()
                assert response.status == 200, path
                assert "</h1>" in response.read1().decode(), path
                may_build.set()
                assert 'role="alert"' not in response.read().decode(), path
                connection.close()
