"""Packing: takes ranked nodes as items up to a limit and a budget of tokens.

In rank order, a node that does not fit is skipped, not cut, and the scan continues: a shorter one
further down may still fit. The order never changes. An exact knapsack would let a long node of low
rank push out several of high rank, and readers weigh early text most.

Spec: retrieval 8.3, 8.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from ibidem.objects.cid import NodeCid
from ibidem.objects.errors import IbidemError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.objects.text import node_text
from ibidem.retrieve.answer.drops import (
    DROPS_LISTED_MAX,
    Drop,
    DropReason,
    Drops,
    zero_counts,
)
from ibidem.retrieve.answer.render import render
from ibidem.retrieve.node_source import Content, Load, LoadMany
from ibidem.retrieve.numbers import Float64s, Ids
from ibidem.retrieve.protocol import Snapshot
from ibidem.retrieve.query.frame import Counter
from ibidem.retrieve.tokens import HEURISTIC

_TOKENS_MIN = 1
"""The least cost of a rendered node by the heuristic: no rendering is empty."""


_AHEAD_NODES_MIN = 16
_AHEAD_NODES_MAX = 256
"""The most nodes that are loaded at once; batches start small and grow with the number read."""


@record
class Reader:
    """Reads nodes and renders them as text."""

    load: Load
    content: Content
    counter: Counter
    fields: Sequence[str]
    """The fields that a node's text is made of."""
    metadata: bool = False
    """Whether the type, id and properties of every node are shown."""
    adjacent: Callable[[NodeId], str] | None = None
    """Returns the edges of a node as text, if they are shown."""
    load_many: LoadMany | None = None
    """Loads nodes in one read, if that is cheaper than one by one."""
    _ahead: dict[NodeCid, Node] = field(default_factory=dict)
    _peeked: dict[NodeCid, tuple[Node, str]] = field(default_factory=dict)

    def read_ahead(self, cids: Sequence[NodeCid]) -> None:
        """Loads nodes in one batch ahead of their use; a node that cannot be loaded fails only when
        it is read."""
        if self.load_many is not None:
            with suppress(IbidemError):
                self._ahead.update(zip(cids, self.load_many(cids), strict=True))

    def load_all(self, cids: Sequence[NodeCid]) -> list[Node]:
        """Returns nodes, read in one batch if there are several."""
        if self.load_many is None or len(cids) < 2:
            return list(map(self.load, cids))
        return self.load_many(cids)

    def node(self, snapshot: Snapshot, ordinal: int) -> Node:
        """Returns the node with an ordinal of a snapshot."""
        (cid,) = snapshot.node_cids(np.array([ordinal], np.uint32))
        return self.load(cid)

    def peek(self, cid: NodeCid) -> tuple[Node, str]:
        """Returns a node and its text, and caches both for `read`."""
        found = self._peeked.get(cid)
        if found is None:
            found = self._peeked[cid] = self._render(cid)
        return found

    def text(self, node: Node) -> str:
        """Returns the text of a node.

        Spec: format 5.1.
        """
        read = self.content(node) if "content" in self.fields else None
        return node_text(node, self.fields, read)

    def source(self, cid: NodeCid) -> tuple[Node, bytes | None]:
        """Returns a node and its whole content."""
        node = self._peeked[cid][0] if cid in self._peeked else self.load(cid)
        return node, self.content(node)

    def read(self, cid: NodeCid) -> tuple[Node, str, int]:
        """Returns a node, its text and the cost of the text."""
        found = self._peeked.pop(cid, None) if self._peeked else None
        node, rendered = self._render(cid) if found is None else found
        return node, rendered, self.counter.cost(rendered)

    def _render(self, cid: NodeCid) -> tuple[Node, str]:
        node = self._ahead.pop(cid, None) or self.load(cid)
        edges = "" if self.adjacent is None else self.adjacent(node.id)
        return node, render(node, self.text(node), metadata=self.metadata, edges=edges)


class Ranking(Protocol):
    """Nodes in rank order, best first."""

    def __len__(self) -> int:
        """Returns the number of nodes."""
        ...

    def cid(self, index: int) -> NodeCid:
        """Returns a node's CID."""
        ...

    def columns(self, start: int, stop: int) -> tuple[Ids, Float64s]:
        """Returns the ids, (n, 16), and scores, (n,), of nodes start..stop."""
        ...


class Taken(NamedTuple):
    """A ranked node that fitted."""

    place: int
    """Its position in the ranking, from 0."""
    cid: NodeCid
    node: Node
    rendered: str
    tokens: int


Skipped = tuple[int, DropReason, int | None]
"""The index of a node that was read and left out, why, and its cost; None if that is not why."""
Refuse = Callable[[int, Node], DropReason | None]
"""Returns why a node at an index of a ranking is left out, None if it is not."""


@record
class Packed:
    """The nodes that fit, and the nodes that do not."""

    taken: list[Taken]
    tokens_used: int
    drops: Drops
    counts: Mapping[str, int]


def pack(
    ranking: Ranking,
    reader: Reader,
    *,
    limit: int | None,
    budget: int | None,
    refuse: Refuse | None = None,
    reasons: Iterable[DropReason] = (),
) -> Packed:
    """Returns the nodes that fit, in rank order.

    Args:
        ranking: best first; read no further than the answer needs.
        reader: loads and renders nodes.
        limit: the most nodes that are taken, None for any number.
        budget: the tokens that they may cost together, None for any number; 0 takes nothing.
        refuse: returns why a node that fits, at an index of the ranking, is left out; None takes
            all. It is asked in rank order.
        reasons: those that it may return.
    """
    taken: list[Taken] = []
    skipped: list[Skipped] = []
    used, stop, reason = 0, len(ranking), DropReason.LIMIT
    waiting: Iterator[NodeCid] = iter(())
    ahead, last = 0, len(ranking)
    if limit is not None and budget is None and refuse is None:
        last = limit
    for index in range(len(ranking)):
        if limit is not None and len(taken) >= limit:
            stop = index
            break
        if is_full(used, len(skipped), reader, budget):
            stop, reason = index, DropReason.BUDGET
            break
        if index == ahead:
            first = _AHEAD_NODES_MIN if limit is None else min(limit, _AHEAD_NODES_MIN)
            ahead += min(max(index, first), _AHEAD_NODES_MAX)
            ahead = min(ahead, last, len(ranking))
            cids = [ranking.cid(place) for place in range(index, ahead)]
            reader.read_ahead(cids)
            waiting = iter(cids)
        cid = next(waiting)
        node, rendered, tokens = reader.read(cid)
        if budget is not None and used + tokens > budget:
            skipped.append((index, DropReason.BUDGET, tokens))
            continue
        if refuse is not None and (why := refuse(index, node)) is not None:
            skipped.append((index, why, None))
            continue
        taken.append(Taken(index, cid, node, rendered, tokens))
        used += tokens
    return packed_of(ranking, taken, skipped, (stop, reason), reasons)


def packed_of(
    ranking: Ranking,
    taken: list[Taken],
    skipped: Sequence[Skipped],
    rest: tuple[int, DropReason],
    reasons: Iterable[DropReason] = (),
) -> Packed:
    """Returns the nodes that were taken and those that were not.

    Args:
        ranking: that they are of.
        taken: in rank order.
        skipped: read and left out, in rank order.
        rest: the index from which on no node was read, and why these are left out.
        reasons: why nodes may have been left out besides the limit and the budget.
    """
    stop, reason = rest
    counts = zero_counts(reasons)
    for _, why, _ in skipped:
        counts[why] += 1
    counts[reason] += len(ranking) - stop
    first: list[Drop] = []
    for index, why, tokens in skipped[:DROPS_LISTED_MAX]:
        ids, scores = ranking.columns(index, index + 1)
        first.append(Drop(NodeId(ids.tobytes()), why, tokens, float(scores[0])))
    last = min(len(ranking), stop + DROPS_LISTED_MAX - len(first))
    drops = Drops(first, reason, *ranking.columns(stop, last))
    return Packed(taken, sum(one.tokens for one in taken), drops, MappingProxyType(counts))


def is_full(used: int, skipped: int, reader: Reader, budget: int | None) -> bool:
    """Returns whether no further node can fit or be listed, so that the rest is only counted."""
    if budget is None or skipped < DROPS_LISTED_MAX:
        return False
    least = _TOKENS_MIN if reader.counter.estimator.name == HEURISTIC.name else 0
    return used + least + reader.counter.frame.item > budget
