"""A small HTTP/1.1 server for programs: few requests at a time, each with a deadline and a limit.

It uses the standard library's parser, which bounds lines and headers, and adds: an answer to
malformed requests, a deadline for every wait, a limit on concurrent requests, bodies only with a
Content-Length, and no part of the request in logs or answers.

A connection is *idle* until the head of a request on it was let in, and again once that is
answered. Where there are too many, the one that has been idle longest makes room for a new one: so
connections of somebody without the token, who cannot be let in, keep nobody out.
"""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from ibidem.objects.errors import (
    ErrorKind,
    IbidemError,
    InvalidInputError,
    RemoteError,
    StorageError,
)
from ibidem.objects.forking import ForkLock
from ibidem.serve.tokens import Token

CONNECTIONS_MAX = 32
IDLE_SECONDS = 20.0
"""Seconds that the next bytes of a request may take, and its head as a whole."""
FIRST_HEAD_SECONDS = 5.0
"""Seconds that the first head on a connection may take."""
_LINGER_SECONDS, _LINGER_BYTES = 1.0, 1 << 20
"""Bytes still read after a rejection: closing a connection with unread bytes can discard the answer
before the client has read it.
"""
_LINE_BYTES_MAX = 1 << 16
BODY_BYTES_PER_SECOND_MIN = 16 << 10
"""Minimal rate of a body; slower ones are aborted."""
_UNIT_BYTES = 64 << 10


class Answer(NamedTuple):
    """An answer: one message, or a stream of parts."""

    body: bytes | Iterable[bytes]
    content_type: str
    status: int = HTTPStatus.OK


class Request(NamedTuple):
    """A request whose body has not been read yet."""

    method: str
    target: str
    """Path and query, as sent."""
    headers: Message
    body: Body
    token: Token


class Admission(NamedTuple):
    """What the head of a request allows."""

    token: Token
    body_bytes_max: int


class Body:
    """The body of one request, limited to its Content-Length."""

    def __init__(self, stream: io.BufferedReader, size: int) -> None:
        self._stream = stream
        self.left = size
        """Number of unread bytes."""

    def read(self, size: int, /) -> bytes:
        """Returns at most `size` bytes, none at the end."""
        part = self._stream.read(min(size, self.left))
        self.left -= len(part)
        return part

    def read_all(self) -> bytes:
        """Returns the whole body.

        Raises:
            InvalidInputError: it ended before its stated length.
        """
        found = bytearray()
        while part := self.read(_UNIT_BYTES):
            found += part
        if self.left:
            raise InvalidInputError("body: it ended before its stated length")
        return bytes(found)


class Application:
    """The application of a server; subclasses implement it."""

    def check(self, method: str, target: str, headers: Message) -> Admission:
        """Returns what is allowed; raises an `IbidemError` to reject the request."""
        raise NotImplementedError

    def answer(self, request: Request) -> Answer:
        """Returns the answer; an `IbidemError` that it raises is sent to the client."""
        raise NotImplementedError

    def failure(self, error: IbidemError, target: str) -> Answer:
        """Returns the answer for an error; `target` is empty if the request has none."""
        raise NotImplementedError


class Listener(ThreadingHTTPServer):
    """Listens on one address and answers with an application."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(
        self, host: str, port: int, application: Application, *, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.application = application
        self.idle_seconds = idle_seconds
        self._lock = ForkLock()
        self._idle: dict[socket.socket, None] = {}
        """Connections without a request in progress, longest idle first."""
        self._busy: set[socket.socket] = set()
        super().__init__((host, port), _Handler)

    @property
    def port(self) -> int:
        """The port of the listener."""
        return int(self.server_address[1])

    @property
    def busy_count(self) -> int:
        """Number of connections with a request in progress."""
        return len(self._busy)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serves a connection in its own thread; at the limit, the connection that has been idle
        longest is closed, and if none is idle, this one is rejected.
        """
        with self._lock:
            full = len(self._idle) + len(self._busy) >= CONNECTIONS_MAX
            let_go = next(iter(self._idle), None) if full else None
            is_served = let_go is not None or not full
            if let_go is not None:
                del self._idle[let_go]
                with suppress(OSError):  # it may be closed already
                    let_go.shutdown(socket.SHUT_RDWR)
            if is_served:
                self._idle[request] = None
        if is_served:
            super().process_request(request, client_address)
        else:
            self._refuse(request)

    def _refuse(self, request: socket.socket) -> None:
        failure = self.application.failure(
            StorageError("server: too many requests in progress", hint="try again"), ""
        )
        assert isinstance(failure.body, bytes), "BUG: a failure in parts"
        head = (
            f"HTTP/1.1 {failure.status:d} {HTTPStatus(failure.status).phrase}\r\n"
            f"Content-Type: {failure.content_type}\r\n"
            f"Content-Length: {len(failure.body)}\r\nConnection: close\r\n\r\n"
        )
        request.setblocking(False)  # data that exceeds the system's buffer is not sent
        with suppress(OSError):
            request.send(head.encode("ascii") + failure.body)
        self.shutdown_request(request)

    @contextmanager
    def busy(self, connection: socket.socket) -> Iterator[None]:
        """Protects a connection from being closed while a request on it is answered.

        Raises:
            ConnectionAbortedError: it was closed already.
        """
        with self._lock:
            if connection not in self._idle:
                raise ConnectionAbortedError
            del self._idle[connection]
            self._busy.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(connection)
                self._idle[connection] = None

    def close_request(self, request: Any) -> None:
        """Closes a connection, ignoring errors."""
        with self._lock:
            self._idle.pop(request, None)
        super().close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Logs nothing: a disconnecting peer is not an error of the server."""


class _Timed(io.RawIOBase):
    """Reads from a socket until a deadline."""

    def __init__(self, connection: socket.socket, idle_seconds: float) -> None:
        self._connection = connection
        self._idle_seconds = idle_seconds
        self._deadline = 0.0
        self.read_bytes = 0
        """Number of bytes read."""
        self.limit(FIRST_HEAD_SECONDS)

    def allow(self, seconds: float) -> None:
        """Sets the deadline of further reads to some seconds plus the idle limit from now."""
        self._deadline = time.monotonic() + self._idle_seconds + seconds

    def limit(self, seconds: float) -> None:
        """Sets the deadline of further reads to some seconds from now, at most the idle limit."""
        self._deadline = time.monotonic() + min(seconds, self._idle_seconds)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long")
        self._connection.settimeout(min(left, self._idle_seconds))
        found = self._connection.recv_into(buffer)
        self.read_bytes += found
        return found


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "ibidem"
    sys_version = ""
    server: Listener

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self._timed = _Timed(self.connection, self.server.idle_seconds)
        self.rfile = io.BufferedReader(self._timed)
        self.requestline, self.command = "", ""

    def handle(self) -> None:
        self.close_connection = False
        while not self.close_connection:
            self.handle_one_request()
            self._timed.allow(0.0)

    def handle_one_request(self) -> None:
        before = self._timed.read_bytes
        try:
            if self._read_head():
                self._serve()
        except TimeoutError:
            self.close_connection = True
            if self._timed.read_bytes > before:
                self.send_error(HTTPStatus.REQUEST_TIMEOUT)

    def finish(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self._timed.limit(_LINGER_SECONDS)
            enough = self._timed.read_bytes + _LINGER_BYTES
            while self._timed.read_bytes < enough and self.rfile.read1(_LINE_BYTES_MAX):
                pass
        super().finish()

    def handle_expect_100(self) -> bool:
        # `100 Continue` is sent only after the guard has checked the head.
        self.send_error(HTTPStatus.EXPECTATION_FAILED)
        return False

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Reports requests that the standard library rejects, in our form."""
        phrase = HTTPStatus(code).phrase.lower()
        failure = self.server.application.failure(InvalidInputError(f"request: {phrase}"), "")
        self.close_connection = True
        self._send(Answer(failure.body, failure.content_type, code))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Logs nothing: requests are private and may contain secrets."""

    def _read_head(self) -> bool:
        """Reads the head of a request; returns whether it is a valid one."""
        line = self.rfile.readline(_LINE_BYTES_MAX + 1)
        is_after_blank = line in (b"\r\n", b"\n")  # one empty line may precede a request
        if is_after_blank:
            line = self.rfile.readline(_LINE_BYTES_MAX + 1)
        if not line and not is_after_blank:
            self.close_connection = True
            return False
        if len(line) > _LINE_BYTES_MAX:
            self.send_error(HTTPStatus.REQUEST_URI_TOO_LONG)
            return False
        if not line.strip():
            self.send_error(HTTPStatus.BAD_REQUEST)
            return False
        self.raw_requestline = line
        if not self.parse_request():
            return False
        if self.headers.defects or any(name != name.strip() for name in self.headers):
            self.send_error(HTTPStatus.BAD_REQUEST)
            return False
        if self.command not in ("GET", "POST"):
            self.send_error(HTTPStatus.NOT_IMPLEMENTED)
            return False
        return True

    def _serve(self) -> None:
        application = self.server.application
        try:
            admission = application.check(self.command, self.path, self.headers)
            body = self._body(admission.body_bytes_max)
        except IbidemError as error:
            self.close_connection = True
            self._send(application.failure(error, self.path))
            return
        try:
            with self.server.busy(self.connection):
                try:
                    request = Request(self.command, self.path, self.headers, body, admission.token)
                    answer = application.answer(request)
                except IbidemError as error:
                    answer = application.failure(error, self.path)
                except (ConnectionError, TimeoutError):  # the body, which did not arrive
                    raise
                except Exception as error:
                    name = type(error).__name__
                    failed = RemoteError(f"the server failed: {name}")
                    answer = application.failure(failed, self.path)
                # The rest of a body would be read as the next request.
                self.close_connection = self.close_connection or body.left > 0
                self._send(answer)
        except ConnectionError:  # the peer disconnected, or was disconnected
            self.close_connection = True

    def _body(self, size_max: int) -> Body:
        stated = self.headers.get_all("Content-Length", [])
        if self.headers.get_all("Transfer-Encoding") or self.headers.get_all("Content-Encoding"):
            raise InvalidInputError("body: expected it unencoded, with its length")
        if self.command == "GET" and not stated:
            return Body(self.rfile, 0)  # type: ignore[arg-type]
        if len(stated) != 1 or not stated[0].isascii() or not stated[0].isdigit():
            raise InvalidInputError("body: expected one Content-Length, a count of bytes")
        size = int(stated[0][:20])
        if size > size_max or len(stated[0]) > 20:
            raise InvalidInputError(
                f"body: got {stated[0][:20]} bytes, expected at most {size_max}",
                kind=ErrorKind.LIMIT_EXCEEDED,
            )
        self._timed.allow(size / BODY_BYTES_PER_SECOND_MIN)
        return Body(self.rfile, size)  # type: ignore[arg-type]

    def _send(self, answer: Answer) -> None:
        try:
            self._write(answer)
        except OSError:  # nobody reads it
            self.close_connection = True

    def _write(self, answer: Answer) -> None:
        self.connection.settimeout(self.server.idle_seconds)
        # Malformed and HTTP/0.9 requests get a status line too.
        self.request_version = self.protocol_version
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        if self.close_connection:
            self.send_header("Connection", "close")
        if isinstance(answer.body, bytes):
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for unit in _units(answer.body):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(unit), unit))
            self.wfile.write(b"0\r\n\r\n")
        except IbidemError:
            # Too late to send the reason; without the last chunk the peer knows that the answer is
            # incomplete.
            self.close_connection = True


def _units(parts: Iterable[bytes]) -> Iterable[bytes]:
    """Combines small parts into larger writes."""
    waiting: list[bytes] = []
    size = 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        if size >= _UNIT_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)
