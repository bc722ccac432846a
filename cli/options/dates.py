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
from ibidem.objects.printable import moment as shown

Clock = Callable[[], int]
"""Returns the time in microseconds since 1970 UTC."""
_DAYS = {"today": 0, "yesterday": 1}
_AGO = r"(\d{1,6}) (minute|hour|day|week)s? ago"
_AT = r"(?s)(.*@\{)(.*)(\}.*)"
_DATE = len("2026-01-31")


def moment(clock: Clock, text: str | None) -> int | None:
    """Returns a time in microseconds since 1970 UTC, None for no text.

    Raises:
        InvalidInputError: it is no time.
    """
    return None if text is None else parse.moment(absolute(clock, text))


def revision(clock: Clock, text: str) -> str:
    """Returns a revision with the words for times replaced, also in `main@{yesterday}`."""
    found = re.fullmatch(_AT, text)
    if found is None:
        return absolute(clock, text)
    return found[1] + absolute(clock, found[2]) + found[3]


def absolute(clock: Clock, text: str) -> str:
    """Returns a text with words for a time replaced; any other text is returned as it is."""
    words = text.strip().lower()
    ago = re.fullmatch(_AGO, words)
    if words != "now" and words not in _DAYS and ago is None:
        return text
    now = clock()
    if words in _DAYS:
        return shown(now - _microseconds("day", _DAYS[words]))[:_DATE]
    return shown(now if ago is None else now - _microseconds(ago[2], int(ago[1])))


def _microseconds(unit: str, count: int) -> int:
    return timedelta(**{f"{unit}s": count}) // timedelta(microseconds=1)
