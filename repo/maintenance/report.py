"""What a check of a repository came to: faults, each with what can mend it.

A fault is something that an answer, a ref or a log entry could suffer from, or a secret that was to
be destroyed and is not yet. A note is something
odd that none of them can: bytes cut off by a crash, a file that is not believed anyway. What was
erased on purpose is counted and is no fault.
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
    """A block that something needs is not here."""
    DAMAGED = "damaged"
    """A block's bytes are not those that its CID names."""
    MALFORMED = "malformed"
    """A block has its hash and breaks the format."""
    UNKNOWN = "unknown"
    """A kind or version that this program does not know."""
    DANGLING = "dangling"
    """An edge or vector without its node."""
    REF = "ref"
    """A branch, tag or other name is not what it should be."""
    LOG = "log"
    """The operation log does not follow from itself."""
    CELL = "cell"
    """A cell of the store is missing, unknown or of another form."""
    PAGE = "page"
    """The file of the store is not laid out as it must be."""
    ERASURE = "erasure"
    """An erased block is here again, or an erasure's signature is wrong."""
    UNFINISHED = "unfinished"
    """An erasure was cut short: what it destroys may still be here, and waits to be destroyed."""
    KEY = "key"
    """A file of the keyring is damaged."""
    RECEIPT = "receipt"
    """A part of the receipt log is not whole."""
    INDEX = "index"
    """A file of the index is not what it should be."""
    CACHE = "cache"
    """A frame of the embedding cache is not what it should be."""
    DISAGREEMENT = "disagreement"
    """A second library reads a block differently (`fsck --deep`)."""


DERIVED = frozenset((FaultKind.INDEX, FaultKind.CACHE))
"""Faults of what can be made again from the blocks."""
FETCHED = frozenset((FaultKind.MISSING, FaultKind.DAMAGED))
"""Faults that another copy can mend."""
_HARMLESS = DERIVED | {FaultKind.UNFINISHED}
"""Faults that no answer suffers from: nothing that is needed is missing or wrong."""


@record
class Fault:
    """One thing that is wrong."""

    kind: FaultKind
    where: str
    """What it is a fault of: a block by CID, a file, a name."""
    detail: str
    cid: Cid | None = None
    """The block that is missing or damaged."""
    needed_by: str = ""
    """What led there, such as a branch or a commit."""

    def __str__(self) -> str:
        owner = f" (needed by {self.needed_by})" if self.needed_by else ""
        return f"{self.kind}: {self.where}: {self.detail}{owner}"


@record
class FsckReport:
    """What `fsck` read and found."""

    faults: tuple[Fault, ...]
    notes: tuple[str, ...] = ()
    """What is odd and harmless, one sentence each."""
    erased_count: int = 0
    """Blocks that something needs and that were erased on purpose."""
    unreachable_count: int = 0
    """Blocks that nothing needs; `gc` removes them."""
    block_count: int = 0
    """Blocks read and checked."""
    size_bytes: int = 0
    """In those blocks."""
    counts: Mapping[str, int] = field(default_factory=empty)
    """Reachable blocks by kind, and `page`, `logged-receipt`, `embedding`."""
    repaired: tuple[str, ...] = ()
    """What `repair` has mended, one sentence each."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    @property
    def is_data_whole(self) -> bool:
        """Whether nothing is wrong but what can be made again from the blocks, or carried on."""
        return all(fault.kind in _HARMLESS for fault in self.faults)
