"""Arguments shared by the repository's calls: author and time of commits, paths, new ids."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ibidem.objects.codec import exact_value
from ibidem.objects.commit import Commit
from ibidem.objects.derive import act_node_id
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.numpy_value import numpy_value
from ibidem.objects.record import record

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid, RootCid
    from ibidem.objects.root import Root
    from ibidem.repo.signing.key import SigningKey

REQUEST_LINE = re.compile(r"^Request: ([0-9a-f]{32}) ([0-9a-f]{32})$", re.MULTILINE)
"""The line that a server writes into the message of a commit: which request made it."""


@record
class CommitInfo:
    """Author, time and message of a commit."""

    author: str
    message: str
    time: int | None
    agent: str | None = None
    task: str | None = None
    key: SigningKey | None = None
    """Signs the commit."""

    def with_trailers(self, trailers: Sequence[str]) -> CommitInfo:
        """Returns the information with lines at the end of the message, after an empty line."""
        if not trailers:
            return self
        return replace(self, message="\n".join((self.message.rstrip("\n"), "", *trailers)))


def check_no_request(message: str) -> None:
    """Refuses a message that would be read as that of a request to a server.

    Spec: trust 7.

    Raises:
        InvalidInputError: a line of it is `Request: KEY BODY`.
    """
    if REQUEST_LINE.search(message):
        raise InvalidInputError("message: a line `Request: …` names a key, which only a header may")


def commit_info(
    author: str,
    message: str,
    time: int | datetime | None,
    agent: str | None,
    task: str | None,
    key: SigningKey | None = None,
) -> CommitInfo:
    """Returns checked commit information; raises `InvalidInputError` for a wrong type."""
    for field, value in (
        ("author", author),
        ("message", message),
        ("agent", agent),
        ("task", task),
    ):
        if not isinstance(value, str) and not (value is None and field in ("agent", "task")):
            raise InvalidInputError(f"{field}: got {value!r:.80}, expected text")
    return CommitInfo(author, message, checked_time(time), agent, task, key)


def commit_of(
    signature: CommitInfo, root: RootCid, parents: tuple[CommitCid, ...], time: int
) -> Commit:
    """Returns the commit of a root with this information."""
    commit = Commit(
        root,
        parents,
        author=signature.author,
        time=time,
        message=signature.message,
        agent=signature.agent,
        task=signature.task,
    )
    return commit if signature.key is None else signature.key.sign(commit)


def checked_time(time: int | datetime | None, name: str = "time") -> int | None:
    """Returns a time in microseconds since 1970 UTC; None for None."""
    if isinstance(time, datetime):
        return microseconds(time, name)
    number = numpy_value(time)
    time = time if number is None else number
    if time is not None and type(time) is not int:
        raise InvalidInputError(
            f"{name}: got {time!r:.80}, expected a datetime with an offset, "
            "or microseconds since 1970 UTC"
        )
    return time


def microseconds(moment: datetime, name: str = "time") -> int:
    """Returns a datetime in microseconds since 1970 UTC; one without an offset is an error."""
    exact = exact_value(moment)
    if exact is None:
        raise InvalidInputError(
            f"{name}: got {moment.isoformat()}, expected an offset",
            hint="write Z after it for UTC, or an offset such as +02:00; a datetime needs a tzinfo",
        )
    return int(exact)


class UniqueIds:
    """Deterministic ids for nodes that a transaction adds as new even if equal nodes exist. An id
    is derived from the transaction (its base root, author and time), the node, and the number of
    ids given out before. So the same run with the same clock gives the same ids, and two
    transactions share an id only if they agree in all of these.

    Spec: format 3.
    """

    def __init__(self, base: Root, signed: CommitInfo, time: Callable[[], int]) -> None:
        """Reads nothing yet; `time` returns the time of the transaction called at most once."""
        self._base = base
        self._signed = signed
        self._read_time = time
        self._act: tuple[object, ...] = ()
        self._time = 0
        self._count = 0

    def __call__(self, fields: Mapping[str, Any]) -> NodeId:
        """Returns the id for a node given as a map of its fields."""
        if not self._act:
            signed, self._time = self._signed, self._read_time()
            self._act = (self._base.cid, signed.author, signed.agent, signed.task)
        made = act_node_id(self._act, self._time, self._count, fields)
        self._count += 1
        return made


def checked_path(field: str, path: object) -> Path:
    """Returns a path given by a caller, after checking it.

    Raises:
        InvalidInputError: it is neither text nor a path, is empty, or is not a valid file name.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidInputError(f"{field}: got {path!r:.80}, expected a path")
    return Path(text)
