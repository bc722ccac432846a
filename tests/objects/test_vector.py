"""Vectors to and from numpy: exact, finite, and refused otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from ibidem.objects import codec
from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.objects.text import text_digest
from ibidem.objects.vector import Sparse, Vector
from ibidem.objects.verify import read_foreign

OF = text_digest("text")


@pytest.mark.parametrize("dtype", ["f32", "f16", "i8"])
def test_components_come_back_as_float32(dtype):
    array = np.array([1, -2, 127], np.float64)
    vector = Vector.from_array(array, of=OF, dtype=dtype)
    assert vector.to_array().dtype == np.float32
    assert vector.to_array().tolist() == [1.0, -2.0, 127.0]
    assert vector.dim == 3


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        ([float("nan")], "f32"),
        ([float("inf")], "f32"),
        ([1e39], "f32"),
        ([70000.0], "f16"),
        ([1.5], "i8"),
        ([128], "i8"),
        ([], "f32"),
        ([[1.0]], "f32"),
        (["a"], "f32"),
        ([True], "f32"),
        ([1j], "f32"),
        ([[1], [1, 2]], "f32"),
        (1.0, "f32"),
        ([1.0], "f64"),
    ],
)
def test_array_that_does_not_fit_is_refused(array, dtype):
    with pytest.raises(InvalidInputError, match="vector"):
        Vector.from_array(array, of=OF, dtype=dtype)


def test_sparse_is_stored_by_ascending_index():
    sparse = Sparse.from_arrays([7, 3], [0.5, 1.0], of=OF)
    indices, weights = sparse.to_arrays()
    assert (indices.tolist(), weights.tolist()) == ([3, 7], [1.0, 0.5])
    assert Sparse.from_arrays([], [], of=OF).to_arrays()[0].size == 0


@pytest.mark.parametrize(
    ("indices", "weights"),
    [
        ([1, 1], [1.0, 2.0]),
        ([-1], [1.0]),
        ([1 << 32], [1.0]),
        ([1.5], [1.0]),
        ([1], [float("nan")]),
        ([1], [1.0, 2.0]),
    ],
)
def test_sparse_that_does_not_fit_is_refused(indices, weights):
    with pytest.raises(InvalidInputError, match="sparse"):
        Sparse.from_arrays(indices, weights, of=OF)


def test_foreign_components_that_are_not_finite_or_ordered_are_refused():
    nan = np.array([np.nan], "<f4").tobytes()
    bad = [
        Vector("f32", 1, OF, nan),
        Sparse(bytes(4), nan, OF),
        Sparse(bytes(8), bytes(8), OF),
        Sparse(b"\x02\0\0\0\x01\0\0\0", bytes(8), OF),
    ]
    for value in bad:
        with pytest.raises(CorruptError):
            read_foreign(value.encode())


@pytest.mark.parametrize("dtype", ["f32", "f16", "i8"])
@pytest.mark.parametrize("dim", [1, 5, 6, 23, 24, 64, 128, 255, 256, 384, 4096])
def test_bytes_put_together_are_those_of_the_codec(dtype, dim):
    width = {"f32": 4, "f16": 2, "i8": 1}[dtype]
    vector = Vector(dtype, dim, OF, (bytes(range(256)) * 64)[: dim * width])
    assert vector.encode() == codec.encode(vector.to_map())
    more = Vector(dtype, dim, OF, bytes(dim * width), {"z": 1, "a": [2]})
    assert more.encode() == codec.encode(more.to_map())
