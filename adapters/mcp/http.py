"""The protocol over streamable HTTP, on this machine only.

Every request needs a bearer token, and who the caller is follows from it. No session is kept: a
request carries all that its answer depends on, so a server can be restarted between two of them.
The SDK refuses other host names and requests of foreign web pages, so no page can reach the server
by a name that resolves to this machine (DNS rebinding).
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import ibidem
from ibidem.adapters.mcp.access import Access
from ibidem.adapters.mcp.server import server

if TYPE_CHECKING:
    from starlette.applications import Starlette

HOST = "127.0.0.1"
PORT = 7466
PATH = "/mcp"
BODY_BYTES_MAX = 4 << 20
Identify = Callable[[str], Access | None]
"""Returns the caller that a token belongs to, None if it is not accepted. Runs in a thread."""
_CALLER = "ibidem_caller"
_UNAUTHORIZED = b'{"error":"unauthorized","error_description":"the token is missing or wrong"}'


def application(identify: Identify) -> Callable[..., Awaitable[None]]:
    """Returns the ASGI application.

    Raises:
        InvalidInputError: the package `mcp` is not installed.
    """
    made = server(lambda context: context.request.scope["state"][_CALLER])
    inner = made.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        host=HOST,
        max_request_body_size=BODY_BYTES_MAX,
    )
    return _Guarded(inner, identify)


class _Guarded:
    """Lets requests with a token through, with their caller."""

    def __init__(self, inner: Starlette, identify: Identify) -> None:
        self._inner = inner
        self._identify = identify

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            import anyio

            found = await anyio.to_thread.run_sync(self._identify, _token(scope["headers"]))
            if found is None:
                await _refuse(send)
                return
            scope = {**scope, "state": {**scope.get("state", {}), _CALLER: found}}
        await self._inner(scope, receive, send)


def _token(headers: list[tuple[bytes, bytes]]) -> str:
    """Returns the bearer token of a request; the empty text, which nobody has, without one."""
    given = [value for name, value in headers if name.lower() == b"authorization"]
    scheme, _, token = given[0].decode("latin-1").partition(" ") if len(given) == 1 else ("",) * 3
    return token.strip(" ") if scheme.lower() == "bearer" else ""


async def _refuse(send: Any) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(_UNAUTHORIZED)).encode()),
        (b"www-authenticate", b"Bearer"),
    ]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": _UNAUTHORIZED})


def listener(port: int = PORT) -> socket.socket:
    """Returns a socket on this machine.

    Args:
        port: 0 for any free one.

    Raises:
        RemoteError: it cannot be listened on.
    """
    # With its protocol named, or asyncio does not set TCP_NODELAY and each answer waits 40 ms.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen()  # a client may connect as soon as it knows the address
    except OSError as error:
        found.close()
        raise ibidem.RemoteError(
            f"port: cannot listen on {HOST} port {port}: {error.strerror or error}",
            hint="choose another --port",
        ) from error
    return found


def serve_http(identify: Identify, at: socket.socket) -> None:
    """Serves until interrupted."""
    app = application(identify)
    import uvicorn

    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[at])
