"""Every number of the index that decides its layout and the moment of a merge, and no answer.

They trade the pause of a commit for the number of parts that a question reads. Any values give the
same answers, which the tests check with tiny ones.
"""

from __future__ import annotations

from ibidem.objects.record import record


@record
class Tuning:
    """How the parts of a family grow and are merged."""

    fresh_rows: int = 32
    """New rows are merged into the last part if the result has at most this many live rows."""
    tail_rows: int = 512
    """Otherwise the last two parts are merged if the result has at most this many live rows."""
    step_rows_max: int = 4_096
    """The most rows that a merge inside a commit moves, which bounds the pause."""
    tier_rows: tuple[int, ...] = (4_096, 32_768, 65_536)
    """Parts with fewer live rows than a bound are merged with each other, in parallel with
    commits."""
    tier_parts: int = 8
    """The number of parts in one tier at which they are merged."""
    patience: int = 3
    """Tiers this many times full are merged synchronously, because short processes end before their
    background merges do."""
    steps_before: int = 8
    """Snapshots that an index builds before it starts merges in the background: a process that runs
    one command ends too soon to benefit from them."""
    steps_unwritten: int = 7
    """So many snapshots that commits prepare follow one that was written before another is: they
    replace each other's small segments, and writing these takes half as long as making them."""
    merge_bytes_max: int = 96 << 20
    """Size of the segments that one merge reads, which is about the memory that it needs."""
    compact_rows: int = 131_072
    """The largest number of live rows in a part that `compact` builds; it leaves parts of half this
    size or more alone if few of their rows are dead."""
    beside_rows: int = 16_384
    """With fewer rows than this, a thread that builds their segment saves no time."""
    chunk_rows: int = 131_072
    """The most rows that are built into one segment."""


TUNING = Tuning()
"""What an index has unless it is given others."""
