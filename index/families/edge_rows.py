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
    valid.first, valid.last (n,) int64: the first and the last microsecond at which the edge holds;
        only where a row has a bound
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ibidem.index.arrays import Array, Bytes, Columns, bitmap_bytes, to_bitmap
from ibidem.index.segments.identity import id_array, id_columns
from ibidem.index.segments.key_list import key_columns
from ibidem.index.segments.merge_rows import Part, merge_codes, merge_rows, plan_merge
from ibidem.objects.constants import TIME_MAX, TIME_MIN, VALID_FROM, VALID_TO
from ibidem.objects.edge import Edge, is_plain, read_edge

ALWAYS = (TIME_MIN, TIME_MAX)
NEVER = (TIME_MAX, TIME_MIN)
VALID = ("valid.first", "valid.last")


def validity(props: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the first and the last microsecond at which an edge with these properties holds.

    Spec: retrieval 3.2.2.
    """
    bounds = props.get(VALID_FROM), props.get(VALID_TO)
    if bounds == (None, None):
        return ALWAYS
    if any(type(bound) not in (int, float, type(None)) for bound in bounds):
        return NEVER
    start, stop = bounds
    first = TIME_MIN if start is None else max(math.ceil(start), TIME_MIN)
    last = TIME_MAX if stop is None else min(math.ceil(stop) - 1, TIME_MAX)
    return NEVER if first > last else (first, last)


class EdgeRows:
    """Collects edges until they become the columns of one segment."""

    def __init__(self) -> None:
        self.ids: list[bytes] = []
        self.sources: list[bytes] = []
        self.targets: list[bytes] = []
        self._digests: list[bytes] = []
        self._weights = array("d")
        self._etypes: list[str] = []
        self._valid: dict[int, tuple[int, int]] = {}
        self._models: dict[int, Edge] = {}
        """The last plain edge of each length of block."""

    def __len__(self) -> int:
        return len(self.ids)

    def read(self, block: bytes) -> Edge:
        """Returns the edge in a block, read as one before it if it differs only in its ids."""
        model = self._models.get(len(block))
        edge = None if model is None else read_edge(model, block)
        if edge is None:
            edge = Edge.decode(block)
            if is_plain(edge):
                self._models[len(block)] = edge
        return edge

    def add(self, edge: Edge, digest: bytes) -> None:
        """Adds one edge and the digest of its CID."""
        if edge.props and (valid := validity(edge.props)) != ALWAYS:
            self._valid[len(self.ids)] = valid
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
        if self._valid:
            rows = list(self._valid)
            for name, always, bounds in zip(
                VALID, ALWAYS, zip(*self._valid.values(), strict=True), strict=True
            ):
                columns[name] = np.full(count, always, np.int64)
                columns[name][rows] = bounds
        return columns | derived_columns(columns)


def merge_edges(parts: Sequence[Part]) -> Columns:
    """Returns the live rows of several edge segments as the columns of one."""
    plan = plan_merge(parts)
    columns: Columns = {"ordinals": plan.ordinals}
    for name in ("ids", "cids", "source", "target", "weight"):
        columns[name] = merge_rows(plan, name)
    etypes, columns["code"] = merge_codes(plan, "etype", "code")
    columns |= key_columns("etype", etypes)
    if any(VALID[0] in segment for segment in plan.segments):
        bounds = [
            merge_rows(plan, name, missing=always)
            for name, always in zip(VALID, ALWAYS, strict=True)
        ]
        if any((bound != always).any() for bound, always in zip(bounds, ALWAYS, strict=True)):
            columns |= dict(zip(VALID, bounds, strict=True))
    return columns | derived_columns(columns)


def derived_columns(columns: Columns) -> Columns:
    """Returns the columns that follow from others."""
    derived = id_columns(columns["ids"])
    by_id = derived["order"]
    for name, end in (("out", "source"), ("in", "target")):
        order = by_id[np.argsort(columns[end][by_id], kind="stable")]
        derived[f"{name}.node"] = columns[end][order]
        derived[f"{name}.row"] = order.astype(np.uint32)
    derived["set"] = bitmap_bytes(to_bitmap(columns["ordinals"]))
    return derived
