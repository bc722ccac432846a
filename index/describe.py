"""The content of a snapshot without its layout, for comparing two snapshots of one root.

Slow and simple on purpose: `Index.verify` and the tests use it as an independent check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice, repeat
from typing import Any

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from ibidem.index.arrays import Array, Bytes, contains_rows, to_ordinals
from ibidem.index.families.edge_rows import ALWAYS, VALID
from ibidem.index.families.node_rows import child_rows
from ibidem.index.families.vector_rows import ROWS
from ibidem.index.segments.inverted import inverted
from ibidem.index.segments.key_list import KeyList
from ibidem.index.segments.positions import WIDTHS, all_positions
from ibidem.index.segments.reader import LexicalSegment, SegmentView
from ibidem.index.segments.segment import Segment
from ibidem.index.snapshot import Snapshot
from ibidem.objects.errors import CorruptError
from ibidem.objects.root import NOUNS

Facts = dict[Any, Any]
Uint64s = npt.NDArray[np.uint64]
Hashes = tuple[Array, Uint64s]
"""The groups and the hashes of some entries, (n,) each."""
Wanted = Callable[[Any], bool]
"""Whether the entry of a key is wanted; others may be yielded too."""
_TEXTS = "texts and properties"
_GROUPS = 4096
_NODES_AT_ONCE = 1 << 16
_POSTINGS_AT_ONCE = 1 << 20
_WORDS_AT_ONCE = 1 << 20


def differences(held: Snapshot, expected: Snapshot) -> list[str]:
    """Returns one sentence for each section in which two snapshots of one root differ.

    Entries are first compared by sums of hashes, in groups by their keys; only groups that differ
    are held in memory. Columns that follow from others are not compared: `bound_problem` does.

    Raises:
        CorruptError: the columns of `held` contradict each other.
    """
    try:
        return _differences(held, expected)
    except (IndexError, ValueError) as error:
        raise CorruptError(f"index of {held.root}: {error}") from error


def _differences(held: Snapshot, expected: Snapshot) -> list[str]:
    problems = []
    for section in _SECTIONS:
        differing = set(np.flatnonzero(_sums(held, section) != _sums(expected, section)).tolist())
        if not differing:
            continue

        def is_wanted(key: Any, section: str = section, differing: set[int] = differing) -> bool:
            return _group(section, key) in differing

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
    return xxh3_64_intdigest(repr(key).encode())


def _group(section: str, key: Any) -> int:
    """Returns the group of an entry by its key; an id, alone or after a name, has it in its last
    bytes."""
    raw = key[1] if isinstance(key, tuple) else key
    if section != _TEXTS and isinstance(raw, bytes):
        return int.from_bytes(raw[-2:], "little") % _GROUPS
    return _key_hash(key) % _GROUPS


def _sums(snapshot: Snapshot, section: str) -> Uint64s:
    """Returns, by group of keys, the sum of the hashes of the entries of a section, modulo 2^64;
    (_GROUPS,)."""
    sums = np.zeros(_GROUPS, np.uint64)
    hashed = _HASHES.get(section)
    for groups, hashes in hashed(snapshot) if hashed else _entry_hashes(snapshot, section):
        np.add.at(sums, groups, hashes)
    return sums


def _entry_hashes(snapshot: Snapshot, section: str) -> Iterator[Hashes]:
    pairs = (
        (
            _group(section, key),
            _key_hash((key, sorted(fact) if isinstance(fact, frozenset) else fact)),
        )
        for key, fact in entries(snapshot, section)
    )
    found = np.fromiter(pairs, [("group", np.uint16), ("hash", np.uint64)])
    yield found["group"], found["hash"]


def _node_hashes(snapshot: Snapshot) -> Iterator[Hashes]:
    every = to_ordinals(snapshot.live)
    for part in snapshot.state.nodes:
        segment = SegmentView(part)
        ids, live = snapshot.node_ids(segment.ordinals), live_rows(segment)
        yield _by_id(ids[live], part.segment["cids"][live])

        items = part.segment["child.items"]
        rows, positions = child_rows(part.segment["child.starts"], len(items))
        kept = live[rows] & contains_rows(every, items)[1]
        yield _by_id(ids[rows[kept]], positions[kept], snapshot.node_ids(items[kept]))


def _label_hashes(snapshot: Snapshot) -> Iterator[Hashes]:
    for label in snapshot.labels():
        ids = row_hashes(snapshot.node_ids(to_ordinals(snapshot.label(label))))
        key_hash = np.array([_key_hash(label)], np.uint64)
        yield key_hash % _GROUPS, _mixed(ids).sum(keepdims=True) * (key_hash | np.uint64(1))


def _text_hashes(snapshot: Snapshot) -> Iterator[Hashes]:
    """Yields the hashes of the postings of each key, and those of all lengths and analysers, each
    times an odd number: so the same postings of another key give another sum."""
    for segment in snapshot.lexical:
        ids = row_hashes(snapshot.node_ids(segment.ordinals))
        live, columns = live_rows(segment), segment.part.segment
        for prefix in ("prop", "term"):
            column = inverted(columns, prefix)
            starts = column.posting_starts()
            keys = list(column.keys or ())
            first = 0
            while first < len(keys):
                limit = starts[first] + _POSTINGS_AT_ONCE
                last = max(first + 1, int(np.searchsorted(starts, limit, side="right")) - 1)
                span = slice(int(starts[first]), int(starts[last]))
                rows = column.rows[span]
                edges = starts[first : last + 1] - span.start
                hashes = ids.take(rows)
                if column.values is not None:
                    hashes += _position_hashes(columns, first, column.values[span], edges)
                hashes = _mixed(hashes)
                hashes[~live.take(rows)] = 0
                ends = np.append(np.uint64(0), np.cumsum(hashes))[edges]
                some = (_key_hash((prefix, key)) for key in keys[first:last])
                key_hashes = np.fromiter(some, np.uint64, last - first)
                yield key_hashes % _GROUPS, np.diff(ends) * (key_hashes | np.uint64(1))
                first = last
        for name, values in (("length", segment.lengths), ("analyser", segment.analysers)):
            hashes = _mixed(ids + _mixed(values.astype(np.uint64)))[live]
            key_hash = np.array([_key_hash(name)], np.uint64)
            yield key_hash % _GROUPS, hashes.sum(keepdims=True) * (key_hash | np.uint64(1))


def _position_hashes(columns: Segment, first: int, counts: Array, edges: Array) -> Uint64s:
    """Returns the hashes of the positions in each posting of some terms, (n,).

    Args:
        columns: of the nodes.
        first: the number of the first of the terms.
        counts: (n,) the number of positions in each posting.
        edges: where the postings of each term begin among these, and where the last ones end.
    """
    starts = columns["position.starts"][first : first + len(edges)].astype(np.int64)
    ends = np.append(0, np.cumsum(counts, dtype=np.int64))
    by_term = np.diff(ends[edges])
    widths = np.diff(starts) // np.maximum(by_term, 1)
    if not (np.isin(widths, WIDTHS).all() and np.array_equal(widths * by_term, np.diff(starts))):
        raise ValueError("position.starts does not fit the frequencies")
    data = columns["position.bytes"][starts[0] : starts[-1]]
    positions = all_positions(data, starts, by_term).astype(np.uint64)
    hashes: Uint64s = np.diff(np.append(np.uint64(0), np.cumsum(_mixed(positions)))[ends])
    return hashes


def _edge_hashes(snapshot: Snapshot) -> Iterator[Hashes]:
    for part in snapshot.state.edges:
        columns = part.segment
        live = live_rows(SegmentView(part))
        etypes = np.array([_key_hash(name) for name in _etypes(columns)], np.uint64)
        ends = (snapshot.node_ids(columns[end])[live] for end in ("source", "target"))
        of_type = etypes[columns["code"][live]]
        bounds = (bound[live] for bound in _validity(columns))
        ids, cids, weights = (columns[name][live] for name in ("ids", "cids", "weight"))
        yield _by_id(ids, cids, *ends, of_type, weights, *bounds)


def _dense_hashes(snapshot: Snapshot) -> Iterator[Hashes]:
    for name in snapshot.state.names("vectors"):
        factor = np.uint64(_key_hash(name) | 1)
        for segment in snapshot.vectors(name):
            ids, live = snapshot.node_ids(segment.ordinals), live_rows(segment)
            cids, of = segment.cid_digests.whole(), segment.digests.whole()
            groups, hashes = _by_id(ids, cids, segment.rows.whole(), of)
            yield groups[live], hashes[live] * factor


def _by_id(ids: Bytes, *columns: Array) -> Hashes:
    """Returns the groups of some ids, and the hashes of their rows in some columns."""
    return ids[:, -2:].copy().view("<u2")[:, 0] % _GROUPS, row_hashes(ids, *columns)


def row_hashes(*columns: Array) -> Uint64s:
    """Returns a hash of each row of some columns, (n,).

    Args:
        columns: (n, ...) each, with rows of a multiple of four bytes.
    """
    count = len(columns[0])
    hashes = np.zeros(count, np.uint64)
    for column in columns:
        width = column.nbytes // (4 * max(1, count))
        words = np.ascontiguousarray(column).view("<u4").reshape(count, width)
        factors = _mixed(np.arange(width, dtype=np.uint64))
        step = max(1, _WORDS_AT_ONCE // max(1, width))
        for start in range(0, count, step):
            rows = slice(start, start + step)
            hashes[rows] = _mixed(hashes[rows] + words[rows].astype(np.uint64) @ factors)
    return hashes


def _mixed(words: Uint64s) -> Uint64s:
    """Returns the hash of each of some words (splitmix64)."""
    found: Uint64s = words + np.uint64(0x9E3779B97F4A7C15)
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return found ^ (found >> np.uint64(31))


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
        gathered: dict[bytes, set[tuple[bytes, tuple[int, ...]]]] = {}
        for segment in snapshot.lexical:
            ids, live = _rows(snapshot, segment)
            column = inverted(segment.part.segment, prefix)
            for index, key in enumerate(column.keys or ()):
                if not is_wanted((prefix, key)):
                    continue
                rows = column.rows[column.span(index)].tolist()
                there = _positions(segment, index) if column.values is not None else repeat(())
                gathered.setdefault(key, set()).update(
                    (ids[row], where) for row, where in zip(rows, there, strict=False) if live[row]
                )
        yield from (((prefix, key), found) for key, found in gathered.items() if found)
    for name in filter(is_wanted, ("length", "analyser")):
        found_values: dict[bytes, int] = {}
        for segment in snapshot.lexical:
            ids, live = _rows(snapshot, segment)
            values = segment.lengths if name == "length" else segment.analysers
            found_values |= {ids[row]: int(values[row]) for row in np.flatnonzero(live).tolist()}
        yield name, found_values


def _positions(segment: LexicalSegment, index: int) -> Iterator[tuple[int, ...]]:
    """Yields the positions in each posting of a term, by the number of the term."""
    columns = segment.part.segment
    column = inverted(columns, "term")
    assert column.values is not None, "BUG: terms have frequencies"
    counts = column.values[column.span(index)].astype(np.int64)
    starts = columns["position.starts"][index : index + 2].astype(np.int64)
    data = columns["position.bytes"][starts[0] : starts[1]]
    positions = iter(all_positions(data, starts, counts.sum(keepdims=True)).tolist())
    return (tuple(islice(positions, count)) for count in counts.tolist())


def _edges(snapshot: Snapshot, is_wanted: Wanted) -> Iterator[tuple[Any, Any]]:
    for part in snapshot.state.edges:
        columns = part.segment
        names = _etypes(columns)
        ends = [_ids(snapshot, columns[end]) for end in ("source", "target")]
        first, last = _validity(columns)
        for row in np.flatnonzero(live_rows(SegmentView(part))).tolist():
            yield (
                columns["ids"][row].tobytes(),
                (
                    columns["cids"][row].tobytes(),
                    ends[0][row],
                    ends[1][row],
                    names[int(columns["code"][row])],
                    float(columns["weight"][row]),
                    (int(first[row]), int(last[row])),
                ),
            )


def _etypes(columns: Segment) -> KeyList:
    return KeyList(columns.column("etype.keys"), columns.column("etype.ends"))


def _validity(columns: Segment) -> list[Array]:
    """Returns the first and the last microsecond at which each edge holds."""
    return [
        columns[name] if name in columns else np.full(columns.row_count, always)
        for name, always in zip(VALID, ALWAYS, strict=True)
    ]


def _vectors(snapshot: Snapshot, is_wanted: Wanted, family: str) -> Iterator[tuple[Any, Any]]:
    for name in snapshot.state.names(family):
        for segment in snapshot.segments(family, name):
            ids, live = _rows(snapshot, segment)
            rows = zip(live, ids, segment.cid_digests.whole(), segment.values(), strict=True)
            for is_live, raw, cid_digest, value in rows:
                if is_live:
                    yield (name, raw), (cid_digest.tobytes(), value)


def _rows(snapshot: Snapshot, segment: SegmentView) -> tuple[list[bytes], Array]:
    return _ids(snapshot, segment.ordinals), live_rows(segment)


def live_rows(segment: SegmentView) -> Array:
    """Returns which rows of a segment are live, (n,) bool."""
    live = segment.live
    return np.ones(len(segment.ordinals), dtype=bool) if live is None else live


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
_HASHES: Mapping[str, Callable[[Snapshot], Iterator[Hashes]]] = {
    "nodes": _node_hashes,
    "labels": _label_hashes,
    _TEXTS: _text_hashes,
    "edges": _edge_hashes,
    f"{NOUNS['vectors']}s": _dense_hashes,
}
"""The hashes of the entries of the large sections, computed many at a time."""
