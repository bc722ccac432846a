"""Products of rows with queries, by the fastest library that is installed.

A product of two code vectors is an exact integer, so libraries, threads and instruction sets cannot
change it; a product of float32 rows may be summed in any order, which the bounds allow for.
`numkong` multiplies blocks and serves batches; `simsimd` reads memory as fast as one core can and
serves single queries, and batches without `numkong` at a quarter of the speed; numpy serves both
without either. Integers that are rounded to float32, which happens from 1,041 components on, are
within a relative 2^-24.

Spec: retrieval 4.2.1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from ibidem.retrieve.dense import tuning
from ibidem.retrieve.numbers import Float32s

Int8s = npt.NDArray[np.int8]
Products = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""A function from (n, d) codes or rows, C-contiguous, to their products with m queries, (n, m)
float32, float64 or int32.
"""

_EXACT_DIM = (1 << 24) // (127 * 127)
"""Components up to which a float32 sum of products of codes is exact in any order."""


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
    """Returns products by the best installed library for this number of queries, if any."""
    numkong = numkong_module() if queries.shape[0] >= tuning.BLOCK_PRODUCT_QUERIES_MIN else None
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

    Its own threads spin while they wait for each other, which on a busy machine takes far longer
    than they save.
    """
    if queries.shape[0] == 1:
        return lambda codes: np.asarray(
            simsimd.cdist(queries, codes, "dot", threads=1, out_dtype="float32")
        ).reshape(-1, 1)
    return lambda codes: np.asarray(
        simsimd.cdist(codes, queries, "dot", threads=1, out_dtype="float32")
    )


def with_numpy(queries: Int8s) -> Products:
    """Returns products in a float type in which every partial sum is an exact integer."""
    kind = np.float32 if queries.shape[1] <= _EXACT_DIM else np.float64
    columns = np.ascontiguousarray(queries.T.astype(kind))

    def products(codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        block = np.empty((tuning.WIDENED_ROWS, queries.shape[1]), kind)
        result = np.empty((codes.shape[0], columns.shape[1]), kind)
        for start in range(0, codes.shape[0], tuning.WIDENED_ROWS):
            part = codes[start : start + tuning.WIDENED_ROWS]
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
