"""A server of one repository: who a client is, what its token allows, and what is recorded of it.

A client is the viewer that its token is bound to, and is never asked who it is. Questions are
answered for that viewer; copying moves blocks, which have no level, so it needs a viewer who sees
everything. Every request with a valid token leaves a line in the audit log.

Spec: sync 7, trust 7.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from typing import TYPE_CHECKING, Self
from urllib.parse import SplitResult, urlsplit

from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    IbidemError,
    InvalidInputError,
    NotFoundError,
    RemoteError,
    StorageError,
)
from ibidem.objects.record import record
from ibidem.repo.sync import wire
from ibidem.repo.sync.http_client import is_loopback
from ibidem.repo.viewer.exposure import check_exposed
from ibidem.serve import question
from ibidem.serve.guard import Guard, hosts_of
from ibidem.serve.listener import (
    IDLE_SECONDS,
    Admission,
    Answer,
    Application,
    Listener,
    Request,
)
from ibidem.serve.read_log import ReadLog, Subject
from ibidem.serve.remote import RemoteRoutes
from ibidem.serve.tokens import Scope, Token, Tokens, matching, owner_token
from ibidem.store.closing import Closing

if TYPE_CHECKING:
    from ibidem.repo.repository import Repository

DEFAULT_PORT = 7465
PUSH_BYTES_MAX = 4 << 30


@record
class Route:
    """One request that the server answers."""

    method: str
    content_type: str | None = None
    """Of the body; None if there is none."""
    scope: Scope = Scope.READ
    is_copying: bool = True
    """Whether it belongs to the protocol of remotes; others speak JSON."""


ROUTES = {
    wire.REFS: Route("GET"),
    wire.KNOWN: Route("POST", wire.CBOR),
    wire.FETCH: Route("POST", wire.CBOR),
    wire.PUSH: Route("POST", wire.CAR, Scope.WRITE),
    question.RETRIEVE: Route("POST", question.JSON, is_copying=False),
}
"""All requests by path. Each path has a row in `repo/viewer/exposure.py`."""


class ServerApplication(Application):
    """Answers the requests that a token allows, and records them."""

    def __init__(
        self,
        repository: Repository,
        owner: Token | None,
        *,
        is_remote: bool,
        is_read_only: bool,
        push_bytes_max: int,
    ) -> None:
        self._repository = repository
        self._owner = () if owner is None else (owner,)
        core = repository.core
        self.tokens, self.reads = Tokens(core.folder), ReadLog(core.folder)
        self._remote = RemoteRoutes(core, push_bytes_max=push_bytes_max) if is_remote else None
        self.guard: Guard | None = None
        """Decides which requests are allowed; none until it is set."""
        self._is_read_only = is_read_only

    def identify(self, text: str) -> Token | None:
        """Returns the token with a text, None if none is accepted now.

        Raises:
            StorageError: the registry cannot be read.
        """
        try:
            known = self.tokens.all()
        except (CorruptError, StorageError) as error:  # which name a path of this machine
            raise StorageError("server: its tokens cannot be read") from error
        return matching(text, (*self._owner, *known.values()), time=self._repository.now())

    def check(self, method: str, target: str, headers: Message) -> Admission:
        """Returns what is allowed; raises to reject the request."""
        assert self.guard is not None, "BUG: a request before the guard was set"
        token = self.guard.check(headers)
        path = _parts(target).path
        try:
            return Admission(token, self._body_bytes_max(token, method, path, headers))
        except IbidemError as error:
            self._record(token, path, error.kind.value, Subject())
            raise

    def _body_bytes_max(self, token: Token, method: str, path: str, headers: Message) -> int:
        """Returns the maximal size of the body; raises unless the token allows the request."""
        route = ROUTES.get(path)
        is_served = route is not None and (not route.is_copying or self._remote is not None)
        if route is None or route.method != method or not is_served:
            raise NotFoundError(f"request: there is no {method} of that path")
        if not token.viewer.everything:
            check_exposed(path)
        if route.scope is Scope.WRITE and token.scope != Scope.WRITE:
            raise InvalidInputError(
                f"token: {token.name!r} may only read", kind=ErrorKind.NOT_PERMITTED
            )
        if route.content_type is not None and headers.get("Content-Type") != route.content_type:
            raise InvalidInputError(f"body: expected the content type {route.content_type}")
        if path != wire.PUSH or self._remote is None:
            return wire.MESSAGE_BYTES_MAX
        if self._is_read_only:
            raise InvalidInputError("push: this server is read-only")
        return self._remote.push_bytes_max

    def answer(self, request: Request) -> Answer:
        """Returns the answer to an allowed request."""
        parts, token = _parts(request.target), request.token
        with self._recorded(token, parts.path) as subject:
            if parts.path == question.RETRIEVE:
                body = question.answered(self._repository, token, request.body.read_all(), subject)
                return Answer(body, question.JSON)
            assert self._remote is not None, "BUG: a remote's request was let in"
            return self._remote.answer(parts.path, parts.query, request)

    def failure(self, error: IbidemError, target: str) -> Answer:
        """Returns the answer for an error, in the form that the route speaks."""
        status = wire.status_of(error)
        if target.partition("?")[0] == question.RETRIEVE:
            return Answer(question.failed(error), question.JSON, status)
        return Answer(wire.write_error(error), wire.CBOR, status)

    @contextmanager
    def _recorded(self, token: Token, path: str) -> Iterator[Subject]:
        """Records a request with its result, before the answer is sent."""
        subject, result = Subject(), "failed"
        try:
            yield subject
            result = "ok"
        except IbidemError as error:
            result = error.kind.value
            raise
        finally:
            self._record(token, path, result, subject)

    def _record(self, token: Token, path: str, result: str, subject: Subject) -> None:
        route = path if path in ROUTES else "unknown"
        self.reads.append(token, route, time=self._repository.now(), result=result, subject=subject)


class Server(Closing):
    """Serves a repository; a context manager that stops it."""

    def __init__(
        self,
        repository: Repository,
        *,
        token: str | None = None,
        host: str = "127.0.0.1",
        port: int = DEFAULT_PORT,
        hosts: tuple[str, ...] = (),
        is_remote: bool = False,
        is_read_only: bool = False,
        is_network_allowed: bool = False,
        push_bytes_max: int = PUSH_BYTES_MAX,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """Starts to listen; no request is answered before `serve_forever` or `start`.

        Args:
            token: the owner's own, who sees everything and may write; without one, only the tokens
                of the registry are accepted.
            host: a number or name of this machine.
            port: 0 for any free one.
            hosts: further host names to accept, such as those of a proxy.
            is_remote: whether it also answers clone, fetch, push and pull.
            is_read_only: whether it rejects every push.
            is_network_allowed: whether to accept unencrypted connections from other machines.

        Raises:
            InvalidInputError: other machines could connect, and that is not allowed.
            RemoteError: the address cannot be listened on.
        """
        if not is_loopback(host) and not is_network_allowed:
            raise InvalidInputError(
                f"host: got {host!r:.80}, which other machines can reach without encryption",
                hint="put an https reverse proxy in front, or pass --allow-network",
            )
        application = ServerApplication(
            repository,
            None if token is None else owner_token(token),
            is_remote=is_remote,
            is_read_only=is_read_only,
            push_bytes_max=push_bytes_max,
        )
        try:
            self._listener = Listener(host, port, application, idle_seconds=idle_seconds)
        except OSError as error:
            raise RemoteError(
                f"host: cannot listen on {host} port {port}: {error.strerror or error}",
                hint="choose another --port",
            ) from error
        application.guard = Guard(application.identify, hosts_of(host, self._listener.port, hosts))
        self.tokens, self.reads = application.tokens, application.reads
        self.host = host
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port of the listener."""
        return self._listener.port

    @property
    def url(self) -> str:
        """The address for `repo remote add`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def serve_forever(self) -> None:
        """Answers requests until `close` is called from another thread, or the program is
        interrupted.
        """
        self._listener.serve_forever(poll_interval=0.2)

    def start(self) -> Self:
        """Answers requests in its own thread."""
        # The caller that runs it in a thread also waits for it to stop.
        self._thread = threading.Thread(
            target=self._listener.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()
        return self

    def close(self) -> None:
        """Stops listening."""
        if self._thread is not None:
            self._listener.shutdown()
            self._thread.join()
            self._thread = None
        self._listener.server_close()


def _parts(target: str) -> SplitResult:
    try:
        return urlsplit(target)
    except ValueError as error:
        raise InvalidInputError("request: its target is not a path and a query") from error
