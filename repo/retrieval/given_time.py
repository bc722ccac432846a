"""The time of a question: the given one, or that of the commit or the newest visible node, never
the clock's.

A given number that is not in microseconds is refused. Seconds read as microseconds are a time of
January 1970: every answer would be empty or whole, and nothing would say why. A time that a
question has by default is not refused, whatever its clock counts.

Spec: trust 6.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.printable import moment as shown
from ibidem.repo.arguments import checked_time
from ibidem.retrieve.access.policy import members

if TYPE_CHECKING:
    from ibidem.repo.graph import Graph

_DATES = range(10**14, 10**16)
"""Times from 1973 to 2286, in microseconds. No number is one of them in two units."""
_OTHER_UNITS = (("seconds", 1_000_000, 1), ("milliseconds", 1_000, 1), ("nanoseconds", 1, 1_000))
"""Units of other libraries: how many microseconds they are, as a fraction."""


def given_time(time: int | datetime | None, name: str, graph: Graph | None = None) -> int | None:
    """Returns the time of a question in microseconds since 1970 UTC; None for None.

    Args:
        time: a number that is a date of our days in another unit, and not in microseconds, is
            refused.
        name: of the argument.
        graph: that is asked, None if unknown. If a default time of its questions is none in
            microseconds, as by the clock of a test, every number is accepted: it may be that time.
    """
    found = checked_time(time, name)
    if found is not None:
        for unit, count, per in _OTHER_UNITS:
            date = found * count // per
            if date in _DATES and (graph is None or _is_dated(graph)):
                raise InvalidInputError(
                    f"{name}: got {found}, expected microseconds since 1970 UTC; "
                    f"as {unit}, it is {shown(date, seconds_only=True)}",
                    hint=f"in microseconds, that is {date}",
                )
    return found


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
    from ibidem.repo.retrieval import listing

    page = listing.page(graph, where={name: {"gte": 0}}, order_by=f"-{name}", limit=1)
    values = [value for node in page.nodes for value in members(node.props, name, 0)]
    return max((value for value in values if type(value) is int), default=0)


def _is_dated(graph: Graph) -> bool:
    """Returns whether the default times of questions are in microseconds, as far as there are any;
    those of a graph without a commit come from notes and are unknown."""
    times = [newest_time(graph, name) for name in ("time", "created_at")]
    return all(time is not None and (time in _DATES or time == 0) for time in times)
