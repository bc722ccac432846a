"""Remotes: their names and addresses, and how to open an address.

An address is a URL, a folder or a file. Addresses are stored outside the history and are never
copied.

Spec: sync 6, 7.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.errors import CorruptError, ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.forking import ForkLock
from ibidem.objects.record import record
from ibidem.repo.arguments import checked_path
from ibidem.repo.opening import FOLDER, open_core
from ibidem.repo.sync.files import existing_file, read_token
from ibidem.repo.sync.http_client import HttpRemote
from ibidem.repo.sync.local_remote import LocalRemote
from ibidem.repo.sync.messages import Bundle, Opened, Push
from ibidem.repo.sync.names import check_remote
from ibidem.repo.sync.remote import Blocks, Remote
from ibidem.repo.sync.report import RefMove
from ibidem.store.backends import is_address, location_at
from ibidem.store.files import change_file, medium_error, read_file

FILE = Path("local") / "remotes.json"
ORIGIN = "origin"
"""The name of the remote that a clone was made from."""
_VERSION = 1


@record
class RemoteAddress:
    """The address of a remote."""

    location: str
    """A URL, or the absolute path of a folder or a file."""
    token_file: str | None = None
    """Path of a file with the token, for a URL."""
    is_plain_allowed: bool = False
    """Whether the token may be sent over a network without encryption."""

    def __post_init__(self) -> None:
        """Raises `InvalidInputError` if a field has the wrong type."""
        if not isinstance(self.location, str) or not self.location:
            raise InvalidInputError(f"location: got {self.location!r:.80}, expected a URL or path")
        if not isinstance(self.token_file, str | None):
            raise InvalidInputError(f"token_file: got {self.token_file!r:.80}, expected text")
        if not isinstance(self.is_plain_allowed, bool):
            raise InvalidInputError(
                f"is_plain_allowed: got {self.is_plain_allowed!r:.80}, expected True or False"
            )


class Remotes:
    """The remotes of one repository; kept in memory if it has no folder."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / FILE
        self._kept: dict[str, RemoteAddress] = {}
        self._lock = ForkLock()
        """Of what is in memory."""

    def all(self) -> dict[str, RemoteAddress]:
        """Returns the addresses by name.

        Raises:
            CorruptError: the file is malformed.
            StorageError: it cannot be read.
        """
        if self._path is None:
            return dict(self._kept)
        return _read(read_file(self._path), self._path)

    def get(self, name: str) -> RemoteAddress:
        """Returns the address of a remote; raises `NotFoundError` if it does not exist."""
        found = self.all().get(check_remote(name))
        if found is None:
            raise _unknown(name)
        return found

    def add(self, name: str, address: RemoteAddress) -> None:
        """Adds a remote.

        Raises:
            InvalidInputError: there is one of that name, or an argument is malformed.
            StorageError: a disk error; nothing was changed.
        """
        check_remote(name)
        if not isinstance(address, RemoteAddress):
            raise InvalidInputError(
                f"address: got {address!r:.80}, expected a RemoteAddress",
                hint="ibidem.repo.sync.remotes.address_of(location) makes one of a URL or a path",
            )

        def added(known: dict[str, RemoteAddress]) -> dict[str, RemoteAddress]:
            if name in known:
                raise InvalidInputError(
                    f"remote: {name!r} exists, at {known[name].location}", hint="remove it first"
                )
            return {**known, name: address}

        self._change(added)

    def remove(self, name: str) -> RemoteAddress:
        """Removes a remote and returns its address; data copied from it stays.

        Raises:
            NotFoundError: there is none of that name.
            StorageError: a disk error; nothing was changed.
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
    hint = f"add it: repo remote add {name} LOCATION"
    if name != ORIGIN:
        examples = (f"repo {verb} {ORIGIN} {name}" for verb in ("push", "pull"))
        hint += f"; or if {name} is a branch, name the remote first: {', '.join(examples)}"
    return NotFoundError(f"remote {name!r} is not known here", hint=hint)


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


class FileRemote:
    """A bundle in a file: supports fetch, but not push."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def refs(self, prefixes: Sequence[str]) -> Bundle:
        """Returns the bundle, after reading all of it."""
        with self._opened() as opened:
            for _ in opened.blocks():
                pass
            bundle = opened.message(Bundle)
        chosen = {
            name: tip for name, tip in bundle.refs.items() if name.startswith(tuple(prefixes))
        }
        return replace(bundle, refs=chosen)

    def known(self, cids: Sequence[CommitCid]) -> set[CommitCid]:
        """Returns the empty set: a file cannot leave out blocks that are known here."""
        return set()

    @contextmanager
    def fetch(self, want: Sequence[Cid], have: Sequence[Cid]) -> Iterator[Blocks]:
        """Returns every block of the file."""
        with self._opened() as opened:
            yield opened.blocks()

    def push(self, push: Push, blocks: Blocks) -> list[RefMove]:
        """Raises an error: a file cannot be pushed to."""
        raise InvalidInputError(
            f"remote: {self._path} is a file, which nothing can be pushed to",
            hint="write a new one with 'repo export'",
        )

    @contextmanager
    def _opened(self) -> Iterator[Opened]:
        with existing_file(self._path) as file:
            yield Opened(file)


@contextmanager
def connected(address: RemoteAddress, *, token: str | None = None) -> Iterator[Remote]:
    """Opens an address, and closes it at the end.

    Args:
        address: of the remote.
        token: for a URL; by default the one in the address's token file.

    Raises:
        NotFoundError: there is no such folder or file.
        InvalidInputError: a URL without a token, or a malformed one.
        StorageError: the folder or file cannot be read.
    """
    location = address.location
    if is_address(location) and not is_url(location):
        with open_core(location) as core:
            yield LocalRemote(core)
        return
    if is_url(location):
        yield HttpRemote(
            location,
            token=_token(address) if token is None else token,
            is_plain_allowed=address.is_plain_allowed,
        )
        return
    path = Path(location)
    try:
        is_repository, is_file = (path / FOLDER).is_dir(), path.is_file()
    except OSError as error:
        raise medium_error(path, error) from error
    if is_repository:
        with open_core(path) as core:
            yield LocalRemote(core)
    elif is_file:
        yield FileRemote(path)
    else:
        raise NotFoundError(
            f"remote: {location} is neither a repository nor a file",
            kind=ErrorKind.REPOSITORY_NOT_FOUND,
            hint="give the URL of a server or a repository, a folder with one, or a bundle",
        )


def address_of(
    location: str | os.PathLike[str],
    *,
    token_file: str | os.PathLike[str] | None = None,
    is_plain_allowed: bool = False,
) -> RemoteAddress:
    """Returns the address for a user's input; a path becomes absolute.

    Raises:
        InvalidInputError: a URL of no known scheme; or an http URL with a name or password.
    """
    from ibidem.repo.sync.http_client import checked_url

    location = os.fspath(location) if isinstance(location, os.PathLike) else location
    if not isinstance(location, str):
        raise InvalidInputError(f"location: got {location!r:.80}, expected http(s)://… or a path")
    if is_url(location):
        checked_url(location)
        if token_file is None:
            return RemoteAddress(location, None, is_plain_allowed)
        kept = checked_path("token_file", token_file).absolute()
        return RemoteAddress(location, str(kept), is_plain_allowed)
    if is_address(location):
        location_at(location)
        return RemoteAddress(location)
    if "://" in location or not location or "\0" in location:
        raise InvalidInputError(f"location: got {location!r:.80}, expected http(s)://… or a path")
    return RemoteAddress(str(Path(location).absolute()))


def is_url(location: str) -> bool:
    """Returns whether a location is the URL of a server."""
    return location.startswith(("http://", "https://"))


def _token(address: RemoteAddress) -> str:
    if address.token_file is None:
        return ""
    return read_token(Path(address.token_file))
