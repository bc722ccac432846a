"""Segments that another machine built, in storage that several machines read.

Problem: a new machine that reads a large repository from a bucket would first have to read all of
its blocks to build an index. Idea: a machine that has the index puts its segments there, by name,
with a manifest that it signs. Another machine takes a manifest only if it trusts the key. The name
of a segment is the hash of its header, the header has the checksums of its columns, and the
signature is over the names: so nobody but the signer decides what is read.

    index/SCOPE/segments/HASH          segments, as in the directory of an index
    index/SCOPE/manifests/ROOT.KEY     a signed manifest: the block below, then 96 bytes

Invariant: such segments are trusted, not proved. They are what the signer says that the blocks
give; `Index.verify` builds them again and compares.

A segment is not read as a whole. Its file here is as long as the other one, with holes; a chunk of
a column that does not have its checksum is fetched, and compared again. So the checksums also say
what is here, whatever a crash left. Files that were not used for the longest time are removed if
all together occupy too much, except those of the newest manifest that was taken.

SCOPE is a digest of the erasures that the builder knew. After another erasure, everything below
other scopes is deleted, since it may hold erased text.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ibidem.index.families.snapshot_parts import SnapshotParts
from ibidem.index.manifest import Manifest, decode_manifest, encode_manifest
from ibidem.index.segments.segment import Segment, check_digest, head_bytes, read_segment
from ibidem.index.segments.store import SMALL_BYTES, map_file, names_in, unlink
from ibidem.objects import codec
from ibidem.objects.cid import RootCid
from ibidem.objects.errors import CorruptError, StorageError
from ibidem.objects.record import record
from ibidem.store.files import write_file
from ibidem.store.protocol import SharedFiles

SIGNATURE_BYTES = 96
CACHE_BYTES_MAX = 16 << 30
"""What the files here may occupy, about, without those of the newest manifest."""
MANIFESTS_MAX = 4
"""Manifests of one key that stay."""
WINDOW_BYTES = 2 << 20
"""Files are fetched in windows of this size: one takes about as long as a round trip of 20 ms, and
holds many small columns."""
_PREFIX = "index/"
_PART_BYTES = 4 << 20
"""Of a file, how much one request reads."""
_ROOM_BYTES = 64 << 20
"""How much is fetched before the space that is used is counted again."""

Judge = Callable[[bytes, bytes], bool]
"""Returns whether a signature of a block is by a key that is trusted."""
Sign = Callable[[bytes], bytes]


@record
class SignedManifest:
    """What one key vouches for."""

    manifest: Manifest
    sizes: dict[str, tuple[int, int]]
    """The size of each segment, and of its header."""
    data: bytes
    """As it is stored."""

    @property
    def block(self) -> bytes:
        """What is signed."""
        return self.data[:-SIGNATURE_BYTES]

    @property
    def name(self) -> str:
        """The name of the object."""
        public = self.data[-SIGNATURE_BYTES:][:16].hex()
        return f"{self.manifest.root}.{public}"


class SharedIndex:
    """The segments at one scope, and those of them that are here."""

    def __init__(
        self,
        folder: Path,
        files: SharedFiles,
        scope: str,
        judge: Judge,
        *,
        cache_bytes_max: int = CACHE_BYTES_MAX,
    ) -> None:
        """Reads nothing yet.

        Args:
            folder: for what is fetched; created when something is.
            files: where the segments are.
            scope: stands for the erasures that the index knows.
        """
        self._segments = folder / "segments"
        self._manifests = folder / "manifests"
        self._files = files
        self._scope = scope
        self._judge = judge
        self._cache_bytes_max = cache_bytes_max
        self._accepted: dict[str, tuple[int, int]] | None = None
        self._refused: set[str] = set()
        """Segments that turned out to be wrong."""
        self._fetched_bytes = 0
        self._pinned: set[str] = set()

    # -- taking --------------------------------------------------------------------------------

    def find(self, root: RootCid, near: Sequence[RootCid]) -> list[Manifest]:
        """Returns the manifests that are accepted: of the root, of roots near it, then the newest.

        Raises:
            StorageError: the storage fails.
        """
        prefix = f"{self._at}/manifests/"
        names = list(self._files.listed(prefix))
        found = [
            signed
            for name, data in zip(names, self._files.get_all(names), strict=True)
            if data is not None
            and (signed := self._opened(data)) is not None
            and name == prefix + signed.name
        ]
        order = {one: rank for rank, one in reversed(list(enumerate((root, *near))))}
        found.sort(
            key=lambda one: (
                order.get(one.manifest.root, len(order)),
                -one.manifest.sequence,
                one.name,
            )
        )
        return [self._take(signed) for signed in found if not signed.sizes.keys() & self._refused]

    def __contains__(self, name: str) -> bool:
        """Returns whether an accepted manifest names a segment."""
        return name in self._taken()

    def open(self, name: str) -> Segment:
        """Returns a segment, of which as much is here as was read.

        Raises:
            CorruptError: no accepted manifest names it, or it is no longer there.
        """
        size, head = self._size_of(name)
        path = self._segments / name
        if not _has_size(path, size):
            self._begin(name, size, head)
        data = map_file(path)
        os.utime(path)
        hole = _Hole(path, size, lambda start, count: self._fetch(name, start, count))
        segment = read_segment(name, data, hole.fill)
        if segment.name != name:
            raise CorruptError(f"index file {name}: it holds the segment {segment.name}")
        return segment

    def begin(self, names: Iterable[str]) -> None:
        """Fetches the headers of those segments that are not here, and small ones as a whole, at
        the same time."""
        self._make_room()
        absent = [
            (name, *self._size_of(name))
            for name in sorted(set(names))
            if not _has_size(self._segments / name, self._size_of(name)[0])
        ]
        self._files.map(lambda one: self._begin(*one), absent)

    def verify(self, name: str) -> None:
        """Fetches and hashes a whole segment; raises `CorruptError` as `open` does."""
        self.open(name).columns()
        check_digest(name, map_file(self._segments / name))

    def discard(self, names: Iterable[str]) -> None:
        """Removes segments that are wrong, and never takes them again in this process."""
        gone = set(names) & self._taken().keys()
        self._refused |= gone
        for name in gone:
            unlink(self._segments / name)
        for signed in self._local():
            if signed.sizes.keys() & gone:
                unlink(self._manifests / signed.name)
        self._accepted = None

    # -- giving --------------------------------------------------------------------------------

    def publish(self, state: SnapshotParts, sequence: int, directory: Path, sign: Sign) -> int:
        """Puts the segments of a state that are not there yet, then its signed manifest; returns
        how many bytes were put.

        Args:
            directory: where the segments are that are not taken from here.

        Raises:
            StorageError: a segment is only in memory, or the storage fails.
        """
        prefix = f"{self._at}/segments/"
        present = self._files.listed(prefix)
        sizes: dict[str, tuple[int, int]] = {}
        put = 0
        for segment in state.segments():
            name = segment.name
            if name in sizes:
                continue
            if name in self and prefix + name in present:
                sizes[name] = self._size_of(name)
                continue
            data = _file_of(segment, directory)
            sizes[name] = len(data), head_bytes(data)
            there = present.get(prefix + name)
            if there is None or there.size != len(data):
                self._files.put(prefix + name, data)
                put += len(data)
        manifest = Manifest.of(state, sequence)
        block = codec.encode(
            {
                "manifest": encode_manifest(manifest),
                "scope": self._scope,
                "sequence": sequence,
                "segments": {name: list(size) for name, size in sizes.items()},
            }
        )
        signed = SignedManifest(manifest, sizes, block + sign(block))
        self._files.put(f"{self._at}/manifests/{signed.name}", signed.data)
        self._drop_old(signed)
        return put + len(signed.data)

    def _drop_old(self, newest: SignedManifest) -> None:
        """Deletes the oldest manifests of a key, and the segments that no manifest names."""
        prefix = f"{self._at}/manifests/"
        names = list(self._files.listed(prefix))
        blocks = {
            name: _block(data)
            for name, data in zip(names, self._files.get_all(names), strict=True)
            if data is not None
        }
        key = newest.name.rpartition(".")[2]
        own = [name for name in blocks if name.endswith("." + key)]
        own.sort(key=lambda name: (_sequence(blocks[name]), name), reverse=True)
        gone = [name for name in own[MANIFESTS_MAX:] if name != prefix + newest.name]
        self._files.delete(gone)
        named = {
            one
            for name, block in blocks.items()
            if name not in gone
            for one in block.get("segments", ())
        }
        prefix = f"{self._at}/segments/"
        self._files.delete(
            name for name in self._files.listed(prefix) if name.removeprefix(prefix) not in named
        )

    # -- what is here --------------------------------------------------------------------------

    @property
    def _at(self) -> str:
        return _PREFIX + self._scope

    def _size_of(self, name: str) -> tuple[int, int]:
        size = self._taken().get(name)
        if size is None:
            raise CorruptError(f"index file {name}: no manifest that is trusted here names it")
        return size

    def _taken(self) -> dict[str, tuple[int, int]]:
        """Returns the sizes of the segments that the manifests here name, if still accepted."""
        if self._accepted is None:
            self._accepted = {}
            local = self._local()
            for signed in local:
                self._accepted |= signed.sizes
            if local:
                newest = max(local, key=lambda one: one.manifest.sequence)
                self._pinned = set(newest.sizes)
        return self._accepted

    def _local(self) -> list[SignedManifest]:
        found = []
        for name in sorted(names_in(self._manifests)):
            try:
                signed = self._opened((self._manifests / name).read_bytes())
            except OSError:
                continue
            if signed is not None and not signed.sizes.keys() & self._refused:
                found.append(signed)
        return found

    def _opened(self, data: bytes) -> SignedManifest | None:
        """Returns a signed manifest; None if it is damaged, of another scope, or not by a key that
        is trusted."""
        if not self._judge(data[:-SIGNATURE_BYTES], data[-SIGNATURE_BYTES:]):
            return None  # nothing else in it is looked at: a bitmap of a stranger may do harm
        block = _block(data)
        if block.get("scope") != self._scope:
            return None
        manifest = decode_manifest("shared", block["manifest"])
        if manifest is None:  # of another version
            return None
        sizes = {name: (size, head) for name, (size, head) in block["segments"].items()}
        return SignedManifest(manifest, sizes, data)

    def _take(self, signed: SignedManifest) -> Manifest:
        if not (self._manifests / signed.name).exists():
            self._manifests.mkdir(parents=True, exist_ok=True)
            write_file(self._manifests / signed.name, signed.data)
        self._accepted = None
        return signed.manifest

    def _begin(self, name: str, size: int, head: int) -> None:
        """Creates the file of a segment with its header, a small one with everything."""
        count = size if size <= SMALL_BYTES else head
        (data,) = self._read(name, [(0, count)])
        self._segments.mkdir(parents=True, exist_ok=True)
        waiting = self._segments / f".{name}.{os.getpid()}"
        try:
            with waiting.open("wb") as file:
                file.write(data)
                file.truncate(size)
            waiting.replace(self._segments / name)
        except OSError as error:
            raise StorageError(f"index file {name}: {error.strerror}") from error
        finally:
            unlink(waiting)

    def _fetch(self, name: str, start: int, count: int) -> bytes:
        stop = start + count
        parts = [(at, min(_PART_BYTES, stop - at)) for at in range(start, stop, _PART_BYTES)]
        data = b"".join(self._read(name, parts))
        self._fetched_bytes += count
        if self._fetched_bytes > _ROOM_BYTES:
            self._fetched_bytes = 0
            self._make_room()
        return data

    def _read(self, name: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        found = self._files.get_ranges(f"{self._at}/segments/{name}", spans)
        if found is None or [len(part) for part in found] != [count for _, count in spans]:
            raise CorruptError(f"index file {name}: it is missing in the shared storage")
        return found

    def _make_room(self) -> None:
        """Removes the files that were not opened for the longest time, while all together occupy
        too much."""
        found = []
        self._taken()
        for name in names_in(self._segments):
            try:
                status = (self._segments / name).stat()
            except OSError:
                continue
            if name not in self._pinned:
                found.append((status.st_mtime_ns, name, status.st_blocks * 512))
        total = sum(size for _, _, size in found)
        for _, name, size in sorted(found):
            if total <= self._cache_bytes_max:
                return
            unlink(self._segments / name)
            total -= size


def delete_shared(files: SharedFiles, *, except_for: str) -> None:
    """Deletes all shared segments and manifests, except those of one scope."""
    stays = f"{_PREFIX}{except_for}/"
    files.delete(name for name in files.listed(_PREFIX) if not name.startswith(stays))


class _Hole:
    """Writes what is missing into the file of a segment, which may have been unlinked since."""

    def __init__(self, path: Path, size: int, fetch: Callable[[int, int], bytes]) -> None:
        try:
            self._file = os.open(path, os.O_RDWR)
        except OSError as error:
            raise StorageError(f"index file {path.name}: {error.strerror}") from error
        self._name = path.name
        self._size = size
        self._fetch = fetch
        weakref.finalize(self, os.close, self._file)

    def fill(self, start: int, stop: int) -> None:
        """Fetches the bytes of a part of the file, and what is around it."""
        start = start // WINDOW_BYTES * WINDOW_BYTES
        stop = min(-(-stop // WINDOW_BYTES) * WINDOW_BYTES, self._size)
        data = memoryview(self._fetch(start, stop - start))
        try:
            while data:
                written = os.pwrite(self._file, data, start)
                data, start = data[written:], start + written
        except OSError as error:
            raise StorageError(f"index file {self._name}: {error.strerror}") from error


def _block(data: bytes) -> dict[str, Any]:
    """Returns the signed block of a manifest; an empty one where it is none."""
    try:
        found = codec.decode(data[:-SIGNATURE_BYTES])
    except CorruptError:
        return {}
    return found if isinstance(found, dict) else {}


def _sequence(block: dict[str, Any]) -> int:
    found = block.get("sequence")
    return found if isinstance(found, int) else 0


def _file_of(segment: Segment, directory: Path) -> bytes:
    try:
        return (directory / segment.name).read_bytes()
    except OSError as error:
        raise StorageError(
            f"index file {segment.name}: it is not on the disk here, so that it cannot be shared",
            hint="run 'repo index build'",
        ) from error


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False
