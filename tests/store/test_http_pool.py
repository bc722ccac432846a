"""The client of HTTP: connections are reused, a proxy is used where one is given."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ibidem.cli.proxies import proxy_of
from ibidem.store import http_pool
from ibidem.store.proxies import set_proxies

CONNECTIONS: list[Any] = []
TARGETS: list[str] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        CONNECTIONS.append(self.client_address)

    def do_GET(self) -> None:
        TARGETS.append(self.path)
        self.send_response(302 if self.path == "/moved" else 200)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"body")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def url() -> Iterator[str]:
    CONNECTIONS.clear()
    TARGETS.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def read(url: str, **given: Any) -> tuple[int, bytes]:
    with http_pool.response("GET", url, headers={}, timeout_seconds=60, **given) as answer:
        return answer.status, answer.read()


def test_a_connection_serves_several_requests(url: str):
    for path in ("/a", "/b", "/c"):
        assert read(url + path) == (200, b"body")
    assert len(CONNECTIONS) == 1


def test_a_body_that_was_not_read_costs_its_connection(url: str):
    with http_pool.response("GET", url, headers={}, timeout_seconds=60):
        pass
    assert read(url) == (200, b"body")
    assert len(CONNECTIONS) == 2


def test_a_redirect_is_not_followed(url: str):
    assert read(url + "/moved") == (302, b"body")
    assert TARGETS == ["/moved"]


def test_a_proxy_is_asked_for_the_whole_url(url: str):
    set_proxies(lambda target: url if "elsewhere" in target else None)
    try:
        assert read("http://elsewhere.example/a") == (200, b"body")
        assert read(url + "/here") == (200, b"body")
    finally:
        set_proxies(None)
    assert TARGETS == ["http://elsewhere.example/a", "/here"]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("https://far.example/x", "http://p:2"),
        ("http://far.example/x", "http://p:1"),
        ("https://near.example/x", None),
        ("https://127.0.0.1:7/x", None),
        ("http://localhost/x", None),
    ],
)
def test_the_command_line_takes_the_proxies_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, target: str, expected: str | None
):
    monkeypatch.setenv("http_proxy", "http://p:1")
    monkeypatch.setenv("https_proxy", "http://p:2")
    monkeypatch.setenv("no_proxy", "near.example")
    assert proxy_of(target) == expected


def test_nobody_there_is_said_in_the_words_of_the_system():
    with pytest.raises(http_pool.FAILURES) as error:
        read("http://127.0.0.1:9/")
    assert "object at" not in http_pool.reason(error.value)
