"""Idempotency keys: a transaction that is sent again because its answer was lost is not repeated.

The key is recorded in the commit that it made, as a line at the end of its message; so it is there
exactly if the commit is, on any server of the repository. Only digests are recorded: of the key
with the name of its token, and of the body, because the same key with another body is a mistake.

Spec: trust 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from blake3 import blake3

from ibidem.objects.errors import ConflictError, ErrorKind, InvalidInputError
from ibidem.objects.forking import ForkLock
from ibidem.repo.arguments import REQUEST_LINE

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid
    from ibidem.objects.commit import Commit
    from ibidem.repo.repository import Repository

COMMITS_MAX = 10_000
"""Number of the newest commits of a branch in which a key is looked for."""
_FORM = re.compile(r"[\x21-\x7e]{1,255}")


class RequestKey(NamedTuple):
    """The digests of a key and of the body that was sent with it."""

    key: str
    body: str

    @property
    def trailer(self) -> str:
        """The line at the end of the commit's message."""
        return f"Request: {self.key} {self.body}"


class RequestKeys:
    """The keys of the requests that one server has seen or found in commits."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._lock = ForkLock()
        self._used: dict[str, tuple[str, CommitCid]] = {}
        self._read: set[CommitCid] = set()
        self._in_progress: set[str] = set()

    def read(self, text: str, token: str, body: bytes) -> RequestKey:
        """Returns the digests of a request's key.

        Raises:
            InvalidInputError: it is empty, too long, or not printable ASCII.
        """
        if not _FORM.fullmatch(text):
            raise InvalidInputError(
                f"idempotency-key: got {text!r:.80}, expected 1 to 255 printable characters"
            )
        return RequestKey(_digest(f"{token}\n{text}".encode()), _digest(body))

    @contextmanager
    def claim(self, key: RequestKey) -> Iterator[None]:
        """Keeps other requests with the same key out.

        Raises:
            ConflictError: kind `locked`: one is in progress.
        """
        with self._lock:
            if key.key in self._in_progress:
                raise ConflictError(
                    "idempotency-key: a request with it is in progress",
                    kind=ErrorKind.LOCKED,
                    hint="send it again in a moment",
                )
            self._in_progress.add(key.key)
        try:
            yield
        finally:
            with self._lock:
                self._in_progress.discard(key.key)

    def find(self, key: RequestKey, head: CommitCid | None) -> CommitCid | None:
        """Returns the commit that a key has made on a branch, None if there is none.

        Raises:
            InvalidInputError: it was sent with another body.
        """
        if head is not None:
            read = set()
            for commit in islice(self._unread(head), COMMITS_MAX):
                self._remember(commit)
                read.add(commit.cid)
            self._read |= read  # at the end, since another thread reads no further than these
        body, found = self._used.get(key.key, (key.body, None))
        if body != key.body:
            raise InvalidInputError("idempotency-key: it was used for another transaction")
        return found

    def check_unused(self, key: RequestKey, head: CommitCid | None) -> None:
        """Raises `ConflictError` if a key has made a commit on a branch: another server was sent
        the request too."""
        found = self.find(key, head)
        if found is not None:
            raise ConflictError(f"idempotency-key: commit {found} was made with it meanwhile")

    def _unread(self, head: CommitCid) -> Iterator[Commit]:
        """Yields a commit and its ancestors, newest first, without those that were read before and
        their ancestors."""
        found: set[CommitCid] = set()
        waiting: list[tuple[int, bytes, Commit]] = []
        cids: Iterable[CommitCid] = (head,)
        while True:
            for cid in cids:
                if cid not in self._read and cid not in found:
                    found.add(cid)
                    commit = self._repository.commit_at(cid)
                    heappush(waiting, (-commit.time, cid.raw, commit))
            if not waiting:
                return
            commit = heappop(waiting)[2]
            yield commit
            cids = commit.parents

    def _remember(self, commit: Commit) -> None:
        for key, body in REQUEST_LINE.findall(commit.message):
            self._used[key] = (body, commit.cid)


def _digest(data: bytes) -> str:
    return blake3(data).hexdigest()[:32]
