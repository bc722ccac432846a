"""The time of a question as a person gives it; a number that is not in microseconds is refused.

Seconds read as microseconds are a time of January 1970: every answer would be empty or whole, and
nothing would say why. Times that come from commits are not refused, whatever their clock counts.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.printable import moment as shown
from ibidem.repo.arguments import checked_time

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
        graph: that is asked; if a commit of it has such a time itself, as by the clock of a test,
            every number is accepted, because it may come from the graph.
    """
    found = checked_time(time, name)
    commits = () if graph is None else [one.commit for one in graph.parts]
    if found is not None and all(one is None or one.time in _DATES for one in commits):
        for unit, count, per in _OTHER_UNITS:
            date = found * count // per
            if date in _DATES:
                raise InvalidInputError(
                    f"{name}: got {found}, expected microseconds since 1970 UTC; "
                    f"as {unit}, it is {shown(date, seconds_only=True)}",
                    hint=f"in microseconds, that is {date}",
                )
    return found
