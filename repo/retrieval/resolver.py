"""The function that resolves a query, by the kind of its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ibidem.retrieve.answer.answer import AnswerKind

if TYPE_CHECKING:
    from ibidem.repo.retrieval.retrieve import PreparedQuery


def resolver(kind: AnswerKind) -> Callable[..., PreparedQuery]:
    """Returns the function that resolves a query, from a revision and options, by kind."""
    if kind is AnswerKind.PACKS:
        from ibidem.repo.retrieval.context import ask_packs

        return ask_packs
    if kind is AnswerKind.RECORDS:
        from ibidem.repo.retrieval.records import ask_records

        return ask_records
    from ibidem.repo.retrieval.retrieve import ask_nodes

    return ask_nodes
