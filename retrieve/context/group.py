"""Groups hits: which nodes are shown together, and which hits each group represents.

For every kind of expansion and merging: no node is in two groups, every hit is in exactly one, and
the groups do not depend on how many of them are shown.

Spec: packs 2 to 5.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Many

import numpy as np
from pyroaring import BitMap

from ibidem.objects.record import record
from ibidem.retrieve.context.edge_walk import walked
from ibidem.retrieve.context.option import (
    ABSORB,
    EDGES,
    NEIGHBORS,
    NONE,
    SECTION,
    PackOptions,
)
from ibidem.retrieve.context.sequence import Container, Heading, Sequence, Sequences, Spot
from ibidem.retrieve.context.window import Aim, absorb, clipped, coalesce, united
from ibidem.retrieve.protocol import Ordinals, Snapshot

NO_SECTION, NO_SEQUENCE = "no-section", "no-sequence"
"""Why a hit was not expanded as requested."""


@record
class Found:
    """A hit whose node has not been read yet."""

    ordinal: int
    place: int
    """Its position in the ranking."""
    score: float
    spot: Spot | None


@record(frozen=False)
class Group:
    """Nodes that are shown together."""

    hits: list[int]
    """Positions among the ordered hits, best first."""
    members: list[int]
    """Ordinals, in the order of display."""
    sequence: Sequence | None = None
    start: int = 0
    stop: int = 0
    """With `start`: its range of positions in the sequence, if there is one."""
    section: int | None = None
    """The section that is shown as a whole."""
    fallback: str | None = None

    def join(self, other: Group) -> None:
        """Takes the hits of a group that is not shown."""
        self.hits = sorted([*self.hits, *other.hits])


def in_order(
    snapshot: Snapshot,
    ordinals: Ordinals,
    scores: Many[float],
    sequences: Sequences | None,
    options: PackOptions,
    *,
    is_moved: bool,
) -> list[Found]:
    """Returns the hits in the order in which packs are formed from them.

    Args:
        snapshot: provides ids.
        ordinals: of the ranked nodes, best first.
        scores: the score of each of them.
        sequences: the positions of nodes in documents; None if they do not matter.
        options: whether the score counts.
        is_moved: whether a reranker or diversity changed the order, which is then kept.
    """
    raw = snapshot.node_ids(ordinals).tobytes()
    has_scores = options.rank != NONE
    keyed = []
    for place, ordinal in enumerate(ordinals.tolist()):
        own = raw[16 * place : 16 * place + 16]
        spot = None if sequences is None else sequences.find(ordinal)
        where = (own, ordinal, 0) if spot is None else spot.key
        score = scores[place] if has_scores else 0.0
        rank = 0.0 if not has_scores else float(place) if is_moved else -score
        keyed.append(((rank, where, own), Found(ordinal, place, score, spot)))
    keyed.sort(key=lambda pair: pair[0])
    return [found for _, found in keyed]


def measured_first(found: Many[Found], options: PackOptions) -> list[int]:
    """Returns nodes whose length `grouped` needs whatever lengths it finds: those of the hits, and
    what is beside them."""
    if options.expand != NEIGHBORS or options.window_chars is None:
        return []
    ordinals: list[int] = []
    reach = 1 if options.per_hit_neighbors else 0
    for sequence, middle in ((at.sequence, at.index) for one in found if (at := one.spot)):
        homes = sequence.homes
        near = range(max(0, middle - reach), min(len(homes), middle + reach + 1))
        ordinals += [sequence.ordinals[at] for at in near if homes[at] == homes[middle]]
    return ordinals


def grouped(
    snapshot: Snapshot,
    visible: BitMap,
    hits: Many[Found],
    options: PackOptions,
    heading: Heading,
    chars: Callable[[int], int],
    *,
    as_of: int | None,
) -> list[Group]:
    """Returns the groups of some hits, the group of the best hit first.

    Args:
        snapshot: provides ids, labels and edges.
        visible: the nodes that may be shown.
        hits: as `in_order` returns them.
        options: how hits are expanded and merged.
        heading: of a section.
        chars: the length of a node's text.
        as_of: only edges that hold at this microsecond are followed; None for all.
    """
    if options.expand == EDGES:
        return _by_edges(snapshot, visible, hits, options, as_of)
    sections = snapshot.label("Section")
    groups: list[Group] = []
    aims: dict[int, list[Aim]] = {}
    wholes: dict[int, Container] = {}
    for rank, hit in enumerate(hits):
        if (at := hit.spot) is None:
            groups.append(Group([rank], [hit.ordinal], fallback=NO_SEQUENCE))
            continue
        start, stop, whole = _around(at, options, heading, sections, chars)
        if whole is not None:
            wholes[rank] = whole
        aims.setdefault(at.sequence.top, []).append(Aim(rank, at.index, start, stop))
    for mine in aims.values():
        groups += _of_document(hits, mine, wholes, options)
    return _apart(sorted(groups, key=lambda group: group.hits[0]), hits)


def _around(
    position: Spot,
    options: PackOptions,
    heading: Heading,
    sections: BitMap,
    chars: Callable[[int], int],
) -> tuple[int, int, Container | None]:
    """Returns the positions that a hit requests, and the section if the hit was expanded to it."""
    whole = position.section(heading, sections) if options.expand == SECTION else None
    window = position.sequence, position.index, options, chars
    start, stop = (whole.start, whole.stop) if whole else _window(*window)
    return *clipped(position.index, start, stop, options.nodes_max), whole


def _window(
    sequence: Sequence, middle: int, options: PackOptions, chars: Callable[[int], int]
) -> tuple[int, int]:
    """Returns the positions around a hit, in its section alone: one after it, one before it, and so
    on, as long as they fit."""
    around, room = options.per_hit_neighbors, options.window_chars
    assert around is not None, "BUG: edges are walked elsewhere"
    ordinals, homes = sequence.ordinals, sequence.homes
    start, stop = middle, middle + 1
    size = 0 if room is None else chars(ordinals[start])

    def joins(position: int) -> bool:
        nonlocal size
        if not 0 <= position < len(ordinals) or homes[position] != homes[middle]:
            return False
        more = 0 if room is None else chars(ordinals[position])
        if room is not None and size + more > room:
            return False
        size += more
        return True

    is_after = is_before = True
    for _ in range(around):
        is_after = is_after and joins(stop)
        stop += is_after
        is_before = is_before and joins(start - 1)
        start -= is_before
    return start, stop


def _of_document(
    hits: Many[Found], aims: Many[Aim], wholes: dict[int, Container], options: PackOptions
) -> list[Group]:
    stretches = absorb(aims) if options.merge == ABSORB else coalesce(aims, options.nodes_max)
    made = []
    for span in stretches:
        first = span.ranks[0]
        at, whole = hits[first].spot, wholes.get(first)
        assert at is not None, "BUG: a hit of a document has a place in it"
        is_whole = whole is not None and (span.start, span.stop) == (whole.start, whole.stop)
        made.append(
            Group(
                span.ranks,
                list(at.sequence.ordinals[span.start : span.stop]),
                at.sequence,
                span.start,
                span.stop,
                whole.ordinal if whole is not None and is_whole else None,
                NO_SECTION if options.expand == SECTION and whole is None else None,
            )
        )
    return made


def _by_edges(
    snapshot: Snapshot,
    visible: BitMap,
    hits: Many[Found],
    options: PackOptions,
    as_of: int | None,
) -> list[Group]:
    walk = options.edges
    assert walk is not None, "BUG: edges are followed"
    if options.merge != ABSORB:
        walks = [walked(snapshot, visible, hit.ordinal, walk, at=as_of) for hit in hits]
        return [
            Group(
                positions,
                list(dict.fromkeys(node for position in positions for node in walks[position])),
            )
            for positions in united(walks)
        ]
    owner: dict[int, Group] = {}
    groups: list[Group] = []
    for rank, hit in enumerate(hits):
        if hit.ordinal in owner:
            owner[hit.ordinal].hits.append(rank)
            continue
        nodes = walked(
            snapshot,
            visible,
            hit.ordinal,
            walk,
            at=as_of,
            taken=owner,
            nodes_max=options.nodes_max,
        )
        groups.append(Group([rank], nodes))
        owner.update(dict.fromkeys(nodes, groups[-1]))
    return groups


def _apart(groups: Many[Group], hits: Many[Found]) -> list[Group]:
    """Returns the groups without the nodes that an earlier group shows, because several documents
    can list a node; a hit is moved to the group that shows it."""
    owner: dict[int, Group] = {}
    kept: list[Group] = []
    for group in groups:
        own: list[int] = []
        for rank in group.hits:
            hit = hits[rank]
            shown = owner.get(hit.ordinal if hit.spot is None else hit.spot.passage)
            (own if shown is None else shown.hits).append(rank)
        if own:
            group.hits = own
            group.members = [node for node in group.members if node not in owner]
            owner.update(dict.fromkeys(group.members, group))
            kept.append(group)
    for group in kept:
        group.hits.sort()
    return kept


def ids_of(snapshot: Snapshot, ordinals: Many[int]) -> bytes:
    """Returns the ids of some nodes, 16 bytes each."""
    return snapshot.node_ids(np.array(ordinals, np.uint32)).tobytes()
