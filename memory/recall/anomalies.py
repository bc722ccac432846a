"""Unusual patterns in the questions to a repository, found in the impressions of the sidecar.

They are only reported; nothing acts on them. Everything is counted within a window that ends at a
given time, so the same impressions give the same report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from ibidem.objects.record import record

WINDOW_MICROSECONDS = 300_000_000
REPEATS_MIN, SESSIONS_MIN, NODES_MIN, ANSWERS_MIN = 5, 3, 50, 30


class Oddity(StrEnum):
    """A kind of unusual pattern; a closed list."""

    REPEATED = "repeated"
    """The same question, many times."""
    MANY_SESSIONS = "many-sessions"
    """The same question from several sessions."""
    MANY_NODES = "many-nodes"
    """One session was shown very many nodes."""
    RAPID = "rapid"
    """One session asks very often."""


@record
class Anomaly:
    """An unusual pattern, and its extent."""

    oddity: Oddity
    subject: str
    """The digest of the question, or the name of the session."""
    count: int


def anomalies(
    impressions: Iterable[Mapping[str, Any]], *, now: int, window: int = WINDOW_MICROSECONDS
) -> list[Anomaly]:
    """Returns the unusual patterns within a window, by oddity, then subject.

    Args:
        impressions: as `QueryLog.impressions` yields them.
        now: the end of the window, in microseconds since 1970 UTC.
        window: its length in microseconds.
    """
    recent = [one for one in impressions if now - window < one["time"] <= now]
    by_question = Counter(one["question"] for one in recent)
    spread = {question: set[str]() for question in by_question}
    shown: dict[str, set[str]] = {}
    for one in recent:
        spread[one["question"]].add(one["session"])
        shown.setdefault(one["session"], set()).update(one["ids"])
    counts = (
        (Oddity.REPEATED, dict(by_question), REPEATS_MIN),
        (Oddity.MANY_SESSIONS, {key: len(found) for key, found in spread.items()}, SESSIONS_MIN),
        (Oddity.MANY_NODES, {name: len(found) for name, found in shown.items()}, NODES_MIN),
        (Oddity.RAPID, dict(Counter(one["session"] for one in recent)), ANSWERS_MIN),
    )
    return [
        Anomaly(oddity, subject, count)
        for oddity, found, floor in counts
        for subject, count in sorted(found.items())
        if count >= floor
    ]
