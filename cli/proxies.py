"""The proxies of the environment: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, as elsewhere."""

from __future__ import annotations

_LOCAL = ("localhost", "127.0.0.1", "::1")


def proxy_of(url: str) -> str | None:
    """Returns the URL of the proxy for a URL; None for none, as for this machine itself."""
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in _LOCAL or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)
