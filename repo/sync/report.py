"""The result of a copy: which refs moved, and how much was transferred."""

from __future__ import annotations

from enum import StrEnum

from ibidem.objects.cid import Cid
from ibidem.objects.record import record


class Move(StrEnum):
    """How a ref moved; stable, append-only."""

    CREATED = "created"
    FORWARDED = "forwarded"
    """The new target descends from the old one."""
    FORCED = "forced"
    """The new target does not descend from the old one; the move was forced."""
    MERGED = "merged"
    """The sides had diverged; a commit merges them."""
    DELETED = "deleted"
    UNCHANGED = "unchanged"
    KEPT = "kept"
    """The ref has another target here, and was left unchanged."""


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
    """How many blocks were transferred."""
    size_bytes: int = 0
    """The total size of those blocks."""
    conflict_count: int = 0
    """How many conflicts a merge recorded."""
    erasure_count: int = 0
    """How many erasures from elsewhere were carried out."""
    refused_erasure_count: int = 0
    """How many were not, because no key that may erase here signed them."""
