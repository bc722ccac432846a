"""Reordering after fusion: the first nodes of the ranking are reranked, then diversified.

Both only move nodes near the top; neither adds, drops or scores one: an item's score stays the
fused one, and the reranker's score is recorded next to those of the lanes.

Spec: retrieval 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.answer.lane_score import LaneScore
from ibidem.retrieve.budget import Reader
from ibidem.retrieve.diversity import diversify
from ibidem.retrieve.protocol import Snapshot
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.ranking import SnapshotRanking
from ibidem.retrieve.rerank import Reranker, RerankRecord, RerankStatus, ask
from ibidem.retrieve.similarity import Likeness


@record
class Reordered:
    """The ranking to be packed, and how it was determined."""

    ranking: SnapshotRanking
    record: RerankRecord | None = None
    rerank_scores: Mapping[int, LaneScore] = field(default_factory=dict)
    """By ordinal, the reranker's rank and score of each node that it scored."""


def reorder(
    snapshot: Snapshot,
    query: Query,
    ranking: SnapshotRanking,
    reader: Reader,
    reranker: Reranker | RerankRecord | None,
) -> Reordered:
    """Returns the ranking after reranking and diversification, if the query requests them.

    Raises:
        InvalidInputError: the query and `reranker` do not name the same one.
        ReplayError: a record is about other nodes.
    """
    record = _reranked(query, ranking, reader, reranker)
    rerank_scores: dict[int, LaneScore] = {}
    if record is not None:
        for rank, position in enumerate(record.order(), 1):
            score = record.scores[position][1]
            if score is not None:
                rerank_scores[int(ranking.ordinals[position])] = LaneScore(rank, score, 0.0)
        ranking = ranking.reordered(record.order())
    if query.mmr is not None:
        ranking = _diversified(snapshot, query, ranking, reader, record)
    return Reordered(ranking, record, rerank_scores)


def _reranked(
    query: Query,
    ranking: SnapshotRanking,
    reader: Reader,
    reranker: Reranker | RerankRecord | None,
) -> RerankRecord | None:
    if query.rerank is None:
        if reranker is not None:
            raise InvalidInputError("rerank: got a reranker, expected none: the query names none")
        return None
    if reranker is None:
        raise InvalidInputError(
            f"rerank: got no reranker, expected the query's {query.rerank.name!r}",
            hint="pass the reranker, or the record in the receipt",
        )
    count = min(query.rerank.depth, len(ranking))
    ids = [node for node, _ in ranking.span(0, count)]
    shown = [(node, reader.peek(ranking.cid(position))[1]) for position, node in enumerate(ids)]
    return ask(reranker, query.rerank, shown)


def _diversified(
    snapshot: Snapshot,
    query: Query,
    ranking: SnapshotRanking,
    reader: Reader,
    record: RerankRecord | None,
) -> SnapshotRanking:
    """Returns the ranking with its first nodes diversified: those that a reranker scored, or all
    if there was none."""
    assert query.mmr is not None, "BUG: diversity was not asked for"
    if record is not None and record.status is RerankStatus.OK:
        scores = record.scored()[: query.mmr.depth]
    else:
        scores = [score for _, score in ranking.span(0, query.mmr.depth)]
    model = None if query.vector is None else query.vector.model
    likeness = Likeness(
        snapshot,
        model,
        ranking.ordinals[: len(scores)],
        lambda position: reader.source(ranking.cid(position)),
    )
    return ranking.reordered(diversify(scores, query.mmr.share, likeness))
