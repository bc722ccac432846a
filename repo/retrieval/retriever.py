"""A query built step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from ibidem.repo.questions import Questions, changed_options
from ibidem.retrieve.query.configured import CONFIGURED
from ibidem.retrieve.query.options import default

if TYPE_CHECKING:
    from datetime import datetime

    from ibidem.embed.language_model import LanguageModel
    from ibidem.embed.protocol import Embedder, SparseEncoder
    from ibidem.objects.cid import CommitCid
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item
    from ibidem.retrieve.query.configured import Configured
    from ibidem.retrieve.query.predicate import Predicate
    from ibidem.retrieve.rerank import Reranker
    from ibidem.retrieve.tokens import TokenEstimator


class Retriever:
    """A query built step by step; every step returns a new object and changes nothing."""

    def __init__(
        self, ask: Callable[..., Answer[Item]], options: Mapping[str, Any] | None = None
    ) -> None:
        self._ask = ask
        self._options = dict(options or {})

    def text(self, text: str) -> Self:
        """Ranks by the terms of a text."""
        return self._with(text=text)

    def label(self, *labels: str) -> Self:
        """Keeps nodes of one of the labels."""
        return self._with(label=list(labels))

    def where(self, conditions: Mapping[str, Any] | None = None, **equal: Any) -> Self:
        """Keeps nodes whose properties meet the conditions; several calls add up."""
        known = self._options.get("where") or {}
        return self._with(where={**known, **(conditions or {}), **equal})

    def vector(self, model: str, vector: Any) -> Self:
        """Ranks by similarity to a vector of a model."""
        return self._with(vector=(model, vector))

    def model(self, name: str) -> Self:
        """Ranks by similarity to the vector that the registered embedder of a model computes from
        the text.
        """
        return self._with(model=name)

    def sparse(self, vocab: str, indices: Any, weights: Any) -> Self:
        """Ranks by a sparse vector of a vocabulary."""
        return self._with(sparse=(vocab, indices, weights))

    def graph(
        self,
        mode: str = "ppr",
        *,
        # options: graph
        depth: int = 2,
        seeds: int = 3,
        direction: str = "both",
        etypes: Iterable[str] | None = None,
        weights: Mapping[str, float] = {},
        max_expand: int | None = None,
        decay: float = 0.7,
        max_per_seed: int | None = None,
        max_frontier: int = 5000,
        damping: float = 0.85,
        epsilon: float = 0.0003,
        rounds: int = 15,
        # end of options
    ) -> Self:
        """Ranks nodes reached along edges from the best ones, by `ppr` or `decay`."""
        return self._with(graph={"mode": mode, **changed_options(locals(), Retriever.graph)})

    def community(
        self,
        *,
        # options: community
        etypes: Iterable[str] | None = None,
        weights: Mapping[str, float] = {},
        seeds: int = 3,
        hops: int = 2,
        rounds: int = 8,
        decay: float = 0.85,
        max_per_community: int | None = 10,
        max_nodes: int = 5000,
        # end of options
    ) -> Self:
        """Ranks nodes in one community with the best ones."""
        return self._with(community=changed_options(locals(), Retriever.community))

    def limit(self, limit: int | None) -> Self:
        """Sets the maximal number of items."""
        return self._with(limit=limit)

    def token_budget(self, tokens: int | None) -> Self:
        """Sets the token budget."""
        return self._with(token_budget=tokens)

    def depth(self, depth: int) -> Self:
        """Sets the number of nodes that each lane ranks."""
        return self._with(depth=depth)

    def fusion(
        self, name: str, *, rrf_k: float | None = None, weights: Mapping[str, float] | None = None
    ) -> Self:
        """Fuses the lanes by a method, with its `rrf_k` or `weights`."""
        options = changed_options(locals(), Retriever.fusion)
        return self._with(fusion=name, **options)

    def as_of(self, moment: int | datetime, *, missing: str = default("valid_missing")) -> Self:
        """Keeps nodes that are valid at a moment; see `retrieve.query.validity` for nodes without a
        validity.
        """
        return self._with(as_of=moment, valid_missing=missing)

    def rerank(
        self,
        reranker: Reranker,
        *,
        rerank_text: str | None = None,
        rerank_depth: int | None = default("rerank_depth"),
        rerank_timeout: float | None = default("rerank_timeout"),
    ) -> Self:
        """Reranks the first items; `rerank_timeout` is in seconds."""
        options = changed_options(locals(), Retriever.rerank)
        return self._with(rerank=reranker, **options)

    def mmr(
        self, *, share: float = default("mmr.lambda"), depth: int = default("mmr.depth")
    ) -> Self:
        """Reorders the first items by maximal marginal relevance, each unlike those before; `share`
        is lambda.
        """
        return self._with(mmr={"lambda": share, "depth": depth})

    def option(
        self,
        *,
        # options: retrieve
        queries: Sequence[str | Mapping[str, Any]] | None = None,
        imagine: LanguageModel | None = None,
        reword: LanguageModel | None = None,
        label: str | Iterable[str] | None = None,
        where: Mapping[str, object] | Predicate | None = None,
        include_tombstoned: bool = False,
        model: str | Configured | None = CONFIGURED,
        embedder: Embedder | None = None,
        degrade: bool = False,
        vector: tuple[str, Any] | None = None,
        sparse: tuple[str, Any, Any] | SparseEncoder | None = None,
        operator: str | Configured = CONFIGURED,
        phrases: bool | Configured = CONFIGURED,
        fuzzy: bool | Mapping[str, float] | None = None,
        related: bool | Configured = CONFIGURED,
        k1: float | Configured | None = CONFIGURED,
        b: float | Configured | None = CONFIGURED,
        graph: Mapping[str, object] | None = None,
        community: Mapping[str, object] | None = None,
        mentions: bool | Mapping[str, object] | None = None,
        as_of: int | datetime | None = None,
        valid_missing: str | None = "pass",
        created_after: int | datetime | None = None,
        created_before: int | datetime | None = None,
        updated_after: int | datetime | None = None,
        updated_before: int | datetime | None = None,
        fusion: str | Configured | None = CONFIGURED,
        rrf_k: float | Configured | None = CONFIGURED,
        weights: Mapping[str, float] | Configured | None = CONFIGURED,
        rerank: Reranker | None = None,
        rerank_text: str | None = None,
        rerank_depth: int | None = 25,
        rerank_timeout: float | None = 8.0,
        mmr: Mapping[str, float] | None = None,
        recency: bool | Mapping[str, Any] | None = None,
        importance: bool | str | None = None,
        feedback: bool | Mapping[str, Any] | None = None,
        worth: bool | Mapping[str, Any] | None = None,
        direct: bool | Mapping[str, Any] | None = None,
        notes: CommitCid | str | None = None,
        adjacency: int | Configured = CONFIGURED,
        metadata: bool | Configured = CONFIGURED,
        estimator: str | TokenEstimator = "heuristic",
        token_budget: int | Configured | None = CONFIGURED,
        frame: Mapping[str, int] | None = None,
        depth: int | Configured = CONFIGURED,
        limit: int | Configured | None = CONFIGURED,
        overflow: str | None = None,
        dedupe: str | None = None,
        dedupe_percent: int = 80,
        dedupe_property: str | None = None,
        headings: str = "keep",
        coverage_min: int | None = None,
        strict: bool = False,
        viewer: Viewer | None = None,
        # end of options
    ) -> Self:
        """Sets options without a step of their own."""
        return self._with(**changed_options(locals(), Questions.retrieve))

    def execute(self) -> Answer[Item]:
        """Runs the query and returns its answer."""
        return self._ask(**self._options)

    def _with(self, **options: Any) -> Self:
        return type(self)(self._ask, {**self._options, **options})
