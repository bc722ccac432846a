"""The answer to any query: of nodes, or of packs where the query has their options."""

from __future__ import annotations

from typing import Any

from ibidem.retrieve.answer.answer import Answer
from ibidem.retrieve.answer.item import AnswerItem
from ibidem.retrieve.pipeline import Content, Load
from ibidem.retrieve.pipeline import execute as execute_nodes
from ibidem.retrieve.protocol import Snapshot
from ibidem.retrieve.query.query import Query


def execute(
    snapshot: Snapshot, query: Query, load: Load, content: Content | None = None, **options: Any
) -> Answer[AnswerItem]:
    """Returns what the query asks for; the arguments and errors are those of `execute.execute`."""
    if query.packs is None:
        return execute_nodes(snapshot, query, load, content, **options)
    from ibidem.retrieve.context.assemble import execute_packs  # not loaded by most processes

    return execute_packs(snapshot, query, load, content, **options)
