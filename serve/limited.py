"""What lets requests in: the same limits for every application that a server answers with.

Everything about a request but its body is checked before the body is read. A request beyond the
limit is refused, not queued. A refusal is a problem in our form, after which the connection closes.

Spec: sync 7.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from anyio import CapacityLimiter, from_thread, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from ibidem.objects.errors import (
    ErrorKind,
    IbidemError,
    InvalidInputError,
    StorageError,
)
from ibidem.repo.sync import wire
from ibidem.serve.connection import LINGER_BYTES, LINGER_SECONDS
from ibidem.serve.exchange import Answer
from ibidem.serve.guard import Guard

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

T = TypeVar("T")
REQUESTS_MAX = 64
"""Maximal number of requests in progress."""
WORKERS_MAX = 16
"""Maximal number of threads that answer them; the others wait."""
BODY_BYTES_PER_SECOND_MIN = 16 << 10
"""Minimal rate of a body; slower ones are aborted."""
CALLER = "caller"
"""Where an application finds in the state of a request who sent it."""
_PART_BYTES = 64 << 10
_FOREVER = "max-age=31536000, immutable"
_CONDITIONS = {"if-match", "if-none-match"}


class Limited(Generic[T]):
    """An ASGI application that passes on the requests that are let in, each with its caller."""

    def __init__(
        self,
        inner: Callable[[Any, Any, Any], Awaitable[None]],
        guard: Guard[T],
        *,
        public: str | None = None,
    ) -> None:
        """Sets what answers.

        Args:
            inner: what answers a request that is let in.
            guard: decides who is let in.
            public: the one path that needs no token.
        """
        self._inner = inner
        self._guard = guard
        self._public = public
        self.workers = CapacityLimiter(WORKERS_MAX)
        """The threads of this server."""
        self.busy_count = 0
        """Number of requests in progress."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes one request on, or refuses it."""
        if scope["type"] != "http":  # the beginning and the end of the server
            await self._inner(scope, receive, send)
            return
        request = Request(scope, receive)
        state = scope.setdefault("state", {})
        try:
            if scope["path"] == self._public:
                self._guard.check_host(request.headers)
            else:
                state[CALLER] = await to_thread.run_sync(
                    self._guard.check, request.headers, limiter=self.workers
                )
            if self.busy_count >= REQUESTS_MAX:
                raise StorageError("server: too many requests in progress", hint="try again")
        except IbidemError as error:
            await (await refused(request, error))(scope, receive, send)
            return
        self.busy_count += 1  # in the event loop only, so no thread interferes
        try:
            await self._inner(scope, receive, send)
        finally:
            self.busy_count -= 1


def whole_bodies(
    inner: Callable[[Any, Any, Any], Awaitable[None]], *, size_max: int, idle_seconds: float
) -> Callable[[Any, Any, Any], Awaitable[None]]:
    """Returns the application that only takes `POST`, and has read its body whole, within its
    limits, before `inner` is asked. So no request waits for what may never come.

    Args:
        size_max: bytes of a body.
        idle_seconds: the time for a body of no length.
    """

    async def outer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await inner(scope, receive, send)
            return
        request = Request(scope, receive)
        if request.method != "POST":
            wrong = InvalidInputError(f"request: got {request.method:.20}, expected POST")
            reply = problem(wrong, status=405)._replace(headers={"allow": "POST"})
            await response(request, reply, is_last=True)(scope, receive, send)
            return
        try:
            size = stated_size(request, size_max)
            data = await Body(request, size, idle_seconds).all()
        except TimeoutError:
            answer = response(request, body_timeout(), is_last=True)
            await answer(scope, receive, send)
            return
        except IbidemError as error:
            await (await refused(request, error))(scope, receive, send)
            return
        except ClientDisconnect:
            return
        messages = iter([{"type": "http.request", "body": data, "more_body": False}])

        async def again() -> Any:
            return next(messages, None) or await receive()

        await inner(scope, again, send)

    return outer


def stated_size(request: Request, size_max: int) -> int:
    """Returns the stated number of bytes of a body.

    Raises:
        InvalidInputError: it is encoded, or of no stated length; kind `limit-exceeded`: too long.
    """
    headers = request.headers
    if "transfer-encoding" in headers or "content-encoding" in headers:
        raise InvalidInputError("body: expected it unencoded, with its length")
    stated = headers.get("content-length", "")
    if not (stated.isascii() and stated.isdigit()):
        raise InvalidInputError("body: expected one Content-Length, a count of bytes")
    if len(stated) > 20 or int(stated) > size_max:
        raise InvalidInputError(
            f"body: got {stated[:20]} bytes, expected at most {size_max}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )
    return int(stated)


class Body:
    """The body of one request, read from the event loop or from a worker thread."""

    def __init__(self, request: Request, size: int, idle_seconds: float) -> None:
        """Begins to wait for it.

        Args:
            size: its stated number of bytes.
            idle_seconds: the time that it may take beside that of its bytes at the minimal rate.
        """
        self._parts = request.stream()
        now = asyncio.get_running_loop().time()
        self._deadline = now + idle_seconds + size / BODY_BYTES_PER_SECOND_MIN
        self._rest = b""
        self.left = size
        """Number of bytes that have not arrived."""

    def read(self, size: int, /) -> bytes:
        """Returns at most `size` bytes, none at the end; called in a worker thread."""
        if not self._rest:
            self._rest = from_thread.run(self._next)
        part, self._rest = self._rest[:size], self._rest[size:]
        return part

    async def all(self) -> bytes:
        """Returns the whole body."""
        found = bytearray()
        while part := await self._next():
            found += part
        return bytes(found)

    async def _next(self) -> bytes:
        """Returns the next part, none at the end.

        Raises:
            TimeoutError: it did not arrive in time.
            ClientDisconnect: it ended before its stated length.
        """
        if not self.left:
            return b""
        async with asyncio.timeout_at(self._deadline):
            async for part in self._parts:
                if part:
                    self.left -= len(part)
                    return bytes(part)
        return b""


def problem(error: IbidemError, *, status: int | None = None) -> Answer:
    """Returns the answer for an error.

    Args:
        status: by default that of the kind of the error.
    """
    status = wire.status_of(error) if status is None else status
    return Answer(wire.write_problem(error, status), wire.PROBLEM, status)


def body_timeout() -> Answer:
    """Returns the answer for a body that did not arrive in time."""
    return problem(InvalidInputError("request: its body took too long"), status=408)


def failure(request: Request, error: IbidemError) -> Answer:
    """Returns the answer for an error of this request: 412 for a condition that does not hold."""
    is_conditional = not _CONDITIONS.isdisjoint(request.headers.keys())
    is_stale = error.kind is ErrorKind.HEAD_MOVED and is_conditional
    return problem(error, status=412 if is_stale else None)


async def refused(request: Request, error: IbidemError) -> Response:
    """Returns the last answer on a connection, for a request whose body is not wanted."""
    await drain(request)
    return response(request, failure(request, error), is_last=True)


async def drain(request: Request) -> None:
    """Reads some of a body that is not wanted, so that the client sees the answer to it."""
    if "expect" in request.headers:
        return
    try:
        async with asyncio.timeout(LINGER_SECONDS):
            count = 0
            async for part in request.stream():
                count += len(part)
                if count > LINGER_BYTES:
                    return
    except (TimeoutError, ClientDisconnect):
        return


def response(
    request: Request,
    answer: Answer,
    *,
    is_last: bool = False,
    workers: CapacityLimiter | None = None,
) -> Response:
    """Returns an answer with its headers.

    Args:
        is_last: whether the connection ends after it.
        workers: the threads in which the parts of a stream are computed.
    """
    headers = {
        "content-type": answer.content_type,
        "x-content-type-options": "nosniff",
        "vary": "authorization, accept",
        **answer.headers,
    }
    if is_last:
        headers["connection"] = "close"
    if answer.status == 401:
        headers["www-authenticate"] = "Bearer"
    if answer.status == 503:
        headers["retry-after"] = "1"
    if answer.tag is None:
        headers["cache-control"] = "no-store"
    else:
        headers["etag"] = f'"{answer.tag}"'
        # Only of this token: another viewer may get another answer.
        headers["cache-control"] = f"private, {_FOREVER if answer.is_immutable else 'no-cache'}"
        known = request.headers.get("if-none-match", "")
        if request.method == "GET" and _is_listed(answer.tag, known):
            return Response(status_code=304, headers=headers)
    if isinstance(answer.body, bytes):
        return Response(answer.body, answer.status, headers)
    parts = answer.body
    if not isinstance(parts, AsyncIterable):
        parts = _in_threads(iter(parts), 0 if answer.is_live else _PART_BYTES, workers)
    return StreamingResponse(parts, answer.status, headers)


def _is_listed(tag: str, known: str) -> bool:
    return any(one.strip().removeprefix("W/") in (f'"{tag}"', "*") for one in known.split(","))


async def _in_threads(
    parts: Iterator[bytes], lot_bytes: int, workers: CapacityLimiter | None
) -> AsyncIterator[bytes]:
    """Yields some parts together, each lot computed in a worker thread, which waits for no
    client."""
    while lot := await to_thread.run_sync(_lot, parts, lot_bytes, limiter=workers):
        yield lot


def _lot(parts: Iterator[bytes], size_bytes: int) -> bytes:
    found = bytearray()
    for part in parts:
        found += part
        if len(found) >= size_bytes:
            break
    return bytes(found)
