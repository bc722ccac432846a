"""Groups children, so that no parent lists more than 1,000 and an edit rewrites one short list.

Where a group begins depends only on the ids of the children near that place: a child begins a group
of level l when the hash of its id is divisible by 64^l. An inserted passage thus changes only the
group it falls into. A run that is still too long is cut again at its smallest hash.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from blake3 import blake3

from ibidem.objects.ids import NodeId

CHILDREN_MAX = 1000
GROUP_SIZE = 64
"""The average number of children in a group."""

_Item = TypeVar("_Item")


def group(
    items: Sequence[_Item],
    identify: Callable[[_Item], NodeId],
    join: Callable[[Sequence[_Item]], _Item],
) -> Sequence[_Item]:
    """Returns at most `CHILDREN_MAX` items: the given ones, or groups of them built by `join`.

    `join` is never given an empty sequence; if there are too many groups, they are grouped again.
    """
    divisor = GROUP_SIZE
    weights = [_weight(identify(item)) for item in items] if len(items) > CHILDREN_MAX else []
    while len(items) > CHILDREN_MAX:
        cuts = [place for place in range(1, len(items)) if weights[place] % divisor == 0]
        runs: list[tuple[int, int]] = []
        for start, stop in zip([0, *cuts], [*cuts, len(items)], strict=True):
            runs.extend(_bounded(weights, start, stop))
        if len(runs) == len(items):  # no group joined anything: thin the boundaries out
            divisor *= GROUP_SIZE
            continue
        items = [join(items[start:stop]) for start, stop in runs]
        weights = [weights[start] for start, _ in runs]
        divisor *= GROUP_SIZE
    return items


def _bounded(weights: Sequence[int], start: int, stop: int) -> list[tuple[int, int]]:
    """Cuts one run at its smallest weights until no piece is longer than `CHILDREN_MAX`."""
    pieces: list[tuple[int, int]] = []
    stack = [(start, stop)]
    while stack:
        low, high = stack.pop()
        if high - low <= CHILDREN_MAX:
            pieces.append((low, high))
            continue
        cut = min(range(low + 1, high), key=lambda place: (weights[place], place))
        stack.append((cut, high))
        stack.append((low, cut))
    return pieces


def _weight(item_id: NodeId) -> int:
    return int.from_bytes(blake3(b"ibidem group\x00" + item_id.raw).digest(8))
