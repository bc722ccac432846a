"""The content of a snapshot without its layout, for comparing two snapshots of one root.

Slow and simple on purpose: `Index.verify` and the tests use it as an independent check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from ibidem.index.analysis import ANALYSERS
from ibidem.index.arrays import Array, to_ordinals
from ibidem.index.families.vector_rows import ROWS
from ibidem.index.segments.inverted import inverted
from ibidem.index.segments.key_list import KeyList
from ibidem.index.segments.reader import SegmentView
from ibidem.index.snapshot import Snapshot
from ibidem.objects.root import NOUNS

Facts = dict[Any, Any]


def differences(held: Snapshot, expected: Snapshot) -> list[str]:
    """Returns one sentence for each section in which two snapshots of one root differ."""
    problems = []
    for section, facts in describe(expected).items():
        found = describe_section(held, section)
        if found == facts:
            continue
        wrong = [key for key in facts if found.get(key) != facts[key]]
        wrong += [key for key in found if key not in facts]
        problems.append(
            f"index of {held.root}: {section} differs in {len(wrong)} of {len(facts)} entries, "
            f"first {wrong[0]!r:.80}"
        )
    return problems


def describe(snapshot: Snapshot) -> dict[str, Facts]:
    """Returns the whole content of a snapshot, by section, in terms of node ids."""
    return {section: describe_section(snapshot, section) for section in _SECTIONS}


def describe_section(snapshot: Snapshot, section: str) -> Facts:
    """Returns one section of `describe`."""
    return dict(_SECTIONS[section](snapshot))


def _nodes(snapshot: Snapshot) -> Iterator[tuple[Any, Any]]:
    ordinals = to_ordinals(snapshot.live)
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


def _hidden(snapshot: Snapshot) -> Iterator[tuple[Any, Any]]:
    for raw in _ids(snapshot, to_ordinals(snapshot.tombstoned)):
        yield raw, True


def _labels(snapshot: Snapshot) -> Iterator[tuple[Any, Any]]:
    for label in snapshot.labels():
        yield label, frozenset(_ids(snapshot, to_ordinals(snapshot.label(label))))


def _texts(snapshot: Snapshot) -> Iterator[tuple[Any, Any]]:
    for prefix in ("prop", "term"):
        gathered: dict[bytes, set[tuple[bytes, int]]] = {}
        for segment in snapshot.lexical:
            ids, live = _rows(snapshot, segment)
            column = inverted(segment.part.segment, prefix)
            for index, key in enumerate(column.keys or ()):
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
    for segment in snapshot.lexical:
        ids, live = _rows(snapshot, segment)
        for row in np.flatnonzero(live).tolist():
            yield ("length", ids[row]), int(segment.lengths[row])
            yield ("analyser", ids[row]), ANALYSERS[segment.analysers[row]]


def _edges(snapshot: Snapshot) -> Iterator[tuple[Any, Any]]:
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


def _vectors(snapshot: Snapshot, family: str) -> Iterator[tuple[Any, Any]]:
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


_SECTIONS: Mapping[str, Callable[[Snapshot], Iterator[tuple[Any, Any]]]] = {
    "nodes": _nodes,
    "tombstones": _hidden,
    "labels": _labels,
    "texts and properties": _texts,
    "edges": _edges,
    **{f"{NOUNS[family]}s": partial(_vectors, family=family) for family in ROWS},
}
