"""The answer to any query: of nodes, or of packs where the query has their options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ibidem.retrieve.answer.result import Result
from ibidem.retrieve.pipeline import Content, Load
from ibidem.retrieve.pipeline import execute as execute_nodes
from ibidem.retrieve.protocol import Snapshot
from ibidem.retrieve.query.query import Query

if TYPE_CHECKING:
    from ibidem.retrieve.context.result import PackResult


def execute(
    snapshot: Snapshot, query: Query, load: Load, content: Content | None = None, **options: Any
) -> Result | PackResult:
    """Returns what the query asks for; the arguments and errors are those of `execute.execute`."""
    if query.packs is None:
        return execute_nodes(snapshot, query, load, content, **options)
    from ibidem.retrieve.context.assemble import execute_packs  # not loaded by most processes

    return execute_packs(snapshot, query, load, content, **options)
