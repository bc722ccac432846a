"""The pages of the explorer by path, and the application that serves them.

A code comes in the fragment of the first address, which a browser sends to nobody. A script of ours
exchanges it, once, for a cookie that scripts cannot read, and that every port of this machine gets:
a browser tells hosts apart, not ports. Requests that another page caused are rejected, and so are
other host names. The content-security policy allows the style sheet and that script, by their
address, and nothing else.

Spec: trust 7.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from threading import Event
from typing import TYPE_CHECKING, TypeVar

import htpy as h
from anyio import CapacityLimiter, create_task_group, sleep_forever, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as Path

from ibidem import (
    Exposure,
    IbidemError,
    InvalidInputError,
    RemoteError,
    Repository,
    ViewerRepository,
    exposure_of,
)
from ibidem.pages.html import document, linked, render, style_sheet
from ibidem.repo.sync.wire import status_of
from ibidem.repo.viewer.exposure import check_exposed
from ibidem.serve.explorer.reading import StoppedError, reading
from ibidem.serve.explorer.routes import ROUTES, Route
from ibidem.serve.explorer.sessions import Sessions
from ibidem.serve.explorer.visit import Page, Visit
from ibidem.serve.guard import check_host

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

T = TypeVar("T")
WORKERS_MAX = 4
"""Threads that compute pages; one person looks at them."""
STYLE, SCRIPT = "/style.css", "/session.js"
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_OPEN = "Start repo view again, and open the address that it prints"
_REST = h.hr(".rest")
"""Stands where the part of a page follows that takes longer."""


class Site:
    """Answers the browser of the person who started it."""

    def __init__(
        self,
        repository: Repository | ViewerRepository,
        *,
        sessions: Sessions,
        hosts: frozenset[str],
        origin: str,
    ) -> None:
        self._repository = repository
        self._sessions = sessions
        self._hosts, self._origin = hosts, origin
        self._cookie = f"ibidem-{origin.rpartition(':')[2]}"
        self._workers = CapacityLimiter(WORKERS_MAX)
        self._routes = [
            one
            for one in ROUTES
            if isinstance(repository, Repository)
            or exposure_of(f"view.{one.name}") is not Exposure.REFUSED
        ]
        paths = [
            Path("/", self._first, methods=["GET"]),
            Path("/session", self._session, methods=["POST"]),
            Path(STYLE, partial(_static, style_sheet, "text/css"), methods=["GET"]),
            Path(SCRIPT, partial(_static, _script, "text/javascript"), methods=["GET"]),
            *(Path(one.path, partial(self._page, one), methods=["GET"]) for one in ROUTES),
        ]
        handlers = {HTTPException: self._no_page}
        self._router = Starlette(routes=paths, exception_handlers=handlers)
        self._router.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, unless another page caused it."""
        request = Request(scope, receive)
        try:
            self._check(request)
        except IbidemError as error:
            await self._failure(request, error)(scope, receive, send)
            return
        await self._router(scope, receive, send)

    def _check(self, request: Request) -> None:
        check_host(request.headers, self._hosts, hint=_OPEN)
        headers = request.headers
        if headers.get("origin", self._origin) not in self._origins:
            raise InvalidInputError("origin: requests from other web pages are rejected")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise InvalidInputError("origin: requests from other web pages are rejected")

    @property
    def _origins(self) -> frozenset[str]:
        return frozenset(f"http://{host}" for host in self._hosts)

    async def _first(self, request: Request) -> Response:
        text = document(
            "Ibidem",
            h.p("#state", role="status")["Opening the repository…"],
            h.script(src=SCRIPT, defer=True),
            style=STYLE,
        )
        return _html(text)

    async def _session(self, request: Request) -> Response:
        sent = request.headers.get("authorization", "").removeprefix("Bearer ")
        secret = self._sessions.begin(sent)
        if secret is None:
            return Response(status_code=401, headers=_HEADERS)
        response = Response(status_code=204, headers=_HEADERS)
        response.set_cookie(self._cookie, secret, httponly=True, samesite="strict")
        return response

    async def _page(self, route: Route, request: Request) -> Response:
        if not self._sessions.has(request.cookies.get(self._cookie, "")):
            return _html(document("No session", h.p[f"{_OPEN}."], style=STYLE), 401)
        try:
            if not isinstance(self._repository, Repository):
                check_exposed(f"view.{route.name}")
            visit = Visit(self._repository, request.path_params, _query(request))
            page, text = await self._run(partial(self._answered, route, visit, request))
        except IbidemError as error:
            return self._failure(request, error)
        head, _, tail = text.partition(str(_REST))
        if not page.rest:
            return _html(head + tail)
        parts = self._streamed(head, page.rest, tail)
        return StreamingResponse(parts, 200, _HEADERS, "text/html; charset=utf-8")

    def _answered(self, route: Route, visit: Visit, request: Request) -> tuple[Page, str]:
        """Returns a page, and its frame as text, whose parts may read the repository too."""
        page = route.answer(visit)
        note = self._navigation(request.url.path)
        return page, document(page.title, page.body, _REST, note=note, style=STYLE)

    async def _streamed(
        self, head: str, rest: Sequence[Callable[[], h.Node]], tail: str
    ) -> AsyncIterator[bytes]:
        """Yields a page in parts; if the browser leaves, the one that is computed is stopped, and
        the next ones are not begun.
        """
        yield head.encode()
        for make in rest:
            try:
                found = await self._run(partial(_rendered, make))
            except IbidemError as error:
                found = render(h.fragment[_problem(error)])
            yield found.encode()
        yield tail.encode()

    def _navigation(self, path: str) -> h.Element:
        return h.nav(".pages", aria_label="Pages")[
            (
                linked(one.path, one.heading, current=one.path == path)
                for one in self._routes
                if one.heading is not None
            )
        ]

    def _failure(self, request: Request, error: IbidemError) -> Response:
        note = self._navigation(request.url.path)
        text = document("This page could not be made", _problem(error), note=note, style=STYLE)
        return _html(text, status_of(error))

    async def _no_page(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException), "BUG: another error"
        return _html(document("There is no such page", style=STYLE), error.status_code)

    async def _run(self, function: Callable[[], T]) -> T:
        """Returns the result of a function in a thread, which stops if the browser leaves."""
        stopped = Event()

        def tried() -> T | Exception:
            try:
                with reading(stopped):
                    return function()
            except StoppedError:
                return RemoteError("the browser has left")
            except Exception as error:  # raised below, not by the group
                return error

        async with create_task_group() as group:
            group.start_soon(_set_in_the_end, stopped)
            found = await to_thread.run_sync(tried, limiter=self._workers)
            group.cancel_scope.cancel()
        if isinstance(found, IbidemError):
            raise found
        if isinstance(found, Exception):
            raise RemoteError(f"the page failed: {type(found).__name__}") from found
        return found


async def _set_in_the_end(event: Event) -> None:
    """Sets an event when the task is cancelled: the thread that it watches goes on until then."""
    try:
        await sleep_forever()
    finally:
        event.set()


def _rendered(make: Callable[[], h.Node]) -> str:
    return render(h.fragment[make()])


def _problem(error: IbidemError) -> h.Node:
    return h.section(role="alert")[
        h.p[str(error)], None if error.hint is None else h.p(".muted")[error.hint]
    ]


def _html(text: str, status: int = 200) -> Response:
    return Response(text, status, _HEADERS, "text/html; charset=utf-8")


def _script() -> str:
    return (files("ibidem.serve.explorer") / "session.js").read_text("utf-8")


async def _static(read: Callable[[], str], kind: str, request: Request) -> Response:
    return Response(read(), 200, _HEADERS, kind)


def _query(request: Request) -> Mapping[str, str]:
    """Returns the fields of the query; raises `InvalidInputError` if one is given twice."""
    found: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in found:
            raise InvalidInputError(f"{name:.80}: got it twice, expected one value")
        found[name] = value
    return found
