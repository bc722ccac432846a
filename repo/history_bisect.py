"""Bisection by any test: the first commit at which something no longer holds.

The line searched is that of first parents, halved each time. A commit that cannot be tested is left
out, and where such commits stand between, the answer is the few that it can be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ibidem.objects.commit import Commit
from ibidem.objects.record import record
from ibidem.repo.bisect import line_of

if TYPE_CHECKING:
    from ibidem.repo.reader import Reader


@record
class Tried:
    """One commit that was tested."""

    commit: Commit
    holds: bool | None
    """None where it could not be tested."""


@record
class CommitBisection:
    """Where something began to fail."""

    suspects: tuple[Commit, ...]
    """The first commit that fails, alone unless some could not be tested; oldest first. Empty where
    none fails."""
    last_good: Commit | None
    steps: tuple[Tried, ...]
    """In the order in which they were tested."""
    commits_count: int
    """Commits that it could have been."""

    @property
    def first_bad(self) -> Commit | None:
        """The first commit that fails, where it is known."""
        return self.suspects[0] if len(self.suspects) == 1 else None


def bisect_commits(
    repository: Reader,
    holds: Callable[[Commit], bool | None],
    *,
    good: object = None,
    bad: object = "HEAD",
) -> CommitBisection:
    """Returns the first commit at which a test fails.

    Args:
        holds: whether it holds at a commit; None where that cannot be told.
        good: a revision where it holds, on the line of first parents of `bad`; None for before the
            first commit. bad: the last revision to consider.

    Raises:
        InvalidInputError: `good` is not on that line.
    """
    line = line_of(repository, good, bad)
    candidates = line[1:] if good is not None else line
    steps: list[Tried] = []
    skipped: set[int] = set()
    start, stop = 0, len(candidates)
    while (middle := _middle(start, stop, skipped)) is not None:
        result = holds(candidates[middle])
        steps.append(Tried(candidates[middle], result))
        if result is None:
            skipped.add(middle)
        elif result:
            start = middle + 1
        else:
            stop = middle
    last_good = candidates[start - 1] if start else (line[0] if good is not None else None)
    # Where no commit was seen to fail, those that could not be tested are no suspects.
    suspects = candidates[start : stop + 1] if stop < len(candidates) else []
    return CommitBisection(tuple(suspects), last_good, tuple(steps), len(candidates))


def _middle(start: int, stop: int, skipped: set[int]) -> int | None:
    """Returns the place nearest to the middle that was not left out, None when there is none."""
    middle = (start + stop) // 2
    places = (place for place in range(start, stop) if place not in skipped)
    return min(places, key=lambda place: (abs(place - middle), place), default=None)
