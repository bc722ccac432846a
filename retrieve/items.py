"""Which nodes of a ranking are items where the query has options about that: without headings and
without what repeats an item, and under a budget cut to what fits of them, or to an excerpt around
the best match, so that more budget never gives less.

An item is then fitted as the pack that it alone would be, with its title, which is shown above it.

Spec: retrieval 8.4, 8.5.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from ibidem.index.analysis import home_of
from ibidem.objects.location import document_of
from ibidem.objects.node import Node
from ibidem.retrieve.answer.drops import DropReason
from ibidem.retrieve.answer.render import render
from ibidem.retrieve.budget import (
    Packed,
    Reader,
    Refuse,
    Skipped,
    Taken,
    is_full,
    packed_of,
)
from ibidem.retrieve.context.excerpt import Range, clipped_text, excerpt, focus_of
from ibidem.retrieve.context.fitting import Fitting, Parts
from ibidem.retrieve.context.option import PART_TOKENS_MIN
from ibidem.retrieve.context.sequence import Spot, sequences_of
from ibidem.retrieve.deduplication import Key, KeyIndex, folded, key_of
from ibidem.retrieve.filter import Universe
from ibidem.retrieve.heading import containers_of
from ibidem.retrieve.lexical.words import query_symbols
from ibidem.retrieve.query.dedupe import NEAR, SAME_TEXT, Dedupe
from ibidem.retrieve.query.options import DROP, EXCERPT, SKIP
from ibidem.retrieve.ranking import SnapshotRanking
from ibidem.retrieve.titles import status_of, title_of_document, title_of_node, title_of_part

_AHEAD_NODES = 16
"""Nodes that are loaded at once: an answer has about as many."""


class ItemFilter:
    """Leaves nodes out of the items that repeat one before them, or are headings without text."""

    def __init__(self, scope: Universe, ranking: SnapshotRanking, reader: Reader) -> None:
        """Takes the ranking of a query, and what reads its nodes."""
        query, self._view = scope.query, scope.view
        self._dedupe = query.dedupe
        self._ordinals = ranking.ordinals
        self._reader = reader
        self._keys = KeyIndex(None if query.dedupe is None else query.dedupe.percent)
        self._containers = containers_of(self._view)
        self._sections = self._view.snapshot.label("Section")
        self._drops_headings = query.headings == DROP
        self.reasons = tuple(
            reason
            for reason, is_used in (
                (DropReason.DEDUPE, query.dedupe is not None),
                (DropReason.HEADINGS, self._drops_headings),
            )
            if is_used
        )
        """Why it may leave a node out."""

    def refuse(self, index: int, node: Node) -> DropReason | None:
        """Returns why a node, at an index of the ranking, is left out; None if it is an item."""
        ordinal = int(self._ordinals[index])
        position = sequences_of(self._view, self._view.members).find(ordinal)
        is_bare = position is None and ordinal in self._containers
        if self._drops_headings and is_bare and document_of(node) is not None:
            return DropReason.HEADINGS
        if self._dedupe is None:
            return None
        key = self._key(self._dedupe, ordinal, position, node)
        if self._keys.find(key) is not None:
            return DropReason.DEDUPE
        self._keys.add(key)
        return None

    def _key(self, dedupe: Dedupe, ordinal: int, position: Spot | None, node: Node) -> Key | None:
        is_passage = position is not None and position.passage == ordinal
        if dedupe.by in (NEAR, SAME_TEXT) and not is_passage:
            return None  # nodes apart from documents may be of one name; so may sections
        return key_of(
            dedupe,
            ordinal,
            position,
            lambda: folded([self._reader.text(node) or render(node, "")]),
            lambda one: node if one == ordinal else self._reader.node(self._view.snapshot, one),
            self._sections,
        )


def pack_whole_or_cut(
    scope: Universe,
    ranking: SnapshotRanking,
    reader: Reader,
    *,
    refuse: Refuse | None,
    reasons: Iterable[DropReason],
) -> Packed:
    """Returns the nodes that fit the budget of the query with their titles, the others cut or left
    out by its option `overflow`; the other arguments are those of `budget.pack`."""
    query = scope.query
    overflow, budget = query.overflow or SKIP, query.items_budget
    items = _Items(scope, ranking, reader)
    taken: list[Taken] = []
    skipped: list[Skipped] = []
    rest, used = (len(ranking), DropReason.LIMIT), 0
    known = [reason.value for reason in reasons]
    parts = Parts(items.part)
    fitting = Fitting(
        len(ranking),
        items.cost,
        parts,
        limit=query.limit,
        budget=query.token_budget,
        around=query.framed.answer,
        overflow=overflow,
        fill=True,
        enough=True,
        slack=bool(query.slack),
        refuse=None if refuse is None else lambda index: refuse(index, items.node(index)),
    )
    for index, reason, tokens, room in fitting.decisions():
        if reason is None:
            taken.append(items.whole(index) if room is None else parts.part(index, room))
            used += taken[-1].tokens
        elif tokens is None and reason not in known:
            rest = index, DropReason(reason)
            break
        else:
            skipped.append((index, DropReason(reason), tokens))
        is_limit = len(taken) == query.limit
        if overflow == SKIP and not is_limit and is_full(used, len(skipped), reader, budget):
            rest = index + 1, DropReason.BUDGET
            break
    return packed_of(ranking, taken, skipped, rest, reasons)


class _Items:
    """The nodes of a ranking as items, read when they are needed."""

    def __init__(self, scope: Universe, ranking: SnapshotRanking, reader: Reader) -> None:
        self._scope = scope
        self._ranking = ranking
        self._reader = reader
        self._whole: dict[int, tuple[_Head, Taken]] = {}
        self._read = 0
        self._first: int | None = None
        """The index of the first one whose cost was computed: those before it were refused."""

    def node(self, index: int) -> Node:
        """Returns the node at an index of the ranking."""
        return self._item(index)[1].node

    def cost(self, index: int) -> int:
        """Returns the tokens of a whole item with its title."""
        if self._first is None:
            self._first = index
        return self._item(index)[1].tokens

    def whole(self, index: int) -> Taken:
        """Returns an item."""
        return self._item(index)[1]

    def part(self, index: int, tokens: int) -> tuple[Taken, int] | None:
        """Returns a part of an item of at most that many tokens, and how many it has; None if not
        enough is left of it."""
        head, one = self._item(index)
        text, is_first = one.rendered, index == self._first

        def is_fit(*ranges: Range) -> bool:
            return self._tokens(head, _text_of(text, ranges)) <= tokens

        query = self._scope.query
        if query.overflow == EXCERPT:
            focus = focus_of(
                text,
                query.text or "",
                home_of(one.node.props, self._scope.view.snapshot.config.analyser),
                query_symbols(query),
                sentences=True,
                accents=query.match.accents,
            )
            shown = _text_of(text, excerpt(text, focus, is_fit, sentences=True, whole=not is_first))
        else:
            shown = clipped_text(
                text, lambda some: is_fit((0, len(some))), sentences=True, whole=not is_first
            )
        if not shown or (not is_first and self._reader.counter.estimate(shown) < PART_TOKENS_MIN):
            return None
        cost = self._tokens(head, shown)
        return one._replace(rendered=shown, tokens=cost), cost

    def _item(self, index: int) -> tuple[_Head, Taken]:
        if index not in self._whole:
            if index >= self._read:
                self._read = min(index + _AHEAD_NODES, len(self._ranking))
                cids = [self._ranking.cid(one) for one in range(index, self._read)]
                self._reader.read_ahead(cids)
            cid = self._ranking.cid(index)
            node, rendered, _ = self._reader.read(cid)
            head = self._head(int(self._ranking.ordinals[index]), node)
            one = Taken(index, cid, node, rendered, self._tokens(head, rendered))
            self._whole[index] = head, one
        return self._whole[index]

    def _head(self, ordinal: int, node: Node) -> _Head:
        view, frame = self._scope.view, self._scope.query.frame
        read = partial(self._reader.node, view.snapshot)
        found = title_of_part(view.snapshot, view.members, ordinal, read)
        around = 0
        if frame is not None:
            found = found or title_of_document(node)
            around = 0 if found is None else frame.part
        title = found or title_of_node(node)
        status = "" if frame is None else status_of(node)
        return _Head("" if title is None else title.contained, status, around)

    def _tokens(self, head: _Head, text: str) -> int:
        lines = [head.title + head.status, text] if head.title else [text + head.status]
        return self._reader.counter.cost("\n".join(lines)) + head.around


class _Head(NamedTuple):
    """What is shown above the text of an item."""

    title: str
    status: str
    """What is to be known of a record that does not hold, after the title."""
    around: int
    """Tokens of what else is written in the line of the title."""


def _text_of(text: str, ranges: Iterable[Range]) -> str:
    """Returns some ranges of a text, each on lines of its own."""
    return "\n".join(text[start:stop] for start, stop in ranges)
