"""A server of one repository: who a client is, what its token allows, and what is recorded of it.

A client is the viewer that its token is bound to, and is never asked who it is. Questions are
answered for that viewer; copying moves blocks, which have no level, so it needs a viewer who sees
everything. Every request with a valid token leaves a line in the audit log.

Spec: sync 7, trust 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.serve.guard import hosts_of
from ibidem.serve.listener import IDLE_SECONDS, Listener
from ibidem.serve.metrics import Metrics
from ibidem.serve.request_keys import RequestKeys
from ibidem.serve.served import Copying, Listeners, Served
from ibidem.serve.tokens import owner_token

if TYPE_CHECKING:
    from ibidem.repo.repository import Repository

DEFAULT_PORT = 7465
PUSH_BYTES_MAX = 4 << 30


class Server(Listener):
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
        owner = None if token is None else owner_token(token)
        super().__init__(host=host, port=port, is_network_allowed=is_network_allowed)
        from ibidem.serve.application import Application

        listeners = Listeners()
        served = Served(
            repository,
            Copying(repository.core, push_bytes_max=push_bytes_max) if is_remote else None,
            RequestKeys(repository),
            Metrics(),
            listeners,
            is_read_only,
        )
        self._application = Application(
            served, owner, hosts_of(host, self.port, hosts), idle_seconds=idle_seconds
        )
        self.tokens, self.reads = self._application.tokens, self._application.reads
        self.answer_with(self._application, idle_seconds=idle_seconds)
        listeners.is_closing = lambda: self.is_closing

    @property
    def busy_count(self) -> int:
        """Number of requests in progress."""
        return self._application.busy_count

    @property
    def listener_count(self) -> int:
        """Number of clients that listen for events."""
        return self._application.served.listeners.count
