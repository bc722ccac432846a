"""Providers over HTTP, against a server on this machine that behaves well, badly, and worse."""

from __future__ import annotations

import base64
import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from ibidem.embed.http import Service, post_json
from ibidem.embed.remote import OllamaEmbedder, OpenAiEmbedder
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    IbidemError,
    InvalidInputError,
    StorageError,
)

KEY = "sk-secret-0123456789"
Answer = tuple[int, bytes, dict[str, str]]


class Server:
    """A server whose next answers the test says; it keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Callable[[Any], Answer] | Answer] = []
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.asked.append((self.path, dict(self.headers), body))
                answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
                status, data, headers = answer(body) if callable(answer) else answer
                self.send_response(status)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                return

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def close(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.close()


def row(text: str) -> list[float]:
    return [float(len(text)), 0.5, -1.25]


def openai(body: dict[str, Any], *, in_base64: bool = True) -> Answer:
    def coded(text: str) -> Any:
        values = np.array(row(text), "<f4")
        return base64.b64encode(values.tobytes()).decode() if in_base64 else values.tolist()

    data = [{"index": at, "embedding": coded(text)} for at, text in enumerate(body["input"])]
    return 200, json.dumps({"data": data[::-1]}).encode(), {}


def ollama(body: dict[str, Any]) -> Answer:
    return 200, json.dumps({"embeddings": [row(text) for text in body["input"]]}).encode(), {}


def said(status: int, body: Any, **headers: str) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return status, data, {name.replace("_", "-"): value for name, value in headers.items()}


def service(server: Server, **options: Any) -> tuple[Service, list[float]]:
    pauses: list[float] = []
    return (
        Service(f"{server.url}/v1/embeddings", "test", KEY, sleep=pauses.append, **options),
        pauses,
    )


@pytest.mark.parametrize("in_base64", [True, False])
def test_openai_vectors_come_in_the_order_of_the_texts(server: Server, in_base64: bool):
    server.answers = [lambda body: openai(body, in_base64=in_base64)]
    model = OpenAiEmbedder(service(server)[0], "small", batch_texts=2)
    texts = ["a", "bcd", "ef", "", "ghij"]
    assert model.embed(texts).tolist() == [row(text) for text in texts]
    path, headers, body = server.asked[0]
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {"model": "small", "input": ["a", "bcd"], "encoding_format": "base64"}
    assert [len(asked[2]["input"]) for asked in server.asked] == [2, 2, 1]
    assert model.dim == 3
    assert len(server.asked) == 3


def test_the_dimension_is_asked_for_once_where_nobody_knows_it(server: Server):
    server.answers = [ollama]
    model = OllamaEmbedder(Service(f"{server.url}/api/embed", "ollama"), "nomic")
    assert [model.dim, model.dim] == [3, 3]
    assert len(server.asked) == 1


def test_openai_is_told_the_dimension_that_was_chosen(server: Server):
    server.answers = [openai]
    model = OpenAiEmbedder(service(server)[0], "small", dimensions=3)
    assert model.dim == 3
    assert server.asked == []
    model.embed(["a"])
    assert server.asked[0][2]["dimensions"] == 3
    assert model.digest != OpenAiEmbedder(service(server)[0], "small").digest


def test_ollama_is_asked_in_its_own_way(server: Server):
    server.answers = [ollama]
    place = Service(f"{server.url}/api/embed", "ollama")
    model = OllamaEmbedder(place, "nomic", dim=3)
    assert model.embed(["ab"]).tolist() == [row("ab")]
    assert server.asked[0][2] == {"model": "nomic", "input": ["ab"], "truncate": True}
    assert "Authorization" not in server.asked[0][1]
    assert model.name == "ollama:nomic"


def test_the_address_is_not_part_of_the_identity(server: Server):
    one = OllamaEmbedder(Service("http://a/api/embed", "x"), "nomic", dim=3)
    other = OllamaEmbedder(Service("http://b/api/embed", "x"), "nomic", dim=3)
    assert one.digest == other.digest
    assert one.digest != OllamaEmbedder(Service("http://a/api/embed", "x"), "e5", dim=3).digest


def test_a_busy_server_is_asked_again_after_growing_pauses(server: Server):
    server.answers = [
        said(429, {"error": {"message": "slow down"}}, Retry_After="3"),
        said(503, b""),
        said(500, b"oops"),
        openai,
    ]
    place, pauses = service(server)
    assert OpenAiEmbedder(place, "small", dimensions=3).embed(["a"]).shape == (1, 3)
    assert pauses == [3.0, 1.0, 2.0]


def test_it_gives_up_after_the_last_try_and_says_why(server: Server):
    server.answers = [said(503, {"error": "overloaded"}, Retry_After="99999")]
    place, pauses = service(server, tries=3)
    with pytest.raises(StorageError, match=r"3 tries: status 503: overloaded"):
        post_json(place, {})
    assert pauses == [20.0, 20.0]
    assert len(server.asked) == 3


def test_nobody_listening_is_an_error_with_a_hint():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    with pytest.raises(StorageError, match="2 tries") as caught:
        post_json(Service(url, "test", tries=2, sleep=lambda _: None), {})
    assert "running" in (caught.value.hint or "")


def test_a_server_that_says_nothing_is_left_after_the_timeout():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(StorageError, match="timed out"):
            post_json(Service(url, "test", tries=1, timeout_seconds=0.1), {})


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_is_not_tried_again_and_never_shows_the_key(server: Server, status: int):
    message = f"bad key {KEY}\n" + "x" * 999
    server.answers = [said(status, {"error": {"message": message}})]
    with pytest.raises(InvalidInputError, match=f"status {status}: bad key") as caught:
        post_json(service(server)[0], {})
    assert KEY not in str(caught.value)
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)
    assert len(server.asked) == 1


def test_a_redirection_is_not_followed(server: Server):
    server.answers = [said(302, b"", Location=f"{server.url}/elsewhere")]
    with pytest.raises(InvalidInputError, match="302"):
        post_json(service(server)[0], {})
    assert len(server.asked) == 1


def test_an_answer_that_is_too_large_or_no_json_is_refused(server: Server):
    server.answers = [said(200, b"[" + b"1," * 999 + b"1]")]
    with pytest.raises(CorruptError, match="more than 100 bytes"):
        post_json(service(server, answer_bytes_max=100)[0], {})
    server.answers = [said(200, b"<html>")]
    with pytest.raises(CorruptError, match="not JSON"):
        post_json(service(server)[0], {})


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"data": 3},
        {"data": [{"index": 1, "embedding": [1, 2, 3]}]},
        {"data": [{"index": 0}]},
        {"data": []},
        {"data": [{"index": 0, "embedding": "no base64!"}]},
        {"data": [{"index": 0, "embedding": "AAAA"}]},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": [[1]]}]},
        {"data": [{"index": 0, "embedding": ["1", "2", "3"]}]},
        {"data": [{"index": 0, "embedding": None}]},
    ],
)
def test_an_answer_of_another_form_is_refused(server: Server, body: Any):
    server.answers = [said(200, body)]
    with pytest.raises(CorruptError, match="openai:small"):
        OpenAiEmbedder(service(server)[0], "small", dimensions=3).embed(["a"])


@pytest.mark.parametrize("body", [[], {"embeddings": 3}, {"embeddings": [[1, 2, 3], [1, 2]]}])
def test_an_answer_of_ollama_of_another_form_is_refused(server: Server, body: Any):
    server.answers = [said(200, body)]
    with pytest.raises(CorruptError):
        OllamaEmbedder(service(server)[0], "nomic", dim=3).embed(["a", "b"])


def test_vectors_of_another_dimension_or_not_finite_are_refused(server: Server):
    server.answers = [ollama]
    with pytest.raises(InvalidInputError) as caught:
        OllamaEmbedder(service(server)[0], "nomic", dim=4).embed(["a"])
    assert caught.value.kind is ErrorKind.DIMENSION_MISMATCH
    server.answers = [said(200, b'{"embeddings": [[1e300, 0, 0]]}')]
    with pytest.raises(InvalidInputError, match="finite"):
        OllamaEmbedder(service(server)[0], "nomic", dim=3).embed(["a"])


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/y", "nothing", "http://"])
def test_an_address_that_is_not_http_is_refused(url: str):
    with pytest.raises(InvalidInputError, match="url"):
        Service(url, "test")


def test_a_key_that_could_forge_a_header_is_refused_and_no_key_is_shown():
    with pytest.raises(IbidemError, match="key"):
        Service("http://a/", "test", "abc\r\nX: y")
    assert KEY not in repr(Service("http://a/", "test", KEY))
