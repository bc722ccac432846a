"""The reader of weights: what it writes it reads, and a damaged header is refused."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ibidem.embed import safetensors
from ibidem.objects.errors import CorruptError, StorageError


def test_arrays_come_back_as_they_were(tmp_path: Path):
    arrays = {
        "a": np.arange(12, dtype=np.float64).reshape(3, 4),
        "b": np.array([1, -2, 3], np.float32),
        "c": np.empty((0, 5), np.int64),
        "d": np.array([7], np.int8),
    }
    safetensors.write(tmp_path / "w", arrays, {"of": "me"})
    found, metadata = safetensors.read(tmp_path / "w")
    assert metadata == {"of": "me"}
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)


def test_the_same_arrays_give_the_same_bytes(tmp_path: Path):
    arrays = {"a": np.arange(5, dtype=np.float32)}
    for name in ("one", "two"):
        safetensors.write(tmp_path / name, arrays, {})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def refused(path: Path, header: Any, body: bytes = bytes(16)) -> str:
    data = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(data)) + data + body)
    with pytest.raises(CorruptError) as caught:
        safetensors.read(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (7, "map"),
        ({"dtype": "BF16", "shape": [4], "data_offsets": [0, 16]}, "BF16"),
        ({"dtype": "F32", "shape": [-4], "data_offsets": [0, 16]}, "shape"),
        ({"dtype": "F32", "shape": [True], "data_offsets": [0, 4]}, "shape"),
        ({"dtype": "F32", "shape": [4], "data_offsets": [0, 99]}, "offsets"),
        ({"dtype": "F32", "shape": [4], "data_offsets": [8, 4]}, "offsets"),
        ({"dtype": "F32", "shape": [4], "data_offsets": [0]}, "offsets"),
        ({"dtype": "F32", "shape": [5], "data_offsets": [0, 16]}, "bytes"),
        ({"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 16]}, "bytes"),
    ],
)
def test_a_tensor_that_does_not_fit_is_refused(tmp_path: Path, entry: object, said: str):
    assert said in refused(tmp_path / "w", {"t": entry})


def test_a_header_that_is_none_is_refused(tmp_path: Path):
    assert "JSON" in refused(tmp_path / "w", b"{nonsense")
    assert "map" in refused(tmp_path / "w", [1])
    assert "metadata" in refused(tmp_path / "w", {"__metadata__": 3})
    (tmp_path / "w").write_bytes(struct.pack("<Q", 1 << 40) + b"{}")
    with pytest.raises(CorruptError, match="header"):
        safetensors.read(tmp_path / "w")
    (tmp_path / "w").write_bytes(b"")
    with pytest.raises(CorruptError, match="0 bytes"):
        safetensors.read(tmp_path / "w")


def test_a_file_that_is_not_there_is_an_error_of_the_medium(tmp_path: Path):
    with pytest.raises(StorageError):
        safetensors.read(tmp_path / "nothing")
