"""The content of a snapshot without its layout, for comparing two snapshots of one root.

Slow and simple on purpose: `Index.verify` and the tests use it as an independent check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from blake3 import blake3

from ibidem.index.arrays import Array, to_ordinals
from ibidem.index.families.vector_rows import ROWS
from ibidem.index.segments.inverted import inverted
from ibidem.index.segments.key_list import KeyList
from ibidem.index.segments.reader import SegmentView
from ibidem.index.snapshot import Snapshot
from ibidem.objects.root import NOUNS

Facts = dict[Any, Any]
Uint64s = npt.NDArray[np.uint64]
Wanted = Callable[[Any], bool]
"""Whether the entry of a key is wanted; others may be yielded too."""
_TEXTS = "texts and properties"
_GROUPS = 4096
_NODES_AT_ONCE = 1 << 16
_POSTINGS_AT_ONCE = 1 << 20


def differences(held: Snapshot, expected: Snapshot) -> list[str]:
    """Returns one sentence for each section in which two snapshots of one root differ.

    Entries are first compared by sums of hashes, in groups by their keys; only groups that differ
    are held in memory.
    """
    problems = []
    for section in _SECTIONS:
        differing = set(np.flatnonzero(_sums(held, section) != _sums(expected, section)).tolist())
        if not differing:
            continue

        def is_wanted(key: Any, differing: set[int] = differing) -> bool:
            return _group(_key_hash(key)) in differing

        facts, found = (
            {key: fact for key, fact in _SECTIONS[section](one, is_wanted) if is_wanted(key)}
            for one in (expected, held)
        )
        wrong = [key for key in facts if found.get(key) != facts[key]]
        wrong += [key for key in found if key not in facts]
        problems.append(
            f"index of {held.root}: {section} differs in {len(wrong)} entries, "
            f"first {wrong[0]!r:.80}"
            if wrong
            else f"index of {held.root}: {section} has an entry more than once"
        )
    return problems


def describe(snapshot: Snapshot) -> dict[str, Facts]:
    """Returns the whole content of a snapshot, by section, in terms of node ids."""
    return {section: dict(entries(snapshot, section)) for section in _SECTIONS}


def entries(snapshot: Snapshot, section: str) -> Iterator[tuple[Any, Any]]:
    """Yields the entries of one section of `describe`."""
    return _SECTIONS[section](snapshot, _every)


def _every(key: Any) -> bool:
    return True


def _key_hash(key: Any) -> int:
    return int.from_bytes(blake3(repr(key).encode()).digest(length=8), "little")


def _group(key_hash: int) -> int:
    return key_hash % _GROUPS


def _sums(snapshot: Snapshot, section: str) -> Uint64s:
    """Returns, by group of keys, the sum of the hashes of the entries of a section, modulo 2^64;
    (_GROUPS,)."""
    if section == _TEXTS:
        return _text_sums(snapshot)
    sums = [0] * _GROUPS
    for key, fact in entries(snapshot, section):
        if isinstance(fact, frozenset):
            fact = sorted(fact)
        entry = blake3(repr((key, fact)).encode()).digest(length=8)
        sums[_group(_key_hash(key))] += int.from_bytes(entry, "little")
    return np.array([one % (1 << 64) for one in sums], np.uint64)


def _text_sums(snapshot: Snapshot) -> Uint64s:
    """Returns `_sums` of the postings, lengths and analysers, many at a time."""
    sums = [0] * _GROUPS

    def add(key: Any, hashes: int) -> None:
        key_hash = _key_hash(key)
        # A sum of hashes times an odd number, so that postings of another key give another sum.
        sums[_group(key_hash)] += hashes * (key_hash | 1)

    for segment in snapshot.lexical:
        words = snapshot.node_ids(segment.ordinals).view("<u8")
        ids = _mixed(words[:, 0] ^ _mixed(words[:, 1]))
        live = np.ones(len(ids), np.bool_) if segment.live is None else segment.live
        for prefix in ("prop", "term"):
            column = inverted(segment.part.segment, prefix)
            starts = column.posting_starts()
            keys = list(column.keys or ())
            first = 0
            while first < len(keys):
                limit = starts[first] + _POSTINGS_AT_ONCE
                last = max(first + 1, int(np.searchsorted(starts, limit, side="right")) - 1)
                span = slice(int(starts[first]), int(starts[last]))
                rows = column.rows[span]
                values = np.zeros(len(rows)) if column.values is None else column.values[span]
                hashes = _mixed(ids.take(rows) + _mixed(values.astype(np.uint64)))
                hashes[~live.take(rows)] = 0
                ends = np.append(np.uint64(0), np.cumsum(hashes))[
                    starts[first : last + 1] - span.start
                ]
                for key, one in zip(keys[first:last], np.diff(ends).tolist(), strict=True):
                    add((prefix, key), one)
                first = last
        for name, values in (("length", segment.lengths), ("analyser", segment.analysers)):
            add(name, int(_mixed(ids + _mixed(values.astype(np.uint64)))[live].sum()))
    return np.array([one % (1 << 64) for one in sums], np.uint64)


def _mixed(words: Uint64s) -> Uint64s:
    """Returns the hash of each of some words (splitmix64)."""
    found: Uint64s = words + np.uint64(0x9E3779B97F4A7C15)
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return found ^ (found >> np.uint64(31))


def node_cids(snapshot: Snapshot) -> Iterator[tuple[bytes, bytes]]:
    """Yields the id and the CID of each live node, as bytes."""
    every = to_ordinals(snapshot.live)
    for start in range(0, len(every), _NODES_AT_ONCE):
        some = every[start : start + _NODES_AT_ONCE]
        cids = snapshot.node_cids(some)
        yield from zip(_ids(snapshot, some), (cid.raw for cid in cids), strict=True)


def _nodes(snapshot: Snapshot, is_wanted: Wanted) -> Iterator[tuple[Any, Any]]:
    every = to_ordinals(snapshot.live)
    for start in range(0, len(every), _NODES_AT_ONCE):
        yield from _some_nodes(snapshot, every[start : start + _NODES_AT_ONCE])


def _some_nodes(snapshot: Snapshot, ordinals: Array) -> Iterator[tuple[Any, Any]]:
    cids = snapshot.node_cids(ordinals)
    for raw, cid, ordinal in zip(_ids(snapshot, ordinals), cids, ordinals.tolist(), strict=True):
        children = snapshot.children(ordinal)
        parent = snapshot.parent(ordinal)
        yield (
            raw,
            (
                cid.raw,
                tuple(
                    zip(_ids(snapshot, children.ordinals), children.positions.tolist(), strict=True)
                ),
                None if parent is None else (_ids(snapshot, np.array(parent[:1])), parent[1]),
            ),
        )


def _hidden(snapshot: Snapshot, is_wanted: Wanted) -> Iterator[tuple[Any, Any]]:
    for raw in _ids(snapshot, to_ordinals(snapshot.tombstoned)):
        yield raw, True


def _labels(snapshot: Snapshot, is_wanted: Wanted) -> Iterator[tuple[Any, Any]]:
    for label in snapshot.labels():
        yield label, frozenset(_ids(snapshot, to_ordinals(snapshot.label(label))))


def _texts(snapshot: Snapshot, is_wanted: Wanted) -> Iterator[tuple[Any, Any]]:
    for prefix in ("prop", "term"):
        gathered: dict[bytes, set[tuple[bytes, int]]] = {}
        for segment in snapshot.lexical:
            ids, live = _rows(snapshot, segment)
            column = inverted(segment.part.segment, prefix)
            for index, key in enumerate(column.keys or ()):
                if not is_wanted((prefix, key)):
                    continue
                span = column.span(index)
                values = (
                    [0] * (span.stop - span.start)
                    if column.values is None
                    else column.values[span].tolist()
                )
                gathered.setdefault(key, set()).update(
                    (ids[row], value)
                    for row, value in zip(column.rows[span].tolist(), values, strict=True)
                    if live[row]
                )
        yield from (((prefix, key), found) for key, found in gathered.items() if found)
    for name in filter(is_wanted, ("length", "analyser")):
        found_values: dict[bytes, int] = {}
        for segment in snapshot.lexical:
            ids, live = _rows(snapshot, segment)
            values = segment.lengths if name == "length" else segment.analysers
            found_values |= {ids[row]: int(values[row]) for row in np.flatnonzero(live).tolist()}
        yield name, found_values


def _edges(snapshot: Snapshot, is_wanted: Wanted) -> Iterator[tuple[Any, Any]]:
    for part in snapshot.state.edges:
        columns = part.segment
        _, live = _rows(snapshot, SegmentView(part))
        names = KeyList(columns.column("etype.keys"), columns.column("etype.ends"))
        ends = [_ids(snapshot, columns[end]) for end in ("source", "target")]
        for row in np.flatnonzero(live).tolist():
            yield (
                columns["ids"][row].tobytes(),
                (
                    columns["cids"][row].tobytes(),
                    ends[0][row],
                    ends[1][row],
                    names[int(columns["code"][row])],
                    float(columns["weight"][row]),
                ),
            )


def _vectors(snapshot: Snapshot, is_wanted: Wanted, family: str) -> Iterator[tuple[Any, Any]]:
    for name in snapshot.state.names(family):
        for segment in snapshot.segments(family, name):
            ids, live = _rows(snapshot, segment)
            rows = zip(live, ids, segment.cid_digests.whole(), segment.values(), strict=True)
            for is_live, raw, cid_digest, value in rows:
                if is_live:
                    yield (name, raw), (cid_digest.tobytes(), value)


def _rows(snapshot: Snapshot, segment: SegmentView) -> tuple[list[bytes], Array]:
    live = segment.live
    count = len(segment.ordinals)
    is_node_space = "ids" not in segment.part.segment
    ids = _ids(snapshot, segment.ordinals) if is_node_space else []
    return ids, np.ones(count, dtype=bool) if live is None else live


def _ids(snapshot: Snapshot, ordinals: Array) -> list[bytes]:
    raw = snapshot.node_ids(np.asarray(ordinals, dtype=np.uint32)).tobytes()
    return [raw[start : start + 16] for start in range(0, len(raw), 16)]


_SECTIONS: Mapping[str, Callable[[Snapshot, Wanted], Iterator[tuple[Any, Any]]]] = {
    "nodes": _nodes,
    "tombstones": _hidden,
    "labels": _labels,
    _TEXTS: _texts,
    "edges": _edges,
    **{f"{NOUNS[family]}s": partial(_vectors, family=family) for family in ROWS},
}
