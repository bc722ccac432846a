"""Times as people type them: `yesterday`, `2 hours ago`, a date alone.

Words are replaced by dates and times here, where the clock is read once; below, only absolute times
exist. Days are those of UTC. For a revision, a date means the end of that day; for a moment, its
beginning.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from ibidem.cli.options import parse
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.printable import moment as shown

Clock = Callable[[], int]
"""Returns the time in microseconds since 1970 UTC."""
_DAYS = {"today": 0, "yesterday": 1}
_UNITS = {
    **dict.fromkeys(("second", "sec", "s"), "seconds"),
    **dict.fromkeys(("minute", "min", "m"), "minutes"),
    **dict.fromkeys(("hour", "h"), "hours"),
    **dict.fromkeys(("day", "d"), "days"),
    **dict.fromkeys(("week", "w"), "weeks"),
}
"""The unit of each word for it."""
_AGO = r"(\d{1,6}) ?([a-z]+?)s? ago"
_AT = r"(?s)(.*@\{)(.*)(\}.*)"
_DATE = len("2026-01-31")


def moment(clock: Clock, text: str | None, option: str = "as_of") -> int | None:
    """Returns a time in microseconds since 1970 UTC, None for no text.

    Raises:
        InvalidInputError: it is no time; the message begins with `option`.
    """
    return None if text is None else parse.moment(absolute(clock, text, option), option)


def revision(clock: Clock, text: str) -> str:
    """Returns a revision with the words for times replaced, also in `main@{yesterday}`."""
    found = re.fullmatch(_AT, text)
    if found is None:
        return absolute(clock, text)
    return found[1] + absolute(clock, found[2]) + found[3]


def absolute(clock: Clock, text: str, name: str = "time") -> str:
    """Returns a text with words for a time replaced; any other text is returned as it is.

    Raises:
        InvalidInputError: a time ago in an unknown unit; the message begins with `name`.
    """
    words = text.strip().lower()
    ago = re.fullmatch(_AGO, words)
    if words != "now" and words not in _DAYS and ago is None:
        return text
    if ago is not None and ago[2] not in _UNITS:
        raise InvalidInputError(
            f"{name}: got {text!r:.80}, expected seconds, minutes, hours, days or weeks ago"
        )
    now = clock()
    if words in _DAYS:
        return shown(now - _microseconds("days", _DAYS[words]))[:_DATE]
    return shown(now if ago is None else now - _microseconds(_UNITS[ago[2]], int(ago[1])))


def _microseconds(unit: str, count: int) -> int:
    return timedelta(**{unit: count}) // timedelta(microseconds=1)
