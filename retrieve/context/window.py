"""Merges windows over a sequence into groups: hits at positions, and the ranges around them.

Everything is integers. Both ways of merging keep three invariants: no position is in two groups,
every hit is covered and belongs to exactly one group, and the groups do not depend on how many of
them are shown.

Spec: packs 4.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from ibidem.objects.record import record


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
