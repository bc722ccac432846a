"""Repositories at `s3://bucket/prefix`: the client, the object that names the format, the cache.

Credentials, region and endpoint are those that the AWS variables of the environment name, such as
`AWS_ACCESS_KEY_ID`, `AWS_REGION` and `AWS_ENDPOINT_URL`; without any, the metadata service of the
machine is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    InvalidInputError,
    NotFoundError,
    StorageError,
    unknown_version,
)
from ibidem.store.backends import needs_extra
from ibidem.store.cache import COPIES, BlockCache
from ibidem.store.log.local_copy import LocalCopy
from ibidem.store.log.log import FORMAT, KIND, LAYOUT_VERSION, description_of
from ibidem.store.log.objects import Bucket, Created
from ibidem.store.log.probe import check_conformance
from ibidem.store.log.store import LogStore
from ibidem.store.protocol import LayoutReport, Store

if TYPE_CHECKING:
    from obstore.store import ObjectStore

LOG = "log"
_REQUEST_SECONDS = "30s"


class BucketBackend:
    """Creates and opens stores below a prefix of a bucket."""

    @contextmanager
    def create(self, address: str, folder: Path) -> Iterator[Store]:
        """Yields a new store. It can be opened once the block has ended: then the object that names
        the format is written, after all others."""
        bucket, staleness_seconds = bucket_at(address)
        with creating(bucket, address, folder, staleness_seconds) as store:
            yield store

    def open(self, address: str, folder: Path) -> Store:
        """Opens a store; see `Backend`. The first reading of its cells, which has to follow at
        once, asks no second time."""
        bucket, staleness_seconds = bucket_at(address)
        store = _store(bucket, folder, staleness_seconds)
        store.log.opened()
        _check_format(store.log.description, address)
        store.log.is_just_opened = True
        return store

    def check(self, address: str, folder: Path) -> LayoutReport:
        """Checks the format, and that the service still keeps its promises."""
        bucket, _ = bucket_at(address)
        _check_format(bucket.get(FORMAT), address)
        check_conformance(bucket)
        return LayoutReport()


BUCKET = BucketBackend()


@contextmanager
def creating(
    bucket: Bucket, address: str, folder: Path | None, staleness_seconds: float = 0.0
) -> Iterator[Store]:
    """Yields a new store in a bucket; after an error its objects are deleted.

    Raises:
        InvalidInputError: there are objects below the prefix.
        StorageError: the service fails, or does not keep the promises of a log.
    """
    check_conformance(bucket)
    if bucket.listed(""):
        is_whole = bucket.get(FORMAT) is not None
        raise InvalidInputError(
            f"address: {address} holds "
            + ("a repository" if is_whole else "objects")
            + ", expected a prefix without any",
            hint="open it: ibidem.open(address)" if is_whole else "choose another prefix",
        )
    with _store(bucket, folder, staleness_seconds) as store:
        description = description_of(store.claim())
        try:
            yield store
            if bucket.create(FORMAT, description) is not Created.YES and (
                bucket.get(FORMAT) != description
            ):
                raise StorageError("object storage: the new repository could not be completed")
        except BaseException:
            with suppress(StorageError):
                bucket.delete(bucket.listed(""))
            raise


def bucket_at(address: str) -> tuple[Bucket, float]:
    """Returns the objects at a URL, and its staleness in seconds.

    Raises:
        InvalidInputError: a malformed URL, or the client is not installed.
    """
    parts = urlsplit(address)
    name, prefix = parts.netloc, parts.path.strip("/")
    if not name or "@" in name or not prefix or "//" in prefix or parts.fragment:
        raise InvalidInputError(
            f"address: got {address!r:.120}, expected s3://bucket/prefix",
            hint="credentials are read from the environment, such as AWS_ACCESS_KEY_ID",
        )
    staleness_seconds = 0.0
    for option in filter(None, parts.query.split("&")):
        key, _, value = option.partition("=")
        if key != "staleness" or not _is_seconds(value):
            raise InvalidInputError(
                f"address: got {key}={value}, expected staleness=SECONDS, 0 to 3600"
            )
        staleness_seconds = float(value)
    try:
        from obstore.exceptions import BaseError
        from obstore.store import S3Store
    except ImportError as error:
        raise needs_extra("s3", "s3", error) from error
    options: dict[str, Any] = {
        "prefix": prefix,
        "client_options": {"allow_http": True, "timeout": _REQUEST_SECONDS},
    }
    try:
        objects: ObjectStore = S3Store(name, **options)
        once: ObjectStore = S3Store(name, **options, retry_config={"max_retries": 0})
    except (BaseError, ValueError) as error:
        raise InvalidInputError(f"address: {address}: {error}") from error
    return Bucket(objects, once=once), staleness_seconds


def _store(bucket: Bucket, folder: Path | None, staleness_seconds: float) -> LogStore:
    return LogStore(
        bucket,
        cache=BlockCache(None if folder is None else folder / COPIES),
        copy=None if folder is None else LocalCopy(folder / LOG),
        staleness_seconds=staleness_seconds,
    )


def _check_format(data: bytes | None, address: str) -> None:
    if data is None:
        raise NotFoundError(
            f"address: {address} has no repository in it",
            kind=ErrorKind.REPOSITORY_NOT_FOUND,
            hint="create one with 'repo init', or copy one there with 'repo clone'",
        )
    try:
        found = json.loads(data)
        kind, version = found["format"], found["version"]
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptError(f"object {FORMAT}: it does not say a format") from error
    if kind != KIND or version != LAYOUT_VERSION:
        raise unknown_version("format", version, (LAYOUT_VERSION,))


def _is_seconds(text: str) -> bool:
    whole, _, rest = text.partition(".")
    return whole.isdigit() and (not rest or rest.isdigit()) and float(text) <= 3600
