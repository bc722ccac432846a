"""Checks a golden again without its test."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ibidem.objects.errors import InvalidInputError
from ibidem.repo.retrieval.retrieve import PreparedQuery, execute_query
from ibidem.repo.retrieval.token_estimators import estimator_of
from ibidem.retrieve.answer.answer import Answer, receipt_of
from ibidem.retrieve.query.query import Query
from ibidem.testing.golden import Check
from ibidem.testing.judge import Mode, failure, responsible

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.graph import Graph


def recheck(repository: Core, at: Graph, check: Check) -> list[str]:
    """Returns the differences from the recorded answer, as lines; none if it is the same.

    Raises:
        InvalidInputError: the question needs a reranker or a token estimator of its test.
    """
    plain, query = Query(text=check.query.text), check.query
    if query.rerank is not None or query.estimator != plain.estimator:
        raise InvalidInputError(
            f"check {check.name!r}: it was asked with a reranker or a token estimator of its own",
            hint="run the test that recorded it",
        )

    def ask(revision: Graph) -> Answer[Any]:
        return _answer(repository, revision, query)

    result, mode = ask(at), Mode.from_form(check.mode)
    if mode.accepts(check, result):
        return []
    found = responsible(check, result, mode, repository=repository, at=at, ask=ask)
    return failure(check, result, found, repository.store)


def _answer(repository: Core, revision: Graph, query: Query) -> Answer[Any]:
    prepared = PreparedQuery(query, estimator_of(query.estimator), None)
    found = execute_query(repository, revision, prepared)
    receipt = receipt_of(found, commit=revision.commit_cid, notes_head=query.notes)
    return replace(found, receipt=receipt)
