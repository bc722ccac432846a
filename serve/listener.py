"""A small HTTP/1.1 server for programs: few requests at a time, each with a deadline and a limit.

It stands on the standard library's parser, which bounds lines and headers. What is added: an answer
to whatever is not a request, a deadline on everything that is awaited, a bound on how many are
served at once, bodies only with a stated length, and no word of the request in what is logged or
answered.

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

CONNECTIONS_MAX = 32
IDLE_SECONDS = 20.0
"""How long the next bytes of a request may take, and its head as a whole."""
FIRST_HEAD_SECONDS = 5.0
"""How long the first head on a connection may take, however long later ones may."""
_LINGER_SECONDS, _LINGER_BYTES = 1.0, 1 << 20
"""What is still read after a refusal: closing a connection with unread bytes can take the answer
away from a client that has not read it."""
_LINE_BYTES_MAX = 1 << 16
BODY_BYTES_PER_SECOND_MIN = 16 << 10
"""A body that comes more slowly than this is given up."""
_UNIT_BYTES = 64 << 10


class Answer(NamedTuple):
    """What is answered: a message at once, or parts of unknown number."""

    body: bytes | Iterable[bytes]
    content_type: str
    status: int = HTTPStatus.OK


class Request(NamedTuple):
    """What was asked, its body still to be read."""

    method: str
    target: str
    """Path and query, as they were sent."""
    headers: Message
    body: Body


class Body:
    """The body of one request: exactly as many bytes as were stated."""

    def __init__(self, stream: io.BufferedReader, size: int) -> None:
        self._stream = stream
        self.left = size
        """How many bytes were not read yet."""

    def read(self, size: int, /) -> bytes:
        """Returns at most `size` bytes, none at the end."""
        part = self._stream.read(min(size, self.left))
        self.left -= len(part)
        return part


class Application:
    """What a server answers with; a subclass says how."""

    def check(self, method: str, target: str, headers: Message) -> int:
        """Returns how large the body may be; raises an `IbidemError` for a request to refuse."""
        raise NotImplementedError

    def answer(self, request: Request) -> Answer:
        """Returns the answer; what it raises as an `IbidemError` is told."""
        raise NotImplementedError

    def failure(self, error: IbidemError) -> Answer:
        """Returns how an error is told."""
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
        """Connections on which nothing that was let in is being answered, longest idle first."""
        self._busy: set[socket.socket] = set()
        super().__init__((host, port), _Handler)

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self.server_address[1])

    @property
    def busy_count(self) -> int:
        """How many connections have a request that was let in and is not answered yet."""
        return len(self._busy)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serves a connection in a thread of its own; where too many are served, the one that has
        been idle longest is let go, and where none is idle, this one is refused."""
        with self._lock:
            is_full = len(self._idle) + len(self._busy) >= CONNECTIONS_MAX
            let_go = next(iter(self._idle), None) if is_full else None
            is_served = let_go is not None or not is_full
            if let_go is not None:
                del self._idle[let_go]
                with suppress(OSError):  # it may be gone already
                    let_go.shutdown(socket.SHUT_RDWR)
            if is_served:
                self._idle[request] = None
        if is_served:
            super().process_request(request, client_address)
        else:
            self._refuse(request)

    def _refuse(self, request: socket.socket) -> None:
        failure = self.application.failure(
            StorageError("server: it is answering as many as it can", hint="try again")
        )
        assert isinstance(failure.body, bytes), "BUG: a failure in parts"
        head = (
            f"HTTP/1.1 {failure.status:d} {HTTPStatus(failure.status).phrase}\r\n"
            f"Content-Type: {failure.content_type}\r\n"
            f"Content-Length: {len(failure.body)}\r\nConnection: close\r\n\r\n"
        )
        request.setblocking(False)  # what does not fit into the system's buffer is not sent
        with suppress(OSError):
            request.send(head.encode("ascii") + failure.body)
        self.shutdown_request(request)

    @contextmanager
    def busy(self, connection: socket.socket) -> Iterator[None]:
        """Keeps a connection from being let go while a request on it is answered.

        Raises:
            ConnectionAbortedError: it was let go already.
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
        """Closes a connection, whatever came of it."""
        with self._lock:
            self._idle.pop(request, None)
        super().close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: a peer that breaks off is no event of ours."""


class _Timed(io.RawIOBase):
    """Reads from a socket while there is time."""

    def __init__(self, connection: socket.socket, idle_seconds: float) -> None:
        self._connection = connection
        self._idle_seconds = idle_seconds
        self._deadline = 0.0
        self.read_bytes = 0
        """How many were read."""
        self.limit(FIRST_HEAD_SECONDS)

    def allow(self, seconds: float) -> None:
        """Gives what is read from now on so long, and as long as is idle anyway."""
        self._deadline = time.monotonic() + self._idle_seconds + seconds

    def limit(self, seconds: float) -> None:
        """Gives what is read from now on so long and no longer."""
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
        # Nobody is told to go on before the guard has looked.
        self.send_error(HTTPStatus.EXPECTATION_FAILED)
        return False

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Tells what the standard library refuses, in our form."""
        phrase = HTTPStatus(code).phrase.lower()
        failure = self.server.application.failure(InvalidInputError(f"request: {phrase}"))
        self.close_connection = True
        self._send(Answer(failure.body, failure.content_type, code))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Logs nothing: what is asked for is nobody's business, and may hold secrets."""

    def _read_head(self) -> bool:
        """Reads the head of a request; returns whether it is one that could be answered."""
        line = self.rfile.readline(_LINE_BYTES_MAX + 1)
        is_after_blank = line in (b"\r\n", b"\n")  # one may stand before a request
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
            size_max = application.check(self.command, self.path, self.headers)
            body = self._body(size_max)
        except IbidemError as error:
            self.close_connection = True
            self._send(application.failure(error))
            return
        try:
            with self.server.busy(self.connection):
                try:
                    request = Request(self.command, self.path, self.headers, body)
                    answer = application.answer(request)
                except IbidemError as error:
                    answer = application.failure(error)
                except (ConnectionError, TimeoutError):  # of the body, which did not come
                    raise
                except Exception as error:
                    name = type(error).__name__
                    answer = application.failure(RemoteError(f"the server failed: {name}"))
                # What is left of a body would be taken for the next request.
                self.close_connection = self.close_connection or body.left > 0
                self._send(answer)
        except ConnectionError:  # the other side broke off, or was let go
            self.close_connection = True

    def _body(self, size_max: int) -> Body:
        stated = self.headers.get_all("Content-Length", [])
        if self.headers.get_all("Transfer-Encoding") or self.headers.get_all("Content-Encoding"):
            raise InvalidInputError("body: expected it as it is, with its length")
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
        # What is no request, or says that it is one of HTTP/0.9, gets a status line all the same.
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
            # Too late to say why; without the last chunk the other side knows that it is not whole.
            self.close_connection = True


def _units(parts: Iterable[bytes]) -> Iterable[bytes]:
    """Joins small parts, so that each write is worth it."""
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
