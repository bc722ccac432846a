"""Quantised impacts: one byte per posting, which bounds what the posting can add to a score.

With tf the frequency, n the length of the row and m the mean length of the segment's rows,

    ratio = tf / (tf + k1 · ((1 - b) + b · n / m))          between 0 and 1

and the impact q, 1 to 255, has (q - 1) / 255 <= ratio <= (1 + 2^-39) q / 255. It is computed for
the parameters in `term.reference`; for others the reader widens the bound.

Columns, p postings of k terms in n rows:
    term.impacts   (p,) uint8
    term.tops      (k,) uint8: the largest impact of each term
    term.reference (6,) float64: k1, b, m, rows with a term, terms in all of them, longest row
    dense.terms    (c,) uint32 ascending: terms that many rows have
    dense.impacts  (c, n) uint8: their impacts by row, 0 where a row does not have the term

Spec: retrieval 4.1.1.
"""

from __future__ import annotations

import numpy as np

from ibidem.index.arrays import Array, Columns
from ibidem.objects.constants import BM25_B, BM25_K1

LEVELS = 255
DENSE_ROWS_MIN = 4_096
"""Segments with fewer rows have no dense columns."""
DENSE_SHARE = 8
"""Terms that at least one in this many rows has are dense: adding a whole column is then faster
than adding single postings."""
_DOWN = 1.0 - 2.0**-40
_CHUNK = 1 << 20


def impact_columns(columns: Columns) -> Columns:
    """Returns the impact columns for the terms of a segment's rows."""
    starts, rows = columns["term.starts"].astype(np.int64), columns["term.rows"]
    frequencies, lengths = columns["term.values"], columns["lengths"]
    documents, terms = int(np.count_nonzero(lengths)), int(lengths.sum(dtype=np.uint64))
    mean = terms / documents if documents else 1.0
    shares = BM25_K1 * ((1.0 - BM25_B) + BM25_B * (lengths / mean))
    impacts = np.empty(len(rows), np.uint8)
    for start in range(0, len(rows), _CHUNK):
        part = slice(start, start + _CHUNK)
        ratio = frequencies[part].astype(np.float64)
        ratio /= shares[rows[part]] + ratio
        ratio *= LEVELS * _DOWN
        np.floor(ratio, out=ratio)
        impacts[part] = ratio.astype(np.uint8) + np.uint8(1)
    tops = np.maximum.reduceat(impacts, starts[:-1]) if len(rows) else np.empty(0, np.uint8)
    longest = int(lengths.max(initial=0))
    reference = np.array([BM25_K1, BM25_B, mean, documents, terms, longest], np.float64)
    made = {"term.impacts": impacts, "term.tops": tops, "term.reference": reference}
    return made | _dense_columns(starts, rows, impacts, len(lengths))


def _dense_columns(starts: Array, rows: Array, impacts: Array, row_count: int) -> Columns:
    wide = np.empty(0, np.int64)
    if row_count >= DENSE_ROWS_MIN:
        wide = np.flatnonzero(np.diff(starts) * DENSE_SHARE >= row_count)
    matrix = np.zeros((len(wide), row_count), np.uint8)
    for line, index in zip(matrix, wide.tolist(), strict=True):
        span = slice(int(starts[index]), int(starts[index + 1]))
        line[rows[span]] = impacts[span]
    return {"dense.terms": wide.astype(np.uint32), "dense.impacts": matrix}
