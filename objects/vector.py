"""Vectors of nodes: dense ones under a model, sparse ones under a vocabulary.

`of` is the digest of the text that the vector was made from. Whether a vector is stale is never
stored but computed, by comparing `of` with the digest of the node's current text.

Components are finite. numpy is imported only where arrays are created, so that importing this
module is cheap.

Spec: format 5.3, 5.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ibidem.objects import codec
from ibidem.objects.block import Block, block_of, empty, require
from ibidem.objects.cid import SparseCid, VectorCid
from ibidem.objects.constants import DIGEST_BYTES, VECTOR_DIM_MAX
from ibidem.objects.fields import SPARSE, VECTOR

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

DTYPE_BYTES: Mapping[str, int] = {"f32": 4, "f16": 2, "i8": 1}
_FLOAT32 = "<f4"
_NUMPY = {"f32": "<f4", "f16": "<f2", "i8": "|i1"}


class NodeVector(Block):
    """A vector of any family."""

    __slots__ = ()

    of: bytes
    """blake3 of the text that it was made from, 32 bytes."""

    def made_from(self, of: bytes) -> Self:
        """Returns the vector as made from the text with that digest."""
        raise NotImplementedError

    def check_components(self) -> None:
        """Raises `InvalidInputError` if columns of the right size contain invalid numbers."""
        raise NotImplementedError


@block_of(VECTOR)
class Vector(NodeVector):
    """One dense vector."""

    CID: ClassVar[type[VectorCid]] = VectorCid

    dtype: str
    """Component type: "f32", "f16" or "i8"."""
    dim: int
    of: bytes
    """blake3 of the text, 32 bytes."""
    data: bytes
    """`dim` components, little-endian."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        width = DTYPE_BYTES.get(self.dtype, 0) if type(self.dtype) is str else 0
        if (
            not width
            or type(self.dim) is not int
            or not 1 <= self.dim <= VECTOR_DIM_MAX
            or type(self.of) is not bytes
            or len(self.of) != DIGEST_BYTES
            or type(self.data) is not bytes
            or len(self.data) != self.dim * width
        ):
            self._refuse(width)

    def _refuse(self, width: int) -> None:
        require(width, "vector", "dtype", self.dtype, "'f32', 'f16' or 'i8'")
        require(
            type(self.dim) is int and 1 <= self.dim <= VECTOR_DIM_MAX,
            "vector",
            "dim",
            self.dim,
            f"an integer from 1 to {VECTOR_DIM_MAX}",
        )
        require(
            type(self.of) is bytes and len(self.of) == DIGEST_BYTES,
            "vector",
            "of",
            self.of,
            "32 bytes",
        )
        require(False, "vector", "data", self.data, f"{self.dim * width} bytes")

    @classmethod
    def from_array(cls, array: ArrayLike, *, of: bytes, dtype: str = "f32") -> Self:
        """Returns the vector with the components of `array`.

        Args:
            array: (d,) numbers, finite after conversion to `dtype`; int8 is never scaled, so it
                requires integers.
            of: digest of the text, see `text.text_digest`.
            dtype: component type to store.

        Raises:
            InvalidInputError: wrong shape, or a component that `dtype` cannot represent.
        """
        import numpy as np

        if _is_plain(array, dtype):
            return cls(dtype, len(array), of, array.tobytes())  # type: ignore[arg-type,union-attr]
        values = _numbers(array, "vector", 1)
        require(dtype in _NUMPY, "vector", "dtype", dtype, "'f32', 'f16' or 'i8'")
        stored = values
        if values.dtype != _NUMPY[dtype]:
            with np.errstate(all="ignore"):
                stored = values.astype(_NUMPY[dtype])
        if dtype == "i8":
            require(
                np.array_equal(stored, values),
                "vector",
                "array",
                array,
                "integers from -128 to 127",
            )
        else:
            require(
                np.isfinite(stored).all(),
                "vector",
                "array",
                array,
                f"finite numbers that fit {dtype}",
            )
        return cls(dtype, len(stored), of, stored.tobytes())

    def encode(self) -> bytes:
        """Returns the block's bytes; those of vectors with the same `dtype` and `dim` differ only
        in `of` and `data`."""
        if self.extra:
            return codec.encode(self.to_map())
        before_of, before_data, end = _frame(self.dtype, self.dim)
        return b"".join((before_of, self.of, before_data, self.data, end))

    @classmethod
    def like(cls, model: Vector, block: bytes) -> Self | None:
        """Returns the vector in a block that differs from the block of `model` only in the digest
        and the components, and is therefore equally canonical; None for any other block."""
        before_of, before_data, end = _frame(model.dtype, model.dim)
        of_start = len(before_of)
        of_stop = of_start + DIGEST_BYTES
        data_start, data_stop = of_stop + len(before_data), len(block) - len(end)
        if (
            model.extra
            or data_stop - data_start != len(model.data)
            or not block.startswith(before_of)
            or not block.startswith(before_data, of_stop)
            or not block.endswith(end)
        ):
            return None
        return cls(model.dtype, model.dim, block[of_start:of_stop], block[data_start:data_stop])

    def made_from(self, of: bytes) -> Self:
        """Returns the vector as made from the text with that digest."""
        return type(self)(self.dtype, self.dim, of, self.data, self.extra)

    def check_components(self) -> None:
        """Raises unless every component is finite."""
        import numpy as np

        # Looking for a zero byte takes half the time of `all`.
        if b"\0" in np.isfinite(np.frombuffer(self.data, _NUMPY[self.dtype])).tobytes():
            self.to_array()

    def to_array(self) -> NDArray[np.float32]:
        """Returns the components, (d,) float32; exact for every dtype.

        Raises:
            InvalidInputError: a component is not finite.
        """
        import numpy as np

        array = np.frombuffer(self.data, _NUMPY[self.dtype]).astype(np.float32)
        require(np.isfinite(array).all(), "vector", "data", self.data, "finite components")
        return array

    @property
    def numpy_dtype(self) -> str:
        """The type of the components in `data`, in numpy's notation."""
        return _NUMPY[self.dtype]

    @property
    def cid(self) -> VectorCid:
        """The identity of the vector: the hash of its bytes."""
        return VectorCid.of(self.encode())


@block_of(SPARSE)
class Sparse(NodeVector):
    """One sparse vector: weights of tokens."""

    CID: ClassVar[type[SparseCid]] = SparseCid

    indices: bytes
    """Token ids, uint32 little-endian, strictly ascending."""
    weights: bytes
    """float32 little-endian, one per index, finite."""
    of: bytes
    """blake3 of the text, 32 bytes."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        for name, value in (("indices", self.indices), ("weights", self.weights)):
            require(
                type(value) is bytes and len(value) % 4 == 0,
                "sparse",
                name,
                value,
                "a multiple of 4 bytes",
            )
        require(
            len(self.indices) == len(self.weights),
            "sparse",
            "weights",
            self.weights,
            f"{len(self.indices)} bytes as in indices",
        )

    @classmethod
    def from_arrays(cls, indices: ArrayLike, weights: ArrayLike, *, of: bytes) -> Self:
        """Returns the sparse vector with `weights` (n,) at the token ids `indices` (n,), in any
        order.

        Raises:
            InvalidInputError: shapes differ, an index repeats or is no uint32, a weight is not
                finite.
        """
        import numpy as np

        tokens, values = (
            _numbers(indices, "sparse.indices", 0),
            _numbers(weights, "sparse.weights", 0),
        )
        require(
            tokens.shape == values.shape, "sparse", "weights", values.shape, f"shape {tokens.shape}"
        )
        with np.errstate(all="ignore"):
            ids, stored = tokens.astype("<u4"), values.astype("<f4")
        require(
            np.array_equal(ids, tokens), "sparse", "indices", indices, "integers from 0 to 2^32-1"
        )
        require(
            np.isfinite(stored).all(), "sparse", "weights", weights, "finite numbers that fit f32"
        )
        order = np.argsort(ids, kind="stable")
        ids, stored = ids[order], stored[order]
        require((ids[1:] > ids[:-1]).all(), "sparse", "indices", indices, "each index once")
        return cls(ids.tobytes(), stored.tobytes(), of)

    def made_from(self, of: bytes) -> Self:
        """Returns the vector as made from the text with that digest."""
        return type(self)(self.indices, self.weights, of, self.extra)

    def check_components(self) -> None:
        """Raises unless indices ascend and every weight is finite."""
        self.to_arrays()

    def to_arrays(self) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        """Returns token ids (n,) uint32 ascending and weights (n,) float32.

        Raises:
            InvalidInputError: indices are not strictly ascending, or a weight is not finite.
        """
        import numpy as np

        ids, values = np.frombuffer(self.indices, "<u4"), np.frombuffer(self.weights, "<f4")
        require(
            (ids[1:] > ids[:-1]).all(),
            "sparse",
            "indices",
            self.indices,
            "strictly ascending integers",
        )
        require(np.isfinite(values).all(), "sparse", "weights", self.weights, "finite numbers")
        return ids, values

    @property
    def cid(self) -> SparseCid:
        """The identity of the sparse vector: the hash of its bytes."""
        return SparseCid.of(self.encode())


VECTORS: Mapping[str, type[NodeVector]] = {cls.KIND: cls for cls in (Vector, Sparse)}
"""The class of each kind of vector."""


@lru_cache(maxsize=64)
def _frame(dtype: str, dim: int) -> tuple[bytes, bytes, bytes]:
    """Returns the bytes before `of`, between `of` and `data`, and after `data` in a vector without
    `extra`."""
    of, data = b"\xff" * DIGEST_BYTES, bytes(dim * DTYPE_BYTES[dtype])
    block = codec.encode_ordered(Vector(dtype, dim, of, data).to_map())
    end = codec.encode_ordered({"kind": "vector", "dtype": dtype})[1:]
    before_of, _, rest = block.partition(of)
    return before_of, rest[: -len(data) - len(end)], end


def _is_plain(array: object, dtype: str) -> bool:
    """Returns whether an array can be stored as it is: most vectors are float32 and finite."""
    import numpy as np

    if dtype != "f32" or type(array) is not np.ndarray or array.dtype != _FLOAT32:
        return False
    # Looking for a zero byte takes half the time of `all`.
    return array.ndim == 1 and len(array) > 0 and b"\0" not in np.isfinite(array).tobytes()


def _numbers(array: ArrayLike, owner: str, size_min: int) -> NDArray[Any]:
    """Returns `array` as (n,) numbers, floats or integers, at least `size_min` of them."""
    import numpy as np

    try:
        values = np.asarray(array)
    except ValueError:
        values = np.empty((0, 0))
    if values.size == 0 and values.ndim == 1:
        values = values.astype(np.float32)
    require(
        values.ndim == 1 and values.size >= size_min and values.dtype.kind in "fiu",
        owner,
        "array",
        array,
        "one dimension of numbers",
    )
    return values
