"""Bisection along first parents: the first commit at which a question or a test has another
outcome.

Of n commits at most ceil(log2(n + 1)) are tried. The expectation is taken to hold up to some commit
and to fail from there on; where it changes more than once, one place where it fails is found. A
commit that cannot be tested is skipped; the answer is then the few commits that it can be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ibidem.objects.commit import Commit
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.objects.tree import Tree
from ibidem.repo.argument_checks import check_id
from ibidem.repo.history.compare import Ask, Cause, explain_step, first_parents
from ibidem.retrieve.answer.answer import Answer
from ibidem.retrieve.answer.item import Item

if TYPE_CHECKING:
    from ibidem.repo.core import Core


@record
class Step:
    """One commit that was asked."""

    commit: Commit
    holds: bool


@record
class Bisection:
    """Where an expectation began to fail."""

    first_bad: Commit | None
    """None where it holds at every commit that was asked, the last one included."""
    last_good: Commit | None
    """The commit before the first bad one; None where it fails from the first commit on."""
    steps: tuple[Step, ...]
    """In the order in which they were asked."""
    commits_count: int
    """Commits that it could have been."""
    cause: Cause | None
    """What the first bad commit did; None where nothing was found or no commit is before it."""

    @property
    def evaluations_count(self) -> int:
        """How many commits were asked in the search."""
        return len(self.steps)


def bisect(
    repository: Core,
    ask: Ask,
    holds: Callable[[Answer[Item]], bool],
    *,
    good: object = None,
    bad: object = "HEAD",
) -> Bisection:
    """Returns the first commit at which what is expected of an answer fails.

    Args:
        repository: where the commits are.
        ask: returns the answer at a revision.
        holds: whether an answer is as expected.
        good: a revision where it is known to hold, on the line of first parents of `bad`; None for
            before the first commit.
        bad: the last revision to consider.

    Raises:
        InvalidInputError: `good` is not on that line.
    """
    line = line_of(repository, good, bad)
    known = line[0] if good is not None else None
    candidates = line[1:] if known is not None else line
    return search(repository, ask, holds, candidates, known)


def bisect_node(
    repository: Core,
    ask: Ask,
    expect: NodeId,
    *,
    rank_max: int | None = None,
    good: object = None,
    bad: object = "HEAD",
) -> Bisection:
    """Returns the first commit whose answer lacks a node, or has it too far down.

    Without `good`, the search begins at the commit that first had the node.

    Args:
        repository: where the commits are.
        ask: returns the answer at a revision.
        expect: the node.
        rank_max: the last rank that will do, None for any.
        good: see `bisect`. bad: likewise.
    """
    check_id("expect", expect, NodeId)
    if rank_max is not None and (type(rank_max) is not int or rank_max < 1):
        raise InvalidInputError(f"rank_max: got {rank_max!r}, expected a rank from 1 on, or None")

    def holds(result: Answer[Item]) -> bool:
        return any(item.node.id == expect for item in result.items[:rank_max])

    if good is not None:
        return bisect(repository, ask, holds, good=good, bad=bad)
    line = line_of(repository, None, bad)
    having = (index for index, commit in enumerate(line) if _has(repository, commit, expect))
    start = next(having, None)
    if start is None:
        raise InvalidInputError(f"expect: node {expect} is in no commit up to {bad}")
    return search(repository, ask, holds, line[start:], None)


def search(
    repository: Core,
    ask: Ask,
    holds: Callable[[Answer[Item]], bool],
    candidates: list[Commit],
    known_good: Commit | None,
    *,
    is_last_bad: bool = False,
) -> Bisection:
    """Returns the first of the candidates, oldest first, at which the expectation fails.

    Args:
        repository: where the commits are.
        ask: returns the answer at a revision.
        holds: whether an answer is as expected.
        candidates: each the first parent of the next.
        known_good: the first parent of the first of them, where it is known to hold there.
        is_last_bad: whether it is known to fail at the last of them, which then is not asked.
    """
    steps: list[Step] = []
    answers: dict[int, Answer[Item]] = {}
    start, stop = 0, len(candidates) - is_last_bad
    while start < stop:
        middle = (start + stop) // 2
        answers[middle] = ask(repository.graph(candidates[middle].cid))
        steps.append(Step(candidates[middle], holds(answers[middle])))
        start, stop = (middle + 1, stop) if steps[-1].holds else (start, middle)
    if start == len(candidates):
        return Bisection(None, None, tuple(steps), len(candidates), None)
    first_bad = candidates[start]
    last_good = candidates[start - 1] if start else known_good
    cause = None
    if last_good is not None:
        before = answers.get(start - 1)
        before = ask(repository.graph(last_good.cid)) if before is None else before
        after = answers.get(start)
        after = ask(repository.graph(first_bad.cid)) if after is None else after
        cause = explain_step(repository, last_good, first_bad, (before, after))
    return Bisection(first_bad, last_good, tuple(steps), len(candidates), cause)


def line_of(repository: Core, good: object, bad: object) -> list[Commit]:
    """Returns the commits from `good`, or the first, to `bad`, oldest first."""
    newest_first = first_parents(repository, repository.commit_at(bad).cid)
    if good is None:
        return newest_first[::-1]
    start = repository.commit_at(good).cid
    places = [index for index, commit in enumerate(newest_first) if commit.cid == start]
    if not places:
        raise InvalidInputError(
            f"good: got {good!r:.80}, expected a first parent of {bad!r:.80}, some steps back",
            hint="run 'repo log' to see the commits behind it",
        )
    return newest_first[places[0] :: -1]


def _has(repository: Core, commit: Commit, id_: NodeId) -> bool:
    root = Root.decode(repository.store.get(commit.root))
    return Tree(repository.store, root.nodes).get(id_.raw) is not None


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
    repository: Core,
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
