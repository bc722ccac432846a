"""Packing: ranked nodes into items under a limit and a budget of tokens.

In rank order, a node that does not fit is skipped, not cut, and the scan goes on: a shorter one
further down may still fit. The order never changes. An exact knapsack would let a long node of low
rank push out several of high rank, and readers weigh early text most.

Spec: retrieval 8.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ibidem.objects.cid import NodeCid
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.retrieve.render import render
from ibidem.retrieve.result import DROPS_LISTED_MAX, Drop, DropReason
from ibidem.retrieve.tokens import HEURISTIC, TokenEstimator

_TOKENS_MIN = 12
"""No rendered node costs less by the heuristic: two lines with an id in them."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How nodes become text."""

    load: Callable[[NodeCid], Node]
    content: Callable[[Node], bytes | None]
    estimator: TokenEstimator
    content_chars: int

    def read(self, cid: NodeCid) -> tuple[Node, str, int]:
        """Returns a node, its text and what the text costs."""
        node = self.load(cid)
        content = self.content(node) if self.content_chars else None
        rendered = render(node, content=content, content_chars=self.content_chars)
        return node, rendered, self.estimator.estimate(rendered)


@dataclass(frozen=True, slots=True)
class Ranked:
    """One node in rank order."""

    index: int
    """Its place in the ranking, from 0."""
    id: NodeId
    cid: NodeCid
    score: float


@dataclass(frozen=True, slots=True)
class Taken:
    """A ranked node that fitted."""

    ranked: Ranked
    node: Node
    rendered: str
    tokens: int


@dataclass(slots=True)
class Packed:
    """What fitted and what did not."""

    taken: list[Taken]
    tokens_used: int
    drops: list[Drop]
    counts: dict[str, int]


def pack(
    ranked: Iterator[Ranked], total: int, reader: Reader, *, limit: int | None, budget: int | None
) -> Packed:
    """Returns the nodes that fit, in rank order.

    Args:
        ranked: best first; read no further than the answer needs.
        total: how many it would yield.
        reader: loads and renders.
        limit: how many are taken at most, None for any number.
        budget: tokens that they may cost together, None for any; 0 takes nothing.
    """
    packed = Packed([], 0, [], {str(reason): 0 for reason in DropReason})
    seen = 0
    for one in ranked:
        seen += 1
        if limit is not None and len(packed.taken) >= limit:
            _drop(packed, one, DropReason.LIMIT, None)
            if len(packed.drops) >= DROPS_LISTED_MAX:
                packed.counts[str(DropReason.LIMIT)] += total - seen
                break
            continue
        node, rendered, tokens = reader.read(one.cid)
        if budget is not None and packed.tokens_used + tokens > budget:
            _drop(packed, one, DropReason.BUDGET, tokens)
            if len(packed.drops) >= DROPS_LISTED_MAX and _is_full(packed, reader, budget):
                packed.counts[str(DropReason.BUDGET)] += total - seen
                break
            continue
        packed.taken.append(Taken(one, node, rendered, tokens))
        packed.tokens_used += tokens
    return packed


def _drop(packed: Packed, one: Ranked, reason: DropReason, tokens: int | None) -> None:
    packed.counts[str(reason)] += 1
    if len(packed.drops) < DROPS_LISTED_MAX:
        packed.drops.append(Drop(one.id, reason, tokens, one.score))


def _is_full(packed: Packed, reader: Reader, budget: int) -> bool:
    """Returns whether no node at all can fit any more, so that the rest need not be rendered."""
    least = _TOKENS_MIN if reader.estimator.name == HEURISTIC.name else 0
    return packed.tokens_used + least > budget
