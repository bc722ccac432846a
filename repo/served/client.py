"""Requests to the API of a server: JSON, or blocks as bytes, within limits.

What a server says is trusted no more than a file: bytes are decoded as those of strangers, and the
identity of a block is computed here. A request that was not answered is sent again only if that
cannot do anything twice.

Spec: trust 7.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from ibidem.objects.errors import ErrorKind, IbidemError, InvalidInputError, RemoteError
from ibidem.repo.arguments import checked_time
from ibidem.repo.sync import wire
from ibidem.repo.sync.http_client import server_address, unreachable
from ibidem.store import http_pool

TIMEOUT_SECONDS = 60.0
ANSWER_BYTES_MAX = 64 << 20
TRIES = 3


class Received(NamedTuple):
    """An answer of a server."""

    body: bytes
    tag: str | None

    def json(self) -> dict[str, Any]:
        """Returns the object in the body.

        Raises:
            RemoteError: it is none.
        """
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise RemoteError("remote: its answer is not JSON") from error
        if not isinstance(found, dict):
            raise RemoteError(f"remote: it answered {found!r:.80}, expected an object")
        return found


class Client:
    """The API of one server."""

    def __init__(self, url: str, token: str | None) -> None:
        """Checks the address; nothing is sent yet.

        Raises:
            InvalidInputError: the URL or the token is malformed, or the URL would leak the token.
        """
        self.address = server_address(url, token or "", is_plain_allowed=False)
        self._token = token or ""

    def get(self, path: str, *, accept: str = "application/json", **query: str | None) -> Received:
        """Asks for what a path names."""
        given = {name: value for name, value in query.items() if value is not None}
        target = f"{path}?{urlencode(given)}" if given else path
        return self._sent("GET", target, None, {"Accept": accept})

    def post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> Received:
        """Sends an object; the caller sees to it that it may arrive twice."""
        try:
            data = json.dumps(body, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise InvalidInputError(
                f"options: {error}", hint="a server takes texts, numbers, lists and dictionaries"
            ) from error
        sent = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        return self._sent("POST", path, data, {**sent, **(headers or {})})

    def _sent(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Received:
        for left in reversed(range(TRIES)):
            try:
                return self._once(method, target, body, headers)
            except http_pool.FAILURES as error:
                if isinstance(error, IbidemError):
                    raise
                if not left:
                    raise unreachable(self.address, error) from error
        raise AssertionError("BUG: the last try has neither an answer nor an error")

    def _once(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Received:
        with http_pool.response(
            *(method, self.address + target),
            headers={"Authorization": f"Bearer {self._token}", **headers},
            body=body,
            timeout_seconds=TIMEOUT_SECONDS,
        ) as answer:
            found = answer.read(ANSWER_BYTES_MAX + 1)
            if answer.status != 200:
                raise _error(wire.read_problem(answer.status, found))
            if len(found) > ANSWER_BYTES_MAX:
                raise RemoteError(
                    f"remote: it answered with more than {ANSWER_BYTES_MAX} bytes",
                    kind=ErrorKind.LIMIT_EXCEEDED,
                )
            tag = answer.headers.get("ETag")
            return Received(found, None if tag is None else tag.strip('"'))


def _error(error: IbidemError) -> IbidemError:
    """Returns an error of the server as the library raises it: a limit that a request exceeds is
    wrong input, as in the library, and not a fault of what is read."""
    if error.kind is ErrorKind.LIMIT_EXCEEDED:
        return InvalidInputError(str(error), kind=error.kind, hint=error.hint)
    return error


def in_path(text: object) -> str:
    """Returns an identifier as a part of a path."""
    return quote(str(text), safe="", errors="replace")


def plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options as JSON has them: times as microseconds, arrays as lists."""
    return {name: _plain_value(name, value) for name, value in options.items()}


def _plain_value(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return checked_time(value, name)
    if isinstance(value, tuple | list):
        return [_plain_value(name, one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _plain_value(str(key), one) for key, one in value.items()}
    to_list = getattr(value, "tolist", None)
    return value if to_list is None else to_list()
