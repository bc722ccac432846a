"""The result of checking a repository: faults, each with the way to repair it.

A fault can affect an answer, a ref or a log entry, or leaves erased data that was not destroyed
yet. A note is an irregularity that affects none of them: bytes cut off by a crash, a file that is
not trusted anyway. Blocks erased on purpose are counted and are no fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from ibidem.objects.block import empty
from ibidem.objects.cid import Cid
from ibidem.objects.record import record


class FaultKind(StrEnum):
    """What is wrong; stable, append-only."""

    MISSING = "missing"
    """A referenced block is not here."""
    DAMAGED = "damaged"
    """A block's bytes are not those that its CID names."""
    MALFORMED = "malformed"
    """A block matches its hash but violates the format."""
    UNKNOWN = "unknown"
    """An unknown kind or version."""
    DANGLING = "dangling"
    """An edge or vector without its node."""
    REF = "ref"
    """A branch, tag or other name is invalid."""
    LOG = "log"
    """The operation log is inconsistent."""
    CELL = "cell"
    """A cell of the store is missing, unknown or malformed."""
    PAGE = "page"
    """The layout of the store's file is damaged."""
    ERASURE = "erasure"
    """An erased block is here again, or an erasure's signature is wrong."""
    UNFINISHED = "unfinished"
    """An interrupted erasure: data that it is to destroy may still be here."""
    KEY = "key"
    """A file of the keyring is damaged."""
    RECEIPT = "receipt"
    """A part of the receipt log is damaged."""
    INDEX = "index"
    """A file of the index is damaged."""
    CACHE = "cache"
    """A frame of the embedding cache is damaged."""
    DISAGREEMENT = "disagreement"
    """A second library reads a block differently (`fsck --deep`)."""


DERIVED = frozenset((FaultKind.INDEX, FaultKind.CACHE))
"""Faults of data that can be rebuilt from the blocks."""
FETCHED = frozenset((FaultKind.MISSING, FaultKind.DAMAGED))
"""Faults that can be repaired with another copy."""
_HARMLESS = DERIVED | {FaultKind.UNFINISHED}
"""Faults that affect no answer: nothing needed is missing or wrong."""


@record
class Fault:
    """One fault."""

    kind: FaultKind
    where: str
    """Its location: a block by CID, a file, a name."""
    detail: str
    cid: Cid | None = None
    """The block that is missing or damaged."""
    needed_by: str = ""
    """What refers to it, such as a branch or a commit."""

    def __str__(self) -> str:
        owner = f" (needed by {self.needed_by})" if self.needed_by else ""
        return f"{self.kind}: {self.where}: {self.detail}{owner}"


@record
class FsckReport:
    """What `fsck` read and found."""

    faults: tuple[Fault, ...]
    notes: tuple[str, ...] = ()
    """Harmless irregularities, one sentence each."""
    erased_count: int = 0
    """Referenced blocks that were erased on purpose."""
    unreachable_count: int = 0
    """Unreferenced blocks; `gc` deletes them."""
    block_count: int = 0
    """Blocks read and checked."""
    size_bytes: int = 0
    """Total size of those blocks."""
    counts: Mapping[str, int] = field(default_factory=empty)
    """Reachable blocks by kind, and `page`, `logged-receipt`, `embedding`."""
    repaired: tuple[str, ...] = ()
    """What `repair` has repaired, one sentence each."""

    @property
    def is_clean(self) -> bool:
        """Whether there are no faults."""
        return not self.faults

    @property
    def is_data_whole(self) -> bool:
        """Whether all faults concern data that can be rebuilt from the blocks, or an erasure to
        complete.
        """
        return all(fault.kind in _HARMLESS for fault in self.faults)
