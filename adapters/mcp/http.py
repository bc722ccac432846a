"""The protocol over streamable HTTP, on this machine only.

No session is kept: a request carries all that its answer depends on, so a server can be restarted
between two of them. The SDK refuses requests of foreign web pages; who is let in, and within which
limits, is the business of what passes the requests on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.adapters.mcp.server import server

if TYPE_CHECKING:
    from starlette.applications import Starlette

HOST = "127.0.0.1"
PORT = 7466
PATH = "/mcp"
BODY_BYTES_MAX = 4 << 20


def application(caller: str) -> Starlette:
    """Returns the ASGI application.

    Args:
        caller: where the state of a request has its `Access`.

    Raises:
        InvalidInputError: the package `mcp` is not installed.
    """
    made = server(lambda context: context.request.scope["state"][caller])
    found: Starlette = made.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        host=HOST,
        max_request_body_size=BODY_BYTES_MAX,
    )
    return found
