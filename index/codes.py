"""Eight-bit codes of dense rows, with what is needed to bound the error that they make.

A row x of norm |x| is kept as int8 codes c, a scale s and a residual p, such that x = |x|(s c + r)
with |r| <= p. All three are relative to |x|, so they mean the same for huge, tiny and subnormal
rows. Retrieval scans the codes with exact integer products and knows how far it can be off.

    codes     (n, d) int8 in [-127, 127]
    scale     (n,) float32, the value that brings s c nearest to x / |x|
    residual  (n,) float32, at least |x / |x| - s c|, for the scale as it is stored
    norms     (n,) float64, |x| with a relative error below 2^-38

Codes, scale, residual and norm of a zero row are exactly zero; no other row has a norm of zero.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ibidem.index.arrays import Array, Columns

CODE_COLUMNS = ("codes", "norms", "residual", "scale")
LEVELS = 127
_CHUNK_COMPONENTS = 1 << 16
"""Components worked on at a time: half a megabyte, so that temporaries stay in a near cache."""
_SLACK = 2.0**-21
"""Absolute and relative: more than the float64 roundings here, the error of the norm, and the
rounding of the residual to float32."""


def encode_rows(rows: npt.NDArray[np.float32]) -> Columns:
    """Returns the columns `CODE_COLUMNS` of (n, d) float32 rows, finite."""
    count, dim = rows.shape
    columns: Columns = {
        "codes": np.zeros((count, dim), np.int8),
        "norms": np.zeros(count, np.float64),
        "residual": np.zeros(count, np.float32),
        "scale": np.zeros(count, np.float32),
    }
    step = max(1, _CHUNK_COMPONENTS // max(1, dim))
    for start in range(0, count, step):
        part = slice(start, min(count, start + step))
        for name, values in zip(CODE_COLUMNS, _encode(rows[part]), strict=True):
            columns[name][part] = values
    return columns


def _encode(rows: npt.NDArray[np.float32]) -> tuple[Array, Array, Array, Array]:
    """Returns codes, norms, residual and scale.

    float64 squares of float32 neither overflow nor underflow.
    """
    unit = rows.astype(np.float64)
    norms = np.sqrt(np.einsum("ij,ij->i", unit, unit))
    unit /= np.where(norms > 0.0, norms, 1.0)[:, None]
    largest = np.maximum(unit.max(axis=1), -unit.min(axis=1))
    largest[largest == 0.0] = 1.0
    codes = unit * (LEVELS / largest)[:, None]
    np.rint(codes, out=codes)
    np.clip(codes, -LEVELS, LEVELS, out=codes)
    weight = np.einsum("ij,ij->i", codes, codes)
    weight[weight == 0.0] = 1.0
    scale = (np.einsum("ij,ij->i", unit, codes) / weight).astype(np.float32)
    unit -= codes * scale.astype(np.float64)[:, None]
    residual = np.sqrt(np.einsum("ij,ij->i", unit, unit))
    residual = np.where(norms > 0.0, residual * (1.0 + _SLACK) + _SLACK, 0.0)
    return codes.astype(np.int8), norms, residual.astype(np.float32), scale
