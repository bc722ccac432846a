"""The node family: one row per node version, with its label, properties, parts and terms.

Columns of n rows:
    ordinals (n,) ascending, cids (n, 32) digests, lengths (n,) terms in the node's text, analysers
        (n,) uint8 the position in `ANALYSERS` of the analyser of the node's text
    label.*, prop.* inverted by label and by property key; term.* inverted by term, values =
    frequency
    child.starts, child.items: ordinals of the ordered parts of each row
    parent.child (m,) ascending, parent.row, parent.position: the same lists the other way round
    label.wide, prop.wide: numbers of the keys that many rows have; *.wide_starts, *.wide_sets: the
        ordinals at each as a serialised bitmap
    set: the ordinals as a serialised bitmap
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

import numpy as np

from ibidem.index.analysis import home_of
from ibidem.index.analysis.numbering import TermNumbering
from ibidem.index.arrays import Array, Bytes, Columns, bitmap_bytes, offsets, to_bitmap
from ibidem.index.segments.identity import id_array
from ibidem.index.segments.impacts import impact_columns
from ibidem.index.segments.inverted import build_inverted, merge_inverted
from ibidem.index.segments.key_list import Numbering
from ibidem.index.segments.merge_rows import Part, merge_lists, merge_rows, plan_merge
from ibidem.index.segments.property_keys import EXISTS, name_key, scalar_key
from ibidem.objects.node import Node

INVERTED = ("label", "prop", "term")
WIDE_ROWS = 1_024
"""Labels and property keys with at least as many rows have a bitmap of their own."""
_TERMS_MAX = 1 << 18
"""The most terms that are remembered from one segment to the next."""
_PENDING_CHARS = 1 << 17
"""Characters of text that are analysed at a time: the working set then fits into a CPU cache."""


class NodeRows:
    """Collects nodes until they become the columns of one segment."""

    def __init__(self, analyser: str, terms: TermNumbering | None = None) -> None:
        """Collects nothing yet.

        Args:
            analyser: the repository's.
            terms: a numbering of it, which may have terms of other nodes.
        """
        self._analyser = analyser
        self.ids: list[bytes] = []
        self._digests: list[bytes] = []
        self._labels, self._props = Numbering(), Numbering()
        self._names: dict[str, tuple[bytes, int]] = {}
        self._label_numbers, self._prop_numbers = array("I"), array("I")
        self._terms = terms or TermNumbering(analyser)
        self._term_numbers: list[Array] = []
        self._lengths: list[Array] = []
        self._symbol_numbers: list[Array] = []
        self._symbol_counts: list[Array] = []
        self._analysers: list[Array] = []
        self._pending: list[str] = []
        self._homes: list[str] = []
        self._pending_chars = 0
        self.term_count = 0
        """Terms in the texts analysed so far, which are all but the last few."""
        self._prop_counts, self._child_counts = array("I"), array("I")
        self.children: list[bytes] = []

    def __len__(self) -> int:
        return len(self.ids)

    def another(self) -> NodeRows:
        """Returns the rows after these, which know their terms unless these are many."""
        terms = self._terms if len(self._terms) <= _TERMS_MAX else None
        return NodeRows(self._analyser, terms)

    def add(self, node: Node, digest: bytes, text: str) -> None:
        """Adds one node, the digest of its CID and its text."""
        self.ids.append(node.id.raw)
        self._digests.append(digest)
        self._label_numbers.append(self._labels[node.ntype.encode()])
        before = len(self._prop_numbers)
        for name, value in node.props.items():
            self._add_property(name, value)
        self._prop_counts.append(len(self._prop_numbers) - before)
        self._pending.append(text)
        self._homes.append(home_of(node.props, self._analyser))
        self._pending_chars += len(text)
        if self._pending_chars > _PENDING_CHARS:
            self.number_terms()
        self._child_counts.append(len(node.children))
        for child in node.children:
            self.children.append(child.id.raw)

    def _add_property(self, name: str, value: object) -> None:
        """Adds the keys of one property (`index/segments/property_keys.py`)."""
        prefix, exists = self._names.get(name) or self._name(name)
        numbers = self._prop_numbers
        numbers.append(exists)
        for item in value if isinstance(value, (list, tuple)) else (value,):
            key = scalar_key(item)
            if key is not None:
                numbers.append(self._props[prefix + key])

    def _name(self, name: str) -> tuple[bytes, int]:
        prefix = name_key(name)
        found = self._names[name] = prefix, self._props[prefix + EXISTS]
        return found

    def columns(self, ordinals_of: Callable[[Bytes], Array]) -> Columns:
        """Returns the columns; `ordinals_of` gives (m,) ordinals for (m, 16) ids, all of them
        known."""
        ordinals = ordinals_of(id_array(self.ids)).astype(np.uint32)
        order = np.argsort(ordinals, kind="stable")
        row = np.empty(len(order), dtype=np.uint32)
        row[order] = np.arange(len(order), dtype=np.uint32)
        self.number_terms()
        lengths = np.concatenate(self._lengths).astype(np.uint32)
        symbols = np.concatenate(self._symbol_counts).astype(np.uint32)
        columns: Columns = {
            "ordinals": ordinals[order],
            "cids": np.frombuffer(b"".join(self._digests), dtype=np.uint8).reshape(-1, 32)[order],
            "lengths": lengths[order],
            "analysers": np.concatenate(self._analysers)[order],
        }
        columns |= build_inverted(
            "label", self._labels, _numbers(self._label_numbers), row, is_counted=False
        )
        columns |= build_inverted(
            "prop",
            self._props,
            _numbers(self._prop_numbers),
            np.repeat(row, _numbers(self._prop_counts)),
            is_counted=False,
        )
        every = np.concatenate(self._term_numbers + self._symbol_numbers)
        vocabulary, numbers = self._terms.vocabulary(every)
        columns |= build_inverted(
            "term",
            vocabulary,
            numbers,
            np.concatenate([np.repeat(row, counts) for counts in (lengths, symbols)]),
            is_counted=True,
            positions=np.concatenate([_positions(counts) for counts in (lengths, symbols)]),
        )
        columns |= self._child_columns(ordinals_of, row)
        return columns | derived_columns(columns)

    def number_terms(self) -> None:
        """Analyses the texts that have not been analysed yet."""
        numbers, lengths, analysers = self._terms.numbers(self._pending, self._homes)
        symbols, symbol_counts = self._terms.symbols(self._pending, lengths)
        self._term_numbers.append(numbers)
        self._lengths.append(lengths)
        self._analysers.append(analysers)
        self._symbol_numbers.append(symbols)
        self._symbol_counts.append(symbol_counts)
        self.term_count += len(numbers) + len(symbols)
        self._pending.clear()
        self._homes.clear()
        self._pending_chars = 0

    def _child_columns(self, ordinals_of: Callable[[Bytes], Array], row: Array) -> Columns:
        counts = _numbers(self._child_counts)
        items = ordinals_of(id_array(self.children)).astype(np.uint32)
        by_row = np.argsort(np.repeat(row, counts), kind="stable")
        counts_by_row = np.empty_like(counts)
        counts_by_row[row] = counts
        return {"child.starts": offsets(counts_by_row), "child.items": items[by_row]}


def merge_nodes(parts: Sequence[Part]) -> Columns:
    """Returns the live rows of several node segments as the columns of one."""
    plan = plan_merge(parts)
    columns: Columns = {"ordinals": plan.ordinals}
    for name in ("cids", "lengths", "analysers"):
        columns[name] = merge_rows(plan, name)
    for prefix in INVERTED:
        columns |= merge_inverted(prefix, plan.segments, plan.renumbered)
    columns |= merge_lists(plan, "child")
    return columns | derived_columns(columns)


def derived_columns(columns: Columns) -> Columns:
    """Returns the columns that follow from others."""
    items = columns["child.items"]
    rows, positions = child_rows(columns["child.starts"], len(items))
    order = np.argsort(items, kind="stable")
    derived: Columns = {
        "parent.child": items[order],
        "parent.row": rows[order],
        "parent.position": positions[order],
        "set": bitmap_bytes(to_bitmap(columns["ordinals"])),
    }
    for prefix in ("label", "prop"):
        derived |= _wide_columns(prefix, columns)
    return derived | impact_columns(columns)


def child_rows(starts: Array, count: int) -> tuple[Array, Array]:
    """Returns the row of each of `count` children, and its position there, (count,) uint32."""
    every = np.arange(count)
    rows = np.searchsorted(starts, every, side="right") - 1
    return rows.astype(np.uint32), (every - starts[rows]).astype(np.uint32)


def _positions(lengths: Array) -> Array:
    """Returns 0 to n - 1 for each length n, one after the other, (sum,) uint32."""
    ends = np.cumsum(lengths, dtype=np.uint32)
    total = int(ends[-1]) if len(ends) else 0
    positions: Array = np.arange(total, dtype=np.uint32)
    positions -= np.repeat(ends - lengths, lengths)
    return positions


def _wide_columns(prefix: str, columns: Columns) -> Columns:
    """Returns the columns with the bitmaps of the keys that many rows have."""
    starts, rows = columns[f"{prefix}.starts"], columns[f"{prefix}.rows"]
    wide = np.flatnonzero(np.diff(starts.astype(np.int64)) >= WIDE_ROWS)
    sets = [
        bitmap_bytes(to_bitmap(columns["ordinals"][rows[int(starts[key]) : int(starts[key + 1])]]))
        for key in wide.tolist()
    ]
    return {
        f"{prefix}.wide": wide.astype(np.uint32),
        f"{prefix}.wide_starts": offsets(np.array([len(one) for one in sets], dtype=np.int64)),
        f"{prefix}.wide_sets": np.concatenate([np.empty(0, dtype=np.uint8), *sets]),
    }


def _numbers(values: array[int]) -> Array:
    return np.frombuffer(values, dtype=np.uint32) if values else np.empty(0, dtype=np.uint32)
