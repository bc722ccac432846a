"""The directory of an index: which snapshots are kept on disk, and which files may be removed.

    DIRECTORY/segments/HASH      columns
    DIRECTORY/snapshots/ROOT     manifests, named by the text of the root's CID
    DIRECTORY/derived/ROOT.NAME  what was computed from a whole snapshot; removed with its manifest
    DIRECTORY/uses               the order in which the snapshots were used, see `retention`
    DIRECTORY/lock               held while the first three are brought into agreement

Readers need no lock: files appear complete under their names, segments are named by the hash of
their content, and a reader's mapping outlives the name. Writing and removing need the lock, so that
no manifest names a segment that another process is about to unlink. A process may be killed at any
point: segments are written before the manifest that names them and removed after it. If the lock
cannot be taken in time, a snapshot is not written, which costs time in another process.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path

from ibidem.index.derived import DerivedFiles
from ibidem.index.families.snapshot_parts import SnapshotParts
from ibidem.index.manifest import Manifest, read_manifest, write_manifest
from ibidem.index.retention import Retention, UseLog
from ibidem.index.segments.store import (
    FolderSegmentStore,
    RemoteSegments,
    make_folder,
    names_in,
    unlink,
)
from ibidem.objects.cid import RootCid
from ibidem.objects.errors import CorruptError, StorageError
from ibidem.store.lock import writer_lock

Stamp = tuple[int, int, int] | None
REMEMBER_SECONDS = 0.5
"""How long a query waits for the lock before it continues without writing its snapshot."""
REMOVE_SECONDS = 30.0
"""How long an operation that must remove files waits for the lock."""


class SnapshotRegistry:
    """The snapshots on disk in one directory."""

    def __init__(
        self, directory: Path, *, is_read_only: bool = False, remote: RemoteSegments | None = None
    ) -> None:
        self.segment_store = FolderSegmentStore(directory / "segments", remote=remote)
        self.bytes_written = 0
        """Bytes of manifests written by this object; segments are counted by their store."""
        self._is_read_only = is_read_only
        self._directory = directory
        self._snapshots = directory / "snapshots"
        self._derived = DerivedFiles(directory / "derived")
        self._known: dict[str, tuple[Stamp, Manifest]] = {}
        self._uses = UseLog(directory)
        self._sizes: dict[str, int] = {}
        """Of the segments that are here, by name; a segment never changes its size."""
        self._derived_bytes: dict[str, int] = {}
        """By root, as they were measured last."""

    def manifests(self) -> list[Manifest]:
        """Returns every readable manifest, newest first."""
        present = {name: self._stamp(name) for name in self._names()}
        self._known = {
            name: known
            for name, known in self._known.items()
            if known[0] is not None and known[0] == present.get(name)
        }
        for name in present.keys() - self._known.keys():
            self._read(name)
        found = [manifest for _, manifest in self._known.values()]
        return sorted(found, key=lambda one: (one.sequence, one.root), reverse=True)

    def __contains__(self, root: RootCid) -> bool:
        """Returns whether there is a manifest of a root."""
        return self._stamp(str(root)) is not None

    def open(self, root: RootCid) -> SnapshotParts | None:
        """Returns the state of a root from disk; None if there is none that can be read."""
        found = self._read(str(root))
        if found is None:
            return None
        try:
            return found.open(self.segment_store)
        except (CorruptError, StorageError):
            with suppress(StorageError):  # an unreadable manifest counts as absent
                self._drop([found], wait_seconds=REMEMBER_SECONDS)
            return None

    def discard_damaged(self, state: SnapshotParts) -> tuple[set[str], bool]:
        """Removes the files of a state that do not match their names, and the manifests that name
        them.

        Returns:
            The names of the damaged files, and whether they are gone.
        """
        damaged = self.segment_store.damaged(segment.name for segment in state.segments())
        if not damaged:
            return damaged, True
        if self._is_read_only:
            return damaged, False
        with suppress(StorageError):
            named = [found for found in self.manifests() if found.names() & damaged]
            self._drop(named, wait_seconds=REMEMBER_SECONDS)
        return damaged, self.segment_store.discard(damaged)

    def verify(self, root: RootCid, name: str) -> None:
        """Hashes the file of a segment of a root's snapshot. One that is missing is damage only if
        the snapshot is on disk: before that, and after it, another process may remove its files,
        and this one continues to use what it has mapped.

        Raises:
            CorruptError: missing, cut short or damaged.
        """
        try:
            self.segment_store.verify(name)
        except CorruptError:
            if root in self or (self.segment_store.directory / name).exists():
                raise

    def used(self, root: RootCid) -> None:
        """Notes that the snapshot of a root was used."""
        if not self._is_read_only and self._directory.is_dir():
            self._uses.note(str(root))
            if self._uses.is_long:
                self._uses.shorten(set(self._names()))

    def by_use(self) -> list[tuple[Manifest, int, int]]:
        """Returns every readable manifest, the last used first, with the bytes of its files and
        those of them that no other one needs."""
        found, ranks = self.manifests(), self._uses.ranks()
        self._derived_bytes = self._derived.sizes()
        found.sort(key=lambda one: ranks.get(str(one.root), -1), reverse=True)
        needed = Counter(name for one in found for name in one.names())
        return [
            (
                one,
                self._manifest_size(one) + sum(map(self._size, one.names())),
                self._manifest_size(one)
                + sum(self._size(name) for name in one.names() if needed[name] == 1),
            )
            for one in found
        ]

    def remember(self, state: SnapshotParts, retention: Retention) -> bool:
        """Writes a state and removes those that need not stay; does nothing if another process
        holds the lock for more than REMEMBER_SECONDS, or a file cannot be written.

        Returns:
            Whether the state was written.
        """
        assert state.root is not None, "BUG: only the state of a root is remembered"
        if any(segment.name not in self.segment_store for segment in state.segments()):
            return False  # built in memory because writing failed
        with suppress(StorageError), self._lock(REMEMBER_SECONDS):
            self._remember(state, retention)
            return True
        return False

    def derived(self, root: RootCid, name: str) -> bytes | None:
        """Returns what was computed from the snapshot of a root; None if it is not here."""
        return self._derived.get(str(root), name)

    def remember_derived(self, root: RootCid, name: str, data: bytes, retention: Retention) -> None:
        """Writes what was computed from a snapshot, if that is on disk, and removes the snapshots
        that need not stay; does nothing if another process holds the lock, or the file cannot be
        written."""
        if self._is_read_only or root not in self:
            return
        with suppress(StorageError), self._lock(REMEMBER_SECONDS):
            if root in self:
                self.bytes_written += self._derived.put(str(root), name, data)
                found = self.manifests()
                staying = self._without_surplus(found, root, retention)
                self._unlink_unnamed(_names(found), staying)

    def clear(self) -> None:
        """Removes every file; open snapshots stay usable.

        Raises:
            StorageError: kind `locked`, as `forget` and `sweep` do.
        """
        import shutil  # imports every compressor

        self._known.clear()
        self._sizes.clear()
        if not self._directory.is_dir():
            return
        with self._lock(REMOVE_SECONDS):
            for folder in self._folders():
                shutil.rmtree(folder, ignore_errors=True)
            self._uses.clear()

    def forget(self, manifests: Iterable[Manifest]) -> None:
        """Removes manifests and the segments that no other manifest names."""
        self._drop(list(manifests))

    def sweep(self) -> int:
        """Removes segment files that no manifest names; returns their number."""
        if self._is_read_only or not self._directory.is_dir():
            return 0
        with self._lock(REMOVE_SECONDS):
            manifests = self.manifests()
            self._derived.remove(self._derived.roots() - {str(found.root) for found in manifests})
            names = {name for name in self.segment_store.names() if name[0] != "."}
            return self._unlink_unnamed(names, manifests)

    def size_bytes(self) -> int:
        """Returns the size of all files."""
        total = 0
        for folder in self._folders():
            for name in names_in(folder):
                with suppress(OSError):  # removed meanwhile
                    total += (folder / name).stat().st_size
        return total

    def _folders(self) -> tuple[Path, ...]:
        return self._derived.directory, self._snapshots, self.segment_store.directory

    def _lock(self, wait_seconds: float) -> AbstractContextManager[None]:
        make_folder(self._directory)
        return writer_lock(self._directory / "lock", timeout_seconds=wait_seconds)

    def _remember(self, state: SnapshotParts, retention: Retention) -> None:
        assert state.root is not None, "BUG: only the state of a root is remembered"
        self._put_missing(state)
        before = self.manifests()
        sequence = before[0].sequence + 1 if before else 1
        name = str(state.root)
        manifest = Manifest.of(state, sequence)
        self.bytes_written += write_manifest(self._snapshots / name, manifest)
        self._known[name] = self._stamp(name), manifest
        self._uses.note(name)
        others = [found for found in before if found.root != state.root]
        staying = self._without_surplus([manifest, *others], state.root, retention)
        self._unlink_unnamed(_names(before) | self.segment_store.unused(), staying)

    def _without_surplus(
        self, found: list[Manifest], root: RootCid, retention: Retention
    ) -> list[Manifest]:
        """Unlinks those of all manifests that need not stay, and returns the others, among them
        that of a root."""
        self._derived_bytes = self._derived.sizes()
        gone = replace(retention, current=retention.current | {root}).surplus(
            found, self._uses.ranks, self._size, self._manifest_size
        )
        self._unlink_manifests(gone)
        let_go = {one.root for one in gone}
        return [one for one in found if one.root not in let_go]

    def _put_missing(self, state: SnapshotParts) -> None:
        """Writes the segments that are only in memory, and again those that another process has
        unlinked."""
        segment_store = self.segment_store
        present = set(names_in(segment_store.directory))
        for segment in state.segments():
            if segment_store.is_unwritten(segment) or (
                segment.name not in present and not segment_store.is_remote(segment.name)
            ):
                segment_store.write(segment)

    def _drop(self, gone: list[Manifest], *, wait_seconds: float = REMOVE_SECONDS) -> None:
        """Unlinks the manifests `gone`, then the segments that no other manifest names."""
        if self._is_read_only or not gone:
            return
        with self._lock(wait_seconds):
            self._unlink_manifests(gone)
            self._unlink_unnamed(_names(gone), self.manifests())

    def _unlink_manifests(self, gone: Iterable[Manifest]) -> None:
        gone = list(gone)
        self._derived.remove({str(found.root) for found in gone})
        for found in gone:
            self._known.pop(str(found.root), None)
            unlink(self._snapshots / str(found.root))

    def _unlink_unnamed(self, candidates: set[str], staying: Iterable[Manifest]) -> int:
        """Unlinks the candidates that no manifest in `staying` names and returns their number. The
        caller holds the lock, and `staying` is every manifest that remains."""
        orphans = candidates - _names(staying)
        self.segment_store.unlink(sorted(orphans))
        for name in orphans:
            self._sizes.pop(name, None)
        return len(orphans)

    def _size(self, name: str) -> int:
        """Returns the size of a segment's file; 0 if it is not here."""
        size = self._sizes.get(name)
        if size is None:
            try:
                size = (self.segment_store.directory / name).stat().st_size
            except OSError:
                return 0
            self._sizes[name] = size
        return size

    def _manifest_size(self, manifest: Manifest) -> int:
        name = str(manifest.root)
        stamp, _ = self._known.get(name, (None, None))
        return (0 if stamp is None else stamp[2]) + self._derived_bytes.get(name, 0)

    def _read(self, name: str) -> Manifest | None:
        stamp = self._stamp(name)
        found = read_manifest(self._snapshots / name)
        if found is None:
            self._known.pop(name, None)
            return None
        if str(found.root) != name:
            return None
        self._known[name] = stamp, found
        return found

    def _stamp(self, name: str) -> Stamp:
        """Returns a stamp that differs for another file under the same name; None if there is no
        file."""
        try:
            status = os.stat(f"{self._snapshots}{os.sep}{name}")  # noqa: PTH116  three a commit each
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _names(self) -> list[str]:
        return [name for name in names_in(self._snapshots) if name[0] != "."]


def _names(manifests: Iterable[Manifest]) -> set[str]:
    """Returns the names of all segments of some manifests."""
    return {name for found in manifests for name in found.names()}
