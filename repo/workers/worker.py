"""A worker: ranks the rows of some segments for a driver, from the same root by the same code.

The view, the universe and the scores are computed here as for an own answer, from the blocks and
the index that this process has. What the driver says is who asks, what, and which segments count.

Spec: retrieval 13.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ibidem.objects.errors import IbidemError, RemoteError
from ibidem.objects.node import Node
from ibidem.repo.workers.messages import (
    Ask,
    Layout,
    Request,
    encode_counts,
    encode_error,
    encode_top,
    refused_layout,
)
from ibidem.retrieve.access.restricted_snapshot import restrict
from ibidem.retrieve.filter import universe
from ibidem.retrieve.partition import DENSE, Counts, layout_of, part_of, top_of
from ibidem.retrieve.subquery_lane import check_models

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.retrieve.node_source import Load
    from ibidem.retrieve.protocol import Snapshot

_SALT = os.urandom(16)


def answered(core: Core, message: bytes) -> bytes:
    """Returns the answer of a repository to the request in a message; errors are answers too."""
    get = core.store.get
    try:
        request = Request.decode(message)
        graph = core.graph(request.root)
        return graph.with_snapshot(
            lambda snapshot: answer_from(snapshot, request, lambda cid: Node.decode(get(cid)))
        )
    except IbidemError as error:
        return encode_error(error)
    except Exception as error:
        return encode_error(RemoteError(f"the worker failed: {type(error).__name__}"))


def answer_from(snapshot: Snapshot, request: Request, load: Load) -> bytes:
    """Returns the answer of a snapshot of the requested root.

    Raises:
        InvalidInputError: kind `index-unavailable`: it has other segments.
    """
    query, lane = request.query, request.lane
    restricted = restrict(snapshot, query.viewer, load)
    if lane == DENSE:
        check_models(restricted, query)
    salt = _SALT + os.getpid().to_bytes(8, "big")
    layout = layout_of(snapshot, lane, query, salt)
    if request.ask is Ask.LAYOUT:
        return Layout(layout).encode()
    other = [name for name, rows in request.segments.items() if layout.get(name) != rows]
    if other or not request.segments:
        raise refused_layout(", ".join(sorted(other)[:3]) or "none")
    part = part_of(universe(restricted, query), request.segments)
    if request.ask is Ask.COUNTS:
        return encode_counts(Counts.of(part))
    return encode_top(top_of(part, None if lane == DENSE else request.counts))
