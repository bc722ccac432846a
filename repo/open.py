"""Creates and opens repositories: in a folder, in memory, behind an address or a server. Opening
reads one small file and one cell; everything that grows is read on demand.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from ibidem.objects.errors import InvalidInputError, StorageError
from ibidem.repo.core import Clock, Core
from ibidem.repo.opening import created, is_taken, location_of, open_core, system_clock
from ibidem.repo.repository import Repository

if TYPE_CHECKING:
    from ibidem.objects.config import Config

MEMORY = "memory:"


def init(
    path: str | os.PathLike[str] = MEMORY,
    *,
    config: Config | None = None,
    author: str = "",
    clock: Clock = system_clock,
) -> Repository:
    """Creates a repository, completely or not at all, and opens it.

    Args:
        path: a folder, created if it is missing; existing files stay. Or `s3://bucket/prefix`; or
            `memory:` for one in memory.
        config: the configuration on which answers depend, recorded in every root.
        author: of the first operation.

    Raises:
        InvalidInputError: a repository exists there already.
        FormatError: `config` names a version of the semantics that this program does not have.
        StorageError: a disk error; nothing was created, unless the message says so.
    """
    from ibidem.repo.bootstrap import bootstrapped, check_choice

    check_choice(config)
    if path == MEMORY:
        from ibidem.store.memory import MemoryStore

        return Repository(Core(bootstrapped(MemoryStore(), config, author, clock), None, clock))
    with created(location_of(path)) as (store, _):
        bootstrapped(store, config, author, clock)
    try:
        return open(path, clock=clock)
    except StorageError as error:
        failure = StorageError(
            f"{error}; the repository was created and is complete",
            kind=error.kind,
            hint="open it: ibidem.open(path), or any other command of repo",
        )
        failure.errno = error.errno
        raise failure from error


def open(  # noqa: A001
    path: str | os.PathLike[str],
    *,
    create: bool = False,
    author: str = "",
    clock: Clock = system_clock,
    finish_erasing: bool = True,
    token: str | None = None,
) -> Repository:
    """Opens the repository at an address.

    Args:
        path: a folder, or a URL such as `s3://bucket/prefix`; other schemes come with packages that
            have an entry point `ibidem.stores`. `https://HOST` is a repository behind `repo serve`,
            which the server reads and writes: what it does not offer is an error
            (`not-permitted`).
        create: creates it if there is none, with the default configuration; `init` takes another.
        author: of the first operation, if it is created.
        finish_erasing: completes an interrupted erasure before anything is read, as far as the
            medium permits. If there is none, this costs one cell read.
        token: of a server; required for one.

    Raises:
        NotFoundError: kind `repository-not-found`.
        FormatError: it was created by a newer version.
        CorruptError: one of its files is damaged.
    """
    if isinstance(path, str) and path.startswith(("http://", "https://")):
        if create:
            raise InvalidInputError("create: got True for a server, expected a repository there")
        from ibidem.repo.served.repository import ServedRepository

        return ServedRepository(path, token)
    if token is not None:
        raise InvalidInputError("token: got one for a repository that is not behind a server")
    if create and path != MEMORY and not is_taken(location_of(path)):
        # If another process is creating it at this moment, it is opened.
        with suppress(InvalidInputError):
            return init(path, author=author, clock=clock)
    return Repository(open_core(path, clock=clock, finish_erasing=finish_erasing))
