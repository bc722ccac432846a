"""Products of rows with queries, by whatever the machine has that is fast.

Every product of codes is an exact integer, so instruction sets, threads and libraries can not
change it. `numkong` multiplies blocks and serves batches, `simsimd` reads memory as fast as a core
can and serves single queries, and batches without `numkong` at a quarter of the speed; numpy does
both without either. Where an integer is rounded to float32, which is nowhere below 1,041
components, it is within 2^-24 of itself.

Spec: retrieval 4.2.1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from ibidem.retrieve.numbers import Float32s

Int8s = npt.NDArray[np.int8]
Products = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""From (n, d) codes or rows, C-contiguous, to their products with m queries, (n, m) float32 or
int32."""

BATCH_MIN = 4
"""Queries from which multiplying blocks beats multiplying row by row."""
_BLOCK_ROWS = 512
"""Rows that are made wider at a time, in one place: they stay in a near cache."""
_EXACT_DIM = (1 << 24) // (127 * 127)
"""Up to so many components a float32 sum of products of codes is exact in any order."""


def code_products(queries: Int8s) -> Products:
    """Returns the function that multiplies codes with the codes of m >= 1 queries, (m, d)."""
    queries = np.ascontiguousarray(queries)
    found = _by_library(queries)
    return with_numpy(queries) if found is None else found


def float_products(queries: Float32s) -> Products:
    """Returns the function that multiplies float32 rows with m >= 1 float32 queries, (m, d).

    These are sums in float32 or better, in any order.
    """
    queries = np.ascontiguousarray(queries)
    found = _by_library(queries)
    if found is not None:
        return found
    columns = np.ascontiguousarray(queries.T)
    return lambda rows: np.asarray(rows @ columns)


def _by_library(queries: npt.NDArray[Any]) -> Products | None:
    """Returns products by the library that is best for so many queries, of those installed."""
    numkong = numkong_module() if queries.shape[0] >= BATCH_MIN else None
    if numkong is not None:
        return with_numkong(numkong, queries)
    simsimd = simsimd_module()
    return None if simsimd is None else with_simsimd(simsimd, queries)


def with_numkong(numkong: ModuleType, queries: npt.NDArray[Any]) -> Products:
    """Returns products by `numkong`: of codes int32, of float32 in float64."""
    packed = numkong.dots_pack(queries, dtype=queries.dtype.name)
    return lambda codes: np.asarray(numkong.dots_packed(codes, packed))


def with_simsimd(simsimd: ModuleType, queries: npt.NDArray[Any]) -> Products:
    """Returns products by `simsimd`, of codes with int32 inside, on the calling thread.

    Its other threads wait in a loop for each other, which on a machine that has other work to do
    takes far longer than they save.
    """
    if queries.shape[0] == 1:
        return lambda codes: np.asarray(
            simsimd.cdist(queries, codes, "dot", threads=1, out_dtype="float32")
        ).reshape(-1, 1)
    return lambda codes: np.asarray(
        simsimd.cdist(codes, queries, "dot", threads=1, out_dtype="float32")
    )


def with_numpy(queries: Int8s) -> Products:
    """Returns products by floats in which every partial sum is an exact integer."""
    kind = np.float32 if queries.shape[1] <= _EXACT_DIM else np.float64
    columns = np.ascontiguousarray(queries.T.astype(kind))

    def products(codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        block = np.empty((_BLOCK_ROWS, queries.shape[1]), kind)
        result = np.empty((codes.shape[0], columns.shape[1]), kind)
        for start in range(0, codes.shape[0], _BLOCK_ROWS):
            part = codes[start : start + _BLOCK_ROWS]
            wide = block[: part.shape[0]]
            np.copyto(wide, part)
            np.matmul(wide, columns, out=result[start : start + part.shape[0]])
        return result.astype(np.float32, copy=False)

    return products


@cache
def numkong_module() -> ModuleType | None:
    """Returns `numkong`, imported when first asked for, or None where it is not installed."""
    try:
        import numkong
    except ImportError:
        return None
    module: ModuleType = numkong
    return module


@cache
def simsimd_module() -> ModuleType | None:
    """Returns `simsimd`, imported when first asked for, or None where it is not installed."""
    try:
        import simsimd
    except ImportError:
        return None
    module: ModuleType = simsimd
    return module
