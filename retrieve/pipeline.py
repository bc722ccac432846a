"""Execute: a pure function from a snapshot and a resolved query to an answer.

    view -> universe -> lanes -> fuse -> rerank -> diversify -> pack -> answer

Nothing here reads a clock, randomness or the environment, and only statistics that depend on the
snapshot alone are cached.

Spec: retrieval 3 to 9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from ibidem.objects.block import EMPTY
from ibidem.objects.cid import RootCid
from ibidem.objects.errors import IbidemError, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.retrieve.access.restricted_snapshot import batch_loader, loader, restrict
from ibidem.retrieve.answer.answer import Answer, AnyItem
from ibidem.retrieve.answer.drops import DROPS_LISTED_MAX, DropReason, Drops
from ibidem.retrieve.answer.item import Item
from ibidem.retrieve.answer.lane_score import LaneScore, LaneScores
from ibidem.retrieve.answer.mention import Mention
from ibidem.retrieve.answer.neighbours import neighbour_lines
from ibidem.retrieve.answer.staleness import count_stale
from ibidem.retrieve.answer.warning import AnswerWarning, WarningCode, capped
from ibidem.retrieve.budget import Packed, Reader, Refuse
from ibidem.retrieve.condition_warnings import unknown_names
from ibidem.retrieve.filter import NodeSet, Universe, cached, universe
from ibidem.retrieve.fuse import Fused
from ibidem.retrieve.graph.lane import GraphTop, paths_of, run_graph_lanes, unknown_etypes
from ibidem.retrieve.graph.mention import MentionTop, run_mentions
from ibidem.retrieve.heading import with_passages
from ibidem.retrieve.lane import LaneStatus, LaneTop
from ibidem.retrieve.node_source import Load, NodeSource
from ibidem.retrieve.numbers import rank
from ibidem.retrieve.protocol import Ordinals, Snapshot
from ibidem.retrieve.query import predicate
from ibidem.retrieve.query.frame import Counter
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.query.subquery import lane_of
from ibidem.retrieve.ranking import SnapshotRanking
from ibidem.retrieve.reorder import reorder
from ibidem.retrieve.rerank import LANE as RERANK
from ibidem.retrieve.rerank import Reranker, RerankRecord, RerankStatus
from ibidem.retrieve.semantics import rules
from ibidem.retrieve.sparse import rank_sparse
from ibidem.retrieve.subquery_lane import RunLanes, check_models, run_subqueries
from ibidem.retrieve.titles import title_of_part
from ibidem.retrieve.tokens import check_estimator

if TYPE_CHECKING:
    from ibidem.retrieve.recall.direct_answer import DirectAnswer
    from ibidem.retrieve.recall.factors import Adjusted, Opinions


def execute(
    snapshot: Snapshot,
    query: Query,
    nodes: NodeSource,
    *,
    reranker: Reranker | RerankRecord | None = None,
    lanes: RunLanes | None = None,
    opinions: Opinions = EMPTY,
) -> Answer[Item]:
    """Returns the answer to a query over a snapshot's root.

    Args:
        snapshot: the index of one root.
        query: resolved; see `query.resolve`.
        nodes: how nodes are read; its estimator is the one that the query names.
        reranker: the one that the query names, or the record of its earlier scores.
        lanes: ranks by words and vectors, by default `run_lanes`; must give the same tops.
        opinions: factors from the notes that the query names, see `recall.adjust`.

    Raises:
        InvalidInputError: the query names an unknown model, has another dimension, or names another
            estimator or reranker.
        ReplayError: the record is of another ranking.
    """
    for name in ("packs", "records"):
        if getattr(query, name) is not None:
            raise InvalidInputError(f"{name}: got options of {name}, expected a question for nodes")
    snapshot = restrict(snapshot, query.viewer, nodes.load)
    found = ranked(snapshot, query, nodes, reranker=reranker, lanes=lanes, opinions=opinions)
    packed = _packed(found)
    ordinals = found.ranking.ordinals[[one.place for one in packed.taken]]
    scored = found.lane_scores(ordinals)
    contested = _contested(snapshot)
    items = tuple(
        Item(
            one.node,
            one.cid,
            found.ranking.score(one.place),
            one.rendered,
            one.tokens,
            LaneScores(scores),
            paths,
            found.mentions_of(ordinal),
            root,
            _title_in_conflict(found, contested, ordinal),
        )
        for one, scores, paths, ordinal, root in zip(
            packed.taken,
            scored,
            paths_of(found.walks, ordinals),
            ordinals.tolist(),
            origins(snapshot, query, ordinals),
            strict=True,
        )
    )
    stale = count_stale(
        snapshot, query, ordinals, [item.node for item in items], found.reader.content
    )
    open_conflicts = count_conflicted(snapshot, ordinals)
    warnings = found.warnings(stale, open_conflicts, [item.rendered for item in items])
    return found.answer(items, packed.drops, packed.counts, warnings, found.direct())


def _packed(found: Ranked) -> Packed:
    """Returns the nodes that are items, and those that are not."""
    query = found.scope.query
    given = found.scope, found.ranking, found.reader
    refuse: Refuse | None = None
    reasons: tuple[DropReason, ...] = ()
    if query.dedupe is not None or query.headings is not None:
        from ibidem.retrieve.items import ItemFilter  # not loaded by most processes

        items = ItemFilter(*given)
        refuse, reasons = items.refuse, items.reasons
    if query.overflow is not None or query.frame is not None:
        from ibidem.retrieve.items import pack_whole_or_cut  # likewise

        return pack_whole_or_cut(*given, refuse=refuse, reasons=reasons)
    packed: Packed = rules(query.semantics).pack(
        found.ranking,
        found.reader,
        limit=query.limit,
        budget=query.token_budget,
        refuse=refuse,
        reasons=reasons,
    )
    return packed


def _title_in_conflict(found: Ranked, contested: BitMap, ordinal: int) -> str:
    """Returns where a part in conflict stands, because it has no location if only another version
    of its document has it; empty for any other node."""
    if ordinal not in contested:
        return ""
    snapshot = found.scope.view.snapshot

    read = partial(found.reader.node, snapshot)
    with suppress(IbidemError):  # a missing block does not cost the answer: this is in no bytes
        return str(title_of_part(snapshot, found.scope.view.members, ordinal, read) or "")
    return ""


def origins(
    snapshot: Snapshot, query: Query, ordinals: Ordinals
) -> Sequence[RootCid] | Sequence[None]:
    """Returns the root of each node of an answer over several roots, None in one over one root."""
    if query.union is None:
        return [None] * len(ordinals)
    from ibidem.retrieve.access.union_snapshot import UnionSnapshot  # few questions have several

    assert isinstance(snapshot, UnionSnapshot), "BUG: a question to several roots was asked of one"
    return snapshot.origins(ordinals)


@record
class Ranked:
    """Every candidate of a query, best first, and how the order was determined; not packed yet."""

    scope: Universe
    ranking: SnapshotRanking
    tops: Sequence[LaneTop]
    walks: Sequence[GraphTop]
    mentions: MentionTop | None
    fused: Fused | None
    reader: Reader
    rerank_scores: Mapping[int, LaneScore]
    """By ordinal, the reranker's rank and score of each node that it scored."""
    record: RerankRecord | None
    factors: Sequence[Adjusted] = ()

    def answer(
        self,
        items: tuple[AnyItem, ...],
        dropped: Drops,
        dropped_counts: Mapping[str, int],
        warnings: tuple[AnswerWarning, ...],
        direct: DirectAnswer | None = None,
    ) -> Answer[AnyItem]:
        """Returns the answer with the candidates that were taken, and those that were left out."""
        return Answer(
            root=self.scope.view.snapshot.root,
            query=self.scope.query,
            items=items,
            tokens_used=self.scope.query.framed.total([item.tokens for item in items]),
            candidates_seen=len(self.ranking),
            dropped=dropped,
            dropped_counts=dropped_counts,
            warnings=warnings,
            status=MappingProxyType(_status(self.tops, self.record)),
            rerank=self.record,
            direct=direct,
        )

    def lane_scores(self, ordinals: Ordinals) -> list[dict[str, LaneScore]]:
        """Returns the results of each lane, and of the reranker, for some nodes."""
        lanes = lane_scores(ordinals, self.tops, self.fused)
        if self.factors:
            from ibidem.retrieve.recall.stage import add_factors

            add_factors(lanes, ordinals, self.fused, self.factors)
        for ordinal, scores in zip(ordinals.tolist(), lanes, strict=True):
            if ordinal in self.rerank_scores:
                scores[RERANK] = self.rerank_scores[ordinal]
        return lanes

    def mentions_of(self, ordinal: int) -> tuple[Mention, ...]:
        """Returns the names that led to a node, most important first."""
        return () if self.mentions is None else self.mentions.mentions(ordinal)

    def warnings(
        self,
        stale: int,
        open_conflicts: int,
        texts: Sequence[str],
        more: Sequence[AnswerWarning] = (),
    ) -> tuple[AnswerWarning, ...]:
        """Returns the warnings of the answer: `stale` of its nodes have a stale vector, and
        `open_conflicts` of them are in conflict; `texts` are the renderings of its items, and
        `more` what else there is to say."""
        query = self.scope.query
        return capped(
            [
                *_warnings(self.scope, self.tops, self.walks, stale),
                *_rerank_warning(query, self.record),
                *_conflict_warning(open_conflicts),
                *coverage_warning(query, texts),
                *more,
            ]
        )

    def direct(self) -> DirectAnswer | None:
        """Returns the direct answer, None if it was not requested."""
        if self.scope.query.recall is None:
            return None
        from ibidem.retrieve.recall.stage import direct_of

        return direct_of(self.scope, self.ranking, self.reader)


def ranked(
    snapshot: Snapshot,
    query: Query,
    nodes: NodeSource,
    *,
    reranker: Reranker | RerankRecord | None = None,
    lanes: RunLanes | None = None,
    opinions: Opinions = EMPTY,
) -> Ranked:
    """Returns the candidates of a query in order; the arguments and errors are those of
    `execute`."""
    check_estimator(query, nodes.estimator)
    snapshot = restrict(snapshot, query.viewer, nodes.load)
    load = loader(snapshot, nodes.load)
    check_models(snapshot, query)
    scope = universe(snapshot, query)
    run = lanes or run_lanes
    tops = [*run(scope), *run_subqueries(scope, run)]
    walks = run_graph_lanes(scope, tops)
    mentions = run_mentions(scope, tops, load, nodes.content)
    tops += [walk.top for walk in walks]
    tops += [] if mentions is None else [mentions.top]
    fused = rules(query.semantics).fuse(tops, query.fusion) if tops else None
    factors: Sequence[Adjusted] = ()
    if fused is not None and query.recall is not None:
        from ibidem.retrieve.recall.stage import recall  # not loaded by most processes

        fused, factors = recall(scope, fused, load, opinions)
    ranking = _rank(scope, tops, fused)
    reader = Reader(
        load,
        nodes.content,
        Counter(nodes.estimator, query.framed),
        snapshot.config.fields,
        query.metadata,
        _adjacent(scope.view, query),
        batch_loader(snapshot, nodes.load_many),
    )
    after = reorder(snapshot, query, ranking, reader, reranker)
    return Ranked(
        scope,
        after.ranking,
        tops,
        walks,
        mentions,
        fused,
        reader,
        after.rerank_scores,
        after.record,
        factors,
    )


def dense_tops(snapshot: Snapshot, queries: Sequence[Query], load: Load) -> list[LaneTop | None]:
    """Returns the top of the dense lane for each query, None for a query without a vector.

    Queries of one model and one universe share a scan; each top equals that of the query alone.
    """
    from ibidem.retrieve.dense.lane import check_model, rank_dense_many

    tops: list[LaneTop | None] = [None] * len(queries)
    positions = [position for position, query in enumerate(queries) if query.vector is not None]
    for position in positions:
        check_model(snapshot, queries[position])
    with_vector = [queries[position] for position in positions]
    found = rank_dense_many(
        [universe(restrict(snapshot, one.viewer, load), one) for one in with_vector]
    )
    for position, top in zip(positions, found, strict=True):
        tops[position] = top
    return tops


def run_lanes(
    scope: Universe, dense: LaneTop | None = None, lexical: LaneTop | None = None
) -> list[LaneTop]:
    """Returns the tops of the lanes that the query uses, in fusion order.

    Args:
        dense: the top of that lane, if it was computed before; likewise `lexical`.
    """
    query = scope.query
    tops: list[LaneTop] = []
    if query.text is not None:
        tops.append(rules(query.semantics).rank_lexical(scope) if lexical is None else lexical)
    if query.vector is not None:
        from ibidem.retrieve.dense.lane import rank_dense

        tops.append(_with_passages(scope, rank_dense(scope) if dense is None else dense))
    if query.sparse is not None:
        tops.append(_with_passages(scope, rank_sparse(scope)))
    return tops


def _with_passages(scope: Universe, top: LaneTop) -> LaneTop:
    return with_passages(scope, top, counts_own=True)[0]


def _rank(scope: Universe, tops: Sequence[LaneTop], fused: Fused | None) -> SnapshotRanking:
    """Returns every candidate, best first."""
    snapshot = scope.view.snapshot
    if fused is None:
        ordinals = _by_id(snapshot, scope.nodes.ordinals(), scope.query)
        ones = np.ones(ordinals.shape[0], np.float64)
        return SnapshotRanking(snapshot, ordinals, ones)
    if len(tops) == 1 and scope.query.recall is None:
        return SnapshotRanking(snapshot, fused.ordinals, fused.scores)
    ids = snapshot.node_ids(fused.ordinals)
    order = rank(fused.scores, ids)
    return SnapshotRanking(snapshot, fused.ordinals[order], fused.scores[order], ids[order])


def _by_id(snapshot: Snapshot, ordinals: Ordinals, query: Query) -> Ordinals:
    """Returns all matches, in id order as far as the answer can show them.

    If a limit ends the answer, only that many and the listed drops need to be sorted; the rest are
    only counted.
    """
    ids = snapshot.node_ids(ordinals)
    words = np.ascontiguousarray(ids).view(">u8")
    first = words[:, 0].astype(np.uint64)
    count = ordinals.shape[0]
    shown = count if query.limit is None or query.token_budget is not None else query.limit
    shown = min(count, shown + DROPS_LISTED_MAX)
    if shown * 4 >= count:
        return ordinals[np.lexsort((words[:, 1], first))]
    last = np.partition(first, shown - 1)[shown - 1]
    head, tail = np.flatnonzero(first <= last), np.flatnonzero(first > last)
    order = np.lexsort((words[head, 1], first[head]))
    return np.concatenate([ordinals[head[order]], ordinals[tail]])


def lane_scores(
    ordinals: Ordinals, tops: Sequence[LaneTop], fused: Fused | None
) -> list[dict[str, LaneScore]]:
    """Returns the results of each lane for each of some nodes."""
    found: list[dict[str, LaneScore]] = [{} for _ in range(ordinals.shape[0])]
    if fused is None or not found or not fused.ordinals.shape[0]:
        return found
    fused_at = _places(fused.ordinals, ordinals)
    for top in tops:
        positions = _places(top.ordinals, ordinals)
        shares = fused.contributions[top.lane][fused_at]
        for lanes, position, share in zip(found, positions.tolist(), shares.tolist(), strict=True):
            if position >= 0:
                lanes[top.lane] = LaneScore(position + 1, float(top.scores[position]), share)
    return found


def _status(
    tops: Sequence[LaneTop], record: RerankRecord | None
) -> dict[str, LaneStatus | RerankStatus]:
    status: dict[str, LaneStatus | RerankStatus] = {top.lane: top.status for top in tops}
    if record is not None:
        status[RERANK] = record.status
    return status


def _places(among: Ordinals, wanted: Ordinals) -> npt.NDArray[np.intp]:
    """Returns the position of each of `wanted` among distinct ordinals, -1 if it is absent."""
    if among.shape[0] == 0:
        return np.full(wanted.shape[0], -1, np.intp)
    order = among.argsort(kind="stable")
    near = order.take(among.searchsorted(wanted, sorter=order), mode="clip")
    return np.where(among[near] == wanted, near, -1)


def _warnings(
    scope: Universe, tops: Sequence[LaneTop], walks: Sequence[GraphTop], stale: int
) -> Iterator[AnswerWarning]:
    """Yields warnings in the order of the closed list, then of their subjects."""
    query, snapshot = scope.query, scope.view.snapshot
    status = {top.lane: top.status for top in tops}
    if status.get("lexical") is LaneStatus.NO_TERMS:
        yield AnswerWarning(WarningCode.NO_QUERY_TERMS, "text")
    if query.degraded is not None:
        yield AnswerWarning(WarningCode.MODEL_MISSING, "model", query.degraded)
    if query.vector is not None and status["dense"] is LaneStatus.NO_VECTORS:
        yield AnswerWarning(WarningCode.NO_VECTORS, "vector", query.vector.model)
    if query.sparse is not None and status["sparse"] is LaneStatus.NO_VECTORS:
        yield AnswerWarning(WarningCode.NO_SPARSE_VECTORS, "sparse", query.sparse.vocab)
    if query.vector is not None and stale and status["dense"] is not LaneStatus.NO_VECTORS:
        yield AnswerWarning(WarningCode.STALE_VECTORS, "vector", query.vector.model, stale)
    yield from _queries_warnings(query, status)
    for walk in walks:
        if walk.top.status is LaneStatus.NO_EDGES:
            yield AnswerWarning(WarningCode.NO_EDGES, walk.top.lane)
    for walk in walks:
        if walk.left_out:
            yield AnswerWarning(WarningCode.FRONTIER_CUT, walk.top.lane, None, walk.left_out)
    # In answers of records, the caller does not choose the types and the status.
    own = ("status",) if query.records is not None else ()
    names = () if query.where is None else predicate.names(query.where)
    properties = [("where", name) for name in names if name not in own]
    yield from unknown_names(snapshot, () if own else query.labels, properties)
    for lane, etype in unknown_etypes(scope):
        yield AnswerWarning(WarningCode.UNKNOWN_EDGE_TYPE, lane, etype)


def _queries_warnings(query: Query, status: Mapping[str, LaneStatus]) -> Iterator[AnswerWarning]:
    """Yields a warning for each subquery that ranks nothing."""
    codes = (
        (LaneStatus.NO_TERMS, WarningCode.NO_QUERY_TERMS),
        (LaneStatus.NO_VECTORS, WarningCode.NO_VECTORS),
    )
    for wanted, code in codes:
        for index in range(len(query.queries or ())):
            if status[lane_of(index)] is wanted:
                yield AnswerWarning(code, "queries", lane_of(index))


def count_conflicted(snapshot: Snapshot, ordinals: Ordinals) -> int:
    """Returns the number of the nodes that are in conflict, or are part of a document only on some
    sides of a conflict."""
    return len(_contested(snapshot) & BitMap(ordinals))


def _contested(snapshot: Snapshot) -> BitMap:
    if not snapshot.conflicted:
        return BitMap()
    return cached(snapshot, ("conflicted",), lambda: _in_conflict(snapshot))


def _in_conflict(snapshot: Snapshot) -> BitMap:
    contested = BitMap()
    waiting = [one for parts in snapshot.contested.values() for one in parts]
    while waiting:
        one = waiting.pop()
        if one not in contested:
            contested.add(one)
            waiting.extend(snapshot.children(one).ordinals.tolist())
    return contested | snapshot.conflicted


def _conflict_warning(count: int) -> Iterator[AnswerWarning]:
    """Yields a warning if returned nodes are in conflict."""
    if count:
        yield AnswerWarning(WarningCode.OPEN_CONFLICTS, "root", None, count)


def coverage_warning(query: Query, texts: Sequence[str]) -> Iterator[AnswerWarning]:
    """Yields a warning if the items have fewer of the question's terms than it requires."""
    if query.coverage_min is None:
        return
    from ibidem.retrieve.answer.assessment import coverage_of  # few questions require any

    found = coverage_of(query.text or "", texts, accents=query.match.accents)
    if found.permille < query.coverage_min:
        yield AnswerWarning(WarningCode.LOW_COVERAGE, "coverage_min", None, len(found.missing))


def _rerank_warning(query: Query, record: RerankRecord | None) -> Iterator[AnswerWarning]:
    """Yields a warning if a reranker was requested and called, but gave no usable scores."""
    if (
        query.rerank is not None
        and record is not None
        and record.status not in (RerankStatus.OK, RerankStatus.TOO_FEW)
    ):
        yield AnswerWarning(WarningCode.RERANK_FAILED, "rerank", query.rerank.name)


def _adjacent(view: NodeSet, query: Query) -> Callable[[NodeId], str] | None:
    """Returns a function that renders the edges of a node, None if none are shown."""
    if not query.adjacency:
        return None

    def lines(node: NodeId) -> str:
        ordinal = view.snapshot.ordinal(node)
        assert ordinal is not None, "BUG: a ranked node is in the snapshot"
        return neighbour_lines(view, ordinal, query.adjacency, query.as_of)

    return lines
