"""The safetensors format: a JSON header with names, types and offsets, then the arrays.

Arrays are views of the mapped file; nothing is copied, and only the parts that are used are read.
Only the types that weights need are supported: little-endian numbers, no strings. A header is
untrusted input, so every field of it is checked before use.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ibidem.objects.errors import CorruptError, StorageError
from ibidem.store.files import whole_file

HEADER_BYTES_MAX = 1 << 24
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I8": "|i1"}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}
_ALIGNMENT = 64


def read(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Returns the arrays of a file by name, read-only and mapped, and its metadata.

    Raises:
        StorageError: the file cannot be read.
        CorruptError: the file is not of this format; the message names the tensor and the field.
    """
    try:
        size = path.stat().st_size
        data = np.memmap(path, np.uint8, "r") if size else np.empty(0, np.uint8)
    except OSError as error:
        raise StorageError(f"weights: {path} cannot be read: {error.strerror}") from error
    if size < 8:
        raise CorruptError(f"weights: {path} has {size} bytes, expected 8 or more")
    (length,) = struct.unpack("<Q", data[:8].tobytes())
    if length > min(size - 8, HEADER_BYTES_MAX):
        raise CorruptError(f"weights: {path} declares a header of {length} bytes in {size}")
    try:
        header = json.loads(data[8 : 8 + length].tobytes())
    except (ValueError, RecursionError) as error:
        raise CorruptError(f"weights: the header of {path} is not JSON") from error
    if not isinstance(header, dict):
        raise CorruptError(f"weights: the header of {path} is not a map")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict):
        raise CorruptError(f"weights: the metadata of {path} is not a map")
    body = data[8 + length :]
    arrays = {name: _view(name, entry, body) for name, entry in header.items()}
    return arrays, {str(name): str(value) for name, value in metadata.items()}


def write(path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> None:
    """Writes arrays under their names, in the order of the mapping, each on a 64-byte boundary.

    The file is durable on return, and replaced atomically, so it is never seen incomplete. The same
    arguments give the same bytes.

    Raises:
        StorageError: the file cannot be written.
    """
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    at = 0
    for name, array in arrays.items():
        begin, at = at, at + -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        header[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, begin + array.nbytes],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    with whole_file(path) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            block = np.ascontiguousarray(array)
            file.write(block.data)
            file.write(bytes(-block.nbytes % _ALIGNMENT))


def _view(name: str, entry: object, body: NDArray[np.uint8]) -> NDArray[Any]:
    if not isinstance(entry, dict):
        raise CorruptError(f"tensor {name!r}: got {entry!r:.60}, expected a map")
    code, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if code not in _TYPES:
        raise CorruptError(f"tensor {name!r}: dtype is {code!r:.20}, expected one of {[*_TYPES]}")
    dtype = np.dtype(_TYPES[str(code)])
    if not (_are_counts(shape) and _are_counts(offsets) and len(offsets) == 2):
        raise CorruptError(f"tensor {name!r}: got shape {shape!r:.60}, offsets {offsets!r:.60}")
    begin, end = offsets
    if not begin <= end <= len(body):
        raise CorruptError(f"tensor {name!r}: offsets {offsets}, expected within {len(body)}")
    count = 1
    for side in shape:
        count *= side
    if count * dtype.itemsize != end - begin:
        raise CorruptError(
            f"tensor {name!r}: {end - begin} bytes, expected {count * dtype.itemsize}"
        )
    raw = body[begin:end]
    if raw.ctypes.data % dtype.itemsize:
        raw = raw.copy()
    return raw.view(dtype).reshape(shape)


def _are_counts(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)
