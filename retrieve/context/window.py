"""Merges windows over a sequence into groups: hits at positions, and the ranges around them.

Everything is integers. Both ways of merging keep three invariants: no position is in two groups,
every hit is covered and belongs to exactly one group, and the groups do not depend on how many of
them are shown.

Spec: packs 4.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from ibidem.objects.record import record
from ibidem.retrieve.query.options import CUT, EXCERPT, STOP

CUT_SHARE = 2
"""Where candidates are cut, none takes more of a budget than one part in this many."""


class Aim(NamedTuple):
    """A hit and the range around it that it requests."""

    rank: int
    """0 for the best; no two are equal."""
    place: int
    start: int
    stop: int
    """Exclusive; the range contains `place`."""


@record(frozen=False)
class Stretch:
    """A group: positions start..stop, and the ranks of its hits, best first."""

    start: int
    stop: int
    ranks: list[int]


def absorb(aims: Sequence[Aim]) -> list[Stretch]:
    """Returns the groups of one sequence, ordered by their best hit.

    A hit that a group covers joins it. Any other hit opens a group with its own range, cut where it
    meets positions that are already taken.
    """
    taken: dict[int, Stretch] = {}
    made: list[Stretch] = []
    for aim in sorted(aims):
        covering = taken.get(aim.place)
        if covering is not None:
            covering.ranks.append(aim.rank)
            continue
        start, stop = aim.place, aim.place + 1
        while start > aim.start and start - 1 not in taken:
            start -= 1
        while stop < aim.stop and stop not in taken:
            stop += 1
        made.append(Stretch(start, stop, [aim.rank]))
        taken.update((place, made[-1]) for place in range(start, stop))
    return made


def coalesce(aims: Sequence[Aim], nodes_max: int | None = None) -> list[Stretch]:
    """Returns the unions of ranges that share a position, ordered by their best hit.

    Args:
        aims: hits of one sequence.
        nodes_max: the largest size of a union. A range that would make a union longer does
            not extend it; its hit joins if it is inside, or opens a new group after the union.
    """
    made: list[Stretch] = []
    for aim in sorted(aims, key=lambda aim: (aim.start, aim.stop, aim.rank)):
        last = made[-1] if made else None
        if last is None or aim.start >= last.stop:
            made.append(Stretch(aim.start, aim.stop, [aim.rank]))
            continue
        stop = max(last.stop, aim.stop)
        if nodes_max is None or stop - last.start <= nodes_max:
            last.stop = stop
            last.ranks.append(aim.rank)
        elif aim.place < last.stop:
            last.ranks.append(aim.rank)
        else:
            made.append(Stretch(last.stop, aim.stop, [aim.rank]))
    for span in made:
        span.ranks.sort()
    return sorted(made, key=lambda span: span.ranks[0])


def clipped(place: int, start: int, stop: int, nodes_max: int | None) -> tuple[int, int]:
    """Returns the part of start..stop of at most `nodes_max` positions with `place` nearest to its
    middle; of two such parts, the earlier."""
    if nodes_max is None or stop - start <= nodes_max:
        return start, stop
    begin = min(max(start, place - nodes_max // 2), stop - nodes_max)
    return begin, begin + nodes_max


def united(groups: Sequence[Sequence[Hashable]]) -> list[list[int]]:
    """Returns the connected components of groups of nodes, where groups that share a node connect.

    Args:
        groups: the nodes of each group, the best group first.

    Returns:
        Indices into `groups`, ascending, the component with the first index first.
    """
    parent = list(range(len(groups)))

    def top(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    seen: dict[Hashable, int] = {}
    for place, nodes in enumerate(groups):
        for node in nodes:
            other = top(seen.setdefault(node, place))
            mine = top(place)
            parent[max(mine, other)] = min(mine, other)
    components: dict[int, list[int]] = {}
    for place in range(len(groups)):
        components.setdefault(top(place), []).append(place)
    return [components[first] for first in sorted(components)]


def _least(cut: Callable[[int], bool], low: int, high: int, tokens: int) -> tuple[int, bool]:
    """Returns the least cost, above `low` and up to `high`, at which something is left of a
    candidate that costs `tokens`, and True; `high` and False if nothing is."""
    if low >= high or (high < tokens and not cut(high)):
        return high, False
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if cut(middle) else (middle, high)
    return high, True


def decisions(
    count: int,
    cost: Callable[[int], int],
    *,
    limit: int | None,
    budget: int | None,
    overflow: str,
    cut: Callable[[int, int], bool],
    fill: bool = False,
    enough: bool = False,
    refuse: Callable[[int], str | None] | None = None,
) -> Iterator[tuple[int, str | None, int | None]]:
    """Yields of each of `count` candidates whether it is taken: (position, None, cost), or why not:
    (position, reason, cost or None if it was not computed). What is yielded stays so.

    With `cut` and `excerpt`, more budget never takes less: what is taken is a beginning of one
    sequence, in which each candidate is charged at most half of the budget, or what those after it
    do not need.

    Args:
        count: the number of candidates, in rank order.
        cost: the cost of one; called once for each, in order, and not for those that are refused or
            come too late to be taken.
        limit: the most candidates that are taken.
        budget: the most that they may cost together, None for any cost.
        overflow: `skip` one that does not fit, because later ones may still fit; `stop` there;
            `cut` it, and stop after one that alone exceeds what is left; or `excerpt` it, and stop
            when nothing is left.
        cut: makes a candidate cost at most so much; returns whether anything is left of it, which
            it is of every larger cost too. It may be called several times for one.
        fill: whether a candidate is also charged what those after it do not need.
        enough: whether one of which nothing would be left is charged the least with which something
            is.
        refuse: returns why one is left out in any case, None if it is not; asked in order.
    """
    costs: dict[int, int] = {}
    refused: list[str | None] = []

    def cost_of(index: int) -> int:
        if index not in costs:
            costs[index] = cost(index)
        return costs[index]

    def refusal(index: int) -> str | None:
        while refuse is not None and len(refused) <= index:
            refused.append(refuse(len(refused)))
        return refused[index] if refused else None

    def charge(index: int, tokens: int, rest: int, budget: int) -> int:
        half = -(-budget // CUT_SHARE)
        most = min(tokens, rest)
        if not fill or most <= half:
            return min(most, half)
        wanted = count if limit is None else limit - taken_count - 1
        later = 0
        for other in range(index + 1, count):
            if later >= rest - half or not wanted:
                break
            if refusal(other) is None:
                later += cost_of(other)
                wanted -= 1
        return min(most, max(half, rest - later))

    used, taken_count, is_stopped = 0, 0, False
    for index in range(count):
        if limit is not None and taken_count >= limit:
            yield index, "limit", None
            continue
        if is_stopped:
            yield index, "budget", None
            continue
        if (reason := refusal(index)) is not None:
            yield index, reason, None
            continue
        tokens = cost_of(index)
        if budget is None or (overflow not in (CUT, EXCERPT) and used + tokens <= budget):
            is_taken, charged = True, tokens
        elif overflow in (CUT, EXCERPT):
            # What it may have is charged, not what it has after the cut, which can be less.
            charged = charge(index, tokens, budget - used, budget)
            is_taken = tokens <= charged or cut(index, charged)
            if not is_taken and enough:
                high = min(tokens, budget - used)
                charged, is_taken = _least(partial(cut, index), charged, high, tokens)
            is_stopped = (tokens if overflow == CUT else charged + 1) > budget - used
        else:
            is_taken, charged = False, 0
            is_stopped = overflow == STOP
        used += charged
        taken_count += is_taken
        yield index, None if is_taken else "budget", tokens
