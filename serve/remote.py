"""A repository as a remote: four requests, answered from the blocks that its refs reach. Reading
and pushing need the token. A GET changes nothing, and a push changes refs in one step, only after
all its blocks have been checked.

Spec: sync 7.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from email.message import Message
from typing import TYPE_CHECKING, Self
from urllib.parse import SplitResult, parse_qsl, urlsplit

from ibidem.objects.errors import (
    IbidemError,
    InvalidInputError,
    NotFoundError,
    RemoteError,
)
from ibidem.repo.refs import HEADS, TAGS
from ibidem.repo.sync import wire
from ibidem.repo.sync.car import CarLimits, car_header, car_section
from ibidem.repo.sync.http_client import is_loopback
from ibidem.repo.sync.local_remote import LocalRemote
from ibidem.repo.sync.names import NOTES, RECEIPTS, RUNS
from ibidem.repo.sync.receive import receive_container
from ibidem.serve.guard import Guard, hosts_of
from ibidem.serve.listener import IDLE_SECONDS, Answer, Application, Listener, Request
from ibidem.store.closing import Closing

if TYPE_CHECKING:
    from ibidem.repo.repository import Repository

DEFAULT_PORT = 7465
PUSH_BYTES_MAX = 4 << 30
PUSHES_MAX = 4
"""Maximal number of concurrent pushes; each keeps some blocks in memory."""
_METHODS = {wire.REFS: "GET", wire.KNOWN: "POST", wire.FETCH: "POST", wire.PUSH: "POST"}
_TYPES = {wire.KNOWN: wire.CBOR, wire.FETCH: wire.CBOR, wire.PUSH: wire.CAR}
_PREFIXES = (HEADS, TAGS, NOTES, RUNS, RECEIPTS)


class RemoteApplication(Application):
    """Answers the four requests of a remote."""

    def __init__(self, repository: Repository, *, is_read_only: bool, push_bytes_max: int) -> None:
        self._repository = repository
        self._remote = LocalRemote(repository.core)
        self._pushing = threading.BoundedSemaphore(PUSHES_MAX)
        self.guard: Guard | None = None
        """Decides which requests are allowed; none until it is set."""
        self._is_read_only = is_read_only
        self._push_bytes_max = push_bytes_max

    def check(self, method: str, target: str, headers: Message) -> int:
        """Returns the maximal size of the body; raises to reject the request."""
        assert self.guard is not None, "BUG: a request before the guard was set"
        self.guard.check(headers)
        path = _parts(target).path
        if _METHODS.get(path) != method:
            raise NotFoundError(f"request: there is no {method} of that path")
        expected = _TYPES.get(path)
        if expected is not None and headers.get("Content-Type") != expected:
            raise InvalidInputError(f"body: expected the content type {expected}")
        if path != wire.PUSH:
            return wire.MESSAGE_BYTES_MAX
        if self._is_read_only:
            raise InvalidInputError("push: this server is read-only")
        return self._push_bytes_max

    def answer(self, request: Request) -> Answer:
        """Returns the answer to an allowed request."""
        parts = _parts(request.target)
        if parts.path == wire.REFS:
            return Answer(self._remote.refs(_prefixes(parts.query)).encode(), wire.CBOR)
        if parts.path == wire.PUSH:
            return self._pushed(request)
        message = _read_all(request)
        if parts.path == wire.KNOWN:
            known = self._remote.known(wire.read_known(message))
            return Answer(wire.write_known(sorted(known)), wire.CBOR)
        want, have = wire.read_fetch(message)
        if not want:
            raise InvalidInputError("want: got nothing, expected at least one commit")
        pack = self._remote.pack(want, have)
        header = car_header(want)

        def parts_of() -> Iterator[bytes]:
            yield header
            for cid, block in pack:
                yield car_section(cid, block)

        return Answer(parts_of(), wire.CAR)

    def failure(self, error: IbidemError) -> Answer:
        """Returns the answer for an error."""
        return Answer(wire.write_error(error), wire.CBOR, wire.status_of(error))

    def _pushed(self, request: Request) -> Answer:
        limits = CarLimits(size_bytes_max=self._push_bytes_max)
        with self._pushing:
            moves = receive_container(self._repository.core, request.body, limits=limits)
        return Answer(wire.write_moves(moves), wire.CBOR)


class RemoteServer(Closing):
    """Serves a repository as a remote; a context manager that stops it."""

    def __init__(
        self,
        repository: Repository,
        *,
        token: str,
        host: str = "127.0.0.1",
        port: int = DEFAULT_PORT,
        hosts: tuple[str, ...] = (),
        is_read_only: bool = False,
        is_network_allowed: bool = False,
        push_bytes_max: int = PUSH_BYTES_MAX,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """Starts to listen; no request is answered before `serve_forever` or `start`.

        Args:
            host: a number or name of this machine.
            port: 0 for any free one.
            hosts: further host names to accept, such as those of a proxy.
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
        Guard(token, frozenset())  # an invalid token is reported before anything listens
        application = RemoteApplication(
            repository, is_read_only=is_read_only, push_bytes_max=push_bytes_max
        )
        try:
            self._listener = Listener(host, port, application, idle_seconds=idle_seconds)
        except OSError as error:
            raise RemoteError(
                f"host: cannot listen on {host} port {port}: {error.strerror or error}",
                hint="choose another --port",
            ) from error
        application.guard = Guard(token, hosts_of(host, self._listener.port, hosts))
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


def _prefixes(query: str) -> list[str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True, max_num_fields=16)
    except ValueError as error:
        raise InvalidInputError("query: expected prefix=… up to 16 times") from error
    prefixes = [value for name, value in pairs if name == "prefix"]
    if len(prefixes) != len(pairs) or not set(prefixes) <= set(_PREFIXES):
        raise InvalidInputError(f"prefix: expected some of {', '.join(_PREFIXES)}")
    return prefixes


def _read_all(request: Request) -> bytes:
    found = bytearray()
    while part := request.body.read(1 << 16):
        found += part
    if request.body.left:
        raise InvalidInputError("body: it ended before its stated length")
    return bytes(found)
