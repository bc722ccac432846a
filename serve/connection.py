"""One connection of the server: uvicorn's, with a deadline for every wait and room for newcomers.

A connection is *idle* unless a request on it is being answered. Its next head must arrive within
the deadline, however slowly its bytes drip, and an answer that nobody reads is given up. Where
there are too many connections, the one that has been idle longest makes room; so connections of
somebody without a token keep nobody out. Whatever is no request gets a problem in our form.

Spec: sync 7.
"""

from __future__ import annotations

import asyncio
import sys
from http import HTTPStatus

from uvicorn.protocols.http.h11_impl import H11Protocol

from ibidem.objects.errors import IbidemError, InvalidInputError, StorageError
from ibidem.repo.sync import wire

CONNECTIONS_MAX = 128
FIRST_HEAD_SECONDS = 5.0
"""Seconds that the first head on a connection may take."""
LINGER_SECONDS, LINGER_BYTES = 1.0, 1 << 20
"""Input still read after a refusal: closing a connection with unread bytes can discard the answer
before the client has read it.
"""


def connection_class(idle_seconds: float) -> type[H11Protocol]:
    """Returns the class of the connections of a server.

    Args:
        idle_seconds: seconds that the next head may take, and every wait for a reader.
    """

    class Limited(Connection):
        pass

    Limited.idle_seconds = idle_seconds
    return Limited


class Connection(H11Protocol):
    """A connection with limits."""

    idle_seconds = 0.0
    _deadline: asyncio.TimerHandle | None = None
    _received_bytes = 0
    """Since the deadline was set."""
    _waits_since = 0.0
    _is_refused = False
    _is_half_closed = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accepts a connection; at the limit, the longest idle one is closed, and if none is idle,
        this one is refused.
        """
        super().connection_made(transport)
        self._set_deadline(min(FIRST_HEAD_SECONDS, self.idle_seconds))
        if len(self.connections) <= CONNECTIONS_MAX:
            return
        idle = [
            one
            for one in self.connections
            if isinstance(one, Connection) and one is not self and not one._is_answering
        ]
        if idle:
            min(idle, key=lambda one: one._waits_since).transport.abort()
        else:
            failure = StorageError("server: too many connections", hint="try again")
            self._refuse(failure, HTTPStatus.SERVICE_UNAVAILABLE)

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the timers."""
        self._end_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Reads a part of a request; the deadline stays until its head is complete."""
        self._received_bytes += len(data)
        if self._is_refused:
            if self._received_bytes > LINGER_BYTES:
                self.transport.abort()
            return
        super().data_received(data)
        if self._is_answering:
            self._end_deadline()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Answers a request that was sent whole, refuses one that was cut off, and ends an answer
        that has begun, as for a client that is gone.
        """
        if self._is_answering:
            if self.cycle.more_body or self.cycle.response_started:
                self.cycle.disconnected = True
                self.cycle.message_event.set()
                return False
            self._is_half_closed = True
            return True
        if self._received_bytes and not self._is_refused:
            self.conn.receive_data(b"")
            self.handle_events()
        return False

    def on_response_complete(self) -> None:
        """Waits for the next request."""
        self._set_deadline(self.idle_seconds)
        super().on_response_complete()
        if self._is_half_closed:
            self.transport.close()
        elif self._is_answering:  # a request that had arrived already
            self._end_deadline()

    def pause_writing(self) -> None:
        """Gives an answer up that nobody reads."""
        self._set_deadline(self.idle_seconds)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Goes on writing."""
        if self._is_answering:
            self._end_deadline()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuses what h11 could not read, with the status that it names."""
        error = sys.exception()
        status = getattr(error, "error_status_hint", HTTPStatus.BAD_REQUEST)
        if self._is_answering:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self.transport.close()
            return
        phrase = HTTPStatus(status).phrase.lower()
        self._refuse(InvalidInputError(f"request: {phrase}"), HTTPStatus(status))

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _refuse(self, error: IbidemError, status: HTTPStatus) -> None:
        body = wire.write_problem(error, status)
        head = (
            f"HTTP/1.1 {status:d} {status.phrase}\r\nContent-Type: {wire.PROBLEM}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode("ascii") + body)
        self._is_refused = True
        self.connections.discard(self)
        self._set_deadline(LINGER_SECONDS)
        self.transport.write_eof()

    def _set_deadline(self, seconds: float) -> None:
        self._end_deadline()
        self._received_bytes = 0
        self._waits_since = self.loop.time()
        self._deadline = self.loop.call_later(seconds, self._give_up)

    def _end_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if self._is_answering or self._is_refused or self.transport.get_write_buffer_size():
            self.transport.abort()
        elif self._received_bytes:
            self._refuse(InvalidInputError("request: it took too long"), HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.transport.close()
