"""What notes say about a record over time, as far as ranking asks. `repo/events.py` reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ibidem.objects.ids import NodeId

REINFORCE, PENALIZE, OUTCOME = "reinforce", "penalize", "outcome"


class Noted(Protocol):
    """One event about a record."""

    @property
    def kind(self) -> str:
        """`reinforce`, `penalize`, `outcome`, or another one, which does not count here."""

    @property
    def time(self) -> int:
        """Microseconds since 1970 UTC."""

    @property
    def value(self) -> float | None:
        """By how much; of an outcome 1.0 for a success."""


Events = Callable[[NodeId], Sequence[Noted]]
"""Returns the events about a node, by time, then id."""


def no_events(_: NodeId) -> tuple[Noted, ...]:
    """Returns none, for a question that counts no notes."""
    return ()
