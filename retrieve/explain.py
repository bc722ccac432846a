"""Explanations: a result as text for a person, every number in it taken from the result.

Spec: retrieval 9.
"""

from __future__ import annotations

from collections.abc import Iterator

from ibidem.retrieve.result import Result

_DROPS_SHOWN = 10


def explain(result: Result) -> str:
    """Returns what was asked, what each lane said, what was returned, left out, and why."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Result) -> Iterator[str]:
    query = result.query
    budget = "no budget" if query.token_budget is None else f"budget {query.token_budget}"
    limit = "no limit" if query.limit is None else f"limit {query.limit}"
    yield f"root {result.root}"
    yield f"fusion {query.fusion.name}, depth {query.depth}, {limit}, {budget}"
    if query.valid is not None:
        yield f"valid at {query.valid.at}, without a time: {query.valid.missing}"
    for lane, status in result.status.items():
        yield f"lane {lane}: {status}"
    if query.rerank is not None:
        yield f"rerank by {query.rerank.name!r}, depth {query.rerank.depth}"
    if query.mmr is not None:
        yield f"mmr lambda {query.mmr.share!r}, depth {query.mmr.depth}"
    if result.direct is not None:
        node = "" if result.direct.node is None else f" {result.direct.node}"
        yield f"direct answer: {result.direct.reason}{node}"
    yield f"{result.candidates_seen} candidates, {len(result.items)} items"
    yield f"{result.tokens_used} tokens"
    for place, item in enumerate(result.items, 1):
        yield f"{place}. {item.node.id} score {item.score!r} tokens {item.tokens}"
        for name, lane_score in item.lanes.items():
            yield (
                f"   {name}: rank {lane_score.rank}, score {lane_score.score!r}, "
                f"contributes {lane_score.contribution!r}"
            )
            if name in item.paths:
                yield f"      from {' to '.join(str(node) for node in item.paths[name])}"
    for reason, count in result.dropped_counts.items():
        if count:
            yield f"{count} left out by {reason}"
    for drop in result.dropped[:_DROPS_SHOWN]:
        cost = "" if drop.tokens is None else f", {drop.tokens} tokens"
        yield f"   {drop.id} score {drop.score!r}, {drop.reason}{cost}"
    for warning in result.warnings:
        subject = "" if warning.subject is None else f" ({warning.subject!r})"
        count_text = "" if warning.count is None else f": {warning.count}"
        yield f"warning {warning.code}: {warning.message}{subject}{count_text}"
