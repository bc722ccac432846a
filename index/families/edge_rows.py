"""The edge family: one row per edge version.

Its ordinals are serial numbers of rows, not of edges: an edge that changes gets a new row. An edge
is found by its id among the rows that are live.

Columns of n rows:
    ordinals (n,) ascending serials, ids / high / order as in `identity`, cids (n, 32) digests
    source, target (n,) uint32 node ordinals, weight (n,) float64, code (n,) number of the type
    etype.keys, etype.ends: the types
    out.node (n,) ascending sources, out.row; in.node (n,) ascending targets, in.row: the rows of
        one node by edge id
    set: the ordinals as a serialised bitmap
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

import numpy as np

from ibidem.index.arrays import Array, Bytes, Columns, bitmap_bytes, to_bitmap
from ibidem.index.segments.identity import id_array, id_columns
from ibidem.index.segments.key_list import key_columns
from ibidem.index.segments.merge_rows import Part, merge_codes, merge_rows, plan_merge
from ibidem.objects.edge import Edge


class EdgeRows:
    """Collects edges until they become the columns of one segment."""

    def __init__(self) -> None:
        self.ids: list[bytes] = []
        self.sources: list[bytes] = []
        self.targets: list[bytes] = []
        self._digests: list[bytes] = []
        self._weights = array("d")
        self._etypes: list[str] = []

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, edge: Edge, digest: bytes) -> None:
        """Adds one edge and the digest of its CID."""
        self.ids.append(edge.id.raw)
        self._digests.append(digest)
        self.sources.append(edge.src.raw)
        self.targets.append(edge.dst.raw)
        self._weights.append(edge.weight)
        self._etypes.append(edge.etype)

    def columns(self, ordinals_of: Callable[[Bytes], Array], first_serial: int) -> Columns:
        """Returns the columns; the rows get the serials from `first_serial` on."""
        count = len(self.ids)
        etypes = sorted(set(self._etypes))
        number = {etype: index for index, etype in enumerate(etypes)}
        columns: Columns = {
            "ordinals": np.arange(first_serial, first_serial + count, dtype=np.uint32),
            "ids": id_array(self.ids),
            "cids": np.frombuffer(b"".join(self._digests), dtype=np.uint8).reshape(-1, 32),
            "source": ordinals_of(id_array(self.sources)).astype(np.uint32),
            "target": ordinals_of(id_array(self.targets)).astype(np.uint32),
            "weight": np.frombuffer(self._weights, dtype=np.float64),
            "code": np.fromiter((number[etype] for etype in self._etypes), np.uint32, count),
        }
        columns |= key_columns("etype", [etype.encode() for etype in etypes])
        return _finish(columns)


def merge_edges(parts: Sequence[Part]) -> Columns:
    """Returns the live rows of several edge segments as the columns of one."""
    plan = plan_merge(parts)
    columns: Columns = {"ordinals": plan.ordinals}
    for name in ("ids", "cids", "source", "target", "weight"):
        columns[name] = merge_rows(plan, name)
    etypes, columns["code"] = merge_codes(plan, "etype", "code")
    columns |= key_columns("etype", etypes)
    return _finish(columns)


def _finish(columns: Columns) -> Columns:
    """Adds the columns that are derived from others."""
    columns |= id_columns(columns["ids"])
    for name, end in (("out", "source"), ("in", "target")):
        by_id = columns["order"]
        order = by_id[np.argsort(columns[end][by_id], kind="stable")]
        columns[f"{name}.node"] = columns[end][order]
        columns[f"{name}.row"] = order.astype(np.uint32)
    columns["set"] = bitmap_bytes(to_bitmap(columns["ordinals"]))
    return columns
