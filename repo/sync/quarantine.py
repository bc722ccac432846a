"""Quarantine: received blocks wait outside the store until all of them are checked; no reader sees
them.

A block is accepted only if its hash, its form and its kind are right. A small quarantine is held in
memory, a large one in a store of its own in a temporary folder, so memory stays bounded whatever is
received. Nothing of it outlives the import: accepted blocks are published in one step, and refused
ones leave no trace. A clone needs no such store: nobody can open the repository that it fills, and
a refused copy is removed as a whole, so blocks are written there as they arrive, in batches. Of an
edge, a vector, and a node without parts or links, all that its place requires is noted, so that
only few values need be read again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import Cid
from ibidem.objects.cid_table import CidTable
from ibidem.objects.constants import VECTOR_DIM_MAX
from ibidem.objects.edge import Edge
from ibidem.objects.errors import ErrorKind, NotFoundError
from ibidem.objects.ids import ID_BYTES
from ibidem.objects.links import may_link
from ibidem.objects.node import Node
from ibidem.objects.vector import Vector
from ibidem.objects.verify import verify_block
from ibidem.repo.erasure.quarantines import claimed
from ibidem.store.backends import temporary_store
from ibidem.store.closing import Closing

if TYPE_CHECKING:
    from ibidem.objects.block import Block
    from ibidem.objects.blocks import Source
    from ibidem.repo.core import Core
    from ibidem.store.protocol import Store

Fields = Mapping[str, Any]
MEMORY_BYTES_MAX = 32 << 20
"""Above this, blocks wait on disk."""
_ENTRY_BYTES = 200
"""Memory overhead of one block."""
_AT_SHIFT = 32
"""In a note, the dimension of a vector or the kind of another value is below this bit, the index of
its ids above."""
_NODE, _EDGE = VECTOR_DIM_MAX + 1, VECTOR_DIM_MAX + 2
_ENDS = Struct(f"{ID_BYTES}s" * 3)


class Quarantine(Closing, Mapping[Cid, bytes]):
    """Blocks that were checked one by one; a context manager that drops the rest on exit."""

    def __init__(
        self,
        repository: Core,
        *,
        memory_bytes_max: int = MEMORY_BYTES_MAX,
        is_unseen: bool = False,
    ) -> None:
        """Makes an empty one.

        Args:
            is_unseen: whether nobody else can open the repository, so that blocks may wait in it.
        """
        self._guard = repository.guard
        self._parent = repository.folder
        self._memory_bytes_max = memory_bytes_max
        self._pending: dict[Cid, bytes] = {}
        self._pending_bytes = 0
        self._shared: Store | None = repository.store if is_unseen else None
        self._spilled: Store | None = self._shared
        self._here = CidTable()
        self._noted = _Noted()
        self._folder: Path | None = None
        self._lock = ExitStack()

    def take(self, blocks: Iterable[tuple[Cid, bytes]]) -> None:
        """Adds blocks, each after its check; leaves out erased ones.

        Raises:
            CorruptError, FormatError: a block does not match its CID, or violates the format.
            InvalidInputError: kind `forgotten`: a new version of a node that was erased here.
        """
        erased = self._guard.erased()
        new: dict[Cid, bytes] = {}
        notes: list[int] = []
        for cid, block in blocks:
            value = verify_block(cid, block)
            if cid.raw in erased.cids:
                continue
            if erased.nodes:
                self._guard.refuse({cid: block})
            new[cid] = block
            if len(new) > len(notes):
                notes.append(self._noted.note(value, block))
            self._pending_bytes += len(block) + _ENTRY_BYTES
            if self._pending_bytes > self._memory_bytes_max:
                self._add(new, notes)
                self._spill()
                new, notes = {}, []
        self._add(new, notes)

    def __getitem__(self, cid: Cid) -> bytes:
        block = self._pending.get(cid)
        if block is not None:
            return block
        if self._spilled is None or cid not in self:
            raise KeyError(cid)
        return self._spilled.get(cid)

    def get_many(self, cids: Sequence[Cid]) -> list[bytes]:
        """Returns blocks that are here, read together."""
        spilled = [cid for cid in cids if cid not in self._pending]
        if self._spilled is None or not spilled:
            return [self._pending[cid] for cid in cids]
        found = dict(zip(spilled, self._spilled.get_many(spilled), strict=True))
        return [self._pending[cid] if cid in self._pending else found[cid] for cid in cids]

    def __contains__(self, cid: object) -> bool:
        return isinstance(cid, Cid) and cid.raw in self._here

    def __iter__(self) -> Iterator[Cid]:
        yield from list(self._pending)
        if self._spilled is not None:
            yield from filter(self.__contains__, self._spilled.cids())

    def __len__(self) -> int:
        return len(self._here)

    def fields_of(self, cids: Iterable[Cid]) -> list[Fields | None]:
        """Returns the noted fields of the values in some blocks: all that their places require.
        They are empty where nothing was noted; None for a block that is not here."""
        notes = self._here.notes(b"".join([cid.raw for cid in cids]))
        return [None if note is None else self._noted.fields(note) for note in notes]

    def over(self, source: Source) -> Layered:
        """Returns a source that reads here first and then in `source`."""
        return Layered(self, source)

    def accept(
        self, is_accepted: Callable[[Cid], bool], *, is_all: bool = False
    ) -> Mapping[Cid, bytes]:
        """Returns the accepted blocks that are still to be published; the others are dropped where
        they wait in the repository.

        Args:
            is_accepted: whether a block that is here is accepted.
            is_all: whether every one is, so that none need be asked about.
        """
        if self._shared is None:
            return Chosen(self, is_accepted)
        if is_all:
            return self._pending
        waiting = (cid for cid in self._shared.cids() if cid in self and cid not in self._pending)
        refused = [cid for cid in waiting if not is_accepted(cid)]
        if refused:
            self._shared.delete(refused)
            self._shared.scrub()
        return Chosen(self._pending, is_accepted)

    def close(self) -> None:
        """Drops everything."""
        self._pending = {}
        if self._spilled is not None and self._spilled is not self._shared:
            self._spilled.close()
        self._spilled = None
        self._lock.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _add(self, blocks: dict[Cid, bytes], notes: Sequence[int]) -> None:
        """Adds blocks that were checked, except those that are here already.

        Args:
            notes: for each block, what was noted of its value.
        """
        new = list(self._here.absent(blocks))
        is_all = len(new) == len(blocks)
        self._here.add_all(b"".join([cid.raw for cid in new]), notes if is_all else None)
        self._pending |= blocks if is_all else {cid: blocks[cid] for cid in new}

    def _spill(self) -> None:
        if self._spilled is None:
            self._folder = claimed(self._parent, self._lock)
            self._spilled = temporary_store(self._folder / "blocks")
        self._spilled.put(self._pending)
        self._pending = {}
        self._pending_bytes = 0


class _Noted:
    """What the places of values require of them, in 16 bytes a node and 48 bytes an edge."""

    def __init__(self) -> None:
        self._ids = bytearray()

    def note(self, value: Block | None, block: bytes) -> int:
        """Returns a number of eight bytes from which `fields` returns fields of the value; 0 for a
        value that must be read: one with parts or links, or of a kind that few values have."""
        if type(value) is Vector:
            return value.dim
        at = len(self._ids) // ID_BYTES
        if type(value) is Edge:
            self._ids += value.id.raw + value.src.raw + value.dst.raw
            return at << _AT_SHIFT | _EDGE
        if type(value) is Node and not value.children and not may_link(block):
            self._ids += value.id.raw
            return at << _AT_SHIFT | _NODE
        return 0

    def fields(self, note: int) -> Fields:
        """Returns the fields behind a note."""
        low = note & (1 << _AT_SHIFT) - 1
        start = (note >> _AT_SHIFT) * ID_BYTES
        if low == _NODE:
            return {"kind": Node.KIND, "id": bytes(self._ids[start : start + ID_BYTES])}
        if low == _EDGE:
            own, src, dst = _ENDS.unpack_from(self._ids, start)
            return {"kind": Edge.KIND, "id": own, "src": src, "dst": dst}
        return {"kind": Vector.KIND, "dim": low} if low else {}


class Layered:
    """Blocks in quarantine first, then those of the store."""

    def __init__(self, quarantine: Quarantine, source: Source) -> None:
        self._quarantine = quarantine
        self._source = source

    def get(self, cid: Cid) -> bytes:
        """Returns the block; raises `NotFoundError` where neither has it."""
        block = self._quarantine.get(cid)
        return self._source.get(cid) if block is None else block

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        """Returns the blocks in the order of `cids`; those of either side are read together."""
        wanted = list(cids)
        here = [cid for cid in wanted if cid in self._quarantine]
        found = dict(zip(here, self._quarantine.get_many(here), strict=True))
        there = [cid for cid in wanted if cid not in found]
        if there:
            found.update(zip(there, self._source.get_many(there), strict=True))
        return [found[cid] for cid in wanted]


class Chosen(Mapping[Cid, bytes]):
    """Some blocks of a mapping: those of a quarantine to publish."""

    def __init__(self, blocks: Mapping[Cid, bytes], is_chosen: Callable[[Cid], bool]) -> None:
        self._blocks = blocks
        self._is_chosen = is_chosen

    def __getitem__(self, cid: Cid) -> bytes:
        if not self._is_chosen(cid):
            raise KeyError(cid)
        return self._blocks[cid]

    def __iter__(self) -> Iterator[Cid]:
        return filter(self._is_chosen, self._blocks)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def missing_from_pack(cid: Cid, what: str) -> NotFoundError:
    """Returns the error for a required block that was not sent."""
    return NotFoundError(
        f"{what} {cid} is not among what was sent",
        kind=ErrorKind.BLOCK_NOT_FOUND,
        hint="it is incomplete; or it was erased there, by no key that may erase here: authorise "
        "that key by 'repo key trust --may-erase', or squash the commits there that had it",
    )
