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
"""Segments with fewer rows have no centre: a better bound for so few rows saves no time."""
CENTRE_SQUARE_MIN = 0.25
"""The least |m|²: below it, a centre saves little and costs a pass over the products."""
_SAMPLE_ROWS = 1_024
_CHECK_COMPONENTS = 1 << 20
"""Components checked at a time: 8 MB of float64, in a handful of arrays."""
_CHUNK_COMPONENTS = 1 << 16
"""Components worked on at a time: half a megabyte, so that temporaries fit into a CPU cache."""
_SLACK = 2.0**-21
"""An absolute and relative allowance: more than the float64 roundings here, the error of the norm,
and the rounding of the residual to float32."""
_UPWARDS = 1.0 + 2.0**-30
_NORM_ERROR = 2.0**-38
_CHECK_SLACK = 2.0**-36
"""The relative and absolute tolerance of a check: more than float64 sums of `VECTOR_DIM_MAX`
products in any order can differ by, and less than what codes, reach and lean leave for it."""


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
    """Returns the mean direction of some rows spread over all, (d,); None if it is short or the
    rows are few. Any centre is correct: only the number of rows that a scan cannot exclude depends
    on it."""
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
    """Returns codes, scale, residual, and an upper bound of |s c|, of (n, d) float64 values of
    length 2 at most; `rest` is overwritten."""
    largest = np.maximum(rest.max(axis=1), -rest.min(axis=1))
    # Below this, dividing could overflow; the codes are then 0, and the residual bounds the error.
    largest[largest < 1e-290] = np.inf
    codes = rest * (LEVELS / largest)[:, None]
    # No rounding error makes a value reach LEVELS + 1/2.
    np.rint(codes, out=codes)
    weight = np.einsum("ij,ij->i", codes, codes)
    weight[weight == 0.0] = 1.0
    scale = (np.einsum("ij,ij->i", rest, codes) / weight).astype(np.float32)
    exact = scale.astype(np.float64)
    rest -= codes * exact[:, None]
    residual = np.sqrt(np.einsum("ij,ij->i", rest, rest)) * (1.0 + _SLACK) + _SLACK
    reach = np.sqrt(weight) * np.abs(exact) * _UPWARDS
    return codes.astype(np.int8), scale, residual.astype(np.float32), reach


def codes_problem(columns: Columns) -> str | None:
    """Returns which of the properties above a segment's rows violate, None if there is none.

    Everything is computed again from `rows` and compared with the stored bounds, so that a bound
    that was written too small is found even though the hash of the file is correct.

    Args:
        columns: `rows` and `CODE_COLUMNS`, with `CENTRE_COLUMNS` or without.
    """
    rows, count = columns["rows"], len(columns["rows"])
    found = columns.keys() & set(CENTRE_COLUMNS)
    if 0 < len(found) < len(CENTRE_COLUMNS):
        return f"it has {sorted(found)}, expected all of {sorted(CENTRE_COLUMNS)} or none"
    direction = columns[CENTRE].astype(np.float64) if found else None
    if direction is not None:
        square = float((direction**2).sum())
        if not CENTRE_SQUARE_MIN * (1.0 - _CHECK_SLACK) <= square <= 1.0 + _CHECK_SLACK:
            return f"its centre has a squared length of {square}, expected 0.25 to 1"
    step = max(1, _CHECK_COMPONENTS // max(1, rows.shape[1]))
    for start in range(0, count, step):
        part = slice(start, min(count, start + step))
        if not _are_bounded(columns, part, direction):
            return f"the codes of rows from {start} on do not bound them"
    return None


def _are_bounded(columns: Columns, part: slice, direction: Array | None) -> bool:
    """Returns whether some rows have the properties in the module docstring.

    Comparisons are written so that NaN fails them.
    """
    rest = columns["rows"][part].astype(np.float64)
    codes, norms = columns["codes"][part].astype(np.float64), columns["norms"][part]
    true = np.sqrt((rest * rest).sum(axis=1))
    rest /= np.where(true > 0.0, true, 1.0)[:, None]
    coded = codes * columns["scale"][part].astype(np.float64)[:, None]
    up = 1.0 + _CHECK_SLACK
    holds = [
        np.abs(norms - true) <= true * _NORM_ERROR * up,
        np.abs(codes).max(axis=1, initial=0.0) <= LEVELS,
    ]
    if direction is None:
        is_zero = true == 0.0
        holds += [~columns[name][part][is_zero].astype(np.bool_) for name in CODE_COLUMNS]
    else:
        (mean, reach), lean = columns[CENTRE_NUMBERS], columns[LEAN][part].astype(np.float64)
        exact = (rest * direction).sum(axis=1) - mean
        rounding = np.abs(exact) * 2.0**-24 + _CHECK_SLACK
        holds += [
            np.abs(lean - exact) <= rounding,
            np.sqrt((coded * coded).sum(axis=1)) * up <= reach,
        ]
        rest -= direction
    rest -= coded
    holds.append(np.sqrt((rest * rest).sum(axis=1)) * up <= columns["residual"][part])
    return all(bool(one.all()) for one in holds)
