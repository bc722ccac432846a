"""Bisection along first parents: the first commit at which a query or a test has another result.

Of n commits at most ceil(log2(n + 1)) are tried. The expectation is assumed to hold up to some
commit and to fail from there on; if it changes more than once, one of the places is found. A commit
that cannot be tested is skipped; the result may then be several candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ibidem.objects.cid import CommitCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.notebook import Drawn
from ibidem.objects.record import record
from ibidem.repo.argument_checks import check_id
from ibidem.repo.history.ancestry import first_parents, read_commit, read_ends
from ibidem.repo.history.compare import Answers, Ask, Cause
from ibidem.repo.history.touching import NodeStates
from ibidem.retrieve.answer.answer import Answer
from ibidem.retrieve.answer.item import Item

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.repo.core import Core


@record
class Step:
    """One commit that was tried."""

    commit: Commit
    holds: bool | None
    """None if it could not be tested."""
    index: int = 0
    """Its position among the commits that were searched, 0 for the oldest."""


@record
class Bisection(Drawn):
    """The first commit at which something fails."""

    suspects: tuple[Commit, ...]
    """The first commit that fails; several candidates if some could not be tested, oldest first.
    Empty if none fails.
    """
    last_holding: Commit | None
    """The last commit where it holds, before any that fails; None if there is none."""
    steps: tuple[Step, ...]
    """In the order in which they were tried."""
    commits_count: int
    """The number of commits that were searched."""
    cause: Cause | None = None
    """How the first bad commit changed an answer; None if nothing was found, it has no commit
    before it, or no query was given.
    """

    @property
    def first_bad(self) -> Commit | None:
        """The first commit that fails, None if it is not known."""
        return self.suspects[0] if len(self.suspects) == 1 else None

    @property
    def last_good(self) -> Commit | None:
        """The commit before the candidates; None if no commit fails, or all do."""
        return self.last_holding if self.suspects else None

    @property
    def evaluations_count(self) -> int:
        """Number of commits tested in the search."""
        return len(self.steps)


def bisect(
    repository: Core,
    holds: Callable[[Commit], bool | None],
    *,
    good: object = None,
    bad: object = "HEAD",
) -> Bisection:
    """Returns the first commit at which a test fails.

    Args:
        holds: tests a commit; None if it cannot be tested.
        good: a revision where it holds, on the line of first parents of `bad`; None for before the
            first commit.
        bad: the last revision to consider.

    Raises:
        InvalidInputError: `good` is not on that line.
    """
    return search(repository.store, holds, *_candidates(repository, good, bad))


def bisect_node(
    repository: Core,
    ask: Ask,
    expect: NodeId,
    *,
    rank_max: int | None = None,
    good: object = None,
    bad: object = "HEAD",
) -> Bisection:
    """Returns the first commit whose answer lacks a node or ranks it too low.

    Without `good`, the search starts at the commit that added the node.

    Args:
        repository: where the commits are.
        ask: returns the answer at a revision.
        expect: the node.
        rank_max: the lowest acceptable rank, None for any.
        good: see `bisect`.
        bad: see `bisect`.
    """
    check_id("expect", expect, NodeId)
    if rank_max is not None and (type(rank_max) is not int or rank_max < 1):
        raise InvalidInputError(f"rank_max: got {rank_max!r}, expected a rank from 1 on, or None")

    def holds(result: Answer[Item]) -> bool:
        return any(item.node.id == expect for item in result.items[:rank_max])

    candidates, known_good = _candidates(repository, good, bad)
    if known_good is None:
        states = NodeStates(repository.store)
        trees = (states.tree(states.ends(cid).root) for cid in candidates)
        having = (index for index, tree in enumerate(trees) if states.node(tree, expect.raw))
        start = next(having, None)
        if start is None:
            raise InvalidInputError(f"expect: node {expect} is in no commit up to {bad}")
        candidates = candidates[start:]
    return search_answers(repository, ask, holds, candidates, known_good)


def search_answers(
    repository: Core,
    ask: Ask,
    holds: Callable[[Answer[Item]], bool],
    candidates: Sequence[CommitCid],
    known_good: CommitCid | None,
    *,
    is_last_bad: bool = False,
) -> Bisection:
    """Returns the first candidate whose answer is not as expected, and what it changed.

    Args:
        repository: where the commits are.
        ask: returns the answer at a revision.
        holds: whether an answer is as expected.
        candidates: see `search`.
        known_good: see `search`.
        is_last_bad: see `search`.
    """
    answers = Answers(repository, ask)
    found = search(
        repository.store,
        lambda commit: holds(answers.at(commit.cid)),
        candidates,
        known_good,
        is_last_bad=is_last_bad,
    )
    if found.first_bad is None or found.last_good is None:
        return found
    return replace(found, cause=answers.cause(found.last_good.cid, found.first_bad.cid))


def search(
    source: Source,
    holds: Callable[[Commit], bool | None],
    candidates: Sequence[CommitCid],
    known_good: CommitCid | None,
    *,
    is_last_bad: bool = False,
) -> Bisection:
    """Returns the first of the candidates at which a test fails.

    Args:
        holds: tests a commit; None if it cannot be tested.
        candidates: oldest first, each the first parent of the next.
        known_good: the first parent of the first of them, if it is known to hold there.
        is_last_bad: whether it is known to fail at the last of them, which then is not tested.
    """
    steps: list[Step] = []
    skipped: set[int] = set()
    start, stop = 0, len(candidates) - is_last_bad
    while (middle := _middle(start, stop, skipped)) is not None:
        commit = read_commit(source, candidates[middle])
        result = holds(commit)
        steps.append(Step(commit, result, middle))
        if result is None:
            skipped.add(middle)
        elif result:
            start = middle + 1
        else:
            stop = middle
    last = candidates[start - 1] if start else known_good
    # If no commit failed, skipped commits are not candidates.
    suspects = candidates[start : stop + 1] if stop < len(candidates) else ()
    return Bisection(
        tuple(read_commit(source, cid) for cid in suspects),
        None if last is None else read_commit(source, last),
        tuple(steps),
        len(candidates),
    )


def _middle(start: int, stop: int, skipped: set[int]) -> int | None:
    """Returns the index nearest to the middle that was not skipped, None if there is none."""
    middle = (start + stop) // 2
    for distance in range(stop - start):
        for position in (middle - distance, middle + distance):
            if start <= position < stop and position not in skipped:
                return position
    return None


def _candidates(
    repository: Core, good: object, bad: object
) -> tuple[list[CommitCid], CommitCid | None]:
    """Returns the commits from after `good`, or the first, to `bad`, oldest first; and `good`."""
    last = repository.commit_at(bad).cid
    first = None if good is None else repository.commit_at(good).cid
    found: list[CommitCid] = []
    for cid, _ in first_parents(partial(read_ends, repository.store), last):
        if cid == first:
            break
        found.append(cid)
    else:
        if first is not None:
            raise InvalidInputError(
                f"good: got {good!r:.80}, expected a first parent of {bad!r:.80}, some steps back",
                hint="run 'repo log' to see the history",
            )
    return found[::-1], first
