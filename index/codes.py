"""Eight-bit codes of dense rows, with what is needed to bound the error that they make.

A row x of norm |x| has the direction y = x / |x|, which is 0 for a zero row. It is kept as int8
codes c, a scale s and a residual p, such that y = m + s c + r with |r| <= p. All are relative to
|x|, so they mean the same for huge, tiny and subnormal rows. Retrieval scans the codes with exact
integer products and knows how far it can be off.

m, the centre, belongs to the segment: the mean of its directions where they lean one way, else 0.
Near-duplicates differ in what is left beside a centre and in nothing else.

    codes     (n, d) int8 in [-127, 127]
    scale     (n,) float32, the value that brings s c nearest to y - m
    residual  (n,) float32, at least |y - m - s c|, for the scale as it is stored
    norms     (n,) float64, |x| with a relative error below 2^-38
    lean      (n,) float32, <y, m> less `lean` of the centre: where there is a centre
    centre.direction (d,) float32, m
    centre.numbers   (2,) float64: the mean of <y, m>, and at least the largest |s c|

Without a centre, codes, scale, residual and norm of a zero row are exactly zero; in any case no
other row has a norm of zero.

Spec: retrieval 4.2.1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ibidem.index.arrays import Array, Columns

CODE_COLUMNS = ("codes", "norms", "residual", "scale")
CENTRE, CENTRE_NUMBERS, LEAN = "centre.direction", "centre.numbers", "lean"
CENTRE_COLUMNS = (CENTRE, CENTRE_NUMBERS, LEAN)
LEVELS = 127
CENTRED_ROWS_MIN = 1_024
"""Segments with fewer rows have no centre: telling their rows apart saves nothing."""
CENTRE_SQUARE_MIN = 0.25
"""The least |m|²: with less, a centre gains little and costs a pass over the products."""
_SAMPLE_ROWS = 1_024
_CHUNK_COMPONENTS = 1 << 16
"""Components worked on at a time: half a megabyte, so that temporaries stay in a near cache."""
_SLACK = 2.0**-21
"""Absolute and relative: more than the float64 roundings here, the error of the norm, and the
rounding of the residual to float32."""
_UPWARDS = 1.0 + 2.0**-30


def encode_rows(rows: npt.NDArray[np.float32]) -> Columns:
    """Returns the columns `CODE_COLUMNS` of (n, d) float32 rows, finite, and `CENTRE_COLUMNS` where
    they lean one way."""
    count, dim = rows.shape
    columns: Columns = {
        "codes": np.zeros((count, dim), np.int8),
        "norms": np.zeros(count, np.float64),
        "residual": np.zeros(count, np.float32),
        "scale": np.zeros(count, np.float32),
    }
    centre = centre_of(rows)
    exact = None if centre is None else centre.astype(np.float64)
    leans, reach = np.zeros(0 if exact is None else count, np.float64), 0.0
    step = max(1, _CHUNK_COMPONENTS // max(1, dim))
    for start in range(0, count, step):
        part = slice(start, min(count, start + step))
        rest, columns["norms"][part] = directions(rows[part])
        if exact is not None:
            leans[part] = np.einsum("ij,j->i", rest, exact)
            rest -= exact
        codes, scale, residual, reaches = quantised(rest)
        columns["codes"][part], columns["scale"][part] = codes, scale
        columns["residual"][part] = residual
        reach = max(reach, float(reaches.max(initial=0.0)))
    if centre is None:
        columns["residual"][columns["norms"] == 0.0] = 0.0
        return columns
    mean = float(leans.sum() / count)
    columns[CENTRE] = centre
    columns[CENTRE_NUMBERS] = np.array([mean, reach], np.float64)
    columns[LEAN] = (leans - mean).astype(np.float32)
    return columns


def centre_of(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32] | None:
    """Returns the mean direction of some rows spread over all, (d,); None where it is short, or the
    rows are few. Any would do: only how many rows a scan leaves depends on it."""
    if len(rows) < CENTRED_ROWS_MIN:
        return None
    found, _ = directions(rows[:: -(-len(rows) // _SAMPLE_ROWS)])
    mean: Array = (found.sum(axis=0) / len(found)).astype(np.float32)
    square = float((mean.astype(np.float64) ** 2).sum())
    # Rounded means can be a little longer than any direction.
    return mean if CENTRE_SQUARE_MIN <= square <= 1.0 else None


def directions(rows: npt.NDArray[np.float32]) -> tuple[Array, Array]:
    """Returns (n, d) float64 rows over their norms, 0 for zero rows, and the (n,) norms.

    float64 squares of float32 neither overflow nor underflow.
    """
    unit = rows.astype(np.float64)
    norms = np.sqrt(np.einsum("ij,ij->i", unit, unit))
    unit /= np.where(norms > 0.0, norms, 1.0)[:, None]
    return unit, norms


def quantised(rest: Array) -> tuple[Array, Array, Array, Array]:
    """Returns codes, scale, residual, and at least |s c|, of (n, d) float64 values of length 2 at
    most; `rest` is used up."""
    largest = np.maximum(rest.max(axis=1), -rest.min(axis=1))
    # Below this, dividing could overflow; the codes are then 0, and the residual says how far off.
    largest[largest < 1e-290] = np.inf
    codes = rest * (LEVELS / largest)[:, None]
    # Roundings bring none as far as LEVELS and a half.
    np.rint(codes, out=codes)
    weight = np.einsum("ij,ij->i", codes, codes)
    weight[weight == 0.0] = 1.0
    scale = (np.einsum("ij,ij->i", rest, codes) / weight).astype(np.float32)
    exact = scale.astype(np.float64)
    rest -= codes * exact[:, None]
    residual = np.sqrt(np.einsum("ij,ij->i", rest, rest)) * (1.0 + _SLACK) + _SLACK
    reach = np.sqrt(weight) * np.abs(exact) * _UPWARDS
    return codes.astype(np.int8), scale, residual.astype(np.float32), reach
