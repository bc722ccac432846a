"""The vector families, one for each model and each vocabulary: one row per vector version.

Columns of n rows:
    ordinals (n,) ascending, cids (n, 32) digests, of (n, 32) digests of the embedded texts
    rows (n, d) float32: dense only; float16 and int8 components convert exactly
    codes, norms, residual, scale, lean, centre.*: dense only, see `codes.py`
    token.* inverted by token id, values = weight float32: sparse only
    set: the ordinals as a serialised bitmap
A column without a dot in its name has one entry per row; merging copies such columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from ibidem.index.arrays import Array, Bytes, Columns, bitmap_bytes, to_bitmap
from ibidem.index.segments.codes import (
    CENTRE,
    CENTRE_COLUMNS,
    CODE_COLUMNS,
    LEAN,
    centre_of,
    encode_rows,
)
from ibidem.index.segments.column import Column
from ibidem.index.segments.identity import id_array
from ibidem.index.segments.inverted import build_numbered, inverted, merge_inverted
from ibidem.index.segments.merge_rows import Part, merge_rows, plan_merge
from ibidem.index.segments.reader import Rows, SegmentView
from ibidem.objects.blocks import Source
from ibidem.objects.cid import DAG_CBOR_PREFIX, VectorCid
from ibidem.objects.errors import CorruptError, ErrorKind, IbidemError, NotFoundError
from ibidem.objects.record import record
from ibidem.objects.vector import Sparse, Vector
from ibidem.objects.walk import read_many

if TYPE_CHECKING:
    from ibidem.index.families.family import FamilyWriter
    from ibidem.objects.config import Config


class FamilySegment(SegmentView):
    """Vectors of one model or vocabulary."""

    def __init__(
        self, part: Part, nodes: BitMap | None = None, blocks: Source | None = None
    ) -> None:
        super().__init__(part, nodes)
        self._blocks = blocks

    @property
    def digests(self) -> Column:
        """(n, 32) uint8: the digest of the text from which each vector was computed."""
        return self.part.segment.column("of")

    @property
    def cid_digests(self) -> Column:
        """(n, 32) uint8: the last 32 bytes of each vector's CID."""
        return self.part.segment.column("cids")

    def values(self) -> Iterator[Any]:
        """Yields the value of each row, for comparisons."""
        raise NotImplementedError


class VectorSegment(FamilySegment):
    """Dense vectors of one model."""

    def made_from(self, rows: Sequence[int]) -> list[bytes]:
        """Returns the digests of the texts from which the vectors of some live rows were computed.

        Each row is compared with its block once per process; blocks are read at once.

        Raises:
            CorruptError: a row differs from its block.
        """
        compared: set[int] = self.cache.setdefault("compared with blocks", set())
        new = [row for row in rows if row not in compared]
        if self._blocks is not None and new:
            self._compare(new, self._blocks)
            compared.update(new)
        return [self.digests[row : row + 1].tobytes() for row in rows]

    def _compare(self, rows: Sequence[int], source: Source) -> None:
        digests = [self.cid_digests[row : row + 1].tobytes() for row in rows]
        cids = [VectorCid(DAG_CBOR_PREFIX + digest) for digest in digests]
        for row, cid, block in zip(rows, cids, read_many(source, cids), strict=True):
            if isinstance(block, NotFoundError):
                continue  # erased since, maybe by another process
            if isinstance(block, IbidemError):
                raise block
            vector, made_from = Vector.decode(block), self.digests[row : row + 1].tobytes()
            values = self.rows[row : row + 1].tobytes()
            if vector.of != made_from or vector.to_array().tobytes() != values:
                self.part.segment.refuse(f"row {row} is not the vector {cid}")

    @property
    def rows(self) -> Column:
        """(n, d) float32, C-contiguous; 64-byte aligned in a file."""
        return self.part.segment.column("rows")

    @property
    def codes(self) -> Mapping[str, Column] | None:
        """The columns of `codes.py`, None for a segment that was written without them."""
        segment = self.part.segment
        if not all(name in segment for name in CODE_COLUMNS):
            return None
        names = (*CODE_COLUMNS, *CENTRE_COLUMNS)
        return {name: segment.column(name) for name in names if name in segment}

    def values(self) -> Iterator[tuple[bytes, bytes]]:
        """Yields the components and the digest of the text of each row."""
        for row, of in zip(self.rows.whole(), self.digests.whole(), strict=True):
            yield row.tobytes(), of.tobytes()


class SparseSegment(FamilySegment):
    """Sparse vectors of one vocabulary."""

    def postings(self, token: int) -> tuple[Rows, npt.NDArray[np.float32]] | None:
        """Returns (rows ascending, weights), dead rows included; None for a token that occurs in no
        row."""
        column = inverted(self.part.segment, "token")
        keys = self.part.segment["token.keys"]
        index = int(np.searchsorted(keys, np.uint32(token)))
        if index == len(keys) or int(keys[index]) != token:
            return None
        span = column.span(index)
        assert column.values is not None, "BUG: tokens have weights"
        return column.rows[span], column.values[span]

    def values(self) -> Iterator[tuple[dict[int, float], bytes]]:
        """Yields the weights by token and the digest of the text of each row."""
        found: list[dict[int, float]] = [{} for _ in range(len(self.ordinals))]
        column = inverted(self.part.segment, "token")
        assert column.values is not None, "BUG: tokens have weights"
        rows, weights = column.rows.whole(), column.values.whole()
        tokens = np.repeat(self.part.segment["token.keys"], column.counts())
        for token, row, weight in zip(
            tokens.tolist(), rows.tolist(), weights.tolist(), strict=True
        ):
            found[row][token] = weight
        for one, of in zip(found, self.digests.whole(), strict=True):
            yield one, of.tobytes()


class FamilyRows:
    """Collects the vectors of one model or vocabulary until they become the columns of one
    segment."""

    segment: ClassVar[type[FamilySegment]]
    """The class that reads the columns."""

    def __init__(self, name: str) -> None:
        self.ids: list[bytes] = []
        self._name = name
        self._digests: list[bytes] = []
        self._of: list[bytes] = []

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def begin(cls, name: str, config: Config) -> Self:
        """Returns an empty collection for the first rows of a model or vocabulary."""
        return cls(name)

    def another(self) -> Self:
        """Returns the rows after these."""
        return type(self)(self._name)

    def follow(self, growth: FamilyWriter) -> None:
        """Takes over the properties of the existing rows that new ones must share, such as the
        dimension."""

    @property
    def component_count(self) -> int:
        """The number of components collected; only families of fixed dimension have one."""
        return 0

    def add_blocks(
        self, keys: Sequence[bytes], digests: Sequence[bytes], blocks: Sequence[bytes]
    ) -> None:
        """Adds the vectors in some blocks, with the ids of their nodes and the digests of their
        CIDs."""
        raise NotImplementedError

    def columns(self, ordinals_of: Callable[[Bytes], Array]) -> Columns:
        """Returns the columns; no rows can be added afterwards."""
        raise NotImplementedError

    @staticmethod
    def merge(parts: Sequence[Part]) -> Columns:
        """Returns the live rows of several segments as the columns of one."""
        raise NotImplementedError


class VectorRows(FamilyRows):
    """Collects dense vectors."""

    segment = VectorSegment

    def __init__(self, model: str, dim: int | None = None) -> None:
        super().__init__(model)
        self.dim = dim
        self._rows: list[Array] = []

    @classmethod
    def begin(cls, name: str, config: Config) -> Self:
        """Returns an empty collection for the first rows of a model, registered or not."""
        known = config.models.get(name)
        return cls(name, known.dim if known else None)

    def another(self) -> Self:
        """Returns the rows after these."""
        return type(self)(self._name, self.dim)

    def follow(self, growth: FamilyWriter) -> None:
        """Takes over the dimension of the existing rows."""
        if self.dim is None and growth.parts:
            self.dim = growth.parts[0].segment.column("rows").shape[1]

    @property
    def component_count(self) -> int:
        """How many numbers were collected."""
        return len(self) * (self.dim or 0)

    def add_blocks(
        self, keys: Sequence[bytes], digests: Sequence[bytes], blocks: Sequence[bytes]
    ) -> None:
        """Adds vectors from their blocks; those that follow the pattern of the first are added in
        one step.

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
            CorruptError: kind `dimension-mismatch`: the vector differs in length from the others of
                its model.
        """
        if self.dim is None:
            self.dim = vector.dim
        if vector.dim != self.dim:
            raise CorruptError(
                f"vector of node {raw.hex()}, model {self._name!r}: "
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
        """Returns the columns; they take over the components, so no rows can be added
        afterwards."""
        ordinals, order = _ordered(self.ids, ordinals_of)
        rows = np.empty((len(order), self.dim or 0), dtype=np.float32)
        position = np.empty(len(order), dtype=np.int64)
        position[order] = np.arange(len(order))
        start = 0
        for some in self._rows:
            rows[position[start : start + len(some)]] = some
            start += len(some)
        self._rows.clear()
        dense = {"rows": rows} | encode_rows(rows)
        return _finish(ordinals, order, self._digests, self._of) | dense

    @staticmethod
    def merge(parts: Sequence[Part]) -> Columns:
        """Returns the live rows of several segments of one model as the columns of one.

        Codes are copied, unless a part has no codes or has its own centre, or the merged rows have
        a centre.
        """
        columns = _merge(parts)
        rows = columns["rows"]
        is_coded = columns.keys() >= set(CODE_COLUMNS)
        has_centres = any(CENTRE in part.segment for part in parts)
        if not is_coded or has_centres or centre_of(rows) is not None:
            columns.pop(LEAN, None)
            columns |= encode_rows(rows)
        return columns


@record
class VectorPattern:
    """The bytes that all vector blocks of one dimension and component type share: all but those of
    the text's digest and of the components."""

    dim: int
    dtype: str
    sample: Bytes
    """(size,) the bytes of one such block."""
    of_start: int
    data_start: int
    data_stop: int

    @classmethod
    def of(cls, vector: Vector) -> Self:
        """Returns the pattern that a vector follows, None if it has unknown fields."""
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
        """Returns digests (n, 32) and components (n, d) float32; None if a block differs."""
        merged = b"".join(blocks)
        size = len(self.sample)
        if len(merged) != size * len(blocks) or any(len(block) != size for block in blocks):
            return None
        table = np.frombuffer(merged, np.uint8).reshape(len(blocks), size)
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


class SparseRows(FamilyRows):
    """Collects sparse vectors."""

    segment = SparseSegment

    def __init__(self, vocab: str) -> None:
        super().__init__(vocab)
        self._tokens: list[Array] = []
        self._weights: list[Array] = []

    def add_blocks(
        self, keys: Sequence[bytes], digests: Sequence[bytes], blocks: Sequence[bytes]
    ) -> None:
        """Adds sparse vectors from their blocks."""
        for key, digest, block in zip(keys, digests, blocks, strict=True):
            sparse = Sparse.decode(block)
            tokens, weights = sparse.to_arrays()
            self.ids.append(key)
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

    @staticmethod
    def merge(parts: Sequence[Part]) -> Columns:
        """Returns the live rows of several segments of one vocabulary as the columns of one."""
        plan = plan_merge(parts)
        return _merge(parts) | merge_inverted("token", plan.segments, plan.renumbered)


ROWS: Mapping[str, type[FamilyRows]] = {"vectors": VectorRows, "sparse": SparseRows}
"""The row class of each kind of vector family; other kinds are not indexed."""


def _merge(parts: Sequence[Part]) -> Columns:
    """Merges every per-row column that all parts have; a column that one part lacks is dropped."""
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
