"""Where the blocks and cells of a repository may be: the scheme of its address selects a backend.

An address is a path, or a URL such as `s3://bucket/prefix`. A path is a folder of this machine,
which holds everything. For a URL, what belongs to one machine (caches, keys, receipts, settings)
has a folder of its own in the user's data folder, named by the address.

Other packages add schemes by the entry point `ibidem.stores`: its name is the scheme, its value an
object with the methods of `Backend`. `ibidem.store.testing.StoreSuite` tests a store.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from blake3 import blake3

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.store.protocol import LayoutReport, Store

ENTRY_POINTS = "ibidem.stores"
SCHEMES = {
    "postgresql": "ibidem.store.postgres.backend:POSTGRES",
    "s3": "ibidem.store.log.backend:BUCKET",
}
"""Backends by scheme, as module and name: imported when an address needs them."""
FOLDER_BACKEND = "ibidem.store.lmdb.backend:FOLDER"
_URL = r"([a-z][a-z0-9+.-]*)://"
_CREDENTIALS = r"(://[^/@:]*):[^/@]*@"
_NO_IDENTITY = ("staleness=", "blocks=")
"""Options of an address that do not say which repository it is."""
_NAME_CHARACTERS = 32


@runtime_checkable
class Backend(Protocol):
    """Creates and opens stores of one kind."""

    def create(self, address: str, folder: Path) -> AbstractContextManager[Store]:
        """Yields a new, empty store. It can be opened once the `with` block has ended without an
        error; otherwise nothing of it stays.

        Args:
            folder: for files of this machine; it exists.

        Raises:
            InvalidInputError: there is something at the address; or the address is malformed.
            StorageError: the medium fails, or cannot keep the promises of a store.
        """
        ...

    def open(self, address: str, folder: Path) -> Store:
        """Opens a store.

        Raises:
            NotFoundError: kind `repository-not-found`.
            FormatError: it was created by a newer version.
        """
        ...

    def check(self, address: str, folder: Path) -> LayoutReport:
        """Checks, without opening the store, whether opening it is safe; raises as `open` does."""
        ...


@record
class Location:
    """Where a repository is."""

    address: str
    """What opens it: an absolute path or a URL. May contain a password."""
    folder: Path
    """The files of this machine."""
    backend: Backend
    is_folder: bool
    """Whether the folder holds the whole repository."""

    @property
    def shown(self) -> str:
        """The address for messages, without a password."""
        return self.address if self.is_folder else without_password(self.address)


def without_password(address: str) -> str:
    """Returns an address for messages."""
    return re.sub(_CREDENTIALS, r"\1:***@", address)


def is_address(text: object) -> bool:
    """Returns whether text is a URL and not a path."""
    return isinstance(text, str) and re.match(_URL, text) is not None


def location_at(address: str) -> Location:
    """Returns the location of the repository at a URL, whether or not there is one.

    Raises:
        InvalidInputError: no backend has its scheme, or it needs a package that is not installed.
    """
    matched = re.match(_URL, address)
    assert matched is not None, "BUG: a path given as a URL"
    return Location(
        address.rstrip("/"), local_folder(address), _backend(matched[1]), is_folder=False
    )


def folder_location(path: Path, name: str) -> Location:
    """Returns the location of the repository in the folder `name` of a folder."""
    return Location(str(path), path / name, _loaded(FOLDER_BACKEND), is_folder=True)


def local_folder(address: str) -> Path:
    """Returns the folder for what this machine keeps of the repository at a URL."""
    from platformdirs import user_data_path

    # Neither does a password make another repository.
    base, _, options = re.sub(_CREDENTIALS, r"\1@", address).partition("?")
    naming = [one for one in options.split("&") if one and not one.startswith(_NO_IDENTITY)]
    plain = "?".join((base, "&".join(naming)) if naming else (base,)).rstrip("/")
    name = blake3(plain.encode("utf-8", "surrogateescape")).hexdigest()[:_NAME_CHARACTERS]
    return user_data_path("ibidem") / "repositories" / name


def temporary_store(folder: Path) -> Store:
    """Creates a store for a short time in a new folder of this machine."""
    from ibidem.store.lmdb.store import LmdbStore

    return LmdbStore.create(folder)


def _backend(scheme: str) -> Backend:
    if scheme in SCHEMES:
        return _loaded(SCHEMES[scheme])
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS, name=scheme):
        found = point.load()
        if not isinstance(found, Backend):
            raise InvalidInputError(
                f"address: the entry point {point.value} for {scheme}:// is no Backend"
            )
        return found
    known = ", ".join(f"{name}://" for name in sorted(SCHEMES))
    hint = "other schemes come with a package that has an entry point 'ibidem.stores'"
    if scheme in ("http", "https"):
        hint = "a repository that is served is copied first: `repo clone URL`"
    raise InvalidInputError(
        f"address: got the scheme {scheme}://, expected a path or one of {known}", hint=hint
    )


def _loaded(target: str) -> Backend:
    module, _, name = target.partition(":")
    return cast("Backend", getattr(import_module(module), name))


def needs_extra(scheme: str, extra: str, error: ImportError) -> InvalidInputError:
    """Returns the error for a backend whose client is not installed."""
    return InvalidInputError(
        f"address: {scheme}:// needs the package {error.name}, which is not installed",
        hint=f"pip install 'ibidem[{extra}]'",
    )
