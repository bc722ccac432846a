"""Writers and a collector in several processes over a service that fails: nothing is lost.

Each writer appends blocks to one chain, whose newest block a cell names, and notes each block that
was acknowledged; now and then it also publishes a block that nothing names. The collector deletes
these, scrubs them from the objects, and collects the packs of writers that died. Answers are lost
before and after the service acted, others are conflicts, errors or slow, listings lag, credentials
expire for a while, clocks are hours off, and every process is killed before or after some of its
requests, then started again. The faults follow from the seed; which writer wins a race does not.

    python -m tests.store.faulty_writers --count 10000 --seed 1 FOLDER
    python -m tests.store.faulty_writers --count 10000 --seed 1 s3://bucket/prefix
    python -m tests.store.faulty_writers --count 10000 --seed 1 'postgresql://...?schema=name'
    python -m tests.store.faulty_writers --seed 1 'postgresql://...?schema=name&blocks=s3://...'

In PostgreSQL, connections are cut before a statement is sent, while the server is at it, and before
its answer arrives. The processes share the copies of blocks that this machine keeps.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.errors import ConflictError, NotFoundError, StorageError
from ibidem.store.cache import COPIES, BlockCache
from ibidem.store.log import writer as writing
from ibidem.store.log.objects import Bucket, Created, Listed
from ibidem.store.log.store import LogStore
from ibidem.store.postgres import database, packs, split
from ibidem.store.protocol import Store
from ibidem.store.testing import environment

if TYPE_CHECKING:
    from ibidem.store.postgres.store import PostgresStore

LOST_BEFORE, LOST_AFTER, CONFLICT, SLOW = 0.1, 0.1, 0.05, 0.02
"""Shares of the requests that create an object, or publish."""
CUT = 0.05
"""Share of the statements that publish whose connection is cut while the server is at it."""
FAILED = 0.005
"""Share of the other requests."""
KILLED = 0.002
"""Share of all requests before or after which a process is killed."""
EXPIRED, EXPIRED_REQUESTS = 0.001, 15
"""How often credentials expire, and for how many requests."""
GARBAGE = 0.15
"""Share of the publishes with a block that nothing names."""
_SLOW_SECONDS = 0.05
_SKEW_SECONDS = 100_000
_NAME_BYTES = 12
_INLINE_BYTES_MAX = 2_000
"""So that many publishes have packs."""
_BULK_COUNT = 1
"""So that many publishes are sent by COPY."""
_GARBAGE = b"garbage "
R = TypeVar("R")


class FaultyBucket(Bucket):
    """A bucket whose answers to writers get lost; a severe one fails in every way that one can
    without losing what it acknowledged, and kills the process that uses it."""

    def __init__(self, bucket: Bucket, seed: str, *, is_severe: bool = False) -> None:
        self.__dict__.update(bucket.__dict__)
        self._chance = random.Random(seed)
        self._is_severe = is_severe
        self._expired = 0

    def create(self, name: str, body: bytes) -> Created:
        chance = self._chance.random()
        if chance < LOST_BEFORE:
            return Created.UNKNOWN
        chance -= LOST_BEFORE
        if chance < LOST_AFTER:
            self._done(lambda: super(FaultyBucket, self).create(name, body))
            return Created.UNKNOWN
        chance -= LOST_AFTER
        if chance < CONFLICT:
            return Created.TAKEN
        chance -= CONFLICT
        if chance < SLOW:
            time.sleep(_SLOW_SECONDS)
        return self._done(lambda: super(FaultyBucket, self).create(name, body))

    def get(self, name: str) -> bytes | None:
        return self._perhaps(lambda: super(FaultyBucket, self).get(name))

    def get_ranges(self, name: str, spans: Sequence[tuple[int, int]]) -> list[bytes] | None:
        return self._perhaps(lambda: super(FaultyBucket, self).get_ranges(name, spans))

    def put(self, name: str, body: bytes) -> str | None:
        return self._perhaps(lambda: super(FaultyBucket, self).put(name, body))

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            self._perhaps(lambda name=name: super(FaultyBucket, self).delete([name]))  # type: ignore[misc]

    def listed(self, prefix: str) -> dict[str, Listed]:
        found = self._perhaps(lambda: super(FaultyBucket, self).listed(prefix))
        lag = self._chance.randrange(3) if self._is_severe else 0
        newest = sorted(found, key=lambda name: found[name].modified)[len(found) - lag :]
        return {name: row for name, row in found.items() if name not in newest}

    def _perhaps(self, act: Callable[[], R]) -> R:
        if not self._is_severe:
            return act()
        chance = self._chance.random()
        if chance < FAILED / 2:
            raise StorageError("a fault before the service acted")
        found = self._done(act)
        if chance < FAILED:
            raise StorageError("a fault after the service acted")
        return found

    def _done(self, act: Callable[[], R]) -> R:
        if not self._is_severe:
            return act()
        if self._expired or self._chance.random() < EXPIRED:
            self._expired = (self._expired or EXPIRED_REQUESTS) - 1
            raise StorageError("the credentials expired")
        self._perhaps_die()
        found = act()
        self._perhaps_die()
        return found

    def _perhaps_die(self) -> None:
        if self._chance.random() < KILLED / 2:
            os.kill(os.getpid(), signal.SIGKILL)


def bucket_at(medium: str) -> Bucket:
    """Returns the objects in a folder or at a URL."""
    if "://" in medium:
        from ibidem.store.log import backend

        return backend.bucket_at(medium)[0]
    from obstore.store import LocalStore

    return Bucket(LocalStore(Path(medium), mkdir=True))


def faulty_database(address: str, copies: Path, seed: str) -> PostgresStore:
    """Opens a store whose connections fail, and kill the process that uses them."""
    import psycopg

    from ibidem.store.postgres.backend import _connector, blocks_at
    from ibidem.store.postgres.split import SplitStore
    from ibidem.store.postgres.store import PostgresStore

    chance = random.Random(seed)
    connect = _connector(address)

    class FaultyCursor(psycopg.Cursor[Any]):
        def execute(self, query: Any, params: Any = None, **options: Any) -> FaultyCursor:
            share = 1.0 if "publish(" in query else FAILED
            if chance.random() < KILLED / 2:
                os.kill(os.getpid(), signal.SIGKILL)
            drawn = chance.random() / share
            if drawn < LOST_BEFORE:
                self.lose("before it was sent")
            drawn -= LOST_BEFORE
            if drawn < LOST_AFTER:
                super().execute(query, params, **options)
                self.lose("after the server acted")
            drawn -= LOST_AFTER
            if drawn < CUT:
                text = psycopg.ClientCursor(self.connection).mogrify(query, params)
                self.connection.pgconn.send_query(text.encode())
                self.connection.pgconn.flush()
                self.lose("while the server is at it")
            drawn -= CUT
            if drawn < CONFLICT:
                raise psycopg.errors.SerializationFailure("a conflict")
            drawn -= CONFLICT
            if drawn < SLOW:
                time.sleep(_SLOW_SECONDS)
            super().execute(query, params, **options)
            if chance.random() < KILLED / 2:
                os.kill(os.getpid(), signal.SIGKILL)
            return self

        def lose(self, when: str) -> None:
            self.connection.close()
            raise psycopg.OperationalError(f"the connection was lost {when}")

    def faulty() -> psycopg.Connection[Any]:
        connection = connect()
        connection.cursor_factory = FaultyCursor
        return connection

    place = blocks_at(address)
    if place is None:
        return PostgresStore(faulty, cache=BlockCache(copies), timeout_seconds=5.0)
    bucket = FaultyBucket(bucket_at(place), seed, is_severe=True)
    return SplitStore(faulty, bucket, cache=BlockCache(copies), timeout_seconds=5.0)


def is_database(medium: str) -> bool:
    """Returns whether a medium is in PostgreSQL."""
    return medium.startswith("postgresql:")


def store_at(medium: str, folder: Path) -> Store:
    """Opens the store without faults.

    Args:
        folder: for the copies of this machine.
    """
    if is_database(medium):
        from ibidem.store.postgres.backend import POSTGRES

        return POSTGRES.open(medium, folder)
    return LogStore(bucket_at(medium), cache=BlockCache(folder / COPIES))


def faulty_store_at(medium: str, folder: Path, seed: str) -> Store:
    """Opens the store with severe faults."""
    if is_database(medium):
        return faulty_database(medium, folder / COPIES, seed)
    bucket = FaultyBucket(bucket_at(medium), seed, is_severe=True)
    return LogStore(bucket, cache=BlockCache(folder / COPIES), timeout_seconds=5.0)


def persistently(act: Callable[[], R]) -> R:
    """Returns the result of something that changes nothing, whatever fails."""
    while True:
        try:
            return act()
        except StorageError:
            time.sleep(0.001)


def append(store: Store, name: bytes, garbage: bytes) -> None:
    """Appends a block to the chain, until that is acknowledged or found to be done."""
    while True:
        head = persistently(lambda: store.cell("head"))
        block = name + (head or b"")
        cid = BlobCid.of(block)
        blocks: dict[Cid, bytes] = {cid: block}
        if garbage:
            blocks[BlobCid.of(garbage)] = garbage
        try:
            store.publish(blocks, {"head": (head, cid.raw)})
        except ConflictError:
            continue
        except StorageError:
            persistently(store.cells)  # the newest state says whether it was done
            if not store.has(cid):
                continue
        return


def write(store: Store, acknowledged: Path, seed: str, count: int) -> None:
    """Appends blocks until `count` are acknowledged; notes each of them."""
    with acknowledged.open("ab") as notes:
        done = acknowledged.stat().st_size // _NAME_BYTES
        chance = random.Random(f"{seed} names")
        while done < count:
            name = chance.randbytes(_NAME_BYTES // 2).hex().encode()
            garbage = b""
            if chance.random() < GARBAGE:
                garbage = _GARBAGE + name * chance.choice((1, 300))
            append(store, name, garbage)
            notes.write(name)
            notes.flush()
            done += 1


def collect(store: Store, stop: Path) -> None:
    """Deletes the blocks that nothing names, and scrubs them, until a file is there."""
    while not stop.exists():
        try:
            clean(store)
        except (StorageError, ConflictError, NotFoundError):
            continue
        time.sleep(0.2)


def clean(store: Store) -> None:
    """Deletes and scrubs the blocks that nothing names."""
    cells = store.cells()
    known = list(store.cids())
    garbage = [
        cid
        for cid, block in zip(known, store.get_many(known), strict=True)
        if block.startswith(_GARBAGE)
    ]
    store.delete(garbage, cells={"head": cells.get("head")})
    store.scrub()


def chain(store: Store) -> list[bytes]:
    """Returns the names of the blocks of the chain, newest first."""
    found, at = [], store.cell("head")
    while at:
        block = store.get(Cid(at))
        found.append(block[:_NAME_BYTES])
        at = block[_NAME_BYTES:]
    return found


def run(medium: str, folder: Path, *, count: int, writers: int, seed: int) -> dict[str, int]:
    """Runs the writers until `count` publishes are acknowledged, beside the collector.

    Returns:
        How many were acknowledged, how many of these are lost or doubled, how many objects, or
        files of this machine, still hold deleted blocks, how many packs nothing names, and how
        often a process was killed.
    """
    starts = 0
    stop = folder / "stop"
    (folder / "notes").mkdir()
    if is_database(medium):
        from ibidem.store.postgres.backend import POSTGRES

        with POSTGRES.create(medium, folder):
            pass
    else:
        with LogStore(bucket_at(medium)) as log:
            log.claim()

    def start(writer: int) -> subprocess.Popen[bytes]:
        nonlocal starts
        starts += 1
        share = count // writers + (writer < count % writers)
        place = stop if writer == writers else folder / "notes" / f"{writer}"
        arguments = [medium, str(place), f"{seed} {writer} {starts}", str(share)]
        what = "--collect" if writer == writers else "--write"
        command = [sys.executable, "-m", "tests.store.faulty_writers", what, *arguments]
        return subprocess.Popen(command, env=environment(), cwd=Path(__file__).parents[2])

    running = {writer: start(writer) for writer in range(writers + 1)}
    try:
        while running:
            time.sleep(0.02)
            if list(running) == [writers]:
                stop.touch()
            for writer, process in list(running.items()):
                code = process.poll()
                if code == -signal.SIGKILL:
                    running[writer] = start(writer)
                elif code is not None:
                    assert code == 0, f"process {writer} ended with {code}"
                    del running[writer]
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    noted: list[bytes] = []
    for path in (folder / "notes").iterdir():
        data = path.read_bytes()
        noted += [data[at : at + _NAME_BYTES] for at in range(0, len(data), _NAME_BYTES)]
    with store_at(medium, folder) as store:
        clean(store)
        present = chain(store)
        unread = set(store.cids())
        assert len(store.get_many(unread)) == len(unread) == len(present)
        unnamed = 0
        if isinstance(store, LogStore):
            named = store.log.state().refs()
            listed = store.bucket.listed("packs/")
            unnamed = sum(bytes.fromhex(name[-64:]) not in named for name in listed)
        bucket = getattr(store, "bucket", None)
        objects = [] if bucket is None else bucket.listed("")
        if is_database(medium) and bucket is not None:
            named = {packs.object_of(pack) for pack in store._used()}
            unnamed = len(set(objects) - named)
    if is_database(medium):  # a mark says which copies are void, whoever was killed
        holding = sum(_GARBAGE in path.read_bytes() for path in folder.glob(f"{COPIES}/*"))
        holding += sum(_GARBAGE in (bucket.get(name) or b"") for name in objects)
    else:
        bucket = bucket_at(medium)
        holding = sum(_GARBAGE in (bucket.get(name) or b"") for name in bucket.listed(""))
    return {
        "acknowledged": len(noted),
        "lost": len(set(noted) - set(present)),
        "doubled": len(present) - len(set(present)),
        "holding": holding,
        "unnamed": unnamed,
        "killed": starts - writers - 1,
    }


def main() -> None:
    """Runs one process, or all of them and prints what became of their blocks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--collect", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("medium", nargs="?")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.write or given.collect:
        medium, place, seed, count = given.write or given.collect
        writing.INLINE_BYTES_MAX = split.INLINE_BYTES_MAX = _INLINE_BYTES_MAX
        database.BULK_COUNT = _BULK_COUNT
        real, skew = time.time, random.Random(seed).uniform(-_SKEW_SECONDS, _SKEW_SECONDS)
        if "://" not in medium:  # signatures of requests have the time in them
            time.time = lambda: real() + skew
        folder = Path(place).parents[1 if given.write else 0]
        with faulty_store_at(medium, folder, seed) as store:
            if given.write:
                write(store, Path(place), seed, int(count))
            else:
                collect(store, Path(place))
        return
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        found = run(
            given.medium, Path(folder), count=given.count, writers=given.writers, seed=given.seed
        )
        print(found, f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
