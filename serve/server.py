"""A server of one repository: who a client is, what its token allows, and what is recorded of it.

A client is the viewer that its token is bound to, and is never asked who it is. Questions are
answered for that viewer; copying moves blocks, which have no level, so it needs a viewer who sees
everything. Every request with a valid token leaves a line in the audit log.

Spec: sync 7, trust 7.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from typing import TYPE_CHECKING, Any, Self

from ibidem.objects.errors import ErrorKind, InvalidInputError, RemoteError
from ibidem.repo.sync.http_client import is_loopback
from ibidem.serve.guard import hosts_of
from ibidem.serve.metrics import Metrics
from ibidem.serve.request_keys import RequestKeys
from ibidem.serve.served import Copying, Listeners, Served
from ibidem.serve.tokens import owner_token
from ibidem.store.closing import Closing

if TYPE_CHECKING:
    from ibidem.repo.repository import Repository
    from ibidem.serve.application import Application

DEFAULT_PORT = 7465
PUSH_BYTES_MAX = 4 << 30
IDLE_SECONDS = 20.0
"""Seconds that the head of a request may take, and each wait for a reader of an answer."""
HEAD_BYTES_MAX = 64 << 10
SHUTDOWN_SECONDS = 10
"""Seconds that requests in progress may take when the server stops."""
BACKLOG = 256
INSTALL = "pip install 'ibidem[server]'"


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
        application, connection, uvicorn = _modules()
        owner = None if token is None else owner_token(token)
        self._socket = _listening(host, port)
        self.host = host
        self.port = int(self._socket.getsockname()[1])
        """The port that it listens on."""
        core = repository.core
        listeners = Listeners()
        served = Served(
            repository,
            Copying(core, push_bytes_max=push_bytes_max) if is_remote else None,
            RequestKeys(repository),
            Metrics(),
            listeners,
            is_read_only,
        )
        self._application: Application = application.Application(
            served, owner, hosts_of(host, self.port, hosts), idle_seconds=idle_seconds
        )
        self.tokens, self.reads = self._application.tokens, self._application.reads
        self._server = uvicorn.Server(
            uvicorn.Config(
                self._application,
                http=connection.connection_class(idle_seconds),
                loop="asyncio",
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level=logging.CRITICAL,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                h11_max_incomplete_event_size=HEAD_BYTES_MAX,
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            )
        )
        listeners.is_closing = lambda: self._server.should_exit
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address for `repo remote add`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def busy_count(self) -> int:
        """Number of requests in progress."""
        return self._application.busy_count

    @property
    def listener_count(self) -> int:
        """Number of clients that listen for events."""
        return self._application.served.listeners.count

    def serve_forever(self) -> None:
        """Answers requests until the program is interrupted or terminated; those in progress are
        answered.
        """
        self._server.run(sockets=[self._socket])

    def start(self) -> Self:
        """Answers requests in its own thread."""
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Stops listening."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._socket.close()


def _modules() -> tuple[Any, Any, Any]:
    """Returns what needs the packages of the extra.

    Raises:
        InvalidInputError: kind `missing-package`.
    """
    try:
        import uvicorn

        from ibidem.serve import application, connection
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("ibidem"):
            raise
        raise InvalidInputError(
            f"server: it needs the package {error.name}: {INSTALL}",
            kind=ErrorKind.MISSING_PACKAGE,
            hint=INSTALL,
        ) from error
    return application, connection, uvicorn


def _listening(host: str, port: int) -> socket.socket:
    """Returns a socket that listens on an address; raises `RemoteError` if it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once only on sockets that name their protocol.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(BACKLOG)
    except OSError as error:
        found.close()
        raise RemoteError(
            f"host: cannot listen on {host} port {port}: {error.strerror or error}",
            hint="choose another --port",
        ) from error
    return found
