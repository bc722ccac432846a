"""Every number of the dense lane that can change without changing an answer.

They decide how much is read at a time, when threads help, and when a pass is worth its cost. Any
values give the same rows and the same scores. Error bounds, which proofs need, stand beside the
proofs (`retrieve/dense/bounds.py`, `retrieve/dense/quantizers.py`).

Each says its unit and what it trades. A measurement is named where the history of the code records
one; where none is named, none is recorded. `bench/dense.py` is the place to make one.
"""

from __future__ import annotations

from ibidem.objects.record import record

# Queries and universes.

BATCH_QUERIES_MAX = 64
"""Queries that share a scan at most, which bounds the candidates held in memory."""
LOOKUP_SHARE = 8
"""A universe with less than one member per this many rows of a segment is looked up by node."""
GATHER_SHARE = 6
"""Rows are copied together before a pass where less than one in this many is wanted; else all are
read and the rest is masked."""


@record
class Tuning:
    """How one scan reads rows: how many at a time, by how many threads, when it gives up."""

    # Reading rows.

    first_chunk_rows: int = 8_192
    """Rows of the first chunk, which give the first threshold."""
    chunk_growth: int = 8
    """A chunk has at most this many times the rows read so far, and the threshold is raised
    whenever that many more were read."""
    chunk_rows_min: int = 256
    chunk_rows_max: int = 65_536
    """Rows of a chunk; few and large ones, since Python's share of a small chunk took as long as
    its products."""
    gathered_chunk_rows: int = 2_048
    """Rows of a chunk that has to be copied together."""
    chunk_products: int = 1 << 17
    """Products of a chunk: half a megabyte of float32, which stays in a near cache."""
    norms_alike: float = 1.0 + 2.0**-8
    """Quotient of the largest and smallest norm of a chunk up to which one cutoff, for the worst
    norm, serves all of its rows."""

    # Threads.

    shared_chunks_min: int = 4
    shared_chunk_products_min: int = 1 << 15
    """Chunks, and products of each on average, from which threads share them."""

    # Rows that codes cannot tell apart.

    sample_rows: int = 2_048
    """Rows of the sample, spread over all segments, that decides whether codes are of use."""
    sample_share: int = 4
    """A sample is taken only of more than this many times its rows."""
    indistinct_share: int = 4
    """A query is handed to the float32 pass when more than one sampled row in this many may be
    among the best of the sample,"""
    indistinct_depths: int = 16
    """where a sample counts as this many times the depth at least."""


TUNING = Tuning()
"""What was measured to be best."""

# Thresholds and refinement.

THRESHOLD_BLOCKS = 4
"""Block maxima for every wanted row from which a threshold is selected, instead of from all
values."""
REFINE_ROWS = 16
"""A finer pass is made when this many more rows are left than are wanted, or, in float64, this many
more than twice as many."""
GATHERED_COMPONENTS = 1 << 17
"""Components of rows that are copied together: half a megabyte. Larger temporaries come from the
system and go back page by page: half of the time of the finer passes at 100,000 rows."""
FLOAT64_COMPONENTS = 1 << 14
"""Components widened to float64 at a time: 128 kB, for the same reason."""

# Products.

BLOCK_PRODUCT_QUERIES_MIN = 4
"""Queries from which multiplying blocks (`numkong`) beats multiplying row by row (`simsimd`)."""
WIDENED_ROWS = 512
"""Rows of codes that numpy widens at a time, in one reused array: fresh memory for every piece cost
a fifth of the products."""
