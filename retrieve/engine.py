"""Semantics version 1: the answer to any query, of nodes, of packs or of records."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from ibidem.retrieve.answer.answer import Answer
from ibidem.retrieve.answer.item import AnswerItem
from ibidem.retrieve.budget import pack
from ibidem.retrieve.fuse import fuse
from ibidem.retrieve.lexical.lane import rank_lexical
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute as execute_nodes
from ibidem.retrieve.protocol import Snapshot
from ibidem.retrieve.query.query import Query, resolve
from ibidem.retrieve.semantics import Rules

if TYPE_CHECKING:
    from ibidem.retrieve.context.pack import Pack


def execute(
    snapshot: Snapshot, query: Query, nodes: NodeSource, **options: Any
) -> Answer[AnswerItem]:
    """Returns the answer to a query; the arguments and errors are those of `pipeline.execute`."""
    # Loaded only if needed: few processes query packs or records.
    if query.packs is not None:
        from ibidem.retrieve.context.assemble import execute_packs

        return execute_packs(snapshot, query, nodes, **options)
    if query.records is not None:
        from ibidem.retrieve.records.assemble import execute_records

        return execute_records(snapshot, query, nodes, **options)
    return execute_nodes(snapshot, query, nodes, **options)


def stream_packs(
    snapshot: Snapshot, query: Query, nodes: NodeSource, **options: Any
) -> Generator[Pack, None, Answer[Pack]]:
    """Yields the packs that answer a query, then returns the answer."""
    from ibidem.retrieve.context import assemble

    return assemble.stream_packs(snapshot, query, nodes, **options)


RULES = Rules(
    resolve=resolve,
    read_query=Query.from_form,
    execute=execute,
    stream_packs=stream_packs,
    rank_lexical=rank_lexical,
    fuse=fuse,
    pack=pack,
)
"""The rules of version 1."""
