"""Execute: a pure function from a snapshot and a resolved query to a result.

    view -> universe -> lanes -> fuse -> pack -> result

Nothing here reads a clock, randomness or the environment, and nothing is remembered but statistics
that follow from the snapshot.

Spec: retrieval 3 to 9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType

import numpy as np

from ibidem.objects.cid import NodeCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.retrieve import predicate
from ibidem.retrieve.dense import check_model, rank_dense
from ibidem.retrieve.fusion import Fused, fuse
from ibidem.retrieve.lane import LaneStatus, LaneTop
from ibidem.retrieve.lexical import rank_lexical
from ibidem.retrieve.numbers import Float64s, rank
from ibidem.retrieve.pack import Ranked, Reader, Taken, pack
from ibidem.retrieve.protocol import Ordinals, Snapshot
from ibidem.retrieve.query import Query
from ibidem.retrieve.result import DROPS_LISTED_MAX, Item, LaneScore, Result
from ibidem.retrieve.scope import Universe, universe
from ibidem.retrieve.sparse import rank_sparse
from ibidem.retrieve.stale import count_stale
from ibidem.retrieve.tokens import HEURISTIC, TokenEstimator
from ibidem.retrieve.warning import Warning, WarningCode  # noqa: A004

_BLOCK = 64
"""Ranked nodes whose ids and CIDs are fetched at a time."""

Load = Callable[[NodeCid], Node]
Content = Callable[[Node], bytes | None]


def execute(
    snapshot: Snapshot,
    query: Query,
    load: Load,
    content: Content | None = None,
    *,
    estimator: TokenEstimator = HEURISTIC,
) -> Result:
    """Returns the answer to a query over a snapshot's root.

    Args:
        snapshot: the index of one root.
        query: resolved; see `query.resolve`.
        load: reads a node.
        content: reads the whole content of a node, for those that keep it in raw blocks. Without it
            only inline content is known.
        estimator: counts tokens; the query names it.

    Raises:
        InvalidInputError: the query names an unknown model, has another dimension or another
        estimator.
    """
    if query.estimator != estimator.name:
        raise InvalidInputError(
            f"estimator: got {estimator.name!r}, expected the query's {query.estimator!r}"
        )
    if query.vector is not None:
        check_model(snapshot, query)
    scope = universe(snapshot, query)
    tops = run_lanes(scope)
    ordinals, scores, fused = _ranking(scope, tops)
    reader = Reader(load, content or _inline, estimator, query.content_chars)
    packed = pack(
        _ranked(snapshot, ordinals, scores),
        ordinals.shape[0],
        reader,
        limit=query.limit,
        budget=query.token_budget,
    )
    taken = [int(ordinals[one.ranked.index]) for one in packed.taken]
    lanes = _lane_scores(taken, tops, fused)
    items = tuple(_item(one, scores) for one, scores in zip(packed.taken, lanes, strict=True))
    stale = count_stale(snapshot, query, taken, items, reader.content)
    return Result(
        root=snapshot.root,
        query=query,
        items=items,
        tokens_used=packed.tokens_used,
        candidates_seen=ordinals.shape[0],
        dropped=tuple(packed.drops),
        dropped_counts=MappingProxyType(packed.counts),
        warnings=tuple(_warnings(scope, tops, stale)),
        status=MappingProxyType({top.lane: top.status for top in tops}),
    )


def run_lanes(scope: Universe) -> list[LaneTop]:
    """Returns the tops of the lanes that the query asks for, in fusion order."""
    query = scope.query
    tops: list[LaneTop] = []
    if query.text is not None:
        tops.append(rank_lexical(scope))
    if query.vector is not None:
        tops.append(rank_dense(scope))
    if query.sparse is not None:
        tops.append(rank_sparse(scope))
    return tops


def _ranking(scope: Universe, tops: Sequence[LaneTop]) -> tuple[Ordinals, Float64s, Fused | None]:
    """Returns every candidate, best first, its score, and how the lanes made it."""
    snapshot = scope.view.snapshot
    if not tops:
        ordinals = _by_id(snapshot, scope.scope.ordinals(), scope.query)
        return ordinals, np.ones(ordinals.shape[0], np.float64), None
    fused = fuse(tops, scope.query.fusion)
    if len(tops) == 1:
        return fused.ordinals, fused.scores, fused
    order = rank(fused.scores, snapshot.node_ids(fused.ordinals))
    return fused.ordinals[order], fused.scores[order], fused


def _by_id(snapshot: Snapshot, ordinals: Ordinals, query: Query) -> Ordinals:
    """Returns all matches, in id order as far as the answer can show them.

    Where a limit ends the answer, only that many and the listed drops need their place; the rest
    are counted.
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


def _ranked(snapshot: Snapshot, ordinals: Ordinals, scores: Float64s) -> Iterator[Ranked]:
    """Yields the ranking, fetching ids and CIDs in blocks as they are needed."""
    values = iter(scores)
    for start in range(0, ordinals.shape[0], _BLOCK):
        block = ordinals[start : start + _BLOCK]
        ids = snapshot.node_ids(block).tobytes()
        cids = snapshot.node_cids(block)
        for offset, (cid, score) in enumerate(zip(cids, islice(values, _BLOCK), strict=True)):
            raw = ids[16 * offset : 16 * offset + 16]
            yield Ranked(start + offset, NodeId(raw), cid, float(score))


def _lane_scores(
    taken: Sequence[int], tops: Sequence[LaneTop], fused: Fused | None
) -> list[Mapping[str, LaneScore]]:
    """Returns what each lane said about each taken node."""
    found: list[dict[str, LaneScore]] = [{} for _ in taken]
    if fused is None:
        return list(found)
    wanted = np.asarray(taken, dtype=np.uint32)
    for top in tops:
        shares = fused.contributions[top.lane]
        for lanes, ordinal in zip(found, wanted, strict=True):
            place = np.flatnonzero(top.ordinals == ordinal)
            if place.shape[0]:
                index = int(place[0])
                share = shares[np.flatnonzero(fused.ordinals == ordinal)[0]]
                lanes[top.lane] = LaneScore(index + 1, float(top.scores[index]), float(share))
    return [MappingProxyType(lanes) for lanes in found]


def _item(one: Taken, lanes: Mapping[str, LaneScore]) -> Item:
    return Item(one.node, one.ranked.cid, one.ranked.score, one.rendered, one.tokens, lanes)


def _warnings(scope: Universe, tops: Sequence[LaneTop], stale: int) -> Iterator[Warning]:
    """Yields warnings in the order of the closed list, then of their subjects."""
    query, snapshot = scope.query, scope.view.snapshot
    status = {top.lane: top.status for top in tops}
    if status.get("lexical") is LaneStatus.NO_TERMS:
        yield Warning(WarningCode.NO_QUERY_TERMS, "text")
    if query.vector is not None and status["dense"] is LaneStatus.NO_VECTORS:
        yield Warning(WarningCode.NO_VECTORS, "vector", query.vector.model)
    if query.sparse is not None and status["sparse"] is LaneStatus.NO_VECTORS:
        yield Warning(WarningCode.NO_SPARSE_VECTORS, "sparse", query.sparse.vocab)
    if query.vector is not None and stale:
        yield Warning(WarningCode.STALE_VECTORS, "vector", query.vector.model, stale)
    for name in query.labels:
        if not snapshot.live & snapshot.label(name):
            yield Warning(WarningCode.UNKNOWN_LABEL, "label", name)
    if query.where is not None:
        for name in sorted(set(predicate.names(query.where))):
            if not snapshot.live & snapshot.exists(name):
                yield Warning(WarningCode.UNKNOWN_PROPERTY, "where", name)


def _inline(node: Node) -> bytes | None:
    return node.content if isinstance(node.content, bytes) else None
