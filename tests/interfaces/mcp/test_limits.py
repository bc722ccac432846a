"""The limits of the server over HTTP are those of every server here."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

pytest.importorskip("mcp")

import ibidem
from ibidem.adapters.mcp.access import Access
from ibidem.adapters.mcp.http import BODY_BYTES_MAX, PATH
from ibidem.cli.mcp import http_listener
from ibidem.serve import connection, limited

TOKEN = "t" * 32
IDLE_SECONDS = 0.5
LISTED = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with ibidem.init() as repository:
        access = Access(repository, author="ada")
        found = http_listener(
            lambda token: access if token == TOKEN else None, 0, idle_seconds=IDLE_SECONDS
        )
        with found as server:
            server.start()
            yield server.port


def head(port: int, size: object, *more: str, token: str = TOKEN, host: str = "") -> bytes:
    lines = [
        f"POST {PATH} HTTP/1.1",
        f"Host: {host or f'127.0.0.1:{port}'}",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {size}",
        *more,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def sent(port: int, data: bytes) -> bytes:
    """What the server answers until it closes the connection."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=10)) as client:
        client.sendall(data)
        return read(client)


def read(client: socket.socket) -> bytes:
    found = b""
    try:
        while part := client.recv(1 << 16):
            found += part
    except ConnectionResetError:
        pass
    return found


def kind_of(answer: bytes) -> tuple[int, str]:
    first, _, body = answer.partition(b"\r\n\r\n")
    return int(first.split()[1]), json.loads(body)["kind"]


def test_a_request_is_answered(port: int):
    answer = sent(port, head(port, len(LISTED), "Connection: close") + LISTED)
    assert answer.startswith(b"HTTP/1.1 200"), answer
    assert b'"retrieve"' in answer


@pytest.mark.parametrize(
    ("request_of", "expected"),
    [
        (lambda port: head(port, BODY_BYTES_MAX + 1), (413, "limit-exceeded")),
        (lambda port: head(port, "many"), (400, "invalid-input")),
        (lambda port: head(port, 2, token="wrong") + b"{}", (401, "unauthorized")),
        (lambda port: head(port, 2, host="evil.example") + b"{}", (400, "invalid-input")),
        (lambda port: head(port, 100) + b"{", (408, "invalid-input")),
        (lambda port: b"GET", (408, "invalid-input")),
        (lambda port: b"nonsense\r\n\r\n", (400, "invalid-input")),
        (lambda port: b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000, (431, "invalid-input")),
    ],
)
def test_what_exceeds_a_limit_is_refused_with_our_kind(port: int, request_of, expected):
    assert kind_of(sent(port, request_of(port))) == expected


def test_idle_connections_end_and_keep_nobody_out(port: int):
    idle = [
        socket.create_connection(("127.0.0.1", port), timeout=10)
        for _ in range(connection.CONNECTIONS_MAX + 8)
    ]
    try:
        answer = sent(port, head(port, len(LISTED), "Connection: close") + LISTED)
        assert answer.startswith(b"HTTP/1.1 200")
        started = time.monotonic()
        assert all(read(one) == b"" for one in idle)
        assert time.monotonic() - started < 10
    finally:
        for one in idle:
            one.close()


def test_requests_beyond_the_limit_are_refused(port: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limited, "REQUESTS_MAX", 0)
    answer = sent(port, head(port, len(LISTED)) + LISTED)
    assert kind_of(answer) == (503, "storage")
