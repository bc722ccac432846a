"""The server as an ASGI application: who may ask, within which limits, and what is recorded.

Everything about a request but its body is checked before the body is read. Routes run in a limited
number of threads; a request beyond the limit is refused, not queued. Every request with a valid
token leaves a line in the audit log before it is answered.

Spec: sync 7, trust 7.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple, Unpack
from urllib.parse import parse_qsl

from anyio import CapacityLimiter, from_thread, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as Path

from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    IbidemError,
    InvalidInputError,
    NotFoundError,
    RemoteError,
    StorageError,
)
from ibidem.repo.sync import wire
from ibidem.repo.viewer.exposure import check_exposed
from ibidem.serve.connection import LINGER_BYTES, LINGER_SECONDS
from ibidem.serve.exchange import JSON, Answer, Call
from ibidem.serve.guard import Guard
from ibidem.serve.read_log import ReadLog, Subject
from ibidem.serve.routes import HEALTH, ROUTES, Route
from ibidem.serve.served import Served
from ibidem.serve.tokens import Scope, Token, Tokens, matching

if TYPE_CHECKING:
    from starlette.types import Receive, Send
    from starlette.types import Scope as Asgi

T = TypeVar("T")
Args = TypeVarTuple("Args")
REQUESTS_MAX = 64
"""Maximal number of requests in progress."""
WORKERS_MAX = 16
"""Maximal number of threads that answer them; the others wait."""
PUSHES_MAX = 4
"""Maximal number of concurrent pushes; each keeps some blocks in memory."""
BODY_BYTES_PER_SECOND_MIN = 16 << 10
"""Minimal rate of a body; slower ones are aborted."""
JSON_BYTES_MAX = 16 << 20
"""Maximal size of a message in JSON."""
_PART_BYTES = 64 << 10
_CONDITIONS = {"if-match", "if-none-match"}
_PARAMETERS_MAX = 100
_FOREVER = "max-age=31536000, immutable"


class Application:
    """Answers the requests that a token allows, and records them."""

    def __init__(
        self, served: Served, owner: Token | None, hosts: frozenset[str], *, idle_seconds: float
    ) -> None:
        core = served.repository.core
        self.served = served
        self.tokens, self.reads = Tokens(core.folder), ReadLog(core.folder)
        self.busy_count = 0
        """Number of requests in progress."""
        self._owner = () if owner is None else (owner,)
        self._guard = Guard(self._identify, hosts)
        self._idle_seconds = idle_seconds
        self._workers = CapacityLimiter(WORKERS_MAX)
        self._pushing = asyncio.Semaphore(PUSHES_MAX)
        served.metrics.gauges["requests_in_progress"] = lambda: self.busy_count
        paths = [
            Path(path, partial(self._answered, route), methods=[route.method])
            for path, route in ROUTES.items()
        ]
        for path in paths:
            path.methods = path.methods and path.methods - {"HEAD"}
        self._router = Starlette(routes=paths, exception_handlers={HTTPException: self._no_route})
        self._router.router.redirect_slashes = False

    async def __call__(self, scope: Asgi, receive: Receive, send: Send) -> None:
        """Answers one request."""
        assert scope["type"] == "http", "BUG: only HTTP is served"
        request = Request(scope, receive)
        started = time.monotonic()
        scope["state"] |= {"route": "unknown", "status": 0}

        async def counted(message: Any) -> None:
            if message["type"] == "http.response.start":
                scope["state"]["status"] = message["status"]
            await send(message)

        try:
            if scope["path"] == HEALTH:
                self._guard.check_host(request.headers)
            else:
                scope["state"]["token"] = await self._run(self._guard.check, request.headers)
            if self.busy_count >= REQUESTS_MAX:
                raise StorageError("server: too many requests in progress", hint="try again")
        except IbidemError as error:
            response = await self._refused(request, error)
            await response(scope, receive, counted)
        else:
            self.busy_count += 1  # in the event loop only, so no thread interferes
            try:
                await self._router(scope, receive, counted)
            finally:
                self.busy_count -= 1
        seconds, state = time.monotonic() - started, scope["state"]
        self.served.metrics.count(scope["method"], state["route"], state["status"], seconds)

    def _identify(self, text: str) -> Token | None:
        """Returns the token with a text, None if none is accepted now.

        Raises:
            StorageError: the registry cannot be read.
        """
        try:
            known = self.tokens.all()
        except (CorruptError, StorageError) as error:  # which name a path of this machine
            raise StorageError("server: its tokens cannot be read") from error
        tokens = (*self._owner, *known.values())
        return matching(text, tokens, time=self.served.repository.now())

    async def _answered(self, route: Route, request: Request) -> Response:
        request.state.route = route.path
        if route.path == HEALTH:
            return _response(request, Answer(b'{"status": "ok"}'))
        token: Token = request.state.token
        subject = Subject()
        try:
            size = self._body_bytes(route, token, request)
        except IbidemError as error:
            await self._run(self._record, token, route.path, error.kind.value, subject)
            return await self._refused(request, error)
        deadline = asyncio.get_running_loop().time() + self._idle_seconds
        body = _Body(request, size, deadline + size / BODY_BYTES_PER_SECOND_MIN)
        try:
            answer = await self._run_route(route, token, subject, request, body)
        except TimeoutError:
            late = InvalidInputError("request: its body took too long")
            answer = problem(late, status=408)
        except IbidemError as error:
            answer = self._failure(request, error)
        # The rest of a body would be read as the next request.
        return _response(request, answer, is_last=body.left > 0)

    async def _run_route(
        self, route: Route, token: Token, subject: Subject, request: Request, body: _Body
    ) -> Answer:
        fields = (self.served, token, subject, request.path_params, _parameters(request))
        headers = dict(request.headers)
        if not route.is_streamed:
            call = Call(*fields, headers, await body.all())
            return await self._run(self._recorded, route, call)
        async with self._pushing:
            return await self._run(self._recorded, route, Call(*fields, headers, b"", body))

    def _body_bytes(self, route: Route, token: Token, request: Request) -> int:
        """Returns the stated size of the body; raises unless the token allows the request."""
        if route.is_copying and self.served.copying is None:
            raise NotFoundError(f"request: there is no {request.method} of that path")
        if not token.viewer.everything:
            check_exposed(route.path)
        if route.scope is Scope.WRITE:
            if token.scope != Scope.WRITE:
                raise InvalidInputError(
                    f"token: {token.name!r} may only read", kind=ErrorKind.NOT_PERMITTED
                )
            if self.served.is_read_only:
                raise InvalidInputError(
                    "request: this server is read-only", kind=ErrorKind.NOT_PERMITTED
                )
        headers = request.headers
        if "transfer-encoding" in headers or "content-encoding" in headers:
            raise InvalidInputError("body: expected it unencoded, with its length")
        if route.body is None:
            if headers.get("content-length", "0") != "0":
                raise InvalidInputError("body: expected none")
            return 0
        if headers.get("content-type") != route.body:
            raise InvalidInputError(f"body: expected the content type {route.body}")
        stated = headers.get("content-length", "")
        if not (stated.isascii() and stated.isdigit()):
            raise InvalidInputError("body: expected one Content-Length, a count of bytes")
        size_max = wire.MESSAGE_BYTES_MAX
        if route.is_streamed and self.served.copying is not None:
            size_max = self.served.copying.push_bytes_max
        elif route.body == JSON:
            size_max = JSON_BYTES_MAX
        if len(stated) > 20 or int(stated) > size_max:
            raise InvalidInputError(
                f"body: got {stated[:20]} bytes, expected at most {size_max}",
                kind=ErrorKind.LIMIT_EXCEEDED,
            )
        return int(stated)

    def _recorded(self, route: Route, call: Call) -> Answer:
        """Answers a request and records it with its result."""
        result = "failed"
        try:
            answer = route.answer(call)
            result = "ok"
        except IbidemError as error:
            result = error.kind.value
            raise
        except (ClientDisconnect, TimeoutError):  # of the body, which did not arrive
            raise
        except Exception as error:
            raise RemoteError(f"the server failed: {type(error).__name__}") from error
        finally:
            self._record(call.token, route.path, result, call.subject)
        return answer

    def _record(self, token: Token, path: str, result: str, subject: Subject) -> None:
        now = self.served.repository.now()
        self.reads.append(token, path, time=now, result=result, subject=subject)

    def _failure(self, request: Request, error: IbidemError) -> Answer:
        is_conditional = not _CONDITIONS.isdisjoint(request.headers.keys())
        is_stale = error.kind is ErrorKind.HEAD_MOVED and is_conditional
        return problem(error, status=412 if is_stale else None)

    async def _no_route(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException), "BUG: another error"
        failure: IbidemError = NotFoundError(
            f"request: there is no {request.method:.20} of that path"
        )
        answer = problem(failure, status=error.status_code)
        token = getattr(request.state, "token", None)
        try:
            if token is not None:
                kind = failure.kind.value
                await self._run(self._record, token, "unknown", kind, Subject())
        except IbidemError as unrecorded:
            answer = problem(unrecorded)
        await self._drain(request)
        return _response(request, answer._replace(headers=error.headers or {}), is_last=True)

    async def _refused(self, request: Request, error: IbidemError) -> Response:
        await self._drain(request)
        return _response(request, self._failure(request, error), is_last=True)

    async def _drain(self, request: Request) -> None:
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

    async def _run(self, function: Callable[[Unpack[Args]], T], *args: *Args) -> T:
        return await to_thread.run_sync(function, *args, limiter=self._workers)


class _Body:
    """The body of one request, read from the event loop or from a worker thread."""

    def __init__(self, request: Request, size: int, deadline: float) -> None:
        self._parts = request.stream()
        self._deadline = deadline
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


def _response(request: Request, answer: Answer, *, is_last: bool = False) -> Response:
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
    streamed = parts if isinstance(parts, AsyncIterable) else _in_threads(iter(parts))
    return StreamingResponse(streamed, answer.status, headers)


def _is_listed(tag: str, known: str) -> bool:
    return any(one.strip().removeprefix("W/") in (f'"{tag}"', "*") for one in known.split(","))


async def _in_threads(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yields some parts together, each lot computed in a worker thread."""
    while lot := await to_thread.run_sync(_lot, parts):
        yield lot


def _lot(parts: Iterator[bytes]) -> bytes:
    found = bytearray()
    for part in parts:
        found += part
        if len(found) >= _PART_BYTES:
            break
    return bytes(found)


def _parameters(request: Request) -> tuple[tuple[str, str], ...]:
    query = request.scope["query_string"].decode("ascii")
    try:
        return tuple(
            parse_qsl(
                query,
                keep_blank_values=True,
                strict_parsing=bool(query),
                max_num_fields=_PARAMETERS_MAX,
                errors="strict",
            )
        )
    except ValueError as error:
        raise InvalidInputError("query: it is not NAME=VALUE, joined by &") from error
