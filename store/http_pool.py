"""The one HTTP client: connections are reused, redirects are not followed, nothing is retried.

A redirect could carry a token to somebody else, and only the caller knows what may be sent twice.
Bodies are returned as sent, without decompression, so that limits on size hold.

A pool belongs to the process that opened it: after a fork, both sides would write to one socket.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from http.client import HTTPException
from typing import IO
from urllib.parse import unquote

import urllib3
from urllib3.exceptions import HTTPError

from ibidem.store.proxies import proxy_of

CONNECTIONS_MAX = 8
"""Connections to one server that are kept open."""
FAILURES = (HTTPError, HTTPException, OSError)
"""What a request raises if there is no answer, or it breaks off."""


@contextmanager
def response(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes | IO[bytes] | None = None,
    timeout_seconds: float,
) -> Iterator[urllib3.BaseHTTPResponse]:
    """Yields the response to a request, of any status; its body is read on demand. It goes through
    the proxy of its address (`proxies`).

    Args:
        method: of HTTP.
        url: of http or https, checked by the caller.
        headers: with the length of a body that is a file.
        body: bytes, or a file at its start.
        timeout_seconds: for connecting, and for every read.

    Raises:
        HTTPError: one of `FAILURES`, as are the others.
    """
    found = _manager(os.getpid(), proxy_of(url)).request(
        method,
        url,
        body=body,
        headers={"User-Agent": "ibidem", "Accept-Encoding": "identity", **headers},
        timeout=urllib3.Timeout(connect=timeout_seconds, read=timeout_seconds),
        preload_content=False,
        decode_content=False,
        redirect=False,
        retries=False,
    )
    try:
        yield found
    finally:
        found.close()  # the connection too, unless the body was read to its end


def reason(error: BaseException) -> str:
    """Returns what went wrong, in the words of the system where it has some."""
    cause = error.__cause__
    if isinstance(cause, OSError) and str(cause):
        return str(cause)
    return str(error).rpartition(">: ")[2] or type(error).__name__


@lru_cache(maxsize=8)
def _manager(process: int, proxy: str | None) -> urllib3.PoolManager:
    if proxy is not None:
        named = urllib3.util.parse_url(proxy).auth
        headers = None if named is None else urllib3.make_headers(proxy_basic_auth=unquote(named))
        return urllib3.ProxyManager(proxy, proxy_headers=headers, maxsize=CONNECTIONS_MAX)
    return urllib3.PoolManager(maxsize=CONNECTIONS_MAX)
