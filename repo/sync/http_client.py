"""A repository behind an HTTP server, with four kinds of request.

Only the address given by the user is contacted: redirects are not followed, and it contains no name
or password. Responses are read within limits and trusted no more than a file.

Spec: sync 7.
"""

from __future__ import annotations

import ipaddress
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import IO, TYPE_CHECKING
from urllib.parse import quote, urlsplit

from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.errors import ErrorKind, IbidemError, InvalidInputError, RemoteError
from ibidem.repo.sync import wire
from ibidem.repo.sync.car import CarReader
from ibidem.repo.sync.messages import Bundle, Push, container, read_message
from ibidem.repo.sync.remote import COMMITS_PER_REQUEST, Blocks
from ibidem.repo.sync.report import RefMove
from ibidem.store import http_pool

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

TIMEOUT_SECONDS = 60.0
_SPOOL_BYTES = 8 << 20
_UNIT_BYTES = 64 << 10


class HttpRemote:
    """A remote at a URL such as `http://127.0.0.1:7465`."""

    def __init__(
        self,
        url: str,
        *,
        token: str,
        is_plain_allowed: bool = False,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        """Checks the URL; nothing is sent yet.

        Args:
            url: the address.
            token: the one that the server was started with.
            is_plain_allowed: whether the token may be sent over a network without encryption.
            timeout_seconds: for each operation on the connection.

        Raises:
            InvalidInputError: the URL or the token is malformed, or the URL would leak the token.
        """
        self._address = server_address(url, token, is_plain_allowed=is_plain_allowed)
        self._token = token
        self._timeout_seconds = timeout_seconds
        self.sent_bytes = 0
        """How many bytes of bodies were sent."""
        self.received_bytes = 0
        """How many bytes of bodies were received."""

    def refs(self, prefixes: Sequence[str]) -> Bundle:
        """Returns the refs with these prefixes and their targets."""
        query = "&".join(f"prefix={quote(prefix, safe='')}" for prefix in prefixes)
        return read_message(Bundle, self._small("GET", f"{wire.REFS}?{query}", None))

    def known(self, cids: Sequence[CommitCid]) -> set[CommitCid]:
        """Returns which of the commits the remote has with all their ancestors."""
        found: set[CommitCid] = set()
        for start in range(0, len(cids), COMMITS_PER_REQUEST):
            body = wire.write_known(cids[start : start + COMMITS_PER_REQUEST])
            found.update(wire.read_known(self._small("POST", wire.KNOWN, body)))
        return found

    @contextmanager
    def fetch(self, want: Sequence[Cid], have: Sequence[Cid]) -> Iterator[Blocks]:
        """Returns the blocks reachable from `want` but not from `have`, as they arrive."""
        if not want:
            yield ()
            return
        with self._response("POST", wire.FETCH, wire.write_fetch(want, have)) as answer:
            yield CarReader(_Counting(answer, self))

    def push(self, push: Push, blocks: Blocks) -> list[RefMove]:
        """Moves refs of the remote, all or none."""
        with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as body:
            for part in container(push, blocks):
                body.write(part)
            size = body.tell()
            body.seek(0)
            with self._response("POST", wire.PUSH, body, size=size, kind=wire.CAR) as answer:
                return wire.read_moves(self._read_small(answer))

    def _small(self, method: str, path: str, body: bytes | None) -> bytes:
        with self._response(method, path, body) as answer:
            return self._read_small(answer)

    def _read_small(self, answer: BaseHTTPResponse) -> bytes:
        found = _Counting(answer, self).read_up_to(wire.MESSAGE_BYTES_MAX + 1)
        if len(found) > wire.MESSAGE_BYTES_MAX:
            raise RemoteError(
                f"remote: it answered with more than {wire.MESSAGE_BYTES_MAX} bytes",
                kind=ErrorKind.LIMIT_EXCEEDED,
            )
        return found

    @contextmanager
    def _response(
        self,
        method: str,
        path: str,
        body: bytes | IO[bytes] | None,
        *,
        size: int | None = None,
        kind: str = wire.CBOR,
    ) -> Iterator[BaseHTTPResponse]:
        headers = {"Authorization": f"Bearer {self._token}"}
        if body is not None:
            size = len(body) if isinstance(body, bytes) else size
            headers |= {"Content-Type": kind, "Content-Length": str(size)}
            self.sent_bytes += size or 0
        try:
            with http_pool.response(
                method,
                self._address + path,
                headers=headers,
                body=body,
                timeout_seconds=self._timeout_seconds,
            ) as answer:
                if answer.status != HTTPStatus.OK:
                    raise wire.read_problem(answer.status, self._read_small(answer))
                yield answer
        except http_pool.FAILURES as error:
            if isinstance(error, IbidemError):
                raise
            raise unreachable(self._address, error) from error


class _Counting:
    """A response body that counts bytes; `read` returns fewer than requested only at the end."""

    def __init__(self, answer: BaseHTTPResponse, remote: HttpRemote) -> None:
        self._answer = answer
        self._remote = remote
        self._unit = b""
        self._at = 0

    def read(self, size: int, /) -> bytes:
        """Returns at most `size` bytes, none at the end."""
        if self._at == len(self._unit):
            self._unit, self._at = self._answer.read(_UNIT_BYTES), 0
            self._remote.received_bytes += len(self._unit)
        part = self._unit[self._at : self._at + size]
        self._at += len(part)
        return part

    def read_up_to(self, size: int) -> bytes:
        """Returns `size` bytes, or all there are."""
        parts: list[bytes] = []
        while size and (part := self.read(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def checked_url(url: str) -> tuple[str, str, int, str]:
    """Returns scheme, host, port and path of a remote's address.

    Raises:
        InvalidInputError: not http or https, or with a name, a password, a query or a fragment.
    """
    expected = "http://HOST:PORT or https://HOST[:PORT][/PATH]"
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise InvalidInputError(f"url: got {url!r:.80}, expected {expected}") from error
    if parts.username is not None or parts.password is not None:
        raise InvalidInputError(
            "url: got a name or a password in it, expected none",
            hint="set IBIDEM_TOKEN, give token=, or give the remote a --token-file",
        )
    is_plain = url.isascii() and url.isprintable() and not any(c in url for c in " \\?#")
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_plain:
        raise InvalidInputError(f"url: got {url!r:.80}, expected {expected}")
    return parts.scheme, parts.hostname, port, parts.path.rstrip("/")


def is_loopback(host: str) -> bool:
    """Returns whether a host is this machine by its name or number, without a DNS lookup."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def server_address(url: str, token: str, *, is_plain_allowed: bool) -> str:
    """Returns the address of a server that a token may be sent to, without a `/` at its end.

    Raises:
        InvalidInputError: the URL or the token is malformed, or the URL would leak the token.
    """
    scheme, host, port, path = checked_url(url)
    if scheme == "http" and not is_plain_allowed and not is_loopback(host):
        raise InvalidInputError(
            f"url: got {url!r:.80}, which shows the token to the network, expected https",
            hint="--allow-plain-http where the network is your own",
        )
    if not token or not token.isascii() or not token.isprintable():
        raise InvalidInputError(
            "token: expected the printable text that the server was started with",
            hint="set IBIDEM_TOKEN, give token=, or give the remote a --token-file",
        )
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{port}{path}"


def unreachable(address: str, error: Exception) -> RemoteError:
    """Returns the error for a server that does not answer."""
    what = http_pool.reason(error)
    return RemoteError(
        f"remote: {address} cannot be reached or broke off: {wire.harmless(what)}",
        hint="check the address with 'repo remote list', and that 'repo serve --remote' runs there",
    )
