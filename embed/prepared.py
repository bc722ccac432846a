"""The integer form of a checkpoint's weights, cached in a file next to it, so that it is loaded by
mapping.

The manifest of the cache records the weights, the algorithm and the hash of the result, and every
open checks the hash. A cache that does not match is built again; if it cannot be written, it is
built in memory.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from ibidem.embed import safetensors
from ibidem.embed.encoder import prepare
from ibidem.embed.files import sha256_of
from ibidem.objects.errors import CorruptError
from ibidem.store.files import write_file

ALGORITHM = "bert-exact-1"
"""The name of the arithmetic in `encoder.py`; a different arithmetic needs a different name."""
_LAYOUT = "2"
"""The names and shapes of the arrays in the cache; a cache of another layout is built again."""
_PREFIX = "bert."


def prepared_weights(weights: Path, sha256: str) -> Mapping[str, NDArray[Any]]:
    """Returns the arrays for `Encoder`, mapped from the cache file, which is built if it is
    missing.

    Args:
        weights: a safetensors file.
        sha256: its hash; the file itself is read only to build the cache.

    Raises:
        CorruptError: the weights do not have the hash, or are not those of a BERT.
        StorageError: they cannot be read.
    """
    found = _cached(weights, sha256)
    if found is not None:
        return found
    actual = sha256_of(weights)
    if actual != sha256:
        raise CorruptError(
            f"weights: {weights} has sha256 {actual}, expected {sha256}",
            hint="install the model again",
        )
    arrays = prepare(
        {name.removeprefix(_PREFIX): a for name, a in safetensors.read(weights)[0].items()}
    )
    return _kept(weights, sha256, arrays) or arrays


def cache_files(weights: Path) -> tuple[Path, Path]:
    """Returns the paths of a weights file's cache and of its manifest."""
    return weights.with_name(f"{ALGORITHM}.bin"), weights.with_name(f"{ALGORITHM}.json")


def _cached(weights: Path, sha256: str) -> Mapping[str, NDArray[Any]] | None:
    data, manifest = cache_files(weights)
    try:
        said = json.loads(manifest.read_bytes())
        hasher = blake3()
        hasher.update_mmap(data)
        if said == _manifest(sha256, hasher.hexdigest()):
            return safetensors.read(data)[0]
    except (OSError, ValueError, CorruptError):
        pass
    return None


def _kept(
    weights: Path, sha256: str, arrays: Mapping[str, NDArray[Any]]
) -> Mapping[str, NDArray[Any]] | None:
    """Writes the cache and returns it mapped; None if it cannot be written."""
    data, manifest = cache_files(weights)
    ordered = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with contextlib.suppress(OSError):
        # Until the manifest is written, the hash does not match, and the cache is built again.
        safetensors.write(data, ordered, {"algorithm": ALGORITHM, "weights": sha256})
        hasher = blake3()
        hasher.update_mmap(data)
        write_file(manifest, json.dumps(_manifest(sha256, hasher.hexdigest())).encode())
        return safetensors.read(data)[0]
    return None


def _manifest(sha256: str, blake3_hex: str) -> dict[str, str]:
    return {
        "algorithm": ALGORITHM,
        "layout": _LAYOUT,
        "weights_sha256": sha256,
        "blake3": blake3_hex,
    }
