"""Writes of a process on one file, recorded in order, and the files that a power loss could leave.

strace tells every write with its bytes and every sync. What was synced is there; of what was
written since, any part may be lost, and the last write may have been cut at a sector.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SECTOR_BYTES = 512
_CALLS = "pwrite64,pwritev,write,writev,fdatasync,fsync,ftruncate,openat,lseek"
_LINE = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+)(?: .*)?$")
_BYTES = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes at an offset."""

    offset: int
    data: bytes
    is_synced: bool
    """The call returned only when they were durable (O_DSYNC)."""


@dataclass(frozen=True, slots=True)
class Sync:
    """Everything written before is durable."""


Event = Write | Sync


def record(
    program: str, arguments: Sequence[str], file: Path, log: Path
) -> tuple[list[Event], str]:
    """Runs a Python program under strace.

    Returns:
        what it did to `file`, in order, and what it printed.
    """
    command = ["strace", "-f", "-qq", "-xx", "-s", str(1 << 26), "-o", str(log)]
    command += ["-e", f"trace={_CALLS}", "-P", str(file)]
    done = subprocess.run(
        [*command, sys.executable, "-W", "error", "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        capture_output=True,
        text=True,
        check=True,
    )
    return list(_events(log.read_text().splitlines())), done.stdout


def _events(lines: list[str]) -> Iterator[Event]:
    synced: set[str] = set()
    places: dict[str, int] = {}
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            if "resumed" in line or "unfinished" in line:
                raise AssertionError(f"calls of two threads overlap: {line[:200]}")
            continue
        call, arguments, result = match.groups()
        if int(result) < 0:
            continue
        if call == "openat":
            synced.discard(result)
            if "DSYNC" in arguments or "O_SYNC" in arguments:
                synced.add(result)
        elif call in ("fdatasync", "fsync"):
            yield Sync()
        elif call == "lseek":
            places[arguments.split(",", 1)[0]] = int(result)
        elif call in ("write", "writev", "pwrite64", "pwritev"):
            descriptor = arguments.split(",", 1)[0]
            texts = _BYTES.findall(arguments)
            data = b"".join(bytes.fromhex(text.replace("\\x", "")) for text in texts)
            assert len(data) == int(result), "a write that strace did not tell whole"
            offset = places.get(descriptor, 0)
            if call.startswith("p"):
                offset = int(arguments.rsplit(",", 1)[1])
            else:
                places[descriptor] = offset + len(data)
            yield Write(offset, data, descriptor in synced)
        else:
            raise AssertionError(f"{call}: not a call that this harness knows")


def prefixes(before: bytes, events: Sequence[Event]) -> Iterator[tuple[int, bytes]]:
    """Yields (events done, file) after every event."""
    state = bytearray(before)
    yield 0, bytes(state)
    for number, event in enumerate(events, 1):
        if isinstance(event, Write):
            put(state, event.offset, event.data)
            yield number, bytes(state)


def torn(before: bytes, events: Sequence[Event]) -> Iterator[tuple[int, bytes]]:
    """Yields (events done, file) with each write cut at a sector: its head only, its tail only."""
    state = bytearray(before)
    for number, event in enumerate(events):
        if isinstance(event, Write):
            for kept in _parts(event):
                cut = bytearray(state)
                put(cut, kept.offset, kept.data)
                yield number, bytes(cut)
            put(state, event.offset, event.data)


def lossy(
    before: bytes, events: Sequence[Event], chance: random.Random, count: int
) -> Iterator[tuple[int, bytes]]:
    """Yields (events surely done, file): durable writes, and any of those that were not yet."""
    for _ in range(count):
        stop = chance.randint(1, len(events))
        state, waiting, durable = bytearray(before), list[Write](), 0
        for number, event in enumerate(events[:stop], 1):
            if isinstance(event, Sync):
                _apply(state, waiting)
                waiting, durable = [], number
            elif event.is_synced:
                put(state, event.offset, event.data)
                durable = number if not waiting else durable
            else:
                waiting.append(event)
        _apply(state, [write for write in waiting if chance.random() < 0.5])
        yield durable, bytes(state)


def put(state: bytearray, offset: int, data: bytes) -> None:
    """Writes into the file, which grows by zeros where it must."""
    if len(state) < offset:
        state.extend(bytes(offset - len(state)))
    state[offset : offset + len(data)] = data


def _apply(state: bytearray, writes: list[Write]) -> None:
    for write in writes:
        put(state, write.offset, write.data)


def _parts(write: Write) -> Iterator[Write]:
    first = -write.offset % SECTOR_BYTES
    for cut in range(first or SECTOR_BYTES, len(write.data), SECTOR_BYTES):
        yield Write(write.offset, write.data[:cut], write.is_synced)
        yield Write(write.offset + cut, write.data[cut:], write.is_synced)
