"""A proxy that delays and counts what a client asks of a server, as a network far away would.

A *round trip* begins with the first bytes that a client sends after an answer: one HTTP request on
a connection that is kept, or one exchange with PostgreSQL. Each waits for the delay, in parallel on
different connections; bytes that follow in the same direction do not wait again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

_CHUNK_BYTES = 1 << 16
Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


class Proxy:
    """What went through a proxy."""

    def __init__(self, connect: Connect, delay_seconds: float) -> None:
        self._connect = connect
        self.delay_seconds = delay_seconds
        self.port = 0
        """On 127.0.0.1."""
        self.round_trips = 0
        self.waiting_max = 0
        """The most round trips that waited at the same time."""
        self._waiting = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def taken(self) -> int:
        """Returns the number of round trips since the last call."""
        found, self.round_trips = self.round_trips, 0
        return found

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection of a client until either side ends it."""
        task = asyncio.current_task()
        assert task is not None, "BUG: a connection outside a task"
        self._tasks.add(task)
        try:
            with suppress(OSError):
                to_server = await self._connect()
                try:
                    await self._exchange(reader, writer, *to_server)
                finally:
                    to_server[1].close()
        finally:
            writer.close()
            self._tasks.discard(task)

    async def stop(self) -> None:
        """Ends all connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _exchange(
        self,
        client: asyncio.StreamReader,
        to_client: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
    ) -> None:
        is_answered = True

        async def ask() -> None:
            nonlocal is_answered
            while data := await client.read(_CHUNK_BYTES):
                if is_answered:
                    is_answered = False
                    self.round_trips += 1
                    self._waiting += 1
                    self.waiting_max = max(self.waiting_max, self._waiting)
                    await asyncio.sleep(self.delay_seconds)
                    self._waiting -= 1
                to_server.write(data)
                await to_server.drain()

        async def answer() -> None:
            nonlocal is_answered
            while data := await server.read(_CHUNK_BYTES):
                is_answered = True
                to_client.write(data)
                await to_client.drain()

        both = [asyncio.ensure_future(ask()), asyncio.ensure_future(answer())]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in both:
                one.cancel()
            await asyncio.gather(*both, return_exceptions=True)


@contextmanager
def delaying(port: int | str, delay_seconds: float) -> Iterator[Proxy]:
    """Runs a proxy in a thread.

    Args:
        port: of a server on 127.0.0.1, or the path of its socket.
        delay_seconds: of each round trip.
    """

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(port, str):
            return await asyncio.open_unix_connection(port)
        return await asyncio.open_connection("127.0.0.1", port)

    proxy = Proxy(connect, delay_seconds)
    loop = asyncio.new_event_loop()
    listening = threading.Event()
    ended = asyncio.Event()

    async def serve() -> None:
        server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
        proxy.port = server.sockets[0].getsockname()[1]
        listening.set()
        async with server:
            await ended.wait()
            server.close()
            await proxy.stop()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    try:
        assert listening.wait(10), "the proxy does not listen"
        yield proxy
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(10)
        loop.close()
