"""One JSON request to an embedding service: bounded in time, size and number of tries.

A service is not trusted: redirects are not followed (a key could leave with one), the size of an
answer is limited, and error messages are shortened and never contain the key. Only transient
failures are retried: a busy or failing server, a broken connection.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ibidem.objects.errors import CorruptError, IbidemError, InvalidInputError, StorageError
from ibidem.objects.record import record
from ibidem.store import http_pool

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

ANSWER_BYTES_MAX = 64 << 20
_ERROR_CHARS = 200
_ERROR_BYTES = 1 << 16
_TRIED_AGAIN = (408, 425, 429, 500, 502, 503, 504, 529)


@record
class Service:
    """The address of a service, and the timeouts and retries of its caller."""

    url: str
    """The URL of the request: http or https."""
    name: str
    """The name of the service in error messages."""
    key: str | None = field(default=None, repr=False)
    """Sent as a bearer token."""
    timeout_seconds: float = 60.0
    """Timeout of one try, for connecting and for every read."""
    tries: int = 4
    pause_seconds: float = 0.5
    """The pause before the second try; it doubles before each further one."""
    pause_seconds_max: float = 20.0
    """The longest pause, even if the service asks for a longer one."""
    answer_bytes_max: int = ANSWER_BYTES_MAX
    sleep: Callable[[float], object] = time.sleep

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInputError(f"url: got {self.url!r:.80}, expected http:// or https://")
        if self.key is not None and not (self.key.isascii() and self.key.isprintable()):
            raise InvalidInputError(f"{self.name}: the key has characters that no key has")
        if self.tries < 1:
            raise InvalidInputError(f"tries: got {self.tries}, expected 1 or more")


def post_json(service: Service, body: Mapping[str, Any]) -> Any:
    """Sends one JSON object and returns the JSON of the answer.

    Raises:
        InvalidInputError: the service rejects the request: the key, the model or the texts.
        StorageError: the service does not answer, or still fails after the last try.
        CorruptError: the answer is not JSON, or too large.
    """
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if service.key:
        headers["Authorization"] = f"Bearer {service.key}"
    data = json.dumps(body).encode()
    pause = service.pause_seconds
    for left in reversed(range(service.tries)):
        try:
            with http_pool.response(
                *("POST", service.url),
                headers=headers,
                body=data,
                timeout_seconds=service.timeout_seconds,
            ) as answer:
                if answer.status == HTTPStatus.OK:
                    return _parsed(service, answer.read(service.answer_bytes_max + 1))
                said = _said(service, answer)
                if answer.status not in _TRIED_AGAIN:
                    raise _refused(service, answer.status, said)
                wished = _seconds(answer.headers.get("Retry-After"))
                trouble = f"status {answer.status}: {said}"
        except http_pool.FAILURES as error:
            if isinstance(error, IbidemError):
                raise
            trouble, wished = http_pool.reason(error), 0.0
        if left:
            service.sleep(min(max(pause, wished), service.pause_seconds_max))
            pause *= 2
    raise StorageError(
        f"{service.name}: no answer from {_place(service)} in {service.tries} tries: {trouble}",
        hint="is the service running, and is its address right?",
    )


def _parsed(service: Service, data: bytes) -> Any:
    if len(data) > service.answer_bytes_max:
        raise CorruptError(
            f"{service.name}: the answer has more than {service.answer_bytes_max} bytes"
        )
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CorruptError(f"{service.name}: the answer is not JSON: {data[:60]!r}") from error


def _said(service: Service, answer: BaseHTTPResponse) -> str:
    """Returns the message in an error's body, on one line, without the key."""
    try:
        text = answer.read(_ERROR_BYTES).decode("utf-8", "replace")
    except http_pool.FAILURES:
        text = ""
    try:
        found = json.loads(text)["error"]
        text = str(found["message"] if isinstance(found, dict) else found)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    if service.key:
        text = text.replace(service.key, "[key]")
    return " ".join(text.split())[:_ERROR_CHARS] or "no reason given"


def _refused(service: Service, code: int, said: str) -> InvalidInputError:
    hint = {401: "set the key that the service gave you", 403: "this key is not allowed to do this"}
    return InvalidInputError(
        f"{service.name}: {_place(service)} refuses with status {code}: {said}", hint=hint.get(code)
    )


def _place(service: Service) -> str:
    parts = urlsplit(service.url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"


def _seconds(text: str | None) -> float:
    return float(text) if text and text.isascii() and text.isdigit() and len(text) < 6 else 0.0
