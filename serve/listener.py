"""A socket that an ASGI application answers, with the limits of every server here: slow clients,
large heads, and connections from other machines.

Spec: sync 7.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from typing import Any, Self

from ibidem.objects.errors import ErrorKind, InvalidInputError, RemoteError
from ibidem.repo.sync.http_client import is_loopback
from ibidem.store.closing import Closing

IDLE_SECONDS = 20.0
"""Seconds that the head of a request may take, and each wait for a reader of an answer."""
HEAD_BYTES_MAX = 64 << 10
SHUTDOWN_SECONDS = 10
"""Seconds that requests in progress may take when the server stops."""
BACKLOG = 256
INSTALL = "pip install 'ibidem[server]'"


class Listener(Closing):
    """Listens on an address; a context manager that stops."""

    def __init__(self, *, host: str, port: int, is_network_allowed: bool = False) -> None:
        """Starts to listen; no request is answered before `serve_forever` or `start`.

        Args:
            host: a number or name of this machine.
            port: 0 for any free one.
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
        check_packages()
        self._socket = _listening(host, port)
        self.host = host
        self.port = int(self._socket.getsockname()[1])
        """The port that it listens on."""
        self._server: Any = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address of the server."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def is_closing(self) -> bool:
        """Whether the server was told to stop."""
        return bool(self._server.should_exit)

    def answer_with(
        self, application: Any, *, idle_seconds: float = IDLE_SECONDS, has_lifespan: bool = False
    ) -> None:
        """Sets the ASGI application that answers.

        Args:
            idle_seconds: how long the server waits for a client.
            has_lifespan: whether the application is told when the server begins and ends.
        """
        import uvicorn

        from ibidem.serve import connection

        self._server = uvicorn.Server(
            uvicorn.Config(
                application,
                http=connection.connection_class(idle_seconds),
                loop="asyncio",
                ws="none",
                lifespan="on" if has_lifespan else "off",
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
        if self._server is not None:
            self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._socket.close()


def check_packages() -> None:
    """Raises `InvalidInputError`, kind `missing-package`, unless the extra is installed."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as error:
        raise InvalidInputError(
            f"server: it needs the package {error.name}: {INSTALL}",
            kind=ErrorKind.MISSING_PACKAGE,
            hint=INSTALL,
        ) from error


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
