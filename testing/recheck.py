"""Asking again what a golden records, from the golden alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.node import Node
from ibidem.retrieve.execute import execute
from ibidem.retrieve.query import Query
from ibidem.retrieve.receipt import receipt_of
from ibidem.testing.golden import Check
from ibidem.testing.judge import Mode, failure

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.repo.at import Revision
    from ibidem.repo.reader import Reader
    from ibidem.retrieve.result import Result


def recheck(repository: Reader, at: Revision, check: Check) -> list[str]:
    """Returns what differs from the recorded answer, as lines; nothing where it is the same.

    Raises:
        InvalidInputError: the question needs a reranker or a token estimator of its test.
    """
    plain, query = Query(text=check.query.text), check.query
    if query.rerank is not None or query.estimator != plain.estimator:
        raise InvalidInputError(
            f"check {check.name!r}: it was asked with a reranker or a token estimator of its own",
            hint="run the test that recorded it",
        )

    def ask(revision: Revision) -> Result:
        return _asked(repository, revision, query)

    result, mode = ask(at), Mode.from_form(check.mode)
    if mode.accepts(check, result):
        return []
    return failure(check, result, mode, repository=repository, at=at, ask=ask)


def _asked(repository: Reader, revision: Revision, query: Query) -> Result:
    source = repository.store

    def question(snapshot: Snapshot) -> Result:
        return execute(
            snapshot, query, lambda cid: Node.decode(source.get(cid)), repository.content_of
        )

    found = revision.asked(question)
    commit = None if revision.commit is None else revision.commit.cid
    return replace(found, receipt=receipt_of(found, commit=commit))
