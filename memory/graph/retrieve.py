"""Asking a graph memory: lanes, one fusion, the best as roots, and the walk from them.

A pure function of a snapshot as its caller sees it, a request and the events at its notes head.
Lanes give ranks and no scores of their own scale, so none can swamp another: what was found, which
entities are named, how salient a record is, what the selector says.

Spec: memory 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from pyroaring import BitMap

from ibidem.memory.graph.answer import GraphAnswer, GraphNode, Withheld
from ibidem.memory.graph.entity import entity_boosts
from ibidem.memory.graph.record import Record, RecordType
from ibidem.memory.graph.request import Request
from ibidem.memory.graph.salience import last_reinforced, salience
from ibidem.memory.graph.selector import Candidate, Selection, select
from ibidem.memory.graph.walk import walk
from ibidem.objects.block import EMPTY
from ibidem.objects.cid import CommitCid, NodeCid
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.repo.events import OUTCOME, Event, Log
from ibidem.retrieve.access.policy import Reveal, TrustPolicy, policy_of
from ibidem.retrieve.access.restricted_snapshot import RestrictedSnapshot, loader, restrict
from ibidem.retrieve.answer.answer import Answer
from ibidem.retrieve.answer.item import Item
from ibidem.retrieve.filter import universe
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute
from ibidem.retrieve.protocol import Snapshot
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.recall.factors import Opinions
from ibidem.retrieve.rerank import LANE as RERANK
from ibidem.retrieve.rerank import Reranker, RerankRecord

RETRIEVED, ENTITY, SALIENCE, SELECTOR = "retrieved", "entity", "salience", "selector"
LANES: Mapping[str, float] = MappingProxyType(
    {RETRIEVED: 1.0, ENTITY: 1.0, SALIENCE: 0.3, SELECTOR: 0.3}
)
"""Every lane with its weight, in the order in which their shares are added."""
RRF_K = 60
NEUTRAL_POLICY = TrustPolicy()
"""Names the properties of records where no policy does."""
Load = Callable[[NodeCid], Node]


def ask(
    snapshot: Snapshot,
    request: Request,
    log: Log,
    load: Load,
    content: Callable[[Node], bytes | None],
    commit: CommitCid | None = None,
    *,
    reranker: Reranker | RerankRecord | None = None,
    opinions: Opinions = EMPTY,
) -> GraphAnswer:
    """Returns the answer to a request.

    Args:
        snapshot: of the root that is asked.
        log: the events at `request.notes_head`.
        load: reads a node. content: its whole content.
        commit: recorded in the receipt.
        reranker: the one that the query names, or the record of what it said before.
        opinions: of the notes that the query names, where it counts some.

    Raises:
        InvalidInputError: as `retrieve.execute.execute`.
    """
    view = restrict(snapshot, request.query.trust, load)
    asking = _Asking(view, request, log, loader(view, load))
    result = None
    if request.query.has_ranker:
        result = execute(
            view,
            request.query,
            NodeSource(load, content),
            reranker=reranker,
            opinions=opinions,
        )
    said = None if result is None else result.rerank
    asking.rank(result)
    if said is not None:
        asking.status[RERANK] = str(said.status)
    roots = asking.roots()
    walked = walk(view, roots, asking.may_return, request)
    nodes = sorted(
        (asking.node(ordinal, hop) for ordinal, hop in walked.hops.items()),
        key=lambda one: (one.hop, -one.salience, one.id.raw),
    )
    return GraphAnswer(
        root=snapshot.root,
        request=request,
        nodes=tuple(nodes),
        edges=tuple(walked.edges),
        root_ids=tuple(asking.id_of(one) for one in roots[: request.node_limit]),
        selection=asking.selection,
        status=MappingProxyType(asking.status),
        skipped=MappingProxyType(walked.skipped),
        withheld=_withheld(view, nodes, load),
        commit=commit,
        rerank=said,
    )


@dataclass(slots=True)
class _Asking:
    """One request while it is answered."""

    view: Snapshot
    request: Request
    log: Log
    load: Load
    eligible: BitMap = field(init=False)
    policy: TrustPolicy = field(init=False)
    ranks: dict[str, dict[int, int]] = field(default_factory=dict)
    status: dict[str, str] = field(default_factory=dict)
    selection: Selection = field(default_factory=Selection)
    _read: dict[int, tuple[NodeCid, Record, Node]] = field(default_factory=dict)
    _salience: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        query = replace(self.request.query, text=None, vector=None, sparse=None)
        self.eligible = universe(self.view, query).scope.members
        self.policy = policy_of(self.view.config) or NEUTRAL_POLICY

    def rank(self, result: Answer[Item] | None) -> None:
        """Ranks the candidates by every lane."""
        text = self.request.query.text
        found: list[int] = []
        if result is None:
            candidates = list(self.eligible) if text is None else []
        else:
            found = [self._ordinal(item.id) for item in result.items]
            candidates = found
        boosts = {} if text is None else entity_boosts(self.view, text, self.eligible)
        candidates = [one for one in dict.fromkeys([*candidates, *boosts]) if self.may_return(one)]
        kept = set(candidates)
        self._lane(RETRIEVED, [one for one in found if one in kept])
        self._lane(ENTITY, self._sorted(boosts.keys() & kept, lambda one: boosts[one]))
        self._lane(SALIENCE, self._sorted(kept, self.salience))
        self.selection = self._select(candidates, result)
        self._lane(SELECTOR, [self._ordinal(one) for one in self.selection.selected])

    def roots(self) -> list[int]:
        """Returns the best candidates, best first."""
        scores = {one: self.score(one) for ranks in self.ranks.values() for one in ranks}
        return self._sorted(scores, lambda one: scores[one])[: self.request.root_limit]

    def shares(self, ordinal: int) -> dict[str, float]:
        """Returns what each lane contributes to a candidate."""
        return {
            name: LANES[name] / (RRF_K + ranks[ordinal])
            for name, ranks in self.ranks.items()
            if ordinal in ranks
        }

    def score(self, ordinal: int) -> float:
        """Returns the shares of the lanes, added in their order."""
        total = 0.0
        for share in self.shares(ordinal).values():
            total += share
        return total

    def may_return(self, ordinal: int) -> bool:
        """Tells whether a node is one that may be returned."""
        if ordinal not in self.eligible:
            return False
        return self.request.min_salience == 0.0 or self.salience(ordinal) >= (
            self.request.min_salience
        )

    def salience(self, ordinal: int) -> float:
        """Returns the salience of a record at the request's time."""
        if ordinal not in self._salience:
            record = self.record(ordinal)
            events = self.events(ordinal)
            self._salience[ordinal] = salience(
                record, events, self.request.as_of, undated=self.request.undated
            )
        return self._salience[ordinal]

    def events(self, ordinal: int) -> Sequence[Event]:
        """Returns what was said about a node."""
        return self.log.about(self.id_of(ordinal))

    def record(self, ordinal: int) -> Record:
        """Returns the record that a node is."""
        return self._node(ordinal)[1]

    def id_of(self, ordinal: int) -> NodeId:
        """Returns the id of a node."""
        return NodeId(self.view.node_ids(np.array([ordinal], np.uint32)).tobytes())

    def node(self, ordinal: int, hop: int) -> GraphNode:
        """Returns a node as the answer has it."""
        cid, _, node = self._node(ordinal)
        if hop:
            return GraphNode(node, cid, hop, self.salience(ordinal))
        ranks = {name: ranks[ordinal] for name, ranks in self.ranks.items() if ordinal in ranks}
        shares = self.shares(ordinal)
        return GraphNode(node, cid, 0, self.salience(ordinal), self.score(ordinal), ranks, shares)

    def _node(self, ordinal: int) -> tuple[NodeCid, Record, Node]:
        if ordinal not in self._read:
            cid = self.view.node_cids(np.array([ordinal], np.uint32))[0]
            node = self.load(cid)
            self._read[ordinal] = cid, Record.of(node, self.policy), node
        return self._read[ordinal]

    def _ordinal(self, node: NodeId) -> int:
        ordinal = self.view.ordinal(node)
        assert ordinal is not None, "BUG: a ranked node is in the snapshot"
        return ordinal

    def _lane(self, name: str, ordered: Sequence[int]) -> None:
        self.ranks[name] = {ordinal: rank for rank, ordinal in enumerate(ordered, 1)}
        self.status[name] = "ok" if ordered else "empty"

    def _sorted(self, ordinals: object, value: Callable[[int], float]) -> list[int]:
        """Returns ordinals by value descending, then id."""
        found = list(ordinals)  # type: ignore[call-overload]
        return sorted(found, key=lambda one: (-value(one), self.id_of(one).raw))

    def _select(self, candidates: Sequence[int], result: Answer[Item] | None) -> Selection:
        """Returns what the selector says of the competences and plans among the candidates."""
        close: dict[NodeId, float] = {}
        if result is not None and result.query.vector is not None:
            metric = self.view.config.models[result.query.vector.model].metric
            if metric == "cosine":
                close = {
                    item.id: (item.lanes["dense"].score + 1.0) / 2.0
                    for item in result.items
                    if "dense" in item.lanes
                }
        found: list[Candidate] = []
        for ordinal in candidates:
            record = self.record(ordinal)
            if record.type not in (RecordType.COMPETENCE, RecordType.PLAN_GRAPH):
                continue
            events = [one for one in self.events(ordinal) if one.time <= self.request.as_of]
            outcomes = [one.value == 1.0 for one in events if one.kind == OUTCOME]
            id_ = self.id_of(ordinal)
            found.append(
                Candidate(
                    id_,
                    close.get(id_, record.confidence),
                    record.payload.get("successes", 0) + sum(outcomes),
                    record.payload.get("failures", 0) + len(outcomes) - sum(outcomes),
                    last_reinforced(events, self.request.as_of),
                )
            )
        request = self.request
        return select(found, request.as_of, top_min=request.top_min, gap_min=request.gap_min)


def ranked_query(query: Query, depth: int) -> Query:
    """Returns a query that gives the best `depth` of each lane, and every one of them."""
    return replace(query, depth=depth, limit=None, token_budget=None)


def _withheld(view: Snapshot, nodes: Sequence[GraphNode], load: Load) -> tuple[Withheld, ...]:
    """Returns the neighbours of returned records of which the caller may know that there are any;
    nothing unless it asked."""
    if not isinstance(view, RestrictedSnapshot) or view.trust.reveal != Reveal.STUB:
        return ()
    counts: dict[tuple[bytes, bool, str, int], int] = {}
    for one in nodes:
        ordinal = view.base.ordinal(one.id)
        assert ordinal is not None, "BUG: a returned node is in the snapshot"
        for outgoing in (True, False):
            edges = view.base.outgoing(ordinal) if outgoing else view.base.incoming(ordinal)
            others = {other for other in edges.neighbours.tolist() if other in view.withheld}
            for other in sorted(others):
                node = load(view.base.node_cids(np.array([other], np.uint32))[0])
                key = (one.id.raw, outgoing, node.ntype, view.trust.cap(view.policy) + 1)
                counts[key] = counts.get(key, 0) + 1
    return tuple(
        Withheld(NodeId(near), outgoing, ntype, level, counts[near, outgoing, ntype, level])
        for near, outgoing, ntype, level in sorted(counts)
    )
