"""The blocks of an open transaction that are too many for memory: they wait in a file.

The file is in the folder of the repository, beside the store, and has no name: nobody else sees it,
no collection of garbage can delete from it, and it ends with the transaction, also if the process
is killed. The commit reads each block from it once, checks its hash, and puts it into the store in
the step that makes it visible. Only where a block lies is in memory, 48 bytes each.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid
from ibidem.objects.cid_table import CidTable
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.forking import ForkLock
from ibidem.objects.root import EDGES, NODES
from ibidem.store.files import medium_error

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.repo.transaction.changeset import ChangeSet

STAGED_BYTES_MAX = 256 << 20
"""Above this, staged blocks wait in a file."""
ENTRY_BYTES = 200
"""Memory overhead of one block."""
_SIZE_BITS = 24
"""A note of the table has the size of a block below this bit, and where it begins above."""
_WRITTEN_TOGETHER = 1_000


class StagingFile:
    """Blocks in a file without a name; a source, which reads those of another one too."""

    def __init__(self, folder: Path, source: Source) -> None:
        """Makes an empty file.

        Raises:
            StorageError: the folder cannot be written to.
        """
        import tempfile  # imports `random`, which few transactions need

        self._folder = folder
        self._source = source
        self._where = CidTable()
        self._lock = ForkLock()
        """Held while the table is read or grows."""
        self._size = 0
        self._process = os.getpid()
        try:
            file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise medium_error(folder, error) from error
        self._descriptor = file.fileno()
        weakref.finalize(self, file.close)

    def add(self, blocks: Mapping[Cid, bytes]) -> None:
        """Appends blocks.

        Raises:
            StorageError: the disk is full or fails; none of the blocks is here.
            InvalidInputError: in a forked process, where it would overwrite what the other adds.
        """
        if os.getpid() != self._process:
            raise InvalidInputError(
                f"transaction: got more changes in process {os.getpid()}, expected them in process "
                f"{self._process}, which began it",
                hint="begin another one in the forked process",
            )
        notes: list[int] = []
        at, waiting = self._size, iter(blocks.values())
        while some := list(islice(waiting, _WRITTEN_TOGETHER)):
            start = at
            for block in some:
                notes.append(at << _SIZE_BITS | len(block))
                at += len(block)
            self._write(b"".join(some), start)
        with self._lock:
            self._where.add_all(b"".join([cid.raw for cid in blocks]), notes)
        self._size = at

    def _write(self, data: bytes, at: int) -> None:
        rest = memoryview(data)
        try:
            while rest:
                count = os.pwrite(self._descriptor, rest, at)
                rest, at = rest[count:], at + count
        except OSError as error:
            raise medium_error(self._folder, error) from error

    def __contains__(self, cid: Cid) -> bool:
        return self._notes((cid,)) != [None]

    def get(self, cid: Cid) -> bytes:
        """Returns a block; raises as the other source does for one that neither has."""
        block = self.found(cid)
        return self._source.get(cid) if block is None else block

    def found(self, cid: Cid) -> bytes | None:
        """Returns a block that is in the file, None for any other."""
        (note,) = self._notes((cid,))
        return None if note is None else self._read(note)

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        """Returns the blocks in the order of `cids`; others are read together."""
        wanted = list(cids)
        notes = self._notes(wanted)
        absent = [cid for cid, note in zip(wanted, notes, strict=True) if note is None]
        others = iter(self._source.get_many(absent) if absent else ())
        return [next(others) if note is None else self._read(note) for note in notes]

    def _notes(self, cids: Iterable[Cid]) -> list[int | None]:
        with self._lock:
            return [self._where.note(cid.raw) for cid in cids]

    def _read(self, note: int) -> bytes:
        try:
            return os.pread(self._descriptor, note & (1 << _SIZE_BITS) - 1, note >> _SIZE_BITS)
        except OSError as error:
            raise medium_error(self._folder, error) from error


class StagedBlocks(Mapping[Cid, bytes]):
    """The blocks that the edits of a large transaction refer to, each read when it is needed."""

    def __init__(
        self, batch: WriteBatch, file: StagingFile, edits: ChangeSet, contents: Sequence[Cid]
    ) -> None:
        """Reads nothing yet.

        Args:
            batch: of the staged blocks, over the file.
            contents: raw blocks that nodes refer to.
        """
        self.batch = batch
        self._file = file
        self._edits = edits
        self._contents = contents
        self._cids: list[Cid] | None = None

    def __getitem__(self, cid: Cid) -> bytes:
        block = self.batch.new.get(cid)
        if block is None:
            block = self._file.found(cid)
        if block is None:
            raise KeyError(cid)
        return block

    def __contains__(self, cid: object) -> bool:
        return isinstance(cid, Cid) and (cid in self.batch.new or cid in self._file)

    def __iter__(self) -> Iterator[Cid]:
        return iter(self._listed())

    def __len__(self) -> int:
        return len(self._listed())

    def _listed(self) -> list[Cid]:
        if self._cids is None:
            own: list[Cid] = []
            shared = {cid.raw: cid for cid in self._contents}
            for tree_name, entries in self._edits.trees.items():
                staged = [cid for cid in entries.values() if cid is not None]
                if tree_name in (NODES, EDGES):
                    own += staged  # these blocks contain their ids, so that no two are the same
                else:
                    shared.update((cid.raw, cid) for cid in staged)
            self._cids = own + list(shared.values())
        return self._cids
