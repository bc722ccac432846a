"""The vector families, one a model and one a vocabulary: one row a vector version.

Columns of n rows:
    ordinals (n,) ascending, cids (n, 32) digests, of (n, 32) digests of the embedded texts
    rows (n, d) float32: dense only; float16 and int8 components convert exactly
    codes, norms, residual, scale, lean, centre.*: dense only, see `codes.py`
    token.* inverted by token id, values = weight float32: sparse only
    set: the ordinals as a serialised bitmap
A column without a dot in its name has one entry a row; merging carries such columns along.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from ibidem.index.arrays import Array, Bytes, Columns, bitmap_bytes, to_bitmap
from ibidem.index.segments.codes import CENTRE, CODE_COLUMNS, LEAN, centre_of, encode_rows
from ibidem.index.segments.identity import id_array
from ibidem.index.segments.inverted import build_numbered, merge_inverted
from ibidem.index.segments.merge_rows import Part, merge_rows, plan_merge
from ibidem.objects.errors import CorruptError, ErrorKind
from ibidem.objects.record import record
from ibidem.objects.vector import Sparse, Vector


class VectorRows:
    """Collects dense vectors until they become the columns of one segment."""

    def __init__(self, model: str, dim: int | None = None) -> None:
        self.ids: list[bytes] = []
        self.dim = dim
        self._model = model
        self._digests: list[bytes] = []
        self._of: list[bytes] = []
        self._rows: list[Array] = []

    def __len__(self) -> int:
        return len(self.ids)

    def add_blocks(
        self, keys: Sequence[bytes], digests: Sequence[bytes], blocks: Sequence[bytes]
    ) -> None:
        """Adds vectors from their blocks, those that follow the pattern of the first all at once.

        Raises as `add` does.
        """
        if not blocks:
            return
        pattern = VectorPattern.of(Vector.decode(blocks[0]))
        if self.dim in (None, pattern.dim) and (read := pattern.read(blocks)) is not None:
            self.dim = pattern.dim
            self.ids.extend(keys)
            self._digests.extend(digests)
            of, rows = read
            self._of.append(of.tobytes())
            self._rows.append(rows)
            return
        for key, digest, block in zip(keys, digests, blocks, strict=True):
            self.add(key, Vector.decode(block), digest)

    def add(self, raw: bytes, vector: Vector, digest: bytes) -> None:
        """Adds the vector of the node with the id `raw`, and the digest of the vector's CID.

        Raises:
            CorruptError: `dimension-mismatch`: not as long as the others of its model.
        """
        if self.dim is None:
            self.dim = vector.dim
        if vector.dim != self.dim:
            raise CorruptError(
                f"vector of node {raw.hex()}, model {self._model!r}: "
                f"got dimension {vector.dim}, expected {self.dim}",
                kind=ErrorKind.DIMENSION_MISMATCH,
            )
        is_plain = vector.dtype == "f32"
        components = np.frombuffer(vector.data, "<f4") if is_plain else vector.to_array()
        self.ids.append(raw)
        self._digests.append(digest)
        self._of.append(vector.of)
        self._rows.append(components[None])

    def columns(self, ordinals_of: Callable[[Bytes], Array]) -> Columns:
        """Returns the columns; the components are handed over, so this ends the collecting."""
        ordinals, order = _ordered(self.ids, ordinals_of)
        rows = np.empty((len(order), self.dim or 0), dtype=np.float32)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        start = 0
        for some in self._rows:
            rows[place[start : start + len(some)]] = some
            start += len(some)
        self._rows.clear()
        dense = {"rows": rows} | encode_rows(rows)
        return _finish(ordinals, order, self._digests, self._of) | dense


@record
class VectorPattern:
    """What the blocks of vectors of one dimension and component type have in common: every byte but
    those of the text's digest and of the components."""

    dim: int
    dtype: str
    sample: Bytes
    """(size,) the bytes of one of them."""
    of_start: int
    data_start: int
    data_stop: int

    @classmethod
    def of(cls, vector: Vector) -> Self:
        """Returns the pattern that a vector follows, unless it has fields that are not known."""
        low, high = (
            np.frombuffer(
                Vector(vector.dtype, vector.dim, byte * 32, byte * len(vector.data)).encode(),
                np.uint8,
            )
            for byte in (b"\x00", b"\xff")
        )
        differs = np.flatnonzero(low != high)
        start = int(differs[32])
        return cls(
            vector.dim,
            vector.numpy_dtype,
            low,
            int(differs[0]),
            start,
            start + len(vector.data),
        )

    def read(self, blocks: Sequence[bytes]) -> tuple[Bytes, Array] | None:
        """Returns digests (n, 32) and components (n, d) float32; None where a block differs."""
        joined = b"".join(blocks)
        size = len(self.sample)
        if len(joined) != size * len(blocks) or any(len(block) != size for block in blocks):
            return None
        table = np.frombuffer(joined, np.uint8).reshape(len(blocks), size)
        of_stop = self.of_start + 32
        for part in (
            slice(0, self.of_start),
            slice(of_stop, self.data_start),
            slice(self.data_stop, None),
        ):
            if not (table[:, part] == self.sample[part]).all():
                return None
        data = np.ascontiguousarray(table[:, self.data_start : self.data_stop]).view(self.dtype)
        rows = data.astype(np.float32, copy=False)
        if self.dtype != "<f4" and not np.isfinite(rows).all():
            return None
        return table[:, self.of_start : of_stop], rows


class SparseRows:
    """Collects sparse vectors until they become the columns of one segment."""

    def __init__(self) -> None:
        self.ids: list[bytes] = []
        self._digests: list[bytes] = []
        self._of: list[bytes] = []
        self._tokens: list[Array] = []
        self._weights: list[Array] = []

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, raw: bytes, sparse: Sparse, digest: bytes) -> None:
        """Adds the sparse vector of the node with the id `raw`, and the digest of its CID."""
        tokens, weights = sparse.to_arrays()
        self.ids.append(raw)
        self._digests.append(digest)
        self._of.append(sparse.of)
        self._tokens.append(tokens)
        self._weights.append(weights)

    def columns(self, ordinals_of: Callable[[Bytes], Array]) -> Columns:
        """Returns the columns."""
        ordinals, order = _ordered(self.ids, ordinals_of)
        row = np.empty(len(order), dtype=np.uint32)
        row[order] = np.arange(len(order), dtype=np.uint32)
        counts = np.fromiter(map(len, self._tokens), dtype=np.int64, count=len(self._tokens))
        columns = build_numbered(
            "token",
            np.concatenate([np.empty(0, np.uint32), *self._tokens]),
            np.repeat(row, counts),
            np.concatenate([np.empty(0, np.float32), *self._weights]),
        )
        return _finish(ordinals, order, self._digests, self._of) | columns


def merge_vectors(parts: Sequence[Part]) -> Columns:
    """Returns the live rows of several segments of one model as the columns of one.

    Codes are copied, unless a part was written without them, or with a centre of its own, or the
    rows together have one.
    """
    columns = _merge(parts)
    rows = columns["rows"]
    is_coded = columns.keys() >= set(CODE_COLUMNS)
    has_centres = any(CENTRE in part.segment for part in parts)
    if not is_coded or has_centres or centre_of(rows) is not None:
        columns.pop(LEAN, None)
        columns |= encode_rows(rows)
    return columns


def merge_sparse(parts: Sequence[Part]) -> Columns:
    """Returns the live rows of several segments of one vocabulary as the columns of one."""
    plan = plan_merge(parts)
    return _merge(parts) | merge_inverted("token", plan.segments, plan.renumbered)


def _merge(parts: Sequence[Part]) -> Columns:
    """Merges every column of rows that all parts have; a column that one lacks is given up."""
    plan = plan_merge(parts)
    columns: Columns = {"ordinals": plan.ordinals}
    names = set.intersection(*(set(segment) for segment in plan.segments))
    for name in sorted(names - {"ordinals", "set"}):
        if "." not in name:
            columns[name] = merge_rows(plan, name)
    columns["set"] = bitmap_bytes(to_bitmap(plan.ordinals))
    return columns


def _ordered(ids: list[bytes], ordinals_of: Callable[[Bytes], Array]) -> tuple[Array, Array]:
    ordinals = ordinals_of(id_array(ids)).astype(np.uint32)
    order = np.argsort(ordinals, kind="stable")
    return ordinals[order], order


def _finish(ordinals: Array, order: Array, digests: list[bytes], of: list[bytes]) -> Columns:
    return {
        "ordinals": ordinals,
        "cids": np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, 32)[order],
        "of": np.frombuffer(b"".join(of), dtype=np.uint8).reshape(-1, 32)[order],
        "set": bitmap_bytes(to_bitmap(ordinals)),
    }
