"""Tests whether a service keeps the one promise on which the log rests: an object is created once.

Some services accept the condition and ignore it. On them two writers would both be told that they
won, and one change would vanish. So this is tried out, with contention, before a log is created.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ibidem.objects.errors import StorageError
from ibidem.store.log.objects import Bucket, Created

_FOLDER = "probe"
_RACES, _WRITERS = 8, 8


def check_conformance(bucket: Bucket) -> None:
    """Raises unless objects can be created once, read back at once, and listed.

    Raises:
        StorageError: the service fails, or does not keep the promises; the message names the first.
    """
    folder = f"{_FOLDER}/{os.urandom(8).hex()}"
    try:
        fault = next(_faults(bucket, folder), None)
    finally:
        bucket.delete(bucket.listed(folder))
    if fault is not None:
        raise StorageError(
            f"object storage: this service {fault}, so that changes could be lost",
            hint="use a service with conditional writes (If-None-Match: *), or a folder or "
            "PostgreSQL",
        )


def _faults(bucket: Bucket, folder: str) -> Iterator[str]:
    one = f"{folder}/one"
    if _settled(bucket, one, b"first") is not Created.YES:
        yield "does not create objects"
    if bucket.get(one) != b"first":
        yield "does not return an object that was just created"
    if bucket.create(one, b"second") is Created.YES or bucket.get(one) != b"first":
        yield "ignores the condition 'If-None-Match: *' and overwrites objects"
    if bucket.get_ranges(one, [(1, 3)]) != [b"irs"]:
        yield "does not return parts of an object"
    for race in range(_RACES):
        name = f"{folder}/race-{race}"
        bodies = [f"writer {writer}".encode() for writer in range(_WRITERS)]
        answers = bucket.map(lambda body, name=name: bucket.create(name, body), bodies)  # type: ignore[misc]
        winners = [body for body, done in zip(bodies, answers, strict=True) if done is Created.YES]
        if len(winners) > 1 or (winners and bucket.get(name) != winners[0]):
            yield f"let {len(winners)} writers create the same object"
    names = list(bucket.listed(f"{folder}/"))
    if one not in names:
        yield "does not list an object that was created"


def _settled(bucket: Bucket, name: str, body: bytes) -> Created:
    """Creates an object, again after an answer that tells nothing."""
    for _ in range(5):
        done = bucket.create(name, body)
        if done is Created.YES or (done is Created.TAKEN and bucket.get(name) == body):
            return Created.YES
    return done
