"""Blocks of a remote store that this machine keeps: in memory, and in a local store.

A cache decides how long a read takes, never what it returns: every block is checked against its CID
when it enters, and again when it comes from the disk. A disk that fails is passed over, unless
copies have to be destroyed on it.

Several processes share the disk. When one of them destroys blocks there, because they were deleted
from the store, it counts that first. The others have read some of these blocks, perhaps, and may do
so again until they look at the store: what they read is not written to the disk before that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ibidem.objects.cid import Cid
from ibidem.objects.errors import ConflictError, IbidemError, NotFoundError
from ibidem.objects.forking import ForkLock
from ibidem.store.protocol import Store

COPIES = "copies"
"""The folder of the local store, in that for what this machine keeps of a repository."""
MEMORY_BYTES_MAX = 64 << 20
DISK_BYTES_MAX = 4 << 30
"""A local store larger than this is emptied when it is opened."""
_PENDING_BYTES_MAX = 4 << 20
_FORGOTTEN, _MARK, _NOTE = "forgotten", "mark", "note"
"""The cells of the local store: how often blocks were destroyed in it, see `follow` and `note`."""


class BlockCache:
    """A bounded part of the blocks of one store; safe to use from several threads."""

    def __init__(
        self,
        folder: Path | None,
        *,
        memory_bytes_max: int = MEMORY_BYTES_MAX,
        disk_bytes_max: int = DISK_BYTES_MAX,
    ) -> None:
        self._folder = folder
        self._memory_bytes_max = memory_bytes_max
        self._disk_bytes_max = disk_bytes_max
        self._held: OrderedDict[bytes, bytes] = OrderedDict()
        self._held_bytes = 0
        self._pending: dict[Cid, bytes] = {}
        self._pending_bytes = 0
        self._disk: Store | None = None
        self._is_current = False
        """Whether this process has looked at the store since it last saw others destroy blocks."""
        self._forgotten: bytes | None = None
        """How often blocks were destroyed on the disk before that look."""
        self._mark: bytes | None = None
        self._is_void = False
        """Whether copies on the disk have to be destroyed before it is read again."""
        self._lock = ForkLock()

    def get_many(self, cids: Iterable[Cid]) -> dict[Cid, bytes]:
        """Returns those of the blocks that are here."""
        found: dict[Cid, bytes] = {}
        absent: list[Cid] = []
        with self._lock:
            for cid in cids:
                block = self._held.get(cid.raw)
                if block is None:
                    absent.append(cid)
                else:
                    self._held.move_to_end(cid.raw)
                    found[cid] = block
            disk = self._opened() if absent and not self._is_void else None
        if disk is not None:
            for cid in absent:
                with suppress(IbidemError):
                    if disk.has(cid):
                        found[cid] = disk.get(cid)
        return found

    def add(self, blocks: Mapping[Cid, bytes]) -> None:
        """Keeps blocks, which the caller has checked."""
        with self._lock:
            for cid, block in blocks.items():
                if cid.raw not in self._held:
                    self._held[cid.raw] = block
                    self._held_bytes += len(block)
                    if self._folder is not None:
                        self._pending[cid] = block
                        self._pending_bytes += len(block)
            while self._held_bytes > self._memory_bytes_max:
                self._held_bytes -= len(self._held.popitem(last=False)[1])
            if self._pending_bytes > _PENDING_BYTES_MAX:
                self._flush()

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Surrounds a look at the store, which makes known what was deleted so far; one at a
        time."""
        is_known = True
        if not self._is_current:
            with self._lock:
                disk = self._opened()
                try:
                    self._forgotten = None if disk is None else disk.cell(_FORGOTTEN)
                except IbidemError:
                    is_known = False  # nothing is written there until the next look
        yield
        self._is_current = is_known

    def follow(self, mark: bytes) -> None:
        """Destroys all copies that were made under another mark, which the store changes when it
        deletes blocks.

        Raises:
            StorageError: the disk fails, so that they may still be readable.
        """
        with self._lock:
            if mark == self._mark:
                return
            self.discard()
            self._is_void = True
            disk = self._opened()
            if disk is not None and disk.cell(_MARK) != mark:
                self.forget(disk.cids(), mark=mark)
            self._mark, self._is_void = mark, False

    def discard(self) -> None:
        """Drops what is in memory, and what waits to be written to the disk."""
        with self._lock:
            self._held.clear()
            self._held_bytes = 0
            self._discard_pending()

    def note(self) -> bytes | None:
        """Returns what the last process of this machine noted when it closed the cache."""
        with self._lock:
            with suppress(IbidemError):
                disk = self._opened()
                return None if disk is None else disk.cell(_NOTE)
            return None

    def forget(self, cids: Iterable[Cid], *, mark: bytes | None = None) -> None:
        """Destroys the copies of blocks here, on the disk too.

        Args:
            mark: that the rest is valid under, if it has a new one.

        Raises:
            StorageError: the disk fails, so that they may still be readable.
        """
        with self._lock:
            chosen = list(cids)
            for cid in chosen:
                self._held_bytes -= len(self._held.pop(cid.raw, b""))
                self._pending.pop(cid, None)
            disk = self._opened()
            if disk is not None and (chosen or mark is not None):
                before, count = _counted(disk, is_unmarked=mark is not None)
                if self._forgotten == before:
                    self._forgotten = count
                if disk.delete(chosen):
                    disk.scrub()
                if mark is not None:
                    with suppress(ConflictError):  # another process is about to do the same
                        disk.publish({}, {_MARK: (None, mark)})
            if mark is not None:
                self._mark = mark

    def close(self, *, note: bytes | None = None) -> None:
        """Writes what is not on the disk yet, and closes the local store.

        Args:
            note: for the next process of this machine.
        """
        with self._lock:
            if self._pending:
                self._flush()
            if self._disk is not None and note is not None:
                with suppress(IbidemError):
                    before = self._disk.cell(_NOTE)
                    if note != before:
                        self._disk.publish({}, {_NOTE: (before, note)})
            if self._disk is not None:
                self._disk.close()
                self._disk = None
            self.discard()

    def _flush(self) -> None:
        disk = self._opened()
        if disk is not None and self._is_current:
            try:
                disk.publish(self._pending, {_FORGOTTEN: (self._forgotten, self._forgotten)})
            except ConflictError:  # these may be among what another process has destroyed
                self._is_current = False
            except IbidemError:
                pass  # a block that is not here is read again
        self._discard_pending()

    def _discard_pending(self) -> None:
        self._pending = {}
        self._pending_bytes = 0

    def _opened(self) -> Store | None:
        """Returns the local store, which is created when it is first needed."""
        if self._disk is None and self._folder is not None:
            from ibidem.store.lmdb.store import LmdbStore

            try:
                with suppress(NotFoundError):
                    self._disk = LmdbStore.open(self._folder)
                if self._disk is not None and self._disk.stats().size_bytes > self._disk_bytes_max:
                    self._disk.close()
                    self._disk = None
                    for name in self._folder.glob("*"):
                        name.unlink()
                if self._disk is None:
                    self._disk = LmdbStore.create(self._folder)
            except (IbidemError, OSError):
                self._folder = None  # works without
        return self._disk


def _counted(disk: Store, *, is_unmarked: bool) -> tuple[bytes | None, bytes]:
    """Counts that blocks are about to be destroyed; returns the counts before and after. The disk
    has no mark afterwards if it is to get another one."""
    while True:
        before, mark = disk.cell(_FORGOTTEN), disk.cell(_MARK)
        count = (int.from_bytes(before or b"", "big") + 1).to_bytes(8, "big")
        try:
            disk.publish(
                {}, {_FORGOTTEN: (before, count), _MARK: (mark, None if is_unmarked else mark)}
            )
        except ConflictError:
            continue
        return before, count
