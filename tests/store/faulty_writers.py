"""Writers in several processes over a service that fails: nothing acknowledged is lost or doubled.

Each writer appends blocks to one chain, whose newest block a cell names, and notes each block that
was acknowledged. Answers are lost before and after the service acted, others are conflicts, errors
or slow, listings lag, and writers are killed and started again. The faults follow from the seed;
which writer wins a race does not.

    python -m tests.store.faulty_writers --count 10000 --seed 1 FOLDER
    python -m tests.store.faulty_writers --count 10000 --seed 1 s3://bucket/prefix
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from pathlib import Path

from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.errors import ConflictError
from ibidem.store.log.objects import Bucket, Created
from ibidem.store.log.store import LogStore
from ibidem.store.testing import environment

LOST_BEFORE, LOST_AFTER, CONFLICT, SLOW = 0.1, 0.1, 0.05, 0.02
"""Shares of the requests that create an object."""
_SLOW_SECONDS = 0.05
_NAME_BYTES = 12


class FaultyBucket(Bucket):
    """A bucket whose answers to writers get lost."""

    def __init__(self, bucket: Bucket, seed: str) -> None:
        self.__dict__.update(bucket.__dict__)
        self._chance = random.Random(seed)

    def create(self, name: str, body: bytes) -> Created:
        chance = self._chance.random()
        if chance < LOST_BEFORE:
            return Created.UNKNOWN
        chance -= LOST_BEFORE
        if chance < LOST_AFTER:
            super().create(name, body)
            return Created.UNKNOWN
        chance -= LOST_AFTER
        if chance < CONFLICT:
            return Created.TAKEN
        chance -= CONFLICT
        if chance < SLOW:
            time.sleep(_SLOW_SECONDS)
        return super().create(name, body)


def bucket_at(medium: str) -> Bucket:
    """Returns the objects in a folder or at a URL."""
    if "://" in medium:
        from ibidem.store.log import backend

        return backend.bucket_at(medium)[0]
    from obstore.store import LocalStore

    return Bucket(LocalStore(Path(medium), mkdir=True))


def write(medium: str, acknowledged: Path, seed: str, count: int) -> None:
    """Appends blocks until `count` are acknowledged; notes each of them."""
    with LogStore(FaultyBucket(bucket_at(medium), seed)) as store, acknowledged.open("ab") as notes:
        done = acknowledged.stat().st_size // _NAME_BYTES
        names = random.Random(f"{seed} names")
        while done < count:
            name = names.randbytes(_NAME_BYTES // 2).hex().encode()
            while True:
                head = store.cell("head")
                block = name + (head or b"")
                cid = BlobCid.of(block)
                try:
                    store.publish({cid: block}, {"head": (head, cid.raw)})
                except ConflictError:
                    continue
                break
            notes.write(name)
            notes.flush()
            done += 1


def chain(store: LogStore) -> list[bytes]:
    """Returns the names of the blocks of the chain, newest first."""
    found, at = [], store.cell("head")
    while at:
        block = store.get(Cid(at))
        found.append(block[:_NAME_BYTES])
        at = block[_NAME_BYTES:]
    return found


def run(
    medium: str, folder: Path, *, count: int, writers: int, seed: int, kills: int
) -> dict[str, int]:
    """Runs the writers until `count` publishes are acknowledged.

    Returns:
        How many were acknowledged, and how many of these are lost or doubled.
    """
    chance = random.Random(seed)
    starts = 0

    def start(writer: int) -> subprocess.Popen[bytes]:
        nonlocal starts
        starts += 1
        share = count // writers + (writer < count % writers)
        arguments = [medium, str(folder / f"{writer}"), f"{seed} {writer} {starts}", str(share)]
        command = [sys.executable, "-m", "tests.store.faulty_writers", "--write", *arguments]
        return subprocess.Popen(command, env=environment(), cwd=Path(__file__).parents[2])

    running = {writer: start(writer) for writer in range(writers)}
    while running:
        time.sleep(0.05 + 0.4 * chance.random())
        if kills and running:
            victim = chance.choice(sorted(running))
            if running[victim].poll() is None:
                running[victim].kill()
                running[victim].wait()
                running[victim] = start(victim)
                kills -= 1
        for writer, process in list(running.items()):
            code = process.poll()
            if code is not None:
                assert code == 0, f"writer {writer} ended with {code}"
                del running[writer]
    noted: list[bytes] = []
    for path in folder.iterdir():
        data = path.read_bytes()
        noted += [data[at : at + _NAME_BYTES] for at in range(0, len(data), _NAME_BYTES)]
    with LogStore(bucket_at(medium)) as store:
        present = chain(store)
    return {
        "acknowledged": len(noted),
        "lost": len(set(noted) - set(present)),
        "doubled": len(present) - len(set(present)),
    }


def main() -> None:
    """Runs one writer, or all of them and prints what became of their blocks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("medium", nargs="?")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.write:
        medium, acknowledged, seed, count = given.write
        write(medium, Path(acknowledged), seed, int(count))
        return
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        found = run(
            given.medium,
            Path(folder),
            count=given.count,
            writers=given.writers,
            seed=given.seed,
            kills=given.kills,
        )
    print(found)


if __name__ == "__main__":
    main()
