"""From what a user names to something to copy from or to: an URL, a folder, a file.

Spec: sync 6, 7.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.repo.arguments import checked_path
from ibidem.repo.sync.bundle import Bundle, Push
from ibidem.repo.sync.container import Opened
from ibidem.repo.sync.files import existing_file
from ibidem.repo.sync.http import HttpRemote
from ibidem.repo.sync.remote import Blocks, LocalRemote, Remote
from ibidem.repo.sync.remotes import RemoteAddress
from ibidem.repo.sync.report import RefMove
from ibidem.store.files import medium_error

_FOLDER = ".ibidem"


class FileRemote:
    """A bundle in a file: can be fetched from, not pushed to."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def refs(self, prefixes: Sequence[str]) -> Bundle:
        """Returns what the bundle says, after reading all of it."""
        with self._opened() as opened:
            for _ in opened.blocks():
                pass
            bundle = opened.message(Bundle)
        chosen = {
            name: tip for name, tip in bundle.refs.items() if name.startswith(tuple(prefixes))
        }
        return replace(bundle, refs=chosen)

    def known(self, cids: Sequence[CommitCid]) -> set[CommitCid]:
        """Returns none: a file is read as it is."""
        return set()

    @contextmanager
    def fetch(self, want: Sequence[Cid], have: Sequence[Cid]) -> Iterator[Blocks]:
        """Returns every block of the file."""
        with self._opened() as opened:
            yield opened.blocks()

    def push(self, push: Push, blocks: Blocks) -> list[RefMove]:
        """Refuses."""
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
    """Opens what an address leads to, and closes it in the end.

    Args:
        token: for an URL; without it, the one in the address's file.

    Raises:
        NotFoundError: there is no such folder or file.
        InvalidInputError: an URL without a token, or of another form.
        StorageError: what is there cannot be read.
    """
    location = address.location
    if is_url(location):
        yield HttpRemote(
            location,
            token=_token(address) if token is None else token,
            is_plain_allowed=address.is_plain_allowed,
        )
        return
    path = Path(location)
    try:
        is_repository, is_file = (path / _FOLDER).is_dir(), path.is_file()
    except OSError as error:
        raise medium_error(path, error) from error
    if is_repository:
        from ibidem.repo.repository import open as open_repository

        with open_repository(path) as repository:
            yield LocalRemote(repository)
    elif is_file:
        yield FileRemote(path)
    else:
        raise NotFoundError(
            f"remote: {location} is neither a repository nor a file",
            kind=ErrorKind.REPOSITORY_NOT_FOUND,
            hint="give an http(s) URL, the folder of a repository, or a bundle",
        )


def address_of(
    location: str | os.PathLike[str],
    *,
    token_file: str | os.PathLike[str] | None = None,
    is_plain_allowed: bool = False,
) -> RemoteAddress:
    """Returns the address that a user's text means; a path becomes absolute.

    Raises:
        InvalidInputError: an URL that is not http or https, or holds a name or password.
    """
    from ibidem.repo.sync.http import checked_url

    location = os.fspath(location) if isinstance(location, os.PathLike) else location
    if not isinstance(location, str):
        raise InvalidInputError(f"location: got {location!r:.80}, expected http(s)://… or a path")
    if is_url(location):
        checked_url(location)
        if token_file is None:
            return RemoteAddress(location, None, is_plain_allowed)
        kept = checked_path("token_file", token_file).absolute()
        return RemoteAddress(location, str(kept), is_plain_allowed)
    if "://" in location or not location or "\0" in location:
        raise InvalidInputError(f"location: got {location!r:.80}, expected http(s)://… or a path")
    return RemoteAddress(str(Path(location).absolute()))


def is_url(location: str) -> bool:
    """Tells whether a location is on a server."""
    return location.startswith(("http://", "https://"))


def _token(address: RemoteAddress) -> str:
    if address.token_file is None:
        return ""
    from ibidem.repo.sync.token import read_token

    return read_token(Path(address.token_file))
