"""Queries a revision: resolves defaults here, computes the answer in `retrieve`, and keeps the
receipt.

Replay of a receipt is in `repo/receipts/replay.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.repo.arguments import microseconds
from ibidem.repo.graph import Graph
from ibidem.repo.questions import Questions, changed_options
from ibidem.repo.retrieval.rerank_timeout import limited
from ibidem.repo.retrieval.token_estimators import estimator_of
from ibidem.retrieve.answer.answer import Answer, AnswerKind, receipt_of
from ibidem.retrieve.answer.warning import AnswerWarning
from ibidem.retrieve.lane import LaneTop
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import dense_tops
from ibidem.retrieve.query.configured import CONFIGURED
from ibidem.retrieve.query.options import default
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.query.settings import configured
from ibidem.retrieve.rerank import Reranker, RerankRecord
from ibidem.retrieve.semantics import resolve, rules
from ibidem.retrieve.tokens import HEURISTIC, TokenEstimator

if TYPE_CHECKING:
    from ibidem.embed.protocol import Embedder
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.cid import CommitCid
    from ibidem.repo.core import Core
    from ibidem.repo.retrieval.signature import QuestionOptions
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.retrieve.answer.item import Item
    from ibidem.retrieve.query.configured import Configured
    from ibidem.retrieve.query.predicate import Predicate


AnyAnswer = TypeVar("AnyAnswer", bound=Answer[Any])


@record
class PreparedQuery:
    """A query with all options resolved."""

    query: Query
    estimator: TokenEstimator
    reranker: Reranker | RerankRecord | None
    is_strict: bool = False
    """Whether warnings are raised as errors."""


def retrieve(repository: Core, revision: Graph, **options: Unpack[QuestionOptions]) -> Answer[Item]:
    """Returns the answer to a query over a revision, with its receipt; `ask` has the options."""
    return _of_nodes(answered(repository, revision, ask_nodes(repository, revision, **options)))


def answered(repository: Core, revision: Graph, prepared: PreparedQuery) -> Answer[Any]:
    """Returns the answer to a resolved query, for nodes or for packs, with its receipt."""
    result = _checked(prepared, execute_query(repository, revision, prepared))
    return _with_receipt(repository, revision, result)


def retrieve_many(
    repository: Core, revision: Graph, questions: Iterable[Mapping[str, Any]]
) -> list[Answer[Item]]:
    """Returns the answers to several queries, each the same as `retrieve` returns.

    Queries whose vectors are of one model and that rank the same nodes share one scan of the
    vectors, which costs little more than a scan for one of them.

    Args:
        questions: the options of each query.
    """
    prepared = [ask_nodes(repository, revision, **options) for options in questions]
    queries = [one.query for one in prepared]
    get = repository.store.get
    of, tops = revision.with_snapshot(
        lambda snapshot: (
            snapshot,
            dense_tops(snapshot, queries, lambda cid: Node.decode(get(cid))),
        )
    )
    results = [
        _checked(one, _of_nodes(execute_query(repository, revision, one, dense=(of, top))))
        for one, top in zip(prepared, tops, strict=True)
    ]
    return [_with_receipt(repository, revision, result) for result in results]


def ask(
    repository: Core,
    revision: Graph,
    **given: Unpack[QuestionOptions],
) -> PreparedQuery:
    """Resolves a query.

    Args:
        given: some of `retrieve.query.options`, without those of packs. A vector computed by
            `model` or `embedder` is in the receipt, so a replay needs no model.
    """
    options: dict[str, Any] = {**given}
    config = revision.config
    if not {"model", "embedder", "vector"} & options.keys() and _has_words(options.get("text")):
        options["model"] = configured(config).get("model")
    model, embedder = options.pop("model", None), options.pop("embedder", None)
    valid_at, rerank = options.pop("valid_at", None), options.pop("rerank", None)
    timeout, strict = options.pop("rerank_timeout", None), options.pop("strict", False)
    if revision.viewer is not None:
        revision.seen_by(options.get("viewer"))
        options["viewer"] = revision.viewer
    if model is not None or embedder is not None:
        if options.get("vector") is not None:
            raise InvalidInputError("vector: got one beside a model, expected one of them")
        from ibidem.repo.retrieval.embedding import query_vector

        options["vector"] = query_vector(
            repository, config, options.get("text"), model=model, embedder=embedder
        )
    if any(options.get(name) for name in ("recency", "feedback", "worth")):
        from ibidem.repo.retrieval.feedback import resolve_as_of

        options = resolve_as_of(repository, revision, options)
    counter = estimator_of(options.pop("estimator", HEURISTIC.name))
    query = resolve(
        config,
        valid_at=microseconds(valid_at) if isinstance(valid_at, datetime) else valid_at,
        rerank=rerank,
        estimator=counter,
        **options,
    )
    return PreparedQuery(query, counter, limited(rerank, timeout), strict)


def _has_words(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())


def ask_nodes(
    repository: Core, revision: Graph, **options: Unpack[QuestionOptions]
) -> PreparedQuery:
    """Resolves a query for nodes; see `ask` for the options."""
    for name in ("packs", "records"):
        if options.get(name) is not None:
            raise InvalidInputError(f"{name}: got options of {name}, expected a call of {name!r}")
    return ask(repository, revision, **options)


def _of_nodes(result: Answer[Any]) -> Answer[Item]:
    assert result.kind is AnswerKind.NODES, "BUG: a question for nodes"
    return result


def _with_receipt(repository: Core, revision: Graph, result: AnyAnswer) -> AnyAnswer:
    """Returns the answer with its receipt, which is appended to the log."""
    query, config = result.query, revision.config
    digests = {name: model.digest for name, model in config.models.items() if model.digest}
    used = {} if query.vector is None else {query.vector.model}
    models = {name: digest for name, digest in digests.items() if name in used}
    receipt = receipt_of(result, commit=revision.commit_cid, notes_head=query.notes, models=models)
    try:
        block = receipt.encode()
    except InvalidInputError:
        # The receipt of an answer with many thousand items is larger than a block: it gets none.
        return result
    repository.receipts.append(block, generation=revision.generation)
    return replace(result, receipt=receipt)


def _checked(prepared: PreparedQuery, result: AnyAnswer) -> AnyAnswer:
    """Returns the answer; raises if it has warnings that are errors."""
    if prepared.is_strict and result.warnings:
        raise InvalidInputError(
            "; ".join(map(_said, result.warnings)),
            hint="ask without strict to get the answer with its warnings",
        )
    return result


def _said(warning: AnswerWarning) -> str:
    subject = "" if warning.subject is None else f" {warning.subject!r:.80}"
    count = "" if warning.count is None else f" ({warning.count})"
    return f"{warning.option}{subject}: {warning.message}{count}"


def execute_query(
    repository: Core,
    revision: Graph,
    prepared: PreparedQuery,
    *,
    dense: tuple[Snapshot, LaneTop | None] | None = None,
) -> Answer[Any]:
    """Returns the answer to a resolved query by the rules of its version, without a receipt.

    Args:
        dense: the top of the dense lane, and the snapshot from which it was computed; if the
            snapshot has been rebuilt since because files were damaged, the lane is computed again.
    """
    store = repository.store
    result: Answer[Any] = revision.with_snapshot(
        lambda snapshot: rules(prepared.query.semantics).execute(
            snapshot,
            prepared.query,
            NodeSource(
                lambda cid: Node.decode(store.get(cid)),
                repository.content_of,
                prepared.estimator,
                lambda cids: list(map(Node.decode, store.get_many(cids))),
            ),
            reranker=prepared.reranker,
            dense=dense[1] if dense is not None and dense[0] is snapshot else None,
            **_noted(repository, prepared.query),
        )
    )
    return result


def _noted(repository: Core, query: Query) -> dict[str, Any]:
    """Returns the feedback that a query uses, as arguments; empty if it uses none."""
    notes: dict[str, Any] = {}
    if query.recall is not None and query.recall.counts_notes:
        from ibidem.repo.retrieval.feedback import opinions

        notes["opinions"] = opinions(repository, query)
    if query.records is not None:
        from ibidem.repo.notes import read_log

        logs = repository.note_logs.setdefault("", {})
        notes["events"] = read_log(repository, query.records.notes, logs).about
    return notes


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

    def valid_at(self, moment: int | datetime, *, missing: str = default("valid_missing")) -> Self:
        """Keeps nodes that are valid at a moment; see `retrieve.query.validity` for nodes without a
        validity.
        """
        return self._with(valid_at=moment, valid_missing=missing)

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
        label: str | Iterable[str] | None = None,
        where: Mapping[str, object] | Predicate | None = None,
        include_tombstoned: bool = False,
        model: str | Configured | None = CONFIGURED,
        embedder: Embedder | None = None,
        vector: tuple[str, Any] | None = None,
        sparse: tuple[str, Any, Any] | None = None,
        operator: str | Configured = CONFIGURED,
        phrases: bool | Configured = CONFIGURED,
        fuzzy: bool | Mapping[str, float] | None = None,
        k1: float | None = 1.2,
        b: float | None = 0.7,
        graph: Mapping[str, object] | None = None,
        community: Mapping[str, object] | None = None,
        valid_at: int | datetime | None = None,
        valid_missing: str | None = "pass",
        fusion: str | Configured | None = CONFIGURED,
        rrf_k: float | Configured | None = CONFIGURED,
        weights: Mapping[str, float] | Configured | None = CONFIGURED,
        rerank: Reranker | None = None,
        rerank_text: str | None = None,
        rerank_depth: int | None = 25,
        rerank_timeout: float | None = 8.0,
        mmr: Mapping[str, float] | None = None,
        expansion: bool | Mapping[str, Any] | None = None,
        recency: bool | Mapping[str, Any] | None = None,
        importance: bool | str | None = None,
        feedback: bool | None = None,
        worth: bool | Mapping[str, Any] | None = None,
        direct: bool | Mapping[str, Any] | None = None,
        as_of: int | datetime | None = None,
        notes: CommitCid | str | None = None,
        adjacency: int | Configured = CONFIGURED,
        content_chars: int | Configured = CONFIGURED,
        estimator: str | TokenEstimator = "heuristic",
        token_budget: int | Configured | None = CONFIGURED,
        depth: int | Configured = CONFIGURED,
        limit: int | Configured | None = CONFIGURED,
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
