"""A worker behind `repo serve`, asked over HTTP.

Only the address given by the user is contacted. A request may arrive twice, since it changes
nothing; so it is sent once more if the connection breaks before there is an answer.

Spec: retrieval 13, trust 7.
"""

from __future__ import annotations

from urllib3.exceptions import TimeoutError as Urllib3TimeoutError

from ibidem.objects.errors import ErrorKind, IbidemError, RemoteError
from ibidem.repo.sync import wire
from ibidem.repo.sync.http_client import server_address, unreachable
from ibidem.store import http_pool

ANSWER_BYTES_MAX = 64 << 20
"""The best 100,000 rows take 2.4 MB, a layout some 100 bytes a segment."""


class HttpWorker:
    """A worker at a URL such as `http://127.0.0.1:7465`."""

    def __init__(self, url: str, token: str, *, timeout_seconds: float) -> None:
        """Checks the address; nothing is sent yet.

        Raises:
            InvalidInputError: the URL or the token is malformed, or the URL would leak the token.
        """
        self.address = server_address(url, token, is_plain_allowed=False)
        self._token = token
        self._timeout_seconds = timeout_seconds

    def __call__(self, message: bytes) -> bytes:
        """Returns the answer to a request.

        Raises:
            RemoteError: there is none.
        """
        for is_last in (False, True):
            try:
                return self._once(message)
            except http_pool.FAILURES as error:
                if isinstance(error, IbidemError):
                    raise
                if is_last or isinstance(error, TimeoutError | Urllib3TimeoutError):
                    raise unreachable(self.address, error) from error
        raise AssertionError("BUG: the last try has neither an answer nor an error")

    def _once(self, message: bytes) -> bytes:
        with http_pool.response(
            *("POST", self.address + wire.WORK),
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": wire.PART},
            body=message,
            timeout_seconds=self._timeout_seconds,
        ) as answer:
            found = answer.read(ANSWER_BYTES_MAX + 1)
            if answer.status != 200:
                raise wire.read_problem(answer.status, found)
            if len(found) > ANSWER_BYTES_MAX:
                raise RemoteError(
                    f"worker: it answered with more than {ANSWER_BYTES_MAX} bytes",
                    kind=ErrorKind.LIMIT_EXCEEDED,
                )
            return found
