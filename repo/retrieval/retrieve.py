"""Queries a revision: resolves defaults here, computes the answer in `retrieve`, and keeps the
receipt.

Replay of a receipt is in `repo/receipts/replay.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from ibidem.objects.errors import ErrorKind, IbidemError, InvalidInputError
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.repo.argument_checks import check_mapping
from ibidem.repo.graph import Graph
from ibidem.repo.retrieval.answer_cache import Lookup
from ibidem.repo.retrieval.given_time import given_times
from ibidem.repo.retrieval.rerank_timeout import limited
from ibidem.repo.retrieval.token_estimators import estimator_of
from ibidem.repo.slow_log import Timer, note_slow
from ibidem.repo.state import ERASING_CELL
from ibidem.retrieve.answer.answer import Answer, AnswerKind, receipt_of
from ibidem.retrieve.answer.locator import Locator
from ibidem.retrieve.answer.warning import AnswerWarning
from ibidem.retrieve.filter import Universe
from ibidem.retrieve.lane import LaneTop
from ibidem.retrieve.pipeline import dense_tops, run_lanes
from ibidem.retrieve.query import checks
from ibidem.retrieve.query.options import TIMES_OF_RECORDS
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.query.settings import configured
from ibidem.retrieve.rerank import Reranker, RerankRecord
from ibidem.retrieve.semantics import resolve, rules
from ibidem.retrieve.subquery_lane import RunLanes
from ibidem.retrieve.tokens import HEURISTIC, TokenEstimator

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.repo.core import Core
    from ibidem.repo.retrieval.signature import QuestionOptions
    from ibidem.repo.workers.driver import Workers
    from ibidem.retrieve.answer.item import Item
    from ibidem.retrieve.context.pack import Pack


AnyAnswer = TypeVar("AnyAnswer", bound=Answer[Any])
Lanes = Callable[["Snapshot"], RunLanes | None]
"""Returns what ranks a snapshot by words and vectors; None for this process."""


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
    """Returns the answer to a resolved query, of any kind, with its receipt.

    Packs that this process has returned for the same query of the same root are not computed again,
    unless a reranker is asked, which may have changed.
    """
    start = perf_counter()
    lookup = _lookup(repository, revision, prepared)
    found = None if lookup is None else _cached(repository, revision, prepared, lookup)
    if found is None:
        result = _executed(repository, revision, prepared)
        found = _recorded(repository, revision, prepared, result, lookup)
    note_slow(repository, revision, found, perf_counter() - start)
    return found


def _lookup(repository: Core, revision: Graph, prepared: PreparedQuery) -> Lookup | None:
    """Returns a question as the cache has it; None if its answer is not cached."""
    query = prepared.query
    if (
        query.packs is None
        or query.union is not None  # an erasure in another repository leaves this cache
        or prepared.reranker is not None
        or revision.generation != repository.receipts.generation()
        or revision.state is None
        or ERASING_CELL in revision.state.cells  # what is erased can still be read
    ):
        return None
    bytes_max = repository.local.answer_cache
    repository.answer_cache.shrink(bytes_max)
    if not bytes_max:
        return None
    question = query.encode(), prepared.estimator, repository.agent, repository.task
    key = revision.root_cid, revision.commit_cid, *question
    return Lookup(key, revision.generation, revision.state.view)


def _cached(
    repository: Core, revision: Graph, prepared: PreparedQuery, lookup: Lookup
) -> Answer[Any] | None:
    found = repository.answer_cache.get(lookup)
    if found is None:
        return None
    _checked(prepared, found)
    if found.receipt is not None:
        repository.receipts.append(found.receipt.encode(), generation=revision.generation)
    return _with_locator(revision, found)


def _recorded(
    repository: Core,
    revision: Graph,
    prepared: PreparedQuery,
    result: Answer[Any],
    lookup: Lookup | None,
) -> Answer[Any]:
    result = _with_receipt(repository, revision, _checked(prepared, result))
    if lookup is not None:
        repository.answer_cache.put(
            lookup,
            replace(result, locator=None),  # it would keep the revision and its index
            repository.local.answer_cache,
        )
    return result


def retrieve_many(
    repository: Core, revision: Graph, questions: Iterable[Mapping[str, Any]]
) -> list[Answer[Item]]:
    """Returns the answers to several queries, each the same as `retrieve` returns.

    Queries whose vectors are of one model and that rank the same nodes share one scan of the
    vectors, which costs little more than a scan for one of them.

    Args:
        questions: the options of each query.
    """
    if isinstance(questions, (str, Mapping)) or not isinstance(questions, Iterable):
        raise InvalidInputError(
            f"questions: got {checks.show(questions)}, expected a list of mappings of options"
        )
    prepared = [
        ask_nodes(repository, revision, **check_mapping(f"questions[{index}]", options))
        for index, options in enumerate(questions)
    ]
    lanes = _lanes_of_one_scan(repository, revision, [one.query for one in prepared])
    results = []
    for one, own in zip(prepared, lanes, strict=True):
        start = perf_counter()
        found = _checked(one, _of_nodes(_executed(repository, revision, one, lanes=own)))
        note_slow(repository, revision, found, perf_counter() - start)
        results.append(found)
    return [_with_receipt(repository, revision, result) for result in results]


def _lanes_of_one_scan(
    repository: Core, revision: Graph, queries: Sequence[Query]
) -> list[Lanes | None]:
    """Returns for each query what ranks it with the result of a scan for all; if the snapshot has
    been rebuilt since because files were damaged, its vectors are ranked again."""
    if _workers_of(revision) is not None:
        return [None] * len(queries)
    get = repository.store.get
    of, tops = revision.with_snapshot(
        lambda snapshot: (
            snapshot,
            dense_tops(snapshot, queries, lambda cid: Node.decode(get(cid))),
        )
    )

    def lanes_of(query: Query, top: LaneTop | None) -> Lanes:
        def run(scope: Universe) -> list[LaneTop]:
            return run_lanes(scope, top if scope.query is query else None)

        return lambda snapshot: run if snapshot is of else None

    return [lanes_of(query, top) for query, top in zip(queries, tops, strict=True)]


def _lanes_of(revision: Graph) -> Lanes:
    workers = _workers_of(revision)
    return _here if workers is None else workers.lanes


def _workers_of(revision: Graph) -> Workers | None:
    """Returns the workers that can rank a revision: others have its blocks only if it is published,
    and what an erasure left of an old one is nowhere else."""
    return None if revision.commit is None else revision.core.workers


def ask(
    repository: Core,
    revision: Graph,
    **given: Unpack[QuestionOptions],
) -> PreparedQuery:
    """Resolves a query.

    Args:
        given: some of `retrieve.query.options`, without those of packs. A vector computed by
            `model`, `embedder` or an encoder is in the receipt, so a replay needs no model.
    """
    options = given_times(given, revision)
    if not options.keys().isdisjoint(TIMES_OF_RECORDS):
        from ibidem.repo.retrieval.history import with_history

        options = with_history(revision, options)
    if not options.keys().isdisjoint(WRITTEN):
        from ibidem.repo.retrieval.expansion import expanded

        options = expanded(options)
    config = revision.config
    if not {"model", "embedder", "vector"} & options.keys() and has_words(options.get("text")):
        options["model"] = configured(config).get("model")
    if is_encoder(options.get("sparse")):
        from ibidem.repo.retrieval.embedding import query_weights

        options |= query_weights(options)
    model, embedder = options.pop("model", None), options.pop("embedder", None)
    degrade, degraded = options.pop("degrade", False), None
    rerank, timeout = options.pop("rerank", None), options.pop("rerank_timeout", None)
    strict, as_of = options.pop("strict", False), options.pop("as_of", None)
    if revision.viewer is not None:
        revision.seen_by(options.get("viewer"))
        options["viewer"] = revision.viewer
    if model is not None or embedder is not None:
        if options.get("vector") is not None:
            raise InvalidInputError("vector: got one beside a model, expected one of them")
        from ibidem.repo.retrieval.embedding import query_vectors

        try:
            options |= query_vectors(repository, config, options, model=model, embedder=embedder)
        except IbidemError as error:
            if not degrade or error.kind not in _MISSING:
                raise
            degraded = model if embedder is None or model is not None else embedder.name
    if any(options.get(name) for name in ("recency", "feedback", "worth")):
        from ibidem.repo.retrieval.feedback import resolve_moment

        options = resolve_moment(repository, revision, as_of, options)
    counter = estimator_of(options.pop("estimator", HEURISTIC.name))
    query = resolve(
        config,
        as_of=as_of,
        rerank=rerank,
        estimator=counter,
        **options,
    )
    if revision.union is not None:
        query = query.over(revision.union)
    if degraded is not None:
        query = replace(query, degraded=checks.name("model", degraded))
    return PreparedQuery(query, counter, limited(rerank, timeout), strict)


WRITTEN = ("imagine", "reword")
"""The options of language models that write further questions."""
_MISSING = frozenset((ErrorKind.UNKNOWN_MODEL, ErrorKind.MISSING_PACKAGE))
"""The kinds of errors of a model that is not on this machine."""


def is_encoder(sparse: object) -> bool:
    """Returns whether it makes sparse vectors and is none; a text can be encoded, too."""
    return hasattr(sparse, "encode") and not isinstance(sparse, str)


def has_words(text: object) -> bool:
    """Returns whether it is a text that can be looked for."""
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
    """Returns the answer with its receipt, which is appended to the log, and its locator."""
    query = result.query
    vectors = [query.vector, *(one.vector for one in query.queries or ())]
    used = {one.model for one in vectors if one is not None}
    models = {
        name: model.digest
        for name, model in revision.config.models.items()
        if name in used and model.digest
    }
    receipt = receipt_of(
        result,
        commit=revision.commit_cid,
        notes_head=query.notes,
        models=models,
        agent=repository.agent,
        task=repository.task,
    )
    try:
        block = receipt.encode()
    except InvalidInputError:
        # The receipt of an answer with many thousand items is larger than a block: it gets none.
        return _with_locator(revision, result)
    repository.receipts.append(block, generation=revision.generation)
    return replace(result, receipt=receipt, locator=_locator(revision, result))


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


def execute_query(repository: Core, revision: Graph, prepared: PreparedQuery) -> Answer[Any]:
    """Returns the answer to a resolved query by the rules of its version, with what locates its
    items, without a receipt."""
    return _with_locator(revision, _executed(repository, revision, prepared))


def _executed(
    repository: Core,
    revision: Graph,
    prepared: PreparedQuery,
    *,
    lanes: Lanes | None = None,
) -> Answer[Any]:
    """Returns the answer without receipt and locator.

    Args:
        lanes: returns what ranks a snapshot, None for this process; by default the workers of the
            repository, if it has any.
    """
    if lanes is None:
        lanes = _lanes_of(revision)
    result: Answer[Any] = revision.with_snapshot(
        lambda snapshot: rules(prepared.query.semantics).execute(
            snapshot,
            prepared.query,
            revision.node_source(prepared.estimator),
            reranker=prepared.reranker,
            lanes=lanes(snapshot),
            **_noted(repository, prepared.query),
        )
    )
    return result


def stream_packs(
    repository: Core, revision: Graph, prepared: PreparedQuery
) -> Generator[Pack, None, Answer[Pack]]:
    """Yields each pack that answers a resolved query as soon as it is known, and returns the answer
    with its receipt: that of `answered`."""
    timer = Timer()
    found = yield from timer.timed(_streamed(repository, revision, prepared))
    note_slow(repository, revision, found, timer.seconds)
    return found


def _streamed(
    repository: Core, revision: Graph, prepared: PreparedQuery
) -> Generator[Pack, None, Answer[Pack]]:
    lookup = _lookup(repository, revision, prepared)
    found = None if lookup is None else _cached(repository, revision, prepared, lookup)
    if found is not None:
        yield from found.items
        return found
    lanes = _lanes_of(revision)
    found = yield from revision.stream_with_snapshot(
        lambda snapshot: rules(prepared.query.semantics).stream_packs(
            snapshot,
            prepared.query,
            revision.node_source(prepared.estimator),
            reranker=prepared.reranker,
            lanes=lanes(snapshot),
            **_noted(repository, prepared.query),
        )
    )
    return _recorded(repository, revision, prepared, found, lookup)


def _with_locator(revision: Graph, result: AnyAnswer) -> AnyAnswer:
    return replace(result, locator=_locator(revision, result))


def _locator(revision: Graph, result: Answer[Any]) -> Locator:
    return Locator(lambda: revision.located(result))


def _here(snapshot: Snapshot) -> None:
    """Returns that this process ranks."""


def _noted(repository: Core, query: Query) -> dict[str, Any]:
    """Returns the feedback that a query uses, as arguments; empty if it uses none."""
    notes: dict[str, Any] = {}
    if query.recall is not None and query.recall.counts_notes:
        from ibidem.repo.retrieval.feedback import opinions

        notes["opinions"] = opinions(repository, query)
    if query.records is not None:
        from ibidem.repo.event_log import read_log

        logs = repository.note_logs.setdefault("", {})
        notes["events"] = read_log(repository, query.records.notes, logs).about
    return notes
