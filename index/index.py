"""The index of a repository: snapshots by root, built on demand.

It is derived data: damage to its directory, or the loss of it, costs time and changes no answer. A
snapshot is opened if it is on disk, else advanced from a similar one by the differences of the
trees, else built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.index.families.merge_scheduler import MergeScheduler
from ibidem.index.families.snapshot_parts import SnapshotParts, compacted_parts
from ibidem.index.incremental import EMPTY_ROOT, advance
from ibidem.index.retention import Retention
from ibidem.index.segments.store import MemorySegmentStore, SegmentStore, TemporarySegmentStore
from ibidem.index.snapshot import Snapshot
from ibidem.index.snapshot_registry import SnapshotRegistry
from ibidem.index.tuning import TUNING, Tuning
from ibidem.objects.blocks import Source
from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.config import Config
from ibidem.objects.errors import CorruptError, InvalidInputError, NotFoundError, StorageError
from ibidem.objects.forking import ForkLock
from ibidem.objects.gc_pause import gc_paused
from ibidem.objects.progress import Progress, silent
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, Tree

if TYPE_CHECKING:
    from ibidem.index.shared import SharedIndex, Sign

Make = Callable[[SegmentStore], SnapshotParts]

OPEN_MAX = 4
"""Snapshots kept open by one index."""
CACHES_MAX = 1
"""The number of them, most recently used first, that keep their caches of derived data: some bytes
per row, and joined postings."""

REBUILT_ROWS = 16_384
"""Rows of a segment that a check builds. With vectors of 384 numbers, the build of 40,000 nodes
takes 180 MB of memory instead of 320, and up to a tenth more time; that of 200,000 takes 445 either
way."""


@record
class FamilyStats:
    """One row family of a snapshot, in numbers."""

    name: str
    """The kind, with the model or vocabulary after a slash."""
    segment_count: int
    row_count: int
    """Rows in the segments, dead ones included."""
    dead_count: int
    size_bytes: int


@record
class SnapshotSize:
    """The snapshot of one root, in numbers."""

    root: RootCid
    size_bytes: int
    """The size of all its files."""
    own_bytes: int
    """Of them, those that no other snapshot needs: what removing it frees."""


@record
class IndexStats:
    """An index, in numbers."""

    families: tuple[FamilyStats, ...]
    """The families of the snapshot last used; empty if none was used."""
    snapshot_count: int
    """Snapshots on disk."""
    size_bytes: int
    """The size of all files."""


class Index:
    """Gives the snapshot of any root; safe to use from several threads."""

    def __init__(
        self,
        directory: Path | None,
        store: Source,
        *,
        is_read_only: bool = False,
        tuning: Tuning = TUNING,
        progress: Progress = silent,
        shared: SharedIndex | None = None,
    ) -> None:
        """Opens nothing yet.

        Args:
            directory: created on the first write; None keeps everything in memory.
            store: holds the blocks of every root that is requested.
            is_read_only: use the snapshots on disk, but write nothing.
            tuning: when parts are merged.
            progress: called while a snapshot is built or advanced.
            shared: has segments of other machines, used where there is no snapshot here to start
                from; only with a directory.
        """
        self._progress = progress
        self._shared = None if directory is None else shared
        self._store = store
        self._tuning = tuning
        self._registry = (
            None
            if directory is None
            else SnapshotRegistry(Path(directory), is_read_only=is_read_only, remote=self._shared)
        )
        self._is_read_only = is_read_only
        self.write_count = 0
        """Snapshots of which something may have been written into the directory."""
        self._unwritten_next = 0
        """How many of the snapshots that commits prepare next are not written."""
        self._unwritten: RootCid | None = None
        """The root of the last snapshot that was prepared, unless it was written."""
        self._merger = MergeScheduler(tuning)
        self._open: dict[RootCid, Snapshot] = {}
        self.retention = Retention()
        """Which snapshots stay on disk; the owner of the index sets it before a call."""
        self._lock = ForkLock()

    def snapshot(self, root: RootCid, *, near: Sequence[RootCid] = ()) -> Snapshot:
        """Returns the snapshot of a root: one that is open, read from disk, advanced or built.

        Args:
            root: a root with its trees in the store.
            near: roots that differ little from it, such as those of the commit's parents, best
                first.

        Raises:
            NotFoundError: a block of the root is missing.
            CorruptError: a block of the root is damaged or invalid.
        """
        with self._lock:
            return self._opened(root, near)

    def _opened(
        self, root: RootCid, near: Sequence[RootCid], *, is_written: bool = True
    ) -> Snapshot:
        if self._unwritten not in (root, *near):
            self._write_last()  # perhaps the head of a branch, to which no commit follows
        found = self._open.pop(root, None) or self._remembered(root)
        if found is None:
            found = (
                self._advanced(root, near, is_written=is_written)
                or self._taken(root, near)
                or self._built(root, is_first=True)
            )
        self._keep(found)
        if self._registry is not None:
            self._registry.used(root)
        return found

    def snapshot_from(self, base: Snapshot, root: RootCid) -> Snapshot:
        """Returns the snapshot of a root, advanced from one of any index that is near it; raises as
        `snapshot` does."""
        before, after = self._root(base.root), self._root(root)
        return self._step(base.state, before, after, root)

    def prepare(self, root: RootCid, *, near: Sequence[RootCid]) -> None:
        """Builds the snapshot of a root if one of `near` is open and no other thread is building;
        raises as `snapshot` does.

        Only one in some is written: another process begins with that of a few commits before.
        """
        if not self._lock.acquire(blocking=False):
            return
        try:
            if any(one in self._open for one in near):
                is_written = not self._unwritten_next
                self._unwritten_next -= not is_written
                self._opened(root, near, is_written=is_written)
                self._unwritten = None if is_written else root
        finally:
            self._lock.release()

    def build(self, root: RootCid) -> Snapshot:
        """Builds the snapshot of a root from nothing, in few large segments; raises as `snapshot`
        does."""
        with self._lock:
            found = self._built(root)
            self._keep(found)
            return found

    def compact(self, root: RootCid) -> Snapshot:
        """Merges the small segments of a root's snapshot and drops dead rows; its time is not
        bounded."""
        with self._lock:
            held = self.snapshot(root)
            try:
                found = self._compacted(held)
            except CorruptError:
                if not self.recover(held):
                    raise
                found = self._compacted(self.snapshot(root))
            self._keep(found)
            if self._registry is not None and not self._is_read_only:
                self._registry.sweep()
            return found

    def is_remembered(self, root: RootCid) -> bool:
        """Returns whether the snapshot of a root exists, so that it can be opened without a
        build."""
        with self._lock:
            if root in self._open:
                return True
            return self._registry is not None and any(
                found.root == root for found in self._registry.manifests()
            )

    def forget(self, root: RootCid | None = None) -> None:
        """Removes the files of one root's snapshot, or all files."""
        with self._lock:
            if root is None:
                self._open.clear()
            else:
                self._open.pop(root, None)
            if self._registry is None or self._is_read_only:
                return
            if root is None:
                self._registry.clear()
            else:
                self._registry.forget(
                    found for found in self._registry.manifests() if found.root == root
                )

    def derived(self, root: RootCid, name: str) -> bytes | None:
        """Returns what `remember_derived` wrote under a name, None if it is not on disk."""
        with self._lock:
            return None if self._registry is None else self._registry.derived(root, name)

    def remember_derived(self, root: RootCid, name: str, data: bytes) -> None:
        """Writes what was computed from the whole snapshot of a root, beside that snapshot and for
        as long as it stays. Does nothing if the snapshot is not on disk, or nothing may be written.

        Args:
            root: the root.
            name: identifies the computation and all that it depends on besides the root; letters
                and digits.
            data: the result.
        """
        with self._lock:
            if self._registry is not None:
                self._write(root)
                self._registry.remember_derived(root, name, data, self.retention)

    def remembered(self) -> list[RootCid]:
        """Returns the roots whose snapshots are on disk."""
        with self._lock:
            return [] if self._registry is None else [m.root for m in self._registry.manifests()]

    def snapshots(self) -> list[SnapshotSize]:
        """Returns the snapshots that are kept, the last used first; without a directory, those in
        memory."""
        with self._lock:
            if self._registry is None:
                return [
                    SnapshotSize(root, size, size)
                    for root, found in reversed(self._open.items())
                    for size in [sum(one.size_bytes for one in found.state.segments())]
                ]
            self._write_last()
            return [SnapshotSize(one.root, size, own) for one, size, own in self._registry.by_use()]

    def forget_all(self, roots: Iterable[RootCid]) -> None:
        """Removes the snapshots of some roots from disk, and every file that no snapshot needs."""
        gone = frozenset(roots)
        with self._lock:
            for root in gone:
                self._open.pop(root, None)
            if self._registry is None or self._is_read_only:
                return
            self._registry.forget(
                found for found in self._registry.manifests() if found.root in gone
            )
            self._registry.sweep()

    def recover(self, snapshot: Snapshot) -> bool:
        """Hashes the files behind a snapshot and removes the damaged ones.

        Call it when reading a snapshot fails: large files are compared with their checksums only
        when they are read, so their damage is detected late.

        Returns:
            Whether a file was damaged; the next `snapshot` is then built again, in memory if the
            damaged files cannot be removed.
        """
        with self._lock:
            # Another snapshot may have found its files damaged and written them again.
            was_damaged = any(segment.is_damaged for segment in snapshot.state.segments())
            if self._registry is None:
                return was_damaged
            damaged, is_gone = self._registry.discard_damaged(snapshot.state)
            for found in list(self._open.values()):
                if any(segment.name in damaged for segment in found.state.segments()):
                    del self._open[found.root]
            if not is_gone:
                self._registry = None
            return was_damaged or bool(damaged)

    def share(self, root: RootCid, sign: Sign) -> int:
        """Gives the segments of a root's snapshot to other machines; returns how many bytes were
        put.

        Args:
            root: the root.
            sign: returns the signature of a block, 96 bytes.

        Raises:
            InvalidInputError: the store of the repository keeps no segments.
            StorageError: it fails, or the segments are only in memory.
        """
        with self._lock:
            held = self.snapshot(root)
            self._merger.wait()
            self._write(root)
            if self._shared is None or self._registry is None:
                raise InvalidInputError(
                    "index: its segments can be shared only from a repository in a bucket or a "
                    "database, got one elsewhere"
                )
            sequence = max((found.sequence for found in self._registry.manifests()), default=0)
            return self._shared.publish(
                held.state, sequence, self._registry.segment_store.directory, sign
            )

    def wait(self) -> None:
        """Waits for background writes; after it, files are written only by calls."""
        with self._lock:
            self._merger.wait()

    def stats(self) -> IndexStats:
        """Returns figures about the snapshot last used and the size of the directory."""
        with self._lock:
            last = next(reversed(self._open.values()), None)
            families = tuple(_family_stats(last.state)) if last else ()
            if self._registry is None:
                size = sum(family.size_bytes for family in families)
                return IndexStats(families, 0, size)
            return IndexStats(
                families, len(self._registry.manifests()), self._registry.size_bytes()
            )

    def verify(self, root: RootCid) -> list[str]:
        """Compares the snapshot of a root with one that is built again from the store.

        Returns:
            One sentence for each problem; empty if there is none. Segments on disk are hashed as a
            whole. A missing file is a problem only if the snapshot is on disk: another process may
            have removed it, or never found its manifest.
        """
        from ibidem.index.bounds import bound_problem
        from ibidem.index.describe import differences

        problems: list[str] = []
        with self._lock:
            registry = self._registry
            held = self._remembered(root) or self.snapshot(root)
            for segment in held.state.segments():
                try:
                    if registry is not None and not segment.name.startswith("memory-"):
                        registry.verify(root, segment.name)
                    problem = bound_problem(segment)
                except CorruptError as error:
                    problems.append(str(error))
                else:
                    if problem is not None:
                        problems.append(f"index file {segment.name}: {problem}")
            folder = None if registry is None else registry.segment_store.directory
            fresh = self.rebuilt(root, folder)
        try:
            return problems + differences(held, fresh)
        except CorruptError as error:
            return [*problems, str(error)]

    def rebuilt(self, root: RootCid, folder: Path | None) -> Snapshot:
        """Returns a snapshot that is built from the store alone and remains nowhere; raises as
        `snapshot` does.

        Args:
            root: the root.
            folder: on the disk that may be used instead of memory, None for memory.
        """
        segment_store: SegmentStore = MemorySegmentStore()
        if folder is not None:
            segment_store = TemporarySegmentStore(folder)
        after = self._root(root)
        tuning = replace(
            self._tuning, chunk_rows=min(self._tuning.chunk_rows, REBUILT_ROWS), tier_rows=()
        )
        with gc_paused():
            state = advance(
                SnapshotParts(), EMPTY_ROOT, after, root, self._store, segment_store, tuning
            )
        return self._snapshot(state, root, after)

    def _remembered(self, root: RootCid) -> Snapshot | None:
        if self._registry is None:
            return None
        state = self._registry.open(root)
        return None if state is None else self._snapshot(state, root, self._root(root))

    def _advanced(
        self, root: RootCid, near: Sequence[RootCid], *, is_written: bool
    ) -> Snapshot | None:
        after = self._root(root)
        for base in self._bases(root, near):
            try:
                before = self._root(base.root)
                if not _is_compatible(before, after):
                    continue
                return self._step(base.state, before, after, root, is_written=is_written)
            except (NotFoundError, CorruptError):
                # The base may lack blocks or be damaged; a build shows whether this root is.
                self.recover(base)
            except Exception:
                if not self.recover(base):
                    raise
        return None

    def _taken(self, root: RootCid, near: Sequence[RootCid]) -> Snapshot | None:
        """Returns the snapshot of a root by the segments of another machine, advanced if they are
        of another root; None if there are none, or they fail."""
        shared, registry = self._shared, self._registry
        if shared is None or registry is None or self._is_read_only:
            return None
        try:
            found = shared.find(root, near)
        except StorageError:
            return None
        after = self._root(root)
        for manifest in found:
            try:
                before = self._root(manifest.root)
                if not _is_compatible(before, after):
                    continue
                shared.begin(manifest.names())
                state = manifest.open(registry.segment_store)
                if manifest.root == root:
                    registry.remember(state, self.retention)
                    return self._snapshot(state, root, after)
                return self._step(state, before, after, root)
            except CorruptError:
                shared.discard(manifest.names())
            except (NotFoundError, StorageError):
                continue  # a block of its root is gone, or the storage fails
        return None

    def _built(self, root: RootCid, *, is_first: bool = False) -> Snapshot:
        """Builds a snapshot; `is_first`: the progress says that there was nothing to take."""
        progress = self._progress
        if is_first and self._shared is not None:

            def progress(work: str, done: int, total: int | None) -> None:
                self._progress(f"{work} (no shared index is accepted here)", done, total)

        return self._step(SnapshotParts(), EMPTY_ROOT, self._root(root), root, progress)

    def _step(
        self,
        state: SnapshotParts,
        before: Root,
        after: Root,
        root: RootCid,
        progress: Progress | None = None,
        *,
        is_written: bool = True,
    ) -> Snapshot:
        merged = self._merger.taken_over(state)
        with gc_paused():
            return self._made(
                root,
                after,
                lambda segment_store: advance(
                    merged,
                    before,
                    after,
                    root,
                    self._store,
                    segment_store,
                    self._tuning,
                    progress or self._progress,
                ),
                is_written=is_written,
            )

    def _made(self, root: RootCid, block: Root, make: Make, *, is_written: bool = True) -> Snapshot:
        """Builds a state and writes it; in memory if writing fails."""
        registry = self._registry
        if registry is not None and not self._is_read_only:
            self.write_count += 1
            # A full or read-only disk costs time in the next process, not the answer.
            with suppress(StorageError):
                state = make(registry.segment_store)
                if is_written and registry.remember(state, self.retention):
                    self._unwritten_next = self._tuning.steps_unwritten
                self._merger.begin(state, registry.segment_store)
                return self._snapshot(state, root, block)
        segment_store = MemorySegmentStore()
        state = make(segment_store)
        self._merger.begin(state, segment_store)
        return self._snapshot(state, root, block)

    def _write_last(self) -> None:
        """Writes the last snapshot if a commit prepared it and it was not written."""
        if self._unwritten is not None:
            self._write(self._unwritten)
            self._unwritten = None

    def _write(self, root: RootCid) -> None:
        """Writes the snapshot of a root if it is open, was not written, and the root was neither
        collected nor damaged since: others are asked beside it."""
        registry, held = self._registry, self._open.get(root)
        if registry is None or self._is_read_only or held is None or root in registry:
            return
        with suppress(CorruptError, NotFoundError):
            self._store.get(root)
            self.write_count += 1
            registry.remember(held.state, self.retention)

    def _compacted(self, held: Snapshot) -> Snapshot:
        return self._made(
            held.root,
            self._root(held.root),
            lambda segment_store: compacted_parts(held.state, segment_store, self._tuning),
        )

    def _snapshot(self, state: SnapshotParts, root: RootCid, block: Root) -> Snapshot:
        conflicts: dict[bytes, Cid] = {}
        if block.conflicts != EMPTY_TREE:
            conflicts = dict(Tree(self._store, block.conflicts).items())
        return Snapshot(state, root, Config.from_map(block.config), conflicts, self._store)

    def _bases(self, root: RootCid, near: Sequence[RootCid]) -> Iterator[Snapshot]:
        """Yields snapshots to start from: the hinted ones, the last used, the newest remembered."""
        tried = {root}
        for hint in near:
            found = self._open.get(hint) or self._remembered_base(hint)
            if found is not None and hint not in tried:
                tried.add(hint)
                yield found
        for found in reversed(list(self._open.values())):
            if found.root not in tried:
                tried.add(found.root)
                yield found
        for manifest in self._registry.manifests() if self._registry else []:
            if manifest.root not in tried:
                tried.add(manifest.root)
                base = self._remembered_base(manifest.root)
                if base is not None:
                    yield base

    def _remembered_base(self, root: RootCid) -> Snapshot | None:
        try:
            return self._remembered(root)
        except (NotFoundError, CorruptError):
            return None  # its root block is gone, so no differences can be computed

    def _root(self, root: RootCid) -> Root:
        return Root.decode(self._store.get(root))

    def _keep(self, snapshot: Snapshot) -> None:
        self._open.pop(snapshot.root, None)
        self._open[snapshot.root] = snapshot
        while len(self._open) > OPEN_MAX:
            self._open.pop(next(iter(self._open)))
        for older in list(self._open.values())[:-CACHES_MAX]:
            older.cache.clear()


def _is_compatible(before: Root, after: Root) -> bool:
    """Returns whether both roots build and analyse texts in the same way."""
    if before.config == after.config:
        return True  # as after most commits
    one, other = Config.from_map(before.config), Config.from_map(after.config)
    return (one.analyser, one.fields) == (other.analyser, other.fields)


def _family_stats(state: SnapshotParts) -> Iterator[FamilyStats]:
    yield FamilyStats(
        "identities",
        len(state.identities),
        sum(len(segment.column("ids")) for segment in state.identities),
        0,
        sum(segment.size_bytes for segment in state.identities),
    )
    for (kind, name), parts in state.items():
        yield FamilyStats(
            f"{kind}/{name}" if name else kind,
            len(parts),
            sum(part.segment.row_count for part in parts),
            sum(part.dead_count for part in parts),
            sum(part.segment.size_bytes for part in parts),
        )
