"""The time of a question as a caller gives it; a number that is not in microseconds is refused.

Seconds read as microseconds are a time of January 1970: every answer would be empty or whole, and
nothing would say why. A time that a question has by default (`newest.py`) is not refused, whatever
its clock counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.printable import moment as shown
from ibidem.repo.arguments import checked_time
from ibidem.repo.retrieval.newest import newest_time
from ibidem.retrieve.query.options import TIMES_OF_RECORDS

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


def given_times(options: Mapping[str, Any], graph: Graph) -> dict[str, Any]:
    """Returns the options of a question with its times as `given_time` returns them."""
    times = {
        name: given_time(options[name], name, graph)
        for name in ("as_of", *TIMES_OF_RECORDS)
        if name in options
    }
    return {**options, **times}


def _is_dated(graph: Graph) -> bool:
    """Returns whether the default times of questions are in microseconds, as far as there are any;
    those of a graph without a commit come from notes and are unknown."""
    times = [newest_time(graph, name) for name in ("time", "created_at")]
    return all(time is not None and (time in _DATES or time == 0) for time in times)
