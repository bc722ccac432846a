"""What a copy did: which refs moved, and how much was moved for it."""

from __future__ import annotations

from enum import StrEnum

from ibidem.objects.cid import Cid
from ibidem.objects.record import record


class Move(StrEnum):
    """What became of one ref; stable, append-only."""

    CREATED = "created"
    FORWARDED = "forwarded"
    """The new target comes after the old one."""
    FORCED = "forced"
    """The new target does not come after the old one, and that was asked for."""
    MERGED = "merged"
    """Both sides had gone on; a commit joins them."""
    DELETED = "deleted"
    UNCHANGED = "unchanged"
    KEPT = "kept"
    """It stands elsewhere here, and was left there."""


@record
class RefMove:
    """One ref, before and after."""

    name: str
    """The full name."""
    before: Cid | None
    after: Cid | None
    how: Move


@record
class CopyReport:
    """What was copied."""

    moves: tuple[RefMove, ...]
    block_count: int = 0
    """How many blocks were moved."""
    size_bytes: int = 0
    """How many bytes of blocks were moved."""
    conflict_count: int = 0
    """How many conflicts a merge left to be resolved."""
    erasure_count: int = 0
    """How many erasures from elsewhere were carried out."""
    refused_erasure_count: int = 0
    """How many were not, because no key that may erase here has signed them."""
