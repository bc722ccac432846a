"""The default time of a query: that of the commit, or of the newest visible node; never the
clock's.

Spec: trust 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.repo.retrieval import listing
from ibidem.retrieve.access.policy import members

if TYPE_CHECKING:
    from ibidem.repo.graph import Graph


def newest_time(graph: Graph, name: str) -> int | None:
    """Returns the time of the commit, None if the graph is a root without one. For a restricted
    caller, returns the greatest time of a visible node, 0 without one: the commit may be about
    hidden nodes. Of several graphs it is the latest of their times.

    Args:
        name: the property with the time of a node.
    """
    if len(graph.parts) > 1:
        times = [newest_time(one, name) for one in graph.parts]
        return max((time for time in times if time is not None), default=None)
    if not graph.is_restricted:
        return None if graph.commit is None else graph.commit.time
    page = listing.page(graph, where={name: {"gte": 0}}, order_by=f"-{name}", limit=1)
    values = [value for node in page.nodes for value in members(node.props, name, 0)]
    return max((value for value in values if type(value) is int), default=0)
