"""Repositories at `postgresql://user@host/database?schema=name`: a schema of its own for each.

With `blocks=s3://bucket/prefix`, blocks are kept there (`split`). The schema knows it, so it need
not be said again to open the repository.

The rest of the address is as libpq reads it; what it does not say comes from the variables and
files of libpq, such as `PGPASSWORD` and `~/.pgpass`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError, unknown_version
from ibidem.store.backends import needs_extra
from ibidem.store.cache import COPIES, BlockCache
from ibidem.store.log.backend import bucket_at
from ibidem.store.postgres.files import DatabaseFiles
from ibidem.store.postgres.packs import PACKS_SCHEMA
from ibidem.store.postgres.split import SplitStore
from ibidem.store.postgres.store import PostgresStore
from ibidem.store.protocol import LayoutReport, Store

if TYPE_CHECKING:
    from psycopg import Connection

LAYOUT_VERSION = 1
SPLIT_VERSION = 2
"""Of a schema whose blocks are in a bucket."""
DEFAULT_SCHEMA = "ibidem"
_BLOCKS_FILE = "blocks"
"""The file that says where the blocks are."""
_TIMEOUTS = {"connect_timeout": 30, "tcp_user_timeout": 30_000}
"""In seconds and in milliseconds: a server that has gone away without a word is noticed."""
_SCHEMA = re.compile(r"[?&]schema=([^&]*)")
_BLOCKS = re.compile(r"[?&]blocks=([^&]*)")
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class PostgresBackend:
    """Creates and opens stores in schemas of databases."""

    @contextmanager
    def create(self, address: str, folder: Path) -> Iterator[Store]:
        """Yields a new store in a new schema, which is dropped again after an error."""
        blocks = blocks_at(address)
        with _store(address, folder, blocks) as store:
            schema = schema_of(address)
            if isinstance(store, SplitStore) and store.bucket.listed(""):
                raise InvalidInputError(
                    f"blocks: {blocks} holds objects, expected a prefix without any"
                )
            if not store.database.create_schema(schema, "" if blocks is None else PACKS_SCHEMA):
                raise InvalidInputError(
                    f"address: the schema {schema} exists, expected the name of a new one",
                    hint="open it, or name another one: ?schema=NAME",
                )
            try:
                yield store
                if blocks is not None:
                    DatabaseFiles(store.database).put(_BLOCKS_FILE, blocks.encode())
                version = LAYOUT_VERSION if blocks is None else SPLIT_VERSION
                store.database.change(
                    "complete the schema", "update format set version = %s", version
                )
            except BaseException:
                if isinstance(store, SplitStore):
                    with suppress(Exception):
                        store.bucket.delete(store.bucket.listed(""))
                with suppress(Exception):  # a checked name
                    store.database.change("drop the schema", f"drop schema {schema} cascade")
                raise

    def open(self, address: str, folder: Path) -> Store:
        """Opens a store; see `Backend`. The first reading of its cells, which has to follow at
        once, asks no second time."""
        blocks = blocks_at(address)
        store = _store(address, folder, None)
        try:
            version = store.database.version()
            if version is None:
                raise NotFoundError(
                    f"address: the schema {schema_of(address)} has no repository in it",
                    kind=ErrorKind.REPOSITORY_NOT_FOUND,
                    hint="create one with 'repo init', or copy one there with 'repo clone'",
                )
            if version not in (LAYOUT_VERSION, SPLIT_VERSION):
                raise unknown_version("format", version, (LAYOUT_VERSION, SPLIT_VERSION))
            known = None
            if version == SPLIT_VERSION:
                (body,) = DatabaseFiles(store.database).get_all([_BLOCKS_FILE])
                known = None if body is None else body.decode()
            if blocks not in (None, known):
                raise InvalidInputError(
                    f"blocks: got {blocks}, expected none, or the prefix where they are: "
                    f"{known or 'the database'}"
                )
            if known is not None:
                store.close()
                store = _store(address, folder, known)
                store.database.refreshed()
        except BaseException:
            store.close()
            raise
        store.is_just_opened = True
        return store

    def check(self, address: str, folder: Path) -> LayoutReport:
        """Checks that the store can be opened."""
        self.open(address, folder).close()
        return LayoutReport()


POSTGRES = PostgresBackend()


def schema_of(address: str) -> str:
    """Returns the schema that an address names.

    Raises:
        InvalidInputError: no lower-case name.
    """
    found = _SCHEMA.search(address)
    name = found[1] if found else DEFAULT_SCHEMA
    if not _SCHEMA_NAME.fullmatch(name):
        raise InvalidInputError(
            f"address: got the schema {name!r:.80}, expected lower-case letters, digits and '_'"
        )
    return name


def blocks_at(address: str) -> str | None:
    """Returns the prefix of the blocks that an address names, None if it names none."""
    found = _BLOCKS.search(address)
    return None if found is None else unquote(found[1]).rstrip("/")


def _store(address: str, folder: Path, blocks: str | None) -> PostgresStore:
    connect, cache = _connector(address), BlockCache(folder / COPIES)
    if blocks is None:
        return PostgresStore(connect, cache=cache)
    if not blocks.startswith("s3://"):
        raise InvalidInputError(f"blocks: got {blocks!r:.120}, expected s3://bucket/prefix")
    bucket, _ = bucket_at(blocks)
    return SplitStore(connect, bucket, cache=cache)


def _connector(address: str) -> Callable[[], Connection[Any]]:
    try:
        import psycopg
    except ImportError as error:
        raise needs_extra("postgresql", "postgres", error) from error
    schema = schema_of(address)
    plain = address
    for option in (_SCHEMA, _BLOCKS):
        plain = option.sub(lambda match: "?" if match[0].startswith("?") else "", plain)
        plain = plain.replace("?&", "?").rstrip("?")
    try:
        given = psycopg.conninfo.conninfo_to_dict(plain)
    except psycopg.Error as error:
        raise InvalidInputError(f"address: {' '.join(str(error).split())}") from error

    options = f"-c search_path={schema} -c default_transaction_isolation=read\\ committed"
    settings: dict[str, Any] = {**_TIMEOUTS, **given, "options": options}

    def connect() -> Connection[Any]:
        return psycopg.connect(
            psycopg.conninfo.make_conninfo(**settings),
            autocommit=True,
            prepare_threshold=None,  # preparing is an exchange of its own
        )

    return connect
