"""Objects by name in object storage, reduced to what every service does alike.

The only condition that is used is "create if absent": it needs no version tags, and it exists on
S3, on its relatives and on a plain folder. A conditional request is never repeated by the client
library, because a repeated one is refused by its own success; reads and unconditional writes are.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from ibidem.objects.errors import StorageError
from ibidem.objects.record import record

if TYPE_CHECKING:
    from obstore.store import ObjectStore

THREADS_MAX = 16
"""How many objects are read or written at once."""
_SHARE = 0.2
"""Weight of the newest measurement in the average round trip."""
_PROBES = "probe"
_VERSION_PROBE = f"{_PROBES}/version"
_UNVERSIONED = "null"
"""The version in a bucket that does not keep old versions any more."""
A = TypeVar("A")
R = TypeVar("R")


OLD_VERSIONS = (
    "the bucket keeps old versions of objects, so that 'repo erase' will not end before versioning "
    "is suspended and they are deleted"
)


def erasing_versions() -> StorageError:
    """Returns the error for destroying bytes in a bucket that keeps old versions of objects."""
    return StorageError(
        "object storage: the bucket keeps old versions of objects, so that nothing is destroyed by "
        "deleting it",
        hint="suspend versioning, delete the old versions, then run 'repo erase --finish'",
    )


class Created(Enum):
    """What is known after a request to create an object."""

    YES = "yes"
    """It was created by this request."""
    TAKEN = "taken"
    """There is an object of that name: another writer's, or this one's from a request whose answer
    was lost."""
    UNKNOWN = "unknown"
    """The service failed, or did not answer: it may have created the object, or may do so yet."""


@record
class Listed:
    """An object in a listing."""

    size: int
    modified: datetime
    """By the clock of the service."""


class Bucket:
    """The objects below one prefix. Safe to use from several threads."""

    def __init__(self, objects: ObjectStore, *, once: ObjectStore | None = None) -> None:
        """Wraps clients.

        Args:
            objects: repeats failed requests as it sees fit.
            once: the same objects, without any repetition; by default the same client.
        """
        import obstore
        from obstore import exceptions

        self._do: Any = obstore
        self._objects = objects
        self._once = objects if once is None else once
        self._refused = (
            *(exceptions.PermissionDeniedError, exceptions.UnauthenticatedError),
            *(exceptions.NotSupportedError, exceptions.InvalidPathError),
            *(exceptions.UnknownConfigurationKeyError, FileNotFoundError, PermissionError),
        )
        self._taken = exceptions.AlreadyExistsError, exceptions.PreconditionError
        self._failed = exceptions.BaseError, OSError, ValueError
        self._process = os.getpid()
        self.round_trip_seconds = 0.0
        """The average time that creating an object took lately."""

    def get(self, name: str) -> bytes | None:
        """Returns the bytes of an object, None if there is none; raises `StorageError`."""
        try:
            return bytes(self._do.get(self._client(self._objects), name).bytes())
        except FileNotFoundError:
            return None
        except self._failed as error:
            raise _storage_error("read", name, error) from error

    def get_all(self, names: Sequence[str]) -> list[bytes | None]:
        """Returns the bytes of several objects, read at the same time."""
        return self.map(self.get, names)

    def get_ranges(self, name: str, spans: Sequence[tuple[int, int]]) -> list[bytes] | None:
        """Returns parts of an object as (start, length); None if there is no such object."""
        starts, lengths = zip(*spans, strict=True)
        try:
            found = self._do.get_ranges(
                self._client(self._objects), name, starts=starts, lengths=lengths
            )
        except FileNotFoundError:
            return None
        except self._failed as error:
            raise _storage_error("read", name, error) from error
        except BaseException as error:  # the client panics at parts that do not exist
            if type(error).__name__ != "PanicException":
                raise
            raise _storage_error("read", name, ValueError("it is too short")) from error
        return [bytes(part) for part in found]

    def create(self, name: str, body: bytes) -> Created:
        """Creates an object unless there is one of that name, with exactly one request.

        Raises:
            StorageError: the service refuses; nothing was created by this request.
        """
        started = time.monotonic()
        try:
            self._do.put(self._client(self._once), name, body, mode="create", use_multipart=False)
        except self._taken:
            return Created.TAKEN
        except self._refused as error:
            raise _storage_error("create", name, error) from error
        except self._failed:
            return Created.UNKNOWN
        took = time.monotonic() - started
        before = self.round_trip_seconds
        self.round_trip_seconds = before + _SHARE * (took - before) if before else took
        return Created.YES

    def create_and_get(self, name: str, body: bytes) -> tuple[Created, bytes | None]:
        """Creates an object and reads it at the same time, which may be just before.

        Raises:
            StorageError: the service refuses; nothing was created by this request.
        """
        found: list[bytes | None] = []

        def read() -> Created:
            with suppress(StorageError):
                found.append(self.get(name))
            return Created.UNKNOWN

        done, _ = self.map(lambda call: call(), [lambda: self.create(name, body), read])
        return done, found[0] if found else None

    def put(self, name: str, body: bytes) -> str | None:
        """Writes an object, replacing one of that name; returns the version that a bucket which
        keeps old versions gave it."""
        try:
            found = self._do.put(self._client(self._objects), name, body, use_multipart=False)
        except self._failed as error:
            raise _storage_error("write", name, error) from error
        version: str | None = found["version"]
        return None if version == _UNVERSIONED else version

    def keeps_versions(self) -> bool:
        """Returns whether the bucket keeps old versions of objects, so that deleting one destroys
        nothing."""
        version = self.put(_VERSION_PROBE, b"")
        self.delete([_VERSION_PROBE])
        return version is not None

    def delete(self, names: Iterable[str]) -> None:
        """Deletes objects; absent ones are no error."""
        for name in names:
            try:
                self._do.delete(self._client(self._objects), name)
            except FileNotFoundError:
                continue
            except self._failed as error:
                raise _storage_error("delete", name, error) from error

    def listed(self, prefix: str) -> dict[str, Listed]:
        """Returns the objects below a prefix, by name ascending."""
        try:
            pages = self._do.list(self._client(self._objects), prefix)
            found = {
                row["path"]: Listed(row["size"], row["last_modified"])
                for page in pages
                for row in page
            }
        except FileNotFoundError:
            return {}
        except self._failed as error:
            raise _storage_error("list", prefix, error) from error
        return dict(sorted(found.items()))

    def now(self) -> datetime:
        """Returns the time by the clock of the service, which is the only one that is compared with
        the times of objects."""
        name = f"{_PROBES}/{os.urandom(8).hex()}"
        self.put(name, b"")
        try:
            modified: datetime = self._do.head(self._client(self._objects), name)["last_modified"]
        except self._failed as error:
            raise _storage_error("read", name, error) from error
        finally:
            self.delete([name])
        return modified

    def map(self, call: Callable[[A], R], arguments: Sequence[A]) -> list[R]:
        """Calls a function with each argument, several at a time, and returns the results in
        order; raises the first error."""
        if len(arguments) < 2:
            return [call(argument) for argument in arguments]
        results: dict[int, R] = {}
        errors: dict[int, Exception] = {}
        waiting = deque(enumerate(arguments))

        def work() -> None:
            while True:
                try:
                    position, argument = waiting.popleft()
                except IndexError:
                    return
                try:
                    results[position] = call(argument)
                except Exception as error:  # raised below, in the thread of the caller
                    errors[position] = error

        # They end with this call: a pool would not survive a fork.
        threads = [
            threading.Thread(target=work, daemon=True)
            for _ in range(min(THREADS_MAX, len(arguments)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[min(errors)]
        return [results[position] for position in range(len(arguments))]

    def _client(self, client: Any) -> Any:
        if os.getpid() != self._process:
            raise StorageError(
                "object storage: this process was forked from the one that opened it",
                hint="open the repository after the fork, in a process that was started by 'spawn'",
            )
        return client


def _storage_error(verb: str, name: str, error: Exception) -> StorageError:
    reason = " ".join(str(error).split("Debug source:")[0].split())
    return StorageError(
        f"object storage: cannot {verb} {name}: {reason[:300]}",
        hint="check the address, the credentials and the network",
    )
