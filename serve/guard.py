"""Access control of the server: a valid token, an allowed host name, no request from a web page.

A page in a browser can send requests to this machine, also under a host name of its own that
resolves to it (DNS rebinding). So a request must name a host that is on the list, must not carry an
`Origin`, and must have the token, which no page can know. All of this is checked before the body is
read.

Spec: sync 7.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from ibidem.objects.errors import ErrorKind, InvalidInputError, RemoteError

if TYPE_CHECKING:
    from starlette.datastructures import Headers

T = TypeVar("T")


class Guard(Generic[T]):
    """Decides about each request from its headers."""

    def __init__(
        self,
        identify: Callable[[str], T | None],
        hosts: frozenset[str],
        *,
        are_pages_refused: bool = True,
    ) -> None:
        """Sets what is accepted.

        Args:
            identify: returns who has the token with a text, None if none is accepted; runs in a
                thread.
            hosts: the accepted values of `Host`, in lower case.
            are_pages_refused: False if the application itself refuses what web pages send.
        """
        self._identify = identify
        self._hosts = hosts
        self._are_pages_refused = are_pages_refused

    def check_host(self, headers: Headers) -> None:
        """Raises `InvalidInputError` for another host, or a request from a web page."""
        check_host(headers, self._hosts, hint="start it with --allow-host NAME")
        if not self._are_pages_refused:
            return
        if "origin" in headers or headers.get("sec-fetch-site", "none") != "none":
            raise InvalidInputError("origin: requests from web pages are rejected")

    def check(self, headers: Headers) -> T:
        """Returns who sent an allowed request.

        Raises:
            InvalidInputError: another host, or a request from a web page.
            RemoteError: kind `unauthorized`.
        """
        self.check_host(headers)
        given = headers.getlist("authorization")
        scheme, _, sent = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        found = self._identify(sent.strip(" "))
        if found is None or scheme.lower() != "bearer":
            raise RemoteError(
                "token: it is missing or wrong",
                kind=ErrorKind.UNAUTHORIZED,
                hint="send Authorization: Bearer TOKEN; commands take it from IBIDEM_TOKEN",
            )
        return found


def check_host(headers: Headers, hosts: frozenset[str], *, hint: str) -> None:
    """Raises `InvalidInputError` with a hint unless a request names one of these hosts, and only
    one.
    """
    named = headers.getlist("host")
    if len(named) != 1 or named[0].strip().lower() not in hosts:
        raise InvalidInputError(
            "host: the request names a host that is not allowed",
            hint=hint,
        )


def hosts_of(host: str, port: int, more: tuple[str, ...]) -> frozenset[str]:
    """Returns the accepted values of `Host`, in lower case.

    Args:
        host: the address it is bound to.
        more: further host names, with or without a port.
    """
    names = {f"[{host}]" if ":" in host else host, *more}
    if host in ("127.0.0.1", "::1", "localhost"):
        names |= {"127.0.0.1", "[::1]", "localhost"}
    return frozenset(
        form.lower()
        for name in names
        for form in ((name,) if _has_port(name) else (f"{name}:{port}", *_bare(name, port)))
    )


def _has_port(name: str) -> bool:
    return name.rpartition("]")[2].count(":") == 1


def _bare(name: str, port: int) -> tuple[str, ...]:
    return (name,) if port in (80, 443) else ()
