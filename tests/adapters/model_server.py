"""A server on 127.0.0.1 that speaks the protocols of OpenAI and Anthropic, for tests.

It answers from the last message, counts its calls, and never answers twice alike: the number of
the call is in every answer, so a replay that asked it would be noticed.
"""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any


class ModelServer(ThreadingHTTPServer):
    """The server with what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.calls: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.lock = Lock()
        self.suffix = ""
        """Added to every answer: another mood of the model."""

    def handle_error(self, *_: Any) -> None:
        """Says nothing of clients that stop reading."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def count(self) -> int:
        return len(self.calls)


@contextmanager
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.calls.append(body)
            self.server.headers.append({k.lower(): v for k, v in self.headers.items()})
            number = self.server.count
        said = _last(body)
        if "wait" in said:
            time.sleep(int(said.split()[-1]) / 1000)
        if said == "overloaded":
            return self._send(429, {"error": {"message": "too many", "type": "rate_limit"}})
        if said == "hang up":
            self.close_connection = True
            return None
        text = f"{said}, said {number}{self.server.suffix}"
        path = self.path.partition("?")[0]
        if path.endswith("/chat/completions"):
            return self._answer(body, _chat(number, text), _chat_events(number, text))
        if path.endswith("/responses"):
            return self._answer(body, _response(number, text), _response_events(number, text))
        if path.endswith("/messages"):
            return self._answer(body, _message(number, text), _message_events(number, text))
        if path.endswith("/embeddings"):
            data = [{"object": "embedding", "index": 0, "embedding": [0.5, float(number)]}]
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            return self._send(
                200, {"object": "list", "data": data, "model": body["model"], "usage": usage}
            )
        return self._send(404, {"error": {"message": f"no {path}"}})

    def _answer(self, body: dict[str, Any], whole: Any, events: list[str]) -> None:
        if not body.get("stream"):
            return self._send(200, whole)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        said = _last(body)
        for index, event in enumerate(events):
            if said == "break off" and index == 3:
                self.close_connection = True
                return None
            # Cut in the middle of events, and of characters.
            data = event.encode()
            for part in (data[: len(data) // 2], data[len(data) // 2 :]):
                self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _send(self, status: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        if "gzip" in self.headers.get("accept-encoding", ""):
            data = gzip.compress(data, mtime=0)
            self.send_header("content-encoding", "gzip")
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("x-request-id", f"req-{self.server.count}")
        self.send_header("set-cookie", "session=secret-of-the-server")
        self.end_headers()
        self.wfile.write(data)


def _last(body: dict[str, Any]) -> str:
    given = body.get("messages") or body.get("input")
    if isinstance(given, list):
        given = given[-1]
    if isinstance(given, dict):
        given = given["content"]
    if isinstance(given, list):
        given = given[-1].get("text") or str(given[-1].get("content"))
    return str(given)


USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


def _chat(number: int, text: str) -> dict[str, Any]:
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
        "logprobs": None,
    }
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_700_000_000 + number,
        "model": "gpt-test-1",
        "choices": [choice],
        "usage": USAGE,
    }


def _pieces(text: str) -> list[str]:
    return [*re.findall(r"\S+\s*", text), " é☂"]


def _chat_events(number: int, text: str) -> list[str]:
    def event(delta: dict[str, Any], reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        chunk = _chat(number, text) | {"object": "chat.completion.chunk", "choices": [choice]}
        chunk["usage"] = None
        return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"

    events = [event({"role": "assistant", "content": ""})]
    events += [event({"content": piece}) for piece in _pieces(text)]
    return [*events, event({}, "stop"), "data: [DONE]\n\n"]


def _response(number: int, text: str) -> dict[str, Any]:
    content = {"type": "output_text", "text": text, "annotations": []}
    item = {
        "type": "message",
        "id": f"msg-{number}",
        "status": "completed",
        "role": "assistant",
        "content": [content],
    }
    return {
        "id": f"resp-{number}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "completed",
        "model": "gpt-test-1",
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 7,
            "output_tokens": 5,
            "total_tokens": 12,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def _named(events: list[tuple[str, dict[str, Any]]]) -> list[str]:
    return [
        f"event: {name}\ndata: {json.dumps({'type': name, **data}, ensure_ascii=False)}\n\n"
        for name, data in events
    ]


def _response_events(number: int, text: str) -> list[str]:
    whole = _response(number, text)
    place = {"item_id": f"msg-{number}", "output_index": 0, "content_index": 0}
    deltas = [
        ("response.output_text.delta", {**place, "delta": piece, "sequence_number": index + 1})
        for index, piece in enumerate(_pieces(text))
    ]
    begun = {"response": {**whole, "status": "in_progress", "output": []}, "sequence_number": 0}
    return _named(
        [
            ("response.created", begun),
            *deltas,
            ("response.completed", {"response": whole, "sequence_number": 99}),
        ]
    )


def _message(number: int, text: str) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-test-1",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 5},
    }


def _message_events(number: int, text: str) -> list[str]:
    start = {**_message(number, text), "content": [], "stop_reason": None}
    block = {"index": 0, "content_block": {"type": "text", "text": ""}}
    deltas = [
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": piece}})
        for piece in _pieces(text)
    ]
    done = {
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 5},
    }
    return _named(
        [
            ("message_start", {"message": start}),
            ("content_block_start", block),
            *deltas,
            ("content_block_stop", {"index": 0}),
            ("message_delta", done),
            ("message_stop", {}),
        ]
    )
