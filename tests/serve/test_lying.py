"""A server that lies: the client refuses what it says, and nothing here has changed."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

import ibidem
from ibidem.objects.errors import (
    ConflictError,
    IbidemError,
)
from ibidem.repo.sync import wire
from ibidem.repo.sync.remotes import RemoteAddress

TOKEN = "a-token-of-forty-characters-0123456789ab"


class Lying:
    """A server that answers every request with the same bytes."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Lying:
        import threading

        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.recv(65536)
                    connection.sendall(self._answer)
                except OSError:
                    continue

    def __exit__(self, *_: object) -> None:
        self._listener.close()


def head(size: int, status: str = "200 OK", extra: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\n{extra}\r\n".encode()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"nonsense\r\n\r\n",
        head(0),
        head(5) + b"\xff" * 5,
        head(1 << 40) + b"\x00" * 100,
        head(2 << 20) + b"\x00" * (2 << 20),
        head(0, "302 Found", "Location: http://127.0.0.1:1/\r\n"),
        head(0, "500 Oops"),
        head(4, "409 Conflict") + b"\x81" * 4,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\nabc",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500 + b"\r\n",
    ],
)
def test_a_lying_server_changes_nothing(answer: bytes, tmp_path: Path):
    with Lying(answer) as server, ibidem.init() as ours:
        ours.sync.remotes.add("origin", RemoteAddress(server.url))
        before = ours.core.store.cell("head")
        with pytest.raises(IbidemError):
            ours.sync.pull(token=TOKEN)
        assert ours.core.store.cell("head") == before
        with pytest.raises(IbidemError):
            ibidem.clone(server.url, tmp_path / "copy", token=TOKEN)
        assert not (tmp_path / "copy" / ".ibidem").exists()


def test_what_a_server_says_cannot_steer_a_terminal():
    said = json.dumps({"kind": "conflict", "detail": "a\x1b[2Jb\u202e" * 500, "hint": None})
    error = wire.read_problem(409, said.encode())
    assert isinstance(error, ConflictError)
    assert str(error).isprintable()
    assert len(str(error)) < 600
