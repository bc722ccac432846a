"""What a process does to the files below a folder, recorded, and the trees that a power loss could
leave of it.

A write is durable when its file was synced, a name when its folder was; so POSIX says, and no more.
Of what was not synced yet any part may be there: some bytes of a file and not others, some names of
a folder and not others, though a rename is always whole.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .recording import SECTOR_BYTES, put

_CALLS = "openat,write,pwrite64,ftruncate,fsync,fdatasync,rename,renameat,renameat2,link,linkat"
_CALLS += ",unlink,unlinkat,mkdir,mkdirat"
_LINE = re.compile(r"^\d+ +(\w+)\((.*)\) += (\d+)(?:<.*>)?$")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_DESCRIPTOR = re.compile(r"^(\d+)<((?:\\x[0-9a-f]{2})*)>")


@dataclass(frozen=True, slots=True)
class Call:
    """A call that succeeded."""

    name: str
    paths: tuple[str, ...] = ()
    """That it names, or that the descriptor it takes was opened under."""
    data: bytes = b""
    size: int = 0


@dataclass(slots=True)
class _File:
    durable: bytearray = field(default_factory=bytearray)
    waiting: list[tuple[int, bytes]] = field(default_factory=list)
    size: int = 0


_Name = tuple[str, str, "_File | None"]
"""What happened to a name: folder, name, and the file that it has now; None for no file."""


def record(program: str, arguments: Sequence[str], log: Path) -> list[Call]:
    """Runs a Python program under strace and returns its calls; what it prints is among them."""
    command = ["strace", "-f", "-qq", "-y", "-xx", "-s", str(1 << 20), "-o", str(log)]
    command += ["-e", f"trace={_CALLS}"]
    done = subprocess.run(
        [*command, sys.executable, "-W", "error", "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        capture_output=True,
        text=True,
        check=False,
    )
    if "ptrace" in done.stderr:
        raise FileNotFoundError("strace cannot attach")
    assert not done.returncode, done.stderr
    return list(_calls(log.read_text().splitlines()))


def _calls(lines: list[str]) -> Iterator[Call]:
    for line in lines:
        assert "unfinished" not in line, f"calls of two threads overlap: {line[:200]}"
        match = _LINE.match(line)
        if match is None:
            continue
        name, arguments, result = match.groups()
        texts = [_bytes(text) for text in _TEXT.findall(arguments)]
        taken = _DESCRIPTOR.match(arguments)
        if taken is None:
            yield Call(name, tuple(text.decode() for text in texts), size="O_TRUNC" in arguments)
            continue
        path = taken[1] if taken[1] in ("1", "2") else _bytes(taken[2]).decode()
        size = int(arguments.rsplit(",", 1)[1]) if name in ("ftruncate", "pwrite64") else 0
        data = texts[0][: int(result)] if texts else b""
        yield Call(name, (path,), data, size)


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def states(
    calls: Sequence[Call], root: Path, chance: random.Random, count: int
) -> Iterator[tuple[list[str], dict[str, bytes]]]:
    """Yields (lines printed by then, files by their path below `root`) of random power losses."""
    places = [number for number, call in enumerate(calls, 1) if _concerns(call, root)]
    for _ in range(count):
        stop = chance.choice(places)
        yield _lost(calls[:stop], root, chance)


def _concerns(call: Call, root: Path) -> bool:
    return call.paths == ("1",) or any(path.startswith(f"{root}/") for path in call.paths)


def _lost(
    calls: Sequence[Call], root: Path, chance: random.Random
) -> tuple[list[str], dict[str, bytes]]:
    said = b""
    now: dict[str, dict[str, _File | None]] = {}
    """Files by folder and name as the process sees them; a folder is None."""
    durable: dict[str, dict[str, _File | None]] = {}
    waiting: list[tuple[_Name, ...]] = []

    def change(*names: _Name) -> None:
        waiting.append(names)
        _apply(now, names)

    for call in calls:
        if call.paths == ("1",):
            said += call.data
        if not _concerns(call, root):
            if call.name == "fsync" and call.paths == (str(root),):
                waiting = _settled(durable, waiting, str(root))
            continue
        folder, name = os.path.split(call.paths[0])
        file = now.get(folder, {}).get(name)
        if call.name == "openat":
            if name not in now.get(folder, {}):
                change((folder, name, _File()))
        elif call.name in ("mkdir", "mkdirat"):
            change((folder, name, None))
        elif call.name.startswith("rename"):
            other, to = os.path.split(call.paths[1])
            assert file is not None
            change((folder, name, _GONE), (other, to, file))
        elif call.name.startswith("link"):
            change((*os.path.split(call.paths[1]), file))
        elif call.name.startswith("unlink"):
            change((folder, name, _GONE))
        elif call.name in ("fsync", "fdatasync"):
            if file is None:
                waiting = _settled(durable, waiting, call.paths[0])
            else:
                for offset, data in file.waiting:
                    put(file.durable, offset, data)
                file.waiting = []
        elif file is not None:
            assert call.name in ("write", "pwrite64"), f"{call.name}: not known to this harness"
            offset = call.size if call.name == "pwrite64" else file.size
            file.waiting.append((offset, call.data))
            file.size = max(file.size, offset + len(call.data))
    is_ordered = chance.random() < 0.5
    kept = chance.randint(0, len(waiting))
    for number, names in enumerate(waiting):
        if number < kept if is_ordered else chance.random() < 0.5:
            _apply(durable, names)
    return said.decode().splitlines(), dict(_files(durable, str(root), root, chance))


_GONE = _File()


def _apply(tree: dict[str, dict[str, _File | None]], names: Sequence[_Name]) -> None:
    for folder, name, file in names:
        entries = tree.setdefault(folder, {})
        if file is _GONE:
            entries.pop(name, None)
        else:
            entries[name] = file


def _settled(
    durable: dict[str, dict[str, _File | None]], waiting: list[tuple[_Name, ...]], folder: str
) -> list[tuple[_Name, ...]]:
    """Makes the names of a folder durable; returns the changes that still wait."""
    for names in waiting:
        if names[0][0] == folder:
            _apply(durable, names)
    return [names for names in waiting if names[0][0] != folder]


def _files(
    tree: dict[str, dict[str, _File | None]], folder: str, root: Path, chance: random.Random
) -> Iterator[tuple[str, bytes]]:
    for name, file in tree.get(folder, {}).items():
        path = f"{folder}/{name}"
        if file is None:
            yield from _files(tree, path, root, chance)
            continue
        data = bytearray(file.durable)
        for offset, written in file.waiting:
            if chance.random() < 0.5:
                cut = chance.choice((len(written), chance.randint(0, len(written)), SECTOR_BYTES))
                put(data, offset, written[:cut])
        yield os.path.relpath(path, root), bytes(data)
