"""Lets the tests of `repo/` run on another store.

`IBIDEM_TEST_STORE=log pytest tests/repo`; instead of `log` also `s3` or `postgres`.

A folder is opened as always, but its blocks and cells are elsewhere: the tests need not know.
Excluded are tests that name LMDB or its file, and processes that a test starts: these use LMDB.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ibidem.store.backends import Backend
from ibidem.store.lmdb import backend
from ibidem.store.log.backend import creating
from ibidem.store.log.cache import BlockCache
from ibidem.store.log.objects import Bucket
from ibidem.store.log.store import LogStore
from ibidem.store.protocol import LayoutReport, Store

_POINTER = "format"
_OBJECTS = "blocks"


class LogInFolder:
    """The log that is used in buckets, in the folder of the repository."""

    @contextmanager
    def create(self, address: str, folder: Path) -> Iterator[Store]:
        with creating(_objects(folder), address, None) as store:
            yield store
        (folder / _POINTER).write_text('{"version": 1}')

    def open(self, address: str, folder: Path) -> Store:
        backend.check_format(folder)
        return LogStore(_objects(folder), cache=BlockCache(None))

    def check(self, address: str, folder: Path) -> LayoutReport:
        backend.check_format(folder)
        return LayoutReport()


class Pointed:
    """Another backend; a file in the folder says at which address."""

    def __init__(self, other: Backend, new_address: Callable[[], str]) -> None:
        self._other = other
        self._new_address = new_address

    @contextmanager
    def create(self, address: str, folder: Path) -> Iterator[Store]:
        there = self._new_address()
        (folder / _OBJECTS).mkdir(exist_ok=True)
        with self._other.create(there, folder) as store:
            yield store
        (folder / _POINTER).write_text(json.dumps({"version": 1, "at": there}))

    def open(self, address: str, folder: Path) -> Store:
        return self._other.open(self._address(folder), folder)

    def check(self, address: str, folder: Path) -> LayoutReport:
        return self._other.check(self._address(folder), folder)

    def _address(self, folder: Path) -> str:
        return str(backend.check_format(folder)["at"])


def other_backend(kind: str, address: str) -> Backend:
    """Returns the backend that stands in for folders.

    Args:
        address: of a server: a bucket, or a database.
    """
    if kind == "log":
        return LogInFolder()
    if kind == "s3":
        from ibidem.store.log.backend import BUCKET

        return Pointed(BUCKET, lambda: f"{address}/{uuid.uuid4().hex}")
    from ibidem.store.postgres.backend import POSTGRES

    return Pointed(POSTGRES, lambda: f"{address}&schema=s{uuid.uuid4().hex}")


def _objects(folder: Path) -> Bucket:
    from obstore.store import LocalStore

    return Bucket(LocalStore(folder / _OBJECTS / "objects", mkdir=True))
