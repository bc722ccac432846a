"""The server as an ASGI application: what each token may ask, and what is recorded.

Everything about a request but its body is checked before the body is read. Routes run in a limited
number of threads. Every request with a valid token leaves a line in the audit log before it is
answered.

Spec: sync 7, trust 7.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple, Unpack
from urllib.parse import parse_qsl

from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as Path

from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    IbidemError,
    InvalidInputError,
    NotFoundError,
    StorageError,
)
from ibidem.repo.sync import wire
from ibidem.repo.viewer.exposure import check_exposed
from ibidem.serve.exchange import JSON, Answer, Call, failed
from ibidem.serve.guard import Guard
from ibidem.serve.limited import (
    CALLER,
    Body,
    Limited,
    body_timeout,
    drain,
    failure,
    problem,
    refused,
    response,
    stated_size,
)
from ibidem.serve.read_log import ReadLog, Subject
from ibidem.serve.routes import HEALTH, ROUTES, Route
from ibidem.serve.served import Served
from ibidem.serve.tokens import Scope, Token, Tokens, matching

if TYPE_CHECKING:
    from starlette.types import Receive, Send
    from starlette.types import Scope as Asgi

T = TypeVar("T")
Args = TypeVarTuple("Args")
PUSHES_MAX = 4
"""Maximal number of concurrent pushes; each keeps some blocks in memory."""
JSON_BYTES_MAX = 16 << 20
"""Maximal size of a message in JSON."""
_PARAMETERS_MAX = 100


class Application:
    """Answers the requests that a token allows, and records them."""

    def __init__(
        self, served: Served, owner: Token | None, hosts: frozenset[str], *, idle_seconds: float
    ) -> None:
        core = served.repository.core
        self.served = served
        self.tokens, self.reads = Tokens(core.folder), ReadLog(core.folder)
        self._owner = () if owner is None else (owner,)
        self._idle_seconds = idle_seconds
        self._pushing = asyncio.Semaphore(PUSHES_MAX)
        served.metrics.gauges["requests_in_progress"] = lambda: self._limited.busy_count
        paths = [
            Path(path, partial(self._answered, route), methods=[route.method])
            for path, route in ROUTES.items()
        ]
        for path in paths:
            path.methods = path.methods and path.methods - {"HEAD"}
        router = Starlette(routes=paths, exception_handlers={HTTPException: self._no_route})
        router.router.redirect_slashes = False
        self._limited = Limited(router, Guard(self._identify, hosts), public=HEALTH)

    @property
    def busy_count(self) -> int:
        """Number of requests in progress."""
        return self._limited.busy_count

    async def __call__(self, scope: Asgi, receive: Receive, send: Send) -> None:
        """Answers one request."""
        assert scope["type"] == "http", "BUG: only HTTP is served"
        started = time.monotonic()
        scope["state"] |= {"route": "unknown", "status": 0}

        async def counted(message: Any) -> None:
            if message["type"] == "http.response.start":
                scope["state"]["status"] = message["status"]
            await send(message)

        await self._limited(scope, receive, counted)
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
            return response(request, Answer(b'{"status": "ok"}'))
        token: Token = request.state.caller
        subject = Subject()
        try:
            size = self._body_bytes(route, token, request)
        except IbidemError as error:
            await self._run(self._record, token, route.path, error.kind.value, subject)
            return await refused(request, error)
        body = Body(request, size, self._idle_seconds)
        try:
            answer = await self._run_route(route, token, subject, request, body)
        except TimeoutError:
            answer = body_timeout()
        except IbidemError as error:
            answer = failure(request, error)
        # The rest of a body would be read as the next request.
        is_last = body.left > 0
        return response(request, answer, is_last=is_last, workers=self._limited.workers)

    async def _run_route(
        self, route: Route, token: Token, subject: Subject, request: Request, body: Body
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
        if route.body is None:
            if "transfer-encoding" in headers or headers.get("content-length", "0") != "0":
                raise InvalidInputError("body: expected none")
            return 0
        if headers.get("content-type") != route.body:
            raise InvalidInputError(f"body: expected the content type {route.body}")
        size_max = wire.MESSAGE_BYTES_MAX
        if route.is_streamed and self.served.copying is not None:
            size_max = self.served.copying.push_bytes_max
        elif route.body == JSON:
            size_max = JSON_BYTES_MAX
        return stated_size(request, size_max)

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
            raise failed(error) from error
        finally:
            self._record(call.token, route.path, result, call.subject)
        return answer

    def _record(self, token: Token, path: str, result: str, subject: Subject) -> None:
        now = self.served.repository.now()
        self.reads.append(token, path, time=now, result=result, subject=subject)

    async def _no_route(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException), "BUG: another error"
        missing = NotFoundError(f"request: there is no {request.method:.20} of that path")
        answer = problem(missing, status=error.status_code)
        token = getattr(request.state, CALLER, None)
        try:
            if token is not None:
                kind = missing.kind.value
                await self._run(self._record, token, "unknown", kind, Subject())
        except IbidemError as unrecorded:
            answer = problem(unrecorded)
        await drain(request)
        return response(request, answer._replace(headers=error.headers or {}), is_last=True)

    async def _run(self, function: Callable[[Unpack[Args]], T], *args: *Args) -> T:
        return await to_thread.run_sync(function, *args, limiter=self._limited.workers)


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
