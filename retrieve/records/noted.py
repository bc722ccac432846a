"""Events about a record in the notes, as ranking reads them. `repo/events.py` reads the notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ibidem.objects.ids import NodeId

REINFORCE, PENALIZE, OUTCOME = "reinforce", "penalize", "outcome"


class Noted(Protocol):
    """One event about a record."""

    @property
    def kind(self) -> str:
        """`reinforce`, `penalize`, `outcome`, or another one, which ranking ignores."""

    @property
    def time(self) -> int:
        """Microseconds since 1970 UTC."""

    @property
    def value(self) -> float | None:
        """The amount; for an outcome, 1.0 is a success."""


Events = Callable[[NodeId], Sequence[Noted]]
"""Returns the events about a node, by time, then id."""


def no_events(_: NodeId) -> tuple[Noted, ...]:
    """Returns no events, for a query that counts no notes."""
    return ()
