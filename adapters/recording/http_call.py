"""One call of a model over HTTP as the request and the answer of an event.

What is recorded is what the call means: the path, the decoded body, the status and the decoded
bytes of the answer. Headers are left out except for a few named here, so credentials are never
recorded, and neither are versions, times or addresses; the same call is recorded alike on every
machine. Texts pass the scan for secrets, and the key of the call itself is removed wherever it
stands. How an answer was cut into packets is chance: it is recorded whole, and a replay streams it
event by event.

Spec: replay 3.1.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from ibidem import CorruptError, without_secrets

EVENT = "model-call"
"""The name of these events in a run."""
TEXT_CHARACTERS_MAX = 65_536
"""Longer texts in a request, such as an image, are recorded by their hash: a replay only compares
them, and a request has at most 1 MiB."""
_PATHS = re.compile(
    r"/(?:chat/completions|completions|responses|messages|messages/count_tokens|embeddings"
    r"|moderations|rerank|api/chat|api/generate|api/embed|[^/]*:(?:generateContent|embedContent"
    r"|streamGenerateContent|batchEmbedContents|countTokens))$"
)
_SECRET_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie")
_SECRET_PARAMETERS = ("key", "api_key", "api-key", "access_token", "token", "sig", "signature")
_REQUEST_HEADERS = ("anthropic-beta", "openai-beta")
"""Headers that change what is answered."""
_ANSWER_HEADERS = ("content-type", "request-id", "x-request-id")
"""Headers that clients show to programs."""
_SECRET_CHARACTERS_MIN = 8
_REMOVED = "[removed: the key of the call]"
_STATUSES = range(200, 600)
_INTEGERS = range(-(2**63), 2**64)
_LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_EVENT_END = re.compile(r"(?:\r\n\r\n|\n\n|\r\r)")


def is_model_call(method: str, path: str) -> bool:
    """Returns whether a request asks a model: by the paths of the interfaces in use.

    >>> is_model_call("POST", "/v1/chat/completions"), is_model_call("POST", "/v1/files")
    (True, False)
    """
    return method == "POST" and _PATHS.search(path) is not None


def secrets_of(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the credentials of a request."""
    values = [headers[name] for name in _SECRET_HEADERS if name in headers]
    words = [word for value in values for word in (value, *value.split())]
    # "Bearer" and other short words of a header are no secrets.
    return tuple(word for word in words if len(word) >= _SECRET_CHARACTERS_MIN)


def request_value(
    path: str, query: str, headers: Mapping[str, str], body: bytes, secrets: tuple[str, ...]
) -> dict[str, Any]:
    """Returns the request of a call, as recorded."""
    parameters = [
        (name, value)
        for name, value in parse_qsl(query, True)
        if name.lower() not in _SECRET_PARAMETERS
    ]
    value: dict[str, Any] = {
        "path": path + (f"?{urlencode(parameters)}" if parameters else ""),
        "body": _parsed(body),
    }
    behaviour = {name: headers[name] for name in _REQUEST_HEADERS if name in headers}
    if behaviour:
        value["headers"] = behaviour
    return _map(value, lambda text: _shortened(_redacted(text, secrets)))


def answer_value(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    secrets: tuple[str, ...],
    *,
    is_whole: bool = True,
    failure: tuple[str, str] | None = None,
) -> dict[str, Any]:
    """Returns the answer to a call, as recorded.

    Args:
        is_whole: whether the caller read it to its end; else it is cut after the last event.
        failure: the class and the message of the error that broke it off.
    """
    value: dict[str, Any] = {
        "status": status,
        "headers": {name: headers[name] for name in _ANSWER_HEADERS if name in headers},
        "body": _text(body) if is_whole else _whole_events(_text(body)),
    }
    if failure is not None:
        value["failure"] = list(failure)
    return _map(value, lambda text: redacted_json(text, secrets))


def failed_value(error: str, message: str, secrets: tuple[str, ...]) -> dict[str, Any]:
    """Returns the answer to a call that got none, as recorded: the class and message of an error of
    the connection."""
    return _map({"failure": [error, message]}, lambda text: _redacted(text, secrets))


def checked(value: Any) -> dict[str, Any]:
    """Returns a recorded answer; raises `CorruptError` if it has another form, as a run from
    elsewhere may have.
    """
    fields: dict[str, Any] = value if isinstance(value, dict) else {}
    headers, failure = fields.get("headers"), fields.get("failure")
    is_answer = (
        type(fields.get("status")) is int
        and fields["status"] in _STATUSES
        and isinstance(headers, dict)
        and all(isinstance(item, str) for item in headers.values())
        and isinstance(fields.get("body"), str | bytes)
    )
    is_failure = isinstance(failure, list) and [type(item) for item in failure] == [str, str]
    has_form = is_failure if set(fields) == {"failure"} else is_answer
    if not has_form or not (failure is None or is_failure):
        raise CorruptError(
            f"model-call: got the answer {value!r:.80}, expected status, headers and body, or "
            "failure"
        )
    return fields


def parts(value: Mapping[str, Any]) -> Iterator[bytes]:
    """Yields a recorded answer as it is streamed: a stream of events one by one, anything else in
    one part.
    """
    body = value["body"]
    if isinstance(body, bytes):
        yield body
        return
    is_stream = "event-stream" in value["headers"].get("content-type", "")
    start = 0
    for found in _EVENT_END.finditer(body) if is_stream else ():
        yield body[start : found.end()].encode()
        start = found.end()
    if body[start:]:
        yield body[start:].encode()


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body, parse_int=_integer, parse_constant=_no_number)
    except ValueError:
        return _text(body)


def _integer(text: str) -> int:
    number = int(text)
    if number not in _INTEGERS:
        raise ValueError(text)
    return number


def _no_number(text: str) -> float:
    raise ValueError(text)


def _text(body: bytes) -> str | bytes:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body


def _whole_events(body: str | bytes) -> str | bytes:
    if isinstance(body, bytes):
        return body
    ends = [found.end() for found in _EVENT_END.finditer(body)]
    return body[: ends[-1]] if ends else ""


def _redacted(text: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        text = text.replace(secret, _REMOVED)
    return without_secrets(text)


def redacted_json(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Returns text, each string of it redacted on its own if it is JSON or has JSON in it.

    A form that is looked for in the whole could begin in one string and end in the next.
    """

    def redacted(found: re.Match[str]) -> str:
        literal = found[0]
        try:
            plain = json.loads(literal)
        except ValueError:
            return _redacted(literal, secrets)
        safe = _redacted(plain, secrets)
        return literal if safe == plain else json.dumps(safe)

    is_json = text.lstrip()[:1] in ("{", "[") or "data:" in text
    return _LITERAL.sub(redacted, text) if is_json else _redacted(text, secrets)


def _shortened(text: str) -> str:
    if len(text) <= TEXT_CHARACTERS_MAX:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"[{len(text)} characters, sha256 {digest}]"


def _map(value: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    return {name: _mapped(item, change) for name, item in value.items()}


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Returns a value with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return _map(value, change)
    if isinstance(value, list):
        return [_mapped(item, change) for item in value]
    return value
