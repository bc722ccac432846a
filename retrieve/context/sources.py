"""The questions that a question for a context consists of, one for each source, and the order in
which their packs are taken.

    documents       everything that is no fact and belongs to no conversation
    facts           records that still hold
    conversation    the messages of one thread: its end, and what the question is about

Each source is ranked for itself, so none can crowd out another. The order depends on shares and
whole packs, never on the budget, which takes its beginning: what a source leaves, the others have,
and more budget never gives less.

Spec: packs 10.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, zip_longest
from typing import TypeVar

from pyroaring import BitMap

from ibidem.objects.record import record
from ibidem.retrieve.context.option import NEIGHBORS, PackOptions
from ibidem.retrieve.context.source_option import CONVERSATION, DOCUMENTS, FACTS, Sources
from ibidem.retrieve.filter import NodeSet, universe
from ibidem.retrieve.listing import Order, list_nodes
from ibidem.retrieve.node_source import Load
from ibidem.retrieve.protocol import Snapshot
from ibidem.retrieve.query.predicate import And, Between, Equal, Exists, Not, OneOf, Or, Predicate
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.query.settings import of_conversations
from ibidem.retrieve.query.validity import Valid
from ibidem.retrieve.records.record import LAYERS, NAMESPACES, STANDING

MESSAGE, SUMMARY = "Message", "Summary"
BESIDE_SHARE = 0.5
"""How much of the score of the better of the two messages beside it a message has besides its
own."""
_OF_FACTS = tuple(map(str, LAYERS))
_OF_CONVERSATIONS = ("Thread", "ThreadPart", MESSAGE, SUMMARY)

Key = TypeVar("Key", bound=Hashable)


@record
class Source:
    """One source: its question, and its share of the budget."""

    name: str | None
    """None for the only source of a question, which is every node."""
    query: Query
    options: PackOptions
    share: int = 1
    recent: int = 0
    """The messages from the end of the conversation that are hits whatever the question."""
    unsearched: int = 0
    """The messages of the conversation that are outside the window of a thread."""


def sources_of(snapshot: Snapshot, query: Query, options: PackOptions, load: Load) -> list[Source]:
    """Returns the sources of a query for packs.

    Args:
        snapshot: as the caller sees it.
        query: its labels, conditions and validity are those of documents.
        options: of its packs.
        load: reads a node.
    """
    sources = options.sources
    if sources is None:
        return [Source(None, query, options)]
    alone = replace(
        options,
        expand=NEIGHBORS,
        per_hit_neighbors=0,
        window_chars=None,
        edges=None,
        sources=None,
    )
    found = []
    labels = _document_labels(snapshot, query)
    if sources.documents and labels is not None:
        own = replace(query, labels=labels)
        found.append(Source(DOCUMENTS, own, options, sources.documents))
    dated = replace(query, valid=Valid(sources.as_of, "pass"), rerank=None)
    if sources.facts:
        own = replace(dated, labels=_OF_FACTS, where=_standing(sources))
        found.append(Source(FACTS, own, alone, sources.facts))
    if sources.has_conversation:
        where = And((Equal("thread", sources.thread), Between("created_at", None, sources.as_of)))
        window, outside = _window(snapshot, replace(dated, labels=(MESSAGE,), where=where), load)
        own = replace(dated, labels=(MESSAGE, SUMMARY), where=And((*where.parts, *window)))
        found.append(
            Source(CONVERSATION, own, alone, sources.conversation, sources.recent, outside)
        )
    return found


def _window(snapshot: Snapshot, query: Query, load: Load) -> tuple[tuple[Predicate, ...], int]:
    """Returns the condition that a message is within the window of its thread, and how many are
    not.

    Args:
        query: for the messages of the thread.
    """
    size, of_thread = of_conversations(snapshot.config).get("thread_window"), query.where
    if size is None or of_thread is None:
        return (), 0

    def placed(before: int | None) -> NodeSet:
        where = And((of_thread, Between("ord", 0, before, high_open=True)))
        return universe(snapshot, replace(query, where=where)).nodes

    messages = placed(None)
    oldest = list_nodes(messages, Order("ord", True), offset=size - 1, limit=1, after=None)
    if not oldest.ordinals.size:
        return (), 0
    (cid,) = snapshot.node_cids(oldest.ordinals)
    first = int(str(load(cid).props["ord"]))
    return (Or((Not(Exists("ord")), Between("ord", first, None))),), len(placed(first).members)


def _document_labels(snapshot: Snapshot, query: Query) -> tuple[str, ...] | None:
    """Returns the types of documents and their parts; none if all types are, None if none is."""
    others = {*_OF_FACTS, *_OF_CONVERSATIONS}
    known = query.labels or tuple(sorted(snapshot.labels(), key=str.encode))
    if others.isdisjoint(known):
        return query.labels
    return tuple(one for one in known if one not in others) or None


def documents_of(snapshot: Snapshot, visible: BitMap) -> BitMap:
    """Returns the nodes that packs of documents may show."""
    for label in (*_OF_FACTS, *_OF_CONVERSATIONS):
        visible = visible - snapshot.label(label)
    return visible


def _standing(sources: Sources) -> Predicate:
    """Returns the condition that a record holds, and is of those that are asked for."""
    status = Or((Not(Exists("status")), OneOf("status", tuple(sorted(map(str, STANDING))))))
    owners = [
        Or((Not(Exists(name)), OneOf(name, ("", wanted))))
        for name in NAMESPACES
        if (wanted := getattr(sources, name)) is not None
    ]
    return And((status, *owners))


def with_beside(
    own: Mapping[Key, float], beside: Callable[[Key], Iterable[Key]]
) -> dict[Key, float]:
    """Returns the scores of some messages and of those beside them: the own score, 0 without one,
    and a share of the best score beside it. What was said just before and after is about the same.

    >>> with_beside({3: 1.0}, lambda at: (at - 1, at + 1))
    {3: 1.0, 2: 0.5, 4: 0.5}
    """
    near = {one: beside(one) for one in own}
    near |= {one: beside(one) for one in chain(*near.values()) if one not in near}
    return {
        one: own.get(one, 0.0) + BESIDE_SHARE * max([0.0, *(own.get(each, 0.0) for each in others)])
        for one, others in near.items()
    }


def conversation_order(best: Sequence[int], newest: Sequence[int]) -> list[int]:
    """Returns the hits of a conversation: alternately the next newest message and the next best,
    no message twice.

    Args:
        best: what the question is about, best first.
        newest: messages that are there whatever the question, the newest first.

    >>> conversation_order([5, 2, 9, 1], [9, 8])
    [9, 5, 8, 2, 1]
    """
    pairs = zip_longest(newest, best)
    return list(dict.fromkeys(one for pair in pairs for one in pair if one is not None))


class SourceOrder:
    """The packs of all sources in one order: next comes the source that has had the smallest part
    of its share, the earlier one of two."""

    def __init__(
        self, shares: Sequence[int], counts: Sequence[int], cost: Callable[[int, int], int]
    ) -> None:
        """Begins with nothing taken.

        Args:
            shares: of each source.
            counts: the number of packs of each source.
            cost: the tokens of a pack of a source, whole.
        """
        self._shares, self._cost = shares, cost
        self._waiting = [iter(range(count)) for count in counts]
        self._counts = list(counts)
        self._spent = [0] * len(shares)
        self._made: list[tuple[int, int]] = []
        self.count = sum(counts)

    def __getitem__(self, index: int) -> tuple[int, int]:
        """Returns the source at an index, and the position of its pack there."""
        while len(self._made) <= index:
            self._take(
                min(
                    (source for source, count in enumerate(self._counts) if count),
                    key=lambda source: (
                        Fraction(self._spent[source], self._shares[source]),
                        source,
                    ),
                )
            )
        return self._made[index]

    def cost(self, index: int) -> int:
        """Returns the tokens of the pack at an index, which its source has spent; called once for
        each index, in order."""
        source, position = self[index]
        tokens = self._cost(source, position)
        self._spent[source] += tokens
        return tokens

    def end(self) -> None:
        """Lets the sources that have packs left take all of them, one source after the other."""
        for source, count in enumerate(self._counts):
            for _ in range(count):
                self._take(source)

    def _take(self, source: int) -> None:
        self._made.append((source, next(self._waiting[source])))
        self._counts[source] -= 1
