"""The stage of recall between fusion and reranking: factors.

Spec: recall.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.text import node_text
from ibidem.retrieve.answer.lane_score import LaneScore
from ibidem.retrieve.budget import Reader
from ibidem.retrieve.filter import Universe
from ibidem.retrieve.fuse import Fused
from ibidem.retrieve.node_source import Load
from ibidem.retrieve.numbers import Float64s, rank
from ibidem.retrieve.protocol import Ordinals
from ibidem.retrieve.ranking import SnapshotRanking
from ibidem.retrieve.recall.direct_answer import CANDIDATES_MAX, DirectAnswer, direct_answer
from ibidem.retrieve.recall.factors import Adjusted, Opinions, adjusted
from ibidem.retrieve.recall.option import Recall


def recall(
    scope: Universe, fused: Fused, load: Load, opinions: Opinions
) -> tuple[Fused, list[Adjusted]]:
    """Returns the fused scores changed by the factors that the query requests, and these.

    Args:
        scope: the view and universe of the query.
        fused: the result of the lanes.
        load: reads a node.
        opinions: factors from the notes that the query names.

    Raises:
        InvalidInputError: the query counts votes or outcomes and no opinions were given.
    """
    recall = scope.query.recall
    assert recall is not None, "BUG: recall was not asked for"
    scores, factors = adjusted(
        fused.scores,
        _steps(scope, recall, fused.ordinals, load, opinions),
        lambda scores: _order(scope, fused.ordinals, scores),
    )
    return replace(fused, scores=scores), factors


def add_factors(
    lanes: Sequence[dict[str, LaneScore]],
    ordinals: Ordinals,
    fused: Fused | None,
    factors: Sequence[Adjusted],
) -> None:
    """Adds the effect of each factor on some nodes to their results in the lanes; those that are
    not ranked have none.

    The rank is the node's before the factor, the score is the factor, the contribution its share.
    """
    if fused is None or not factors:
        return
    positions = {ordinal: position for position, ordinal in enumerate(fused.ordinals.tolist())}
    for said, ordinal in zip(lanes, ordinals.tolist(), strict=True):
        if ordinal not in positions:
            continue
        position = positions[ordinal]
        for factor in factors:
            said[factor.name] = LaneScore(
                factor.ranks[position],
                float(factor.factors[position]),
                float(factor.shares[position]),
            )


def direct_of(scope: Universe, ranking: SnapshotRanking, reader: Reader) -> DirectAnswer | None:
    """Returns whether one of the best candidates answers alone, None if not requested."""
    query, config = scope.query, scope.view.snapshot.config
    if query.recall is None or query.recall.direct is None:
        return None
    assert query.text is not None, "BUG: a direct answer without a text"
    count = min(CANDIDATES_MAX, len(ranking))
    sources = [reader.source(ranking.cid(position)) for position in range(count)]
    contents = {node.id: content for node, content in sources}
    return direct_answer(
        query.text,
        [node for node, _ in sources],
        query.recall.direct,
        lambda node: node_text(node, config.fields, contents[node.id]),
    )


def _steps(
    scope: Universe, recall: Recall, ordinals: Ordinals, load: Load, opinions: Opinions
) -> list[tuple[str, Callable[[int], float]]]:
    """Returns the requested factors in their order, each as a function of a position."""
    snapshot = scope.view.snapshot
    steps: list[tuple[str, Callable[[int], float]]] = []
    by_node = [part for part in (recall.recency, recall.importance) if part is not None]
    nodes = [load(cid) for cid in snapshot.node_cids(ordinals)] if by_node else []
    if recall.recency is not None:
        recency = recall.recency
        steps.append(("recency", lambda position: recency.factor(nodes[position])))
    if recall.importance is not None:
        importance = recall.importance
        steps.append(("importance", lambda position: importance.factor(nodes[position])))
    if recall.counts_notes:
        raw = snapshot.node_ids(ordinals).tobytes()
        ids = [NodeId(raw[at : at + 16]) for at in range(0, len(raw), 16)]
        counted = [name for name in ("feedback", "worth") if getattr(recall, name) is not None]
        steps += [(name, _said(name, opinions, ids)) for name in counted]
    return steps


def _said(name: str, opinions: Opinions, ids: Sequence[NodeId]) -> Callable[[int], float]:
    if name not in opinions:
        raise InvalidInputError(f"{name}: got no opinions, expected those of the query's notes")
    factors: Mapping[NodeId, float] = opinions[name]
    return lambda position: factors.get(ids[position], 1.0)


def _order(scope: Universe, ordinals: Ordinals, scores: Float64s) -> list[int]:
    positions: list[int] = rank(scores, scope.view.snapshot.node_ids(ordinals)).tolist()
    return positions
