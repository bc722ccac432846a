"""The remotes that a repository knows by name: addresses beside the repository, no part of it.

They stand in `.ibidem/local/remotes.json`. Nothing that comes from elsewhere writes there, and no
token does: at most the path of a file that holds one. A change is made under a lock, to the remotes
as they are then, and is durable when the call returns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from ibidem.objects.errors import CorruptError, InvalidInputError, NotFoundError
from ibidem.objects.forking import ForkLock
from ibidem.objects.record import record
from ibidem.repo.sync.names import check_remote
from ibidem.store.files import change_file, read_file

FILE = Path("local") / "remotes.json"
_VERSION = 1


@record
class RemoteAddress:
    """Where a remote is."""

    location: str
    """An URL, or the absolute path of a folder or a file."""
    token_file: str | None = None
    """Path of a file with the token, for an URL."""
    is_plain_allowed: bool = False
    """Whether the token may cross a network without encryption."""

    def __post_init__(self) -> None:
        """Raises `InvalidInputError` where a field is of another type."""
        if not isinstance(self.location, str) or not self.location:
            raise InvalidInputError(f"location: got {self.location!r:.80}, expected an URL or path")
        if not isinstance(self.token_file, str | None):
            raise InvalidInputError(f"token_file: got {self.token_file!r:.80}, expected text")
        if not isinstance(self.is_plain_allowed, bool):
            raise InvalidInputError(
                f"is_plain_allowed: got {self.is_plain_allowed!r:.80}, expected True or False"
            )


class Remotes:
    """The remotes of one repository; in memory where it has no folder."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / FILE
        self._kept: dict[str, RemoteAddress] = {}
        self._lock = ForkLock()
        """Of what is in memory."""

    def all(self) -> dict[str, RemoteAddress]:
        """Returns the addresses by name.

        Raises:
            CorruptError: the file is not what this program writes.
            StorageError: it cannot be read.
        """
        if self._path is None:
            return dict(self._kept)
        return _read(read_file(self._path), self._path)

    def get(self, name: str) -> RemoteAddress:
        """Returns the address of a remote; raises `NotFoundError` where there is none."""
        found = self.all().get(check_remote(name))
        if found is None:
            raise _unknown(name)
        return found

    def add(self, name: str, address: RemoteAddress) -> None:
        """Adds a remote.

        Raises:
            InvalidInputError: there is one of that name, or an argument is of another form.
            StorageError: the disk refuses; nothing was changed.
        """
        check_remote(name)
        if not isinstance(address, RemoteAddress):
            raise InvalidInputError(
                f"address: got {address!r:.80}, expected a RemoteAddress",
                hint="ibidem.repo.sync.place.address_of(location) makes one of an URL or a path",
            )

        def added(known: dict[str, RemoteAddress]) -> dict[str, RemoteAddress]:
            if name in known:
                raise InvalidInputError(
                    f"remote: {name!r} exists, at {known[name].location}", hint="remove it first"
                )
            return {**known, name: address}

        self._change(added)

    def remove(self, name: str) -> RemoteAddress:
        """Removes a remote and returns where it was; what was copied from it stays.

        Raises:
            NotFoundError: there is none of that name.
            StorageError: the disk refuses; nothing was changed.
        """
        check_remote(name)
        gone: dict[str, RemoteAddress] = {}

        def removed(found: dict[str, RemoteAddress]) -> dict[str, RemoteAddress]:
            if name not in found:
                raise _unknown(name)
            gone[name] = found[name]
            return {other: address for other, address in found.items() if other != name}

        self._change(removed)
        return gone[name]

    def _change(
        self, change: Callable[[dict[str, RemoteAddress]], dict[str, RemoteAddress]]
    ) -> None:
        path = self._path
        if path is None:
            with self._lock:
                self._kept = dict(sorted(change(self._kept).items()))
            return
        change_file(path, lambda data: _text(change(_read(data, path))))


def _unknown(name: str) -> NotFoundError:
    return NotFoundError(
        f"remote {name!r} is not known here",
        hint=f"repo remote add {name} LOCATION; or if {name} is a branch, say the remote "
        f"first: repo push origin {name}",
    )


def _text(remotes: Mapping[str, RemoteAddress]) -> bytes:
    rows = {name: asdict(remotes[name]) for name in sorted(remotes)}
    return (json.dumps({"version": _VERSION, "remotes": rows}, indent=2) + "\n").encode()


def _read(data: bytes | None, path: Path) -> dict[str, RemoteAddress]:
    if data is None:
        return {}
    try:
        found = json.loads(data)
        if found["version"] != _VERSION:
            raise ValueError("version")
        remotes = {
            check_remote(name): RemoteAddress(**row) for name, row in found["remotes"].items()
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CorruptError(
            f"remotes: {path} is damaged",
            hint="delete it and add the remotes again; no data is affected",
        ) from error
    return dict(sorted(remotes.items()))
