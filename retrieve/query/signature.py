"""The options of a question as type checkers see them: names and types of the table `options.py`.

A test compares the two. No program loads this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from ibidem.objects.cid import CommitCid, RootCid
from ibidem.retrieve.access.policy import Viewer
from ibidem.retrieve.query.predicate import Predicate
from ibidem.retrieve.rerank import Reranker
from ibidem.retrieve.tokens import TokenEstimator


class SharedOptions(TypedDict, total=False):
    """The options that `resolve` and a question to a repository share."""

    queries: Sequence[str | Mapping[str, Any]] | None
    label: str | Iterable[str] | None
    where: Mapping[str, object] | Predicate | None
    include_tombstoned: bool
    vector: tuple[str, Any] | None
    operator: str
    phrases: bool
    fuzzy: bool | Mapping[str, float] | None
    related: bool
    k1: float | None
    b: float | None
    graph: Mapping[str, object] | None
    community: Mapping[str, object] | None
    mentions: bool | Mapping[str, object] | None
    valid_missing: str | None
    fusion: str | None
    rrf_k: float | None
    weights: Mapping[str, float] | None
    rerank: Reranker | None
    rerank_text: str | None
    rerank_depth: int | None
    mmr: Mapping[str, float] | None
    recency: bool | Mapping[str, Any] | None
    importance: bool | str | None
    feedback: bool | Mapping[str, Any] | None
    worth: bool | Mapping[str, Any] | None
    direct: bool | Mapping[str, Any] | None
    adjacency: int
    metadata: bool
    estimator: str | TokenEstimator
    token_budget: int | None
    depth: int
    limit: int | None
    overflow: str | None
    dedupe: str | None
    dedupe_percent: int
    dedupe_property: str | None
    frame: Mapping[str, int] | None
    headings: str
    coverage_min: int | None
    viewer: Viewer | None


class QueryOptions(SharedOptions, total=False):
    """The options of `resolve`."""

    text: str | None
    sparse: tuple[str, Any, Any] | None
    packs: Mapping[str, object] | None
    records: Mapping[str, object] | None
    as_of: int | None
    """Microseconds since 1970 UTC, as `moment`."""
    history: Mapping[str, RootCid | None] | None
    moment: int | None
    notes: CommitCid | None
