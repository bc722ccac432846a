"""How long work reports its advance: one function that is passed down, and nothing is drawn here.

The function is called often, at least once a second where that is possible, from the thread that
does the work, and must return quickly. It decides by itself what to show; the command line draws a
bar from it. What is reported never changes a result.
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]
"""Called with a name of the work, the amount done, and the total, None where it is unknown. The
first call of a piece of work has 0 done; a call in which done is the total ends it."""

STEP = 1000
"""Small items, such as blocks, between two calls."""


def silent(work: str, done: int, total: int | None) -> None:
    """Shows nothing."""
