"""Serves the pages of one repository to this machine, for as long as the program runs."""

from __future__ import annotations

from urllib.parse import urlencode

from ibidem import Repository, ViewerRepository
from ibidem.serve.explorer.reading import check_stopped
from ibidem.serve.explorer.sessions import Sessions
from ibidem.serve.explorer.visit import AT
from ibidem.serve.guard import hosts_of
from ibidem.serve.listener import Listener, check_packages

HOST = "127.0.0.1"


class Explorer(Listener):
    """Serves the pages of a repository to the browser of this machine; a context manager.

    Long work of the repository reports its advance to the explorer, which stops it if nobody waits
    for the page.
    """

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
        if isinstance(repository, Repository):
            repository.show_progress(check_stopped)
        self._sessions = Sessions()
        hosts = hosts_of(HOST, self.port, ())
        self.answer_with(Site(repository, sessions=self._sessions, hosts=hosts, origin=self.url))

    def address(self, question: str = "", *, at: str = AT) -> str:
        """Returns what to open in one browser, once: the code is in the fragment, which it never
        sends.
        """
        fields = {"text": question} if question else {}
        if at != AT:
            fields["at"] = at
        query = f"?{urlencode(fields)}" if fields else ""
        return f"{self.url}/{query}#{self._sessions.code()}"
