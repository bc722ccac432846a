"""Fits ranked candidates into a limit and a budget: which are taken, and how much a part of one may
cost. Everything is integers.

Where candidates are cut, more budget never takes less: what is taken is a beginning of one
sequence, in which each candidate is charged at most half of the budget, or what those after it do
not need. A part may cost less than it is charged. What is over so goes to all of them: they are
charged as with the largest budget with which they still cost no more than the given one.

Spec: packs 7, retrieval 8.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, TypeVar

from ibidem.retrieve.query.options import CUT, EXCERPT, STOP

CUT_SHARE = 2
"""Where candidates are cut, none is charged more than one part in this many of a budget, unless it
is filled."""
SLACK_FACTOR = 2
"""The largest budget as with which candidates are charged is this many times the given one."""

T = TypeVar("T")


class Decision(NamedTuple):
    """Whether a candidate is taken."""

    candidate: int
    """Its rank, from 0."""
    reason: str | None
    """Why not; None if it is."""
    tokens: int | None
    """The cost of all of it; None if it was not computed."""
    room: int | None = None
    """What a part of it may cost, if a part is taken."""


class Parts(Generic[T]):
    """Parts of candidates that are cut to some cost, each made once."""

    def __init__(self, make: Callable[[int, int], tuple[T, int] | None]) -> None:
        """Takes what cuts the candidate at an index to at most some cost, and returns the part with
        its cost, or None if nothing is left; with more cost it leaves no less."""
        self._make = make
        self._made: dict[int, list[tuple[int, int, T]]] = {}
        self._nothing: dict[int, int] = {}

    def part(self, index: int, room: int) -> T:
        """Returns what is left of a candidate, of which anything is."""
        found = self._find(index, room)
        assert found is not None, "BUG: nothing is left of what was taken"
        return found[0]

    def cost(self, index: int, room: int) -> int | None:
        """Returns the cost of what is left of a candidate; None if nothing is."""
        found = self._find(index, room)
        return None if found is None else found[1]

    def _find(self, index: int, room: int) -> tuple[T, int] | None:
        if room <= self._nothing.get(index, -1):
            return None
        made = self._made.setdefault(index, [])
        for cost, most, part in made:
            if cost <= room <= most:  # with each of these costs it is the same part
                return part, cost
        found = self._make(index, room)
        if found is None or found[1] > room:
            self._nothing[index] = room
            return None
        made.append((found[1], room, found[0]))
        return found


class Fitting:
    """Candidates in rank order that are taken until a limit or a budget ends it."""

    def __init__(
        self,
        count: int,
        cost: Callable[[int], int],
        parts: Parts[T],
        *,
        limit: int | None,
        budget: int | None,
        around: int = 0,
        overflow: str,
        fill: bool = False,
        enough: bool = False,
        slack: bool = False,
        refuse: Callable[[int], str | None] | None = None,
    ) -> None:
        """Takes the candidates and the rules.

        Args:
            count: the number of candidates.
            cost: the cost of one; called once for each, in order, and not for those that are
                refused or come too late to be taken.
            parts: parts of them.
            limit: the most candidates that are taken.
            budget: the most that they may cost together, and `around`; None for any cost.
            around: the cost of what is written around them.
            overflow: `skip` one that does not fit, because later ones may still fit; `stop` there;
                `cut` it, and stop after one that alone exceeds what is left; or `excerpt` it, and
                stop when nothing is left.
            fill: whether a candidate is also charged what those after it do not need.
            enough: whether one of which nothing would be left is charged the least with which
                something is.
            slack: whether they are charged as with a larger budget if parts cost less than they are
                charged.
            refuse: returns why one is left out in any case, None if it is not; asked in order.
        """
        self._count = count
        self._cost = cost
        self._parts = parts
        self._limit = limit
        self._budget = budget
        self._around = around
        self._overflow = overflow
        self._is_cut = overflow in (CUT, EXCERPT)
        self._fill = fill
        self._enough = enough
        self._slack = slack and self._is_cut
        self._refuse = refuse
        self._costs: dict[int, int] = {}
        self._refused: list[str | None] = []

    def decisions(self) -> Iterator[Decision]:
        """Yields of each candidate whether it is taken. What is yielded stays so."""
        return self._decisions(self._charged_budget() if self._slack else self._budget)

    def _charged_budget(self) -> int | None:
        """Returns the largest budget, of at most `SLACK_FACTOR` times the given one, as with which
        the candidates are charged without costing more than the given one."""
        if self._budget is None:
            return None
        low, most = self._budget, SLACK_FACTOR * self._budget
        # It is mostly little more than the given one, and a larger one reads more candidates.
        step = 1
        while low < most and self._is_within(high := min(most, low + step)):
            low, step = high, 2 * step
        while low < most and high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._is_within(middle) else (low, middle)
        return low

    def _is_within(self, charged: int) -> bool:
        """Returns whether what is taken as with a budget costs no more than the given one."""
        assert self._budget is not None
        rest = max(0, self._budget - self._around)
        for one in self._decisions(charged):
            if one.reason in ("limit", "budget") and one.tokens is None:
                break  # neither this one nor one after it is taken
            if one.reason is None:
                assert one.tokens is not None
                part = None if one.room is None else self._parts.cost(one.candidate, one.room)
                rest -= one.tokens if part is None else part
                if rest < 0:
                    return False
        return True

    def _decisions(self, budget: int | None) -> Iterator[Decision]:
        rest = None if budget is None else max(0, budget - self._around)
        taken_count, is_stopped = 0, False
        has_room = self._budget is None or self._budget >= self._around
        for index in range(self._count):
            if self._limit is not None and taken_count >= self._limit:
                yield Decision(index, "limit", None)
                continue
            if is_stopped:
                yield Decision(index, "budget", None)
                continue
            if (reason := self._refusal(index)) is not None:
                yield Decision(index, reason, None)
                continue
            tokens = self._tokens(index)
            if rest is None or budget is None:
                is_taken, charged = True, tokens
            elif self._is_cut:
                # What it may have is charged, not what it has after the cut, which can be less.
                wanted = None if self._limit is None else self._limit - taken_count - 1
                charged, is_taken = self._charge(index, rest, budget, wanted)
                is_stopped = (tokens if self._overflow == CUT else charged + 1) > rest
            else:
                is_taken = tokens <= rest
                charged = tokens if is_taken else 0
                is_stopped = not is_taken and self._overflow == STOP
            is_taken = is_taken and has_room
            rest = None if rest is None else rest - charged
            taken_count += is_taken
            if is_taken:
                yield Decision(index, None, tokens, charged if charged < tokens else None)
            else:
                yield Decision(index, "budget", tokens)

    def _charge(self, index: int, rest: int, budget: int, wanted: int | None) -> tuple[int, bool]:
        """Returns what a candidate is charged of what is left of a budget, and whether it is taken
        then; `wanted` is how many after it may be."""
        half = -(-budget // CUT_SHARE)
        tokens = self._tokens(index)
        charged = most = min(tokens, rest)
        if most > half:
            charged = half
            if self._fill:
                charged = min(most, max(half, rest - self._later(index, rest - half, wanted)))
        if tokens <= charged or self._parts.cost(index, charged) is not None:
            return charged, True
        if not self._enough:
            return charged, False
        return self._least(index, charged, most)

    def _later(self, index: int, most: int, wanted: int | None) -> int:
        """Returns what the candidates after one cost, of no more than wanted, as far as it is less
        than `most`."""
        cost = 0
        for other in range(index + 1, self._count):
            if cost >= most or wanted == 0:
                break
            if self._refusal(other) is None:
                cost += self._tokens(other)
                wanted = None if wanted is None else wanted - 1
        return cost

    def _least(self, index: int, low: int, high: int) -> tuple[int, bool]:
        """Returns the least cost, above `low` and up to `high`, at which something is left of a
        candidate, and True; `high` and False if nothing is."""
        tokens = self._tokens(index)
        if low >= high or (high < tokens and self._parts.cost(index, high) is None):
            return high, False
        while high - low > 1:
            middle = (low + high) // 2
            is_any = self._parts.cost(index, middle) is not None
            low, high = (low, middle) if is_any else (middle, high)
        return high, True

    def _tokens(self, index: int) -> int:
        if index not in self._costs:
            self._costs[index] = self._cost(index)
        return self._costs[index]

    def _refusal(self, index: int) -> str | None:
        while self._refuse is not None and len(self._refused) <= index:
            self._refused.append(self._refuse(len(self._refused)))
        return self._refused[index] if self._refused else None
