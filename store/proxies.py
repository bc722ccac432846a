"""The proxy of an address: what the program was told, and never the environment.

A library that read variables of the environment would send the same request to different places,
so the outermost room decides: the command line by HTTPS_PROXY, HTTP_PROXY and NO_PROXY, a program
by `ibidem.set_proxies`.
"""

from __future__ import annotations

from collections.abc import Callable

ProxyOf = Callable[[str], str | None]
"""Returns the URL of the proxy for a URL; None for none."""
_proxy_of: ProxyOf | None = None


def set_proxies(proxy_of: ProxyOf | None) -> None:
    """Sets the proxies of all requests of this process: to remotes, servers, embedders and models.

    Args:
        proxy_of: returns the URL of the proxy for a URL, None for none; by default there is none.

    >>> set_proxies(lambda url: "http://proxy.example:3128" if url.startswith("https:") else None)
    >>> proxy_of("https://models.example/v1")
    'http://proxy.example:3128'
    >>> set_proxies(None)
    """
    global _proxy_of
    _proxy_of = proxy_of


def proxy_of(url: str) -> str | None:
    """Returns the URL of the proxy for a URL; None for none."""
    return None if _proxy_of is None else _proxy_of(url)
