"""One request that was let in, and its answer; the routes see nothing of the frames of HTTP.

Routes are plain functions that run in a worker thread; they may block, and raise `IbidemError`.

Spec: trust 7.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.errors import InvalidInputError, NotFoundError, RemoteError
from ibidem.objects.record import record
from ibidem.retrieve.access.policy import ALL

if TYPE_CHECKING:
    from ibidem.repo.revision import Revision
    from ibidem.repo.viewer.revision import ViewerRevision
    from ibidem.serve.read_log import Subject
    from ibidem.serve.served import Served
    from ibidem.serve.tokens import Token

JSON = "application/json"


class Answer(NamedTuple):
    """An answer: one message, or a stream of parts."""

    body: bytes | Iterable[bytes] | AsyncIterable[bytes]
    content_type: str = JSON
    status: int = 200
    tag: str | None = None
    """The identity of the body, which is its `ETag`; a CID where it has one."""
    is_immutable: bool = False
    """Whether the same request has the same answer for ever, because it names CIDs only."""
    headers: Mapping[str, str] = {}
    is_live: bool = False
    """Whether each part of a stream is sent as soon as it is there."""


class Stream(Protocol):
    """The body of a request that is not kept in memory."""

    def read(self, size: int, /) -> bytes:
        """Returns at most `size` bytes, none at the end."""
        ...


@record
class Call:
    """A request that was let in."""

    served: Served
    token: Token
    subject: Subject
    """Is told what a question was about."""
    path: Mapping[str, str]
    """The variable parts of its path."""
    query: tuple[tuple[str, str], ...]
    headers: Mapping[str, str]
    """By name in lower case."""
    body: bytes
    stream: Stream | None = None
    """The body, where the route reads it in parts."""

    def revision(self, at: object) -> Revision | ViewerRevision:
        """Returns the graph at a revision, or of a root, as the viewer of the token sees it."""
        try:
            found = self._at(at)
        except NotFoundError as missing:
            if not is_cid(at):
                raise
            try:
                found = self._at(RootCid.parse(str(at)))
            except NotFoundError:
                raise missing from None
        self.subject.root = found.root_cid
        return found

    def _at(self, at: object) -> Revision | ViewerRevision:
        repository = self.served.repository
        if self.token.viewer.everything:
            return repository.at(at, viewer=ALL)
        return repository.as_viewer(self.token.viewer, author=self.token.name).at(at)

    def options(self, *names: str) -> dict[str, str]:
        """Returns the query parameters by name.

        Raises:
            InvalidInputError: one has another name, or is given twice.
        """
        found: dict[str, str] = {}
        for name, value in self.query:
            if name not in names:
                expected = ", ".join(names) or "none"
                raise InvalidInputError(f"query: got {name!r:.80}, expected {expected}")
            if name in found:
                raise InvalidInputError(f"{name}: got it twice, expected one value")
            found[name] = value
        return found


def failed(error: Exception) -> RemoteError:
    """Returns what a client is told of an error that no request should cause: its type alone."""
    return RemoteError(f"the server failed: {type(error).__name__}")


def is_cid(rev: object) -> bool:
    """Returns whether a revision is a whole CID, so that what it names never changes."""
    if not isinstance(rev, str):
        return False
    try:
        Cid.parse(rev)
    except InvalidInputError:
        return False
    return True


def count_in(options: Mapping[str, str], name: str, *, default: int, high: int) -> int:
    """Returns a whole number of the query.

    Raises:
        InvalidInputError: it is another text, or out of range.
    """
    text = options.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= high):
        raise InvalidInputError(f"{name}: got {text!r:.80}, expected 1 to {high}")
    return int(text)
