"""Executes a query for records: the query's own ranking is one of four lanes, whose best nodes are
roots, and relations are walked from them.

    candidates -> lanes -> sum of reciprocal ranks -> roots -> walk -> budget -> answer

A pure function of a snapshot as its caller sees it, a query and the events at its notes head. The
lanes count by rank, so none can dominate another: the query's ranking, the entities that the
question names, the salience of a record, and the selector.

Spec: memory 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

import numpy as np

from ibidem.objects.block import EMPTY
from ibidem.objects.cid import NodeCid, RootCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.retrieve.access.policy import DENY, Reveal
from ibidem.retrieve.access.restricted_snapshot import RestrictedSnapshot, restrict
from ibidem.retrieve.answer.answer import Answer
from ibidem.retrieve.answer.drops import DropReason, Drops
from ibidem.retrieve.answer.lane_score import LaneScore, LaneScores
from ibidem.retrieve.answer.render import render
from ibidem.retrieve.answer.staleness import count_stale
from ibidem.retrieve.answer.warning import AnswerWarning
from ibidem.retrieve.budget import Reader
from ibidem.retrieve.fuse import Fused, added, reciprocal_ranks
from ibidem.retrieve.lane import LaneStatus, LaneTop
from ibidem.retrieve.node_source import Load, NodeSource
from ibidem.retrieve.numbers import rank
from ibidem.retrieve.pipeline import Ranked, count_conflicted, lane_scores, origins, ranked
from ibidem.retrieve.protocol import Snapshot
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.recall.factors import Opinions
from ibidem.retrieve.records.entity import entity_boosts
from ibidem.retrieve.records.item import RecordGraph, RecordItem, Withheld
from ibidem.retrieve.records.noted import OUTCOME, Events, Noted, no_events
from ibidem.retrieve.records.option import RecordOptions
from ibidem.retrieve.records.record import LAYERS, Record, RecordType, record_policy
from ibidem.retrieve.records.salience import last_reinforced, salience
from ibidem.retrieve.records.selector import Candidate, Selection, select
from ibidem.retrieve.records.walk import id_of, walk
from ibidem.retrieve.rerank import LANE as RERANK
from ibidem.retrieve.rerank import Reranker, RerankRecord, RerankStatus
from ibidem.retrieve.subquery_lane import RunLanes

RETRIEVED, ENTITY, SALIENCE, SELECTOR = "retrieved", "entity", "salience", "selector"
LANES: Mapping[str, float] = MappingProxyType(
    {RETRIEVED: 1.0, ENTITY: 1.0, SALIENCE: 0.3, SELECTOR: 0.3}
)
"""Every lane of a query for records with its weight, in the order in which their shares are
added; the lanes of the query's own ranking, the first one here, are in `query/fusion.py`."""
RRF_K = 60.0
"""A constant, whatever the `rrf_k` of the query's own ranking."""


def execute_records(
    snapshot: Snapshot,
    query: Query,
    nodes: NodeSource,
    *,
    reranker: Reranker | RerankRecord | None = None,
    lanes: RunLanes | None = None,
    opinions: Opinions = EMPTY,
    events: Events = no_events,
) -> Answer[RecordItem]:
    """Returns the records that answer a query; the arguments and errors are those of `execute`.

    Args:
        events: the events about a node in the notes that the query names.

    Raises:
        InvalidInputError: also if the query has no record options.
    """
    options = query.records
    if options is None:
        raise InvalidInputError("records: got none, expected the options of records")
    view = restrict(snapshot, query.viewer, nodes.load)
    found = ranked(view, query, nodes, reranker=reranker, lanes=lanes, opinions=opinions)
    records = _Records(view, query, options, found.reader, events)
    tops, candidates, selection = _lanes(found, records)
    fused = added(tops, [reciprocal_ranks(top, RRF_K, LANES[top.lane]) for top in tops])
    order = rank(fused.scores, view.node_ids(fused.ordinals))
    roots: list[int] = fused.ordinals[order][: options.root_limit].tolist()
    eligible = found.scope.nodes.members
    walked = walk(
        view, roots, eligible, records, options, as_of=query.as_of, root_of=records.root_of
    )
    every = _items(found, records, walked.hops, tops, fused)
    if options.layered:
        every = dict(sorted(every.items(), key=lambda row: _layer(row[1])))
    taken = _fitting(every, query.items_budget, is_ordered=options.layered)
    items, ids = tuple(taken.values()), {(one.root, one.id) for one in taken.values()}
    graph = RecordGraph(
        edges=tuple(
            one for one in walked.edges if {(one.root, one.src), (one.root, one.dst)} <= ids
        ),
        root_ids=tuple(id_of(view, at) for at in roots[: options.limit] if at in taken),
        selection=selection,
        edges_skipped=walked.edges_skipped,
        withheld=_withheld(view, items, nodes.load),
    )
    return Answer(
        root=snapshot.root,
        query=query,
        items=items,
        tokens_used=query.framed.total([item.tokens for item in items]),
        candidates_seen=len(candidates),
        dropped=Drops(),
        dropped_counts=MappingProxyType(
            {
                DropReason.LIMIT.value: walked.nodes_skipped,
                DropReason.BUDGET.value: len(every) - len(items),
            }
        ),
        warnings=_warnings(found, view, taken),
        status=MappingProxyType(_status(tops, found.record)),
        rerank=found.record,
        graph=graph,
    )


@record
class _Read:
    """A record and what was read with it."""

    cid: NodeCid
    node: Node
    record: Record


class _Records:
    """The records of one answer, read on demand."""

    def __init__(
        self,
        view: Snapshot,
        query: Query,
        options: RecordOptions,
        reader: Reader,
        events: Events,
    ) -> None:
        self.view = view
        self.options = options
        self._query = query
        self._reader = reader
        self._events = events
        self._policy = record_policy(view.config)
        self._read: dict[int, _Read | None] = {}
        """None for a node that is no record."""
        self._salience: dict[int, float] = {}

    def may_return(self, ordinal: int) -> bool:
        """Returns whether an eligible node has enough salience to be returned."""
        least = self.options.min_salience
        return least == 0.0 or (self.is_record(ordinal) and self.salience(ordinal) >= least)

    def is_record(self, ordinal: int) -> bool:
        """Returns whether an eligible node is a record; whoever wrote it may have chosen another
        form."""
        return self._found(ordinal) is not None

    def salience(self, ordinal: int) -> float:
        """Returns the salience of a record at the question's time."""
        if ordinal not in self._salience:
            self._salience[ordinal] = salience(
                self.read(ordinal).record,
                self.events(ordinal),
                self.options.as_of,
                undated=self.options.undated,
            )
        return self._salience[ordinal]

    def is_scored(self, ordinal: int) -> bool:
        """Returns whether the selector scores a record."""
        return self.read(ordinal).record.type in (RecordType.COMPETENCE, RecordType.PLAN_GRAPH)

    def root_of(self, ordinal: int) -> RootCid | None:
        """Returns the root of a node among several, None if one is asked."""
        return origins(self.view, self._query, np.array([ordinal], np.uint32))[0]

    def events(self, ordinal: int) -> Sequence[Noted]:
        """Returns the events about a node."""
        return self._events(id_of(self.view, ordinal))

    def read(self, ordinal: int) -> _Read:
        """Returns the record in a node that is one."""
        found = self._found(ordinal)
        assert found is not None, "BUG: a node that is no record"
        return found

    def _found(self, ordinal: int) -> _Read | None:
        if ordinal not in self._read:
            self.read_ahead([ordinal])
        return self._read[ordinal]

    def read_ahead(self, ordinals: Sequence[int]) -> None:
        """Reads records in one batch."""
        cids = self.view.node_cids(np.array(ordinals, np.uint32))
        for ordinal, cid, node in zip(ordinals, cids, self._reader.load_all(cids), strict=True):
            self._read[ordinal] = None
            with suppress(InvalidInputError):
                self._read[ordinal] = _Read(cid, node, Record.of(node, self._policy))


def _lanes(found: Ranked, records: _Records) -> tuple[list[LaneTop], list[int], Selection]:
    """Returns the tops of the four lanes, the candidates, and the selector's result for them."""
    query, eligible, view = found.scope.query, found.scope.nodes.members, records.view
    boosts = {} if query.text is None else entity_boosts(view, query.text, eligible, query.as_of)
    listed: list[int] = found.ranking.ordinals.tolist()
    scores = {one: found.ranking.score(index) for index, one in enumerate(listed)}
    records.read_ahead(list(dict.fromkeys([*listed, *boosts])))
    candidates = [
        one
        for one in dict.fromkeys([*listed, *boosts])
        if records.is_record(one) and records.may_return(one)
    ]
    kept = set(candidates)
    retrieved = [one for one in listed if one in kept] if query.has_ranker else []
    selection = _selected(found, records, candidates)
    scored = {id_of(view, one): one for one in candidates if records.is_scored(one)}
    chosen = {scored[one]: selection.scores[one] for one in selection.selected}
    saliences = {one: records.salience(one) for one in candidates}
    named = {one: float(boost) for one, boost in boosts.items() if one in kept}
    tops = [
        _top(RETRIEVED, retrieved, scores),
        _top(ENTITY, _best_first(view, named), named),
        _top(SALIENCE, _best_first(view, saliences), saliences),
        _top(SELECTOR, list(chosen), chosen),
    ]
    return tops, candidates, selection


def _best_first(view: Snapshot, scores: Mapping[int, float]) -> list[int]:
    """Returns ordinals by score descending, then id."""
    ordinals = np.array(list(scores), np.uint32)
    order = rank(np.array(list(scores.values()), np.float64), view.node_ids(ordinals))
    best: list[int] = ordinals[order].tolist()
    return best


def _top(lane: str, ordered: Sequence[int], scores: Mapping[int, float]) -> LaneTop:
    return LaneTop(
        lane,
        np.array(ordered, np.uint32),
        np.array([scores[one] for one in ordered], np.float64),
        LaneStatus.OK if ordered else LaneStatus.EMPTY,
    )


def _selected(found: Ranked, records: _Records, candidates: Iterable[int]) -> Selection:
    """Returns the selector's result for the competences and plans among the candidates."""
    options, close = records.options, _closeness(found, records.view)
    rows: list[Candidate] = []
    known: set[NodeId] = set()
    for ordinal in candidates:
        if not records.is_scored(ordinal):
            continue
        one = records.read(ordinal).record
        events = [event for event in records.events(ordinal) if event.time <= options.as_of]
        outcomes = [event.value == 1.0 for event in events if event.kind == OUTCOME]
        id_ = id_of(records.view, ordinal)
        if id_ in known:
            records.view.ordinal(id_)  # raises, as several roots have a node with this id
        known.add(id_)
        rows.append(
            Candidate(
                id_,
                close.get(ordinal, one.confidence),
                one.payload.get("successes", 0) + sum(outcomes),
                one.payload.get("failures", 0) + len(outcomes) - sum(outcomes),
                last_reinforced(events, options.as_of),
            )
        )
    return select(rows, options.as_of, top_min=options.top_min, gap_min=options.gap_min)


def _closeness(found: Ranked, view: Snapshot) -> dict[int, float]:
    """Returns (cosine + 1) / 2 of the nodes in the dense lane; nothing for other metrics."""
    vector = found.scope.query.vector
    if vector is None or view.config.models[vector.model].metric != "cosine":
        return {}
    return {
        ordinal: (score + 1.0) / 2.0
        for top in found.tops
        if top.lane == "dense"
        for ordinal, score in zip(top.ordinals.tolist(), top.scores.tolist(), strict=True)
    }


def _items(
    found: Ranked,
    records: _Records,
    hops: Mapping[int, int],
    tops: Sequence[LaneTop],
    fused: Fused,
) -> dict[int, RecordItem]:
    """Returns the items by ordinal: roots first, then by hop, salience descending, id."""
    counter = found.reader.counter
    roots = [one for one, hop in hops.items() if hop == 0]
    ranks = dict(zip(roots, lane_scores(np.array(roots, np.uint32), tops, fused), strict=True))
    scores = dict(zip(fused.ordinals.tolist(), fused.scores.tolist(), strict=True))
    items: dict[int, RecordItem] = {}
    for ordinal, hop in hops.items():
        read = records.read(ordinal)
        rendered = render(read.node, found.reader.text(read.node))
        lanes: Mapping[str, LaneScore] = ranks.get(ordinal, {})
        items[ordinal] = RecordItem(
            read.node,
            read.cid,
            hop,
            records.salience(ordinal),
            scores[ordinal] if hop == 0 else 0.0,
            rendered,
            counter.cost(rendered),
            LaneScores(lanes),
            records.root_of(ordinal),
        )

    def order(row: tuple[int, RecordItem]) -> tuple[int, float, bytes, int]:
        ordinal, one = row
        return one.hop, -one.salience, one.id.raw, ordinal

    return dict(sorted(items.items(), key=order))


def _layer(item: RecordItem) -> tuple[int, float]:
    """Returns the order of an item among others with equal hops and saliences."""
    return LAYERS.index(RecordType(item.node.ntype)), -item.score


def _fitting(
    items: dict[int, RecordItem], budget: int | None, *, is_ordered: bool
) -> dict[int, RecordItem]:
    """Returns the items that a budget holds, up to the first one that does not fit: the roots by
    their score, then the others in order; or all in order, if it says what comes first."""
    if budget is None:
        return items
    chosen: set[int] = set()
    order = list(items)
    if not is_ordered:
        order.sort(key=lambda at: (items[at].hop > 0, -items[at].score))
    for at in order:
        budget -= items[at].tokens
        if budget < 0:
            break
        chosen.add(at)
    return {at: one for at, one in items.items() if at in chosen}


def _status(
    tops: Sequence[LaneTop], reranked: RerankRecord | None
) -> dict[str, LaneStatus | RerankStatus]:
    status: dict[str, LaneStatus | RerankStatus] = {top.lane: top.status for top in tops}
    if reranked is not None:
        status[RERANK] = reranked.status
    return status


def _warnings(
    found: Ranked, view: Snapshot, items: Mapping[int, RecordItem]
) -> tuple[AnswerWarning, ...]:
    """Returns the warnings about the query and about the returned items, by ordinal."""
    query = found.scope.query
    ordinals = np.array(list(items), np.uint32)
    nodes = [one.node for one in items.values()]
    stale = count_stale(view, query, ordinals, nodes, found.reader.content)
    texts = [one.rendered for one in items.values()]
    return found.warnings(stale, count_conflicted(view, ordinals), texts)


def _withheld(view: Snapshot, items: Sequence[RecordItem], load: Load) -> tuple[Withheld, ...]:
    """Returns the neighbours of returned records that the caller may only know to exist; nothing
    unless the caller requested them and the policy allows it."""
    if isinstance(view, RestrictedSnapshot):
        return _withheld_of(view, items, load)
    from ibidem.retrieve.access.union_snapshot import UnionSnapshot  # few questions have several

    return tuple(
        stub
        for part in (view.parts if isinstance(view, UnionSnapshot) else ())
        if isinstance(part, RestrictedSnapshot)
        for stub in _withheld_of(
            part, [one for one in items if one.root == part.root], load, part.root
        )
    )


def _withheld_of(
    view: RestrictedSnapshot,
    items: Iterable[RecordItem],
    load: Load,
    root: RootCid | None = None,
) -> tuple[Withheld, ...]:
    """Returns the hidden neighbours of the records of one root; `root` names it among several."""
    if view.viewer.reveal != Reveal.STUB or view.policy.stubs == DENY:
        return ()
    counts: dict[tuple[bytes, bool, str, int], int] = {}
    for one in items:
        ordinal = view.base.ordinal(one.id)
        assert ordinal is not None, "BUG: a returned node is in the snapshot"
        for outgoing in (True, False):
            edges = view.base.outgoing(ordinal) if outgoing else view.base.incoming(ordinal)
            others = {other for other in edges.neighbours.tolist() if other in view.withheld}
            for other in sorted(others):
                node = load(view.base.node_cids(np.array([other], np.uint32))[0])
                key = (one.id.raw, outgoing, node.ntype, view.viewer.cap(view.policy) + 1)
                counts[key] = counts.get(key, 0) + 1
    return tuple(
        Withheld(NodeId(near), outgoing, ntype, level, counts[near, outgoing, ntype, level], root)
        for near, outgoing, ntype, level in sorted(counts)
    )
