"""Child processes that do a part of `repo fsck`, each with its own reads of the store.

Python checks one block at a time, so a large repository is checked by several processes if there
are processors for them. They change nothing, neither the report nor its order: a child only says
that something is well, and what it does not say so of is checked again by the parent. So a child
that fails costs time and nothing else.
"""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from ibidem.objects import codec
from ibidem.repo.maintenance.history_checks import history_digest, valid_history
from ibidem.repo.maintenance.value_checks import PlainValues, Values, plain_values
from ibidem.store.closing import Closing

if TYPE_CHECKING:
    import subprocess

    from ibidem.repo.core import Core

_CHILDREN_MAX = 3
_BLOCKS_PER_CHILD = 50_000
"""With fewer blocks for each child, starting a process costs more than it saves."""
_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from ibidem.repo.maintenance.workers import main; main(sys.argv[2])"
)
_HEADER_BYTES = 8


class Workers(Closing):
    """The children of one check; none if the repository is small or there is one processor."""

    def __init__(self, repository: Core, *, block_count: int) -> None:
        """Starts the children.

        Args:
            block_count: of the store; it has been found safe to open.
        """
        self._store = repository.store
        location = repository.location
        count = 0
        if location is not None and location.is_folder:
            count = min(_processor_count() - 1, _CHILDREN_MAX, block_count // _BLOCKS_PER_CHILD)
        self._children = [_Child(location.address) for _ in range(count)] if location else []
        self._turns: list[_Child | None] = [*self._children]
        if len(self._children) < 2:
            # The parent, which finds the values, has time to check a third of them itself.
            self._turns += [*self._children, None]
        self._next = 0
        self._well: Callable[[], dict[str, Any] | None] | None = None

    def check_values(self, values: Values) -> Callable[[], PlainValues]:
        """Starts to check values; returns a function that waits for the result."""
        child = self._turns[self._next % len(self._turns)]
        self._next += 1
        if child is None:
            found = plain_values(self._store, values)
            return lambda: found
        reply = child.ask({"kind": values.kind, "cids": values.cids, "keys": values.keys})

        def result() -> PlainValues:
            answer = reply()
            if answer is None:
                return plain_values(self._store, values)
            return PlainValues(answer["size"], answer["others"], answer["dims"])

        return result

    def begin_history(self, dim: int | None) -> None:
        """Starts to check the roots; all blocks have been found well-formed. No values can be
        checked after that.

        Args:
            dim: of all vectors, None if they have several.
        """
        if self._children:
            self._well = self._children[0].ask({"history": True, "dim": dim})

    def is_history_valid(self, commits: Iterable[bytes], roots: Iterable[bytes]) -> bool:
        """Returns whether a child has found all roots of a history valid.

        Args:
            commits: the CIDs of the history's commits.
            roots: of its roots.
        """
        answer = None if self._well is None else self._well()
        return answer is not None and answer["well"] == history_digest(commits, roots)

    def close(self) -> None:
        """Ends the children."""
        for child in self._children:
            child.close()


class _Child:
    """A child process that answers requests in their order."""

    def __init__(self, address: str) -> None:
        import subprocess

        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):
            self._process = subprocess.Popen(  # noqa: S603  this Python, and names from this package
                [sys.executable, "-I", "-c", _START, json.dumps(sys.path), address],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        self._unread: deque[list[dict[str, Any] | None]] = deque()

    def ask(self, request: dict[str, Any]) -> Callable[[], dict[str, Any] | None]:
        """Sends a request; returns a function that waits for the answer: None if there is none."""
        answer: list[dict[str, Any] | None] = []
        if self._process is None:
            return lambda: None
        assert self._process.stdin is not None, "BUG: a child without input"
        with suppress(OSError):
            _send(self._process.stdin, request)
        self._unread.append(answer)

        def wait() -> dict[str, Any] | None:
            while not answer:
                self._unread.popleft().append(self._read())
            return answer[0]

        return wait

    def close(self) -> None:
        """Ends the process."""
        child, self._process = self._process, None
        if child is not None:
            child.kill()
            child.communicate()

    def _read(self) -> dict[str, Any] | None:
        assert self._process is not None, "BUG: an answer of no child"
        assert self._process.stdout is not None, "BUG: a child without output"
        return _receive(self._process.stdout)


def main(address: str) -> None:
    """Answers requests until the input ends, or the history has been checked: that is the last
    request, and the memory that it took is free again."""
    from ibidem.repo.opening import location_of

    location = location_of(address)
    with location.backend.open(location.address, location.folder) as store:
        while request := _receive(sys.stdin.buffer):
            if "history" in request:
                _send(sys.stdout.buffer, {"well": valid_history(store, request["dim"])})
                return
            found = plain_values(store, Values(**request))
            reply = {"size": found.size_bytes, "others": found.others, "dims": found.dims}
            _send(sys.stdout.buffer, reply)


def _send(pipe: IO[bytes], message: dict[str, Any]) -> None:
    data = codec.encode(message)
    pipe.write(len(data).to_bytes(_HEADER_BYTES) + data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> dict[str, Any] | None:
    size = int.from_bytes(pipe.read(_HEADER_BYTES))
    data = pipe.read(size)
    return codec.decode(data) if size and len(data) == size else None


def _processor_count() -> int:
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1
