"""Serves the pages of one repository to this machine, for as long as the program runs."""

from __future__ import annotations

import secrets
from urllib.parse import urlencode

from ibidem import Repository, ViewerRepository
from ibidem.serve.guard import hosts_of
from ibidem.serve.listener import Listener, check_packages

HOST = "127.0.0.1"


class Explorer(Listener):
    """Serves the pages of a repository to the browser of this machine; a context manager."""

    def __init__(self, repository: Repository | ViewerRepository, *, port: int = 0) -> None:
        """Starts to listen; no page is answered before `serve_forever` or `start`.

        Args:
            repository: as its viewer sees it; every page is for that viewer.
            port: 0 for any free one.

        Raises:
            InvalidInputError: kind `missing-package`.
            RemoteError: the port is in use.
        """
        check_packages()
        from ibidem.serve.explorer.site import Site

        super().__init__(host=HOST, port=port)
        self._token = secrets.token_urlsafe(32)
        hosts = hosts_of(HOST, self.port, ())
        self.answer_with(Site(repository, token=self._token, hosts=hosts, origin=self.url))

    def address(self, question: str = "") -> str:
        """Returns what to open in a browser: the token is in the fragment, which it never sends."""
        query = f"?{urlencode({'text': question})}" if question else ""
        return f"{self.url}/{query}#{self._token}"
