"""Answers: the items that were found, their cost, what was left out and why, and an explanation.

One type serves every question; `kind` says what its items are. The encoding is canonical, so two
answers are equal exactly if their bytes are. The explanation takes every number from the answer
and computes none.

Spec: retrieval 9, packs 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from blake3 import blake3

from ibidem.objects import codec
from ibidem.objects.block import EMPTY
from ibidem.objects.block_json import location_json
from ibidem.objects.cid import CommitCid, ResultCid, RootCid
from ibidem.objects.errors import IbidemError
from ibidem.objects.notebook import Drawn
from ibidem.objects.plain import fields_of
from ibidem.objects.record import record
from ibidem.retrieve.answer.cbor_writer import NULL, array_of, count_of, link_of, map_of, text_of
from ibidem.retrieve.answer.drops import Drop, DropReason, Drops
from ibidem.retrieve.answer.item import AnswerItem
from ibidem.retrieve.answer.protocol import json_text, page
from ibidem.retrieve.answer.receipt import Receipt, ReceiptItem
from ibidem.retrieve.answer.tuple_sequence import TupleSequence
from ibidem.retrieve.answer.warning import AnswerWarning
from ibidem.retrieve.lane import LaneStatus
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.rerank import RerankRecord, RerankStatus
from ibidem.retrieve.titles import title_of_message

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.objects.location import Location
    from ibidem.retrieve.answer.assessment import Assessment
    from ibidem.retrieve.answer.item import Item, RankedNode
    from ibidem.retrieve.answer.locator import Locator
    from ibidem.retrieve.answer.stated import Stated
    from ibidem.retrieve.answer.summary import Summary
    from ibidem.retrieve.context.pack import Pack
    from ibidem.retrieve.query.union import RootSet
    from ibidem.retrieve.recall.direct_answer import DirectAnswer
    from ibidem.retrieve.records.item import RecordGraph
    from ibidem.retrieve.records.option import RecordOptions

AnyItem = TypeVar("AnyItem", bound=AnswerItem, covariant=True)
_DROPS_SHOWN = 10
_OPENINGS = (["what"], ["which"], ["who"], ["when"])
"""How a question for a value begins; no other is read further."""


class AnswerKind(StrEnum):
    """The type of an answer's items; also the kind of its block."""

    NODES = "result"
    PACKS = "packs"
    RECORDS = "records"


_ITEMS = {
    AnswerKind.NODES: "items",
    AnswerKind.PACKS: "packs",
    AnswerKind.RECORDS: "records",
}
"""The field of the block that holds the items."""
_ROOT_CHARACTERS = 21
"""Of a CID in tables. The first nine are the same in all our CIDs."""
NOUNS = {AnswerKind.NODES: "item", AnswerKind.PACKS: "pack", AnswerKind.RECORDS: "record"}


@record
class Answer(Drawn, TupleSequence[AnyItem]):
    """The answer to one query over one root, a sequence of its items."""

    root: RootCid
    query: Query
    items: tuple[AnyItem, ...]
    """In rank order."""
    tokens_used: int
    candidates_seen: int
    """Nodes in the union of the lanes' tops, or all matches if no lane ranks."""
    dropped: Drops
    """Items left out, each represented by its best node, in rank order, the first
    DROPS_LISTED_MAX; records are not listed."""
    dropped_counts: Mapping[str, int]
    """The number of dropped items by reason; every reason is present."""
    warnings: tuple[AnswerWarning, ...]
    status: Mapping[str, LaneStatus | RerankStatus]
    """The status of each lane that ran; also of `rerank` if it was requested."""
    rerank: RerankRecord | None = None
    """The reranker's scores, which a replay uses instead of the model; None without reranking."""
    direct: DirectAnswer | None = None
    """Whether one node answers alone, if that was requested."""
    graph: RecordGraph | None = None
    """The relations between the records, in answers of records."""
    receipt: Receipt | None = field(default=None, compare=False, repr=False)
    """The receipt that replays the answer, set by the repository. Not part of `to_bytes()`."""
    locator: Locator | None = field(default=None, compare=False, repr=False)
    """What finds `locations`, set by the repository. Not part of `to_bytes()`."""
    _stated: list[Stated | None] = field(
        default_factory=list, init=False, compare=False, repr=False
    )
    """What `stated` found, after it was first asked for."""

    @property
    def _listed(self) -> tuple[AnyItem, ...]:
        return self.items

    @property
    def token_budget_min(self) -> int | None:
        """If nothing fitted the budget, one that the smallest of what was tried fits; otherwise
        None."""
        if self.items:
            return None
        return min(
            (
                one.tokens + self.query.framed.answer
                for one in self.dropped
                if one.reason is DropReason.BUDGET and one.tokens is not None
            ),
            default=None,
        )

    @property
    def kind(self) -> AnswerKind:
        """The type of the items, which the query determines."""
        if self.query.records is not None:
            return AnswerKind.RECORDS
        return AnswerKind.NODES if self.query.packs is None else AnswerKind.PACKS

    @property
    def text(self) -> str:
        """The renderings of the items, separated by blank lines: what the tokens count, with the
        titles of items if the query has `overflow`."""
        return "\n\n".join(item.rendered for item in self.items)

    @property
    def stated(self) -> Stated | None:
        """The one value that the returned nodes, and the documents that these are parts of, state
        for what the question asks; None if there is none, or more than one. Not part of
        `to_bytes()`. An answer that no repository gave has only its items; one whose repository was
        closed before this was first asked for has none."""
        if not self._stated:
            self._stated.append(self._found_stated())
        return self._stated[0]

    def _found_stated(self) -> Stated | None:
        if not may_state(self):
            return None
        from ibidem.retrieve.answer.stated import stated  # its patterns take time to compile

        nodes = [item.node for item in cast("tuple[Item, ...]", self.items)]
        documents = () if self.locator is None else self.locator.documents()
        return None if documents is None else stated(self.query.text or "", [*nodes, *documents])

    @property
    def locations(self) -> tuple[Location | None, ...]:
        """Where the best node of each item stands in its document: path, lines and headings; None
        for a node that is part of no document.

        Looked up together when first asked for, in the graph that was queried; not part of
        `to_bytes()`. An answer that no repository gave has no locations: all are None.

        Raises:
            InvalidInputError: the repository was closed before they were first asked for.
        """
        return (None,) * len(self.items) if self.locator is None else self.locator.locations()

    def _shown_locations(self) -> tuple[Location | None, ...]:
        """Returns the locations, or None for each item if they can no longer be looked up."""
        try:
            return self.locations
        except IbidemError:
            return (None,) * len(self.items)

    def assess(self) -> Assessment:
        """Returns what the answer says of itself: the question's words that its items have, how its
        scores lie, and how sure one may be that it helps.

        A function of the answer; not part of `to_bytes()`.
        """
        from ibidem.retrieve.answer.assessment import assess  # few answers are assessed

        return assess(self)

    def summary(self, sentences: int = 3, *, method: str = "cover") -> Summary:
        """Returns the sentences of the items that say most about the question, word for word.

        Sentences of prose first. If there are too few of them, also labels and notes without full
        stops, and last code. A function of the question and the items; not part of `to_bytes()`.

        Args:
            sentences: most sentences, 1 to 100.
            method: how they are chosen: "cover", "centroid", "query", "mmr" or "centrality".

        Raises:
            InvalidInputError: `sentences` is not such a number, or there is no such method.
        """
        from ibidem.retrieve.answer.summary import summary_of  # few answers are summarised

        texts = [item.rendered.removeprefix(f"{item.title}\n") for item in self.items]
        return summary_of(texts, self.query.text or "", sentences, method=method)

    @property
    def packs(self) -> tuple[AnyItem, ...]:
        """The items if they are packs; empty for an answer of nodes."""
        return self.items if self.kind is AnswerKind.PACKS else ()

    @property
    def token_budget(self) -> int | None:
        """The budget of the query."""
        return self.query.token_budget

    @property
    def dropped_total(self) -> int:
        """How many items were left out."""
        return sum(self.dropped_counts.values())

    @property
    def cid(self) -> ResultCid:
        """The identity of the answer: the hash of `to_bytes()`."""
        return ResultCid.of(self.to_bytes())

    def explain(self) -> str:
        """Returns the answer as text for a person: lanes, ranks, scores, drops and warnings."""
        return "\n".join(_lines(self)) + "\n"

    def __str__(self) -> str:
        return printed(self)

    def titles(self) -> list[str]:
        """Returns what stands above each item for a person: the location of a node, or what is
        known of it otherwise, such as the thread of a message, or the title of a pack; empty for
        nothing."""
        if self.kind is AnswerKind.RECORDS:
            return [item.title for item in self.items]
        if self.kind is AnswerKind.PACKS:
            packs = cast("tuple[Pack, ...]", self.items)
            return [pack.title for pack in packs]
        return [
            (item.shown_title or str(title_of_message(item.node) or ""))
            if location is None
            else str(location)
            for item, location in zip(
                cast("tuple[Item, ...]", self.items), self._shown_locations(), strict=True
            )
        ]

    def to_json(self) -> str:
        """Returns `to_dict` as JSON text on one line."""
        return json_text(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Returns the answer as plain data; `result` is its CID, `receipt` that of its receipt."""
        found: dict[str, Any] = {
            **fields_of(
                self,
                *("kind", "root", "tokens_used", "token_budget", "candidates_seen"),
                *("dropped_counts", "status"),
            ),
            "result": str(self.cid),
            "receipt": None if self.receipt is None else str(self.receipt),
            "semantics": self.query.semantics,
            "items": self._items_listed(),
            "dropped": [fields_of(one, "id", "reason", "tokens", "score") for one in self.dropped],
            "warnings": [one.to_dict() for one in self.warnings],
        }
        if self.query.union is not None:
            found["roots"] = [str(root) for root in self.query.union.roots]
        if (value := self.stated) is not None:
            found["stated"] = value.to_dict()
        if self.direct is not None:
            found["direct"] = self.direct.to_dict()
        if self.graph is not None:
            found["graph"] = self.graph.to_dict()
        return found

    def _items_listed(self) -> list[dict[str, Any]]:
        listed = [item.to_dict() for item in self.items]
        if self.kind is AnswerKind.NODES:
            for row, location in zip(listed, self._shown_locations(), strict=True):
                row["location"] = location_json(location)
        return listed

    def to_bytes(self) -> bytes:
        """Returns the canonical bytes, DAG-CBOR of any length.

        Spec: retrieval 9.2, packs 7.
        """
        counts = {reason: count_of(count) for reason, count in self.dropped_counts.items()}
        fields = {
            "kind": text_of(self.kind),
            "v": count_of(1),
            "root": link_of(self.root),
            "query": self.query.encode(),
            _ITEMS[self.kind]: array_of([item.encode() for item in self.items]),
            "tokens_used": count_of(self.tokens_used),
            "token_budget": count_of(self.query.token_budget),
            "candidates_seen": count_of(self.candidates_seen),
            "dropped": self.dropped.written(),
            "dropped_counts": map_of(counts),
            "warnings": array_of([codec.encode(warning.form()) for warning in self.warnings]),
            "status": map_of({lane: text_of(status) for lane, status in self.status.items()}),
            "rerank": NULL if self.rerank is None else codec.encode(self.rerank.form()),
        }
        if self.direct is not None:
            fields["direct"] = codec.encode(self.direct.form())
        if self.graph is not None:
            fields["graph"] = codec.encode(self.graph.form())
        return map_of(fields)


def printed(answer: Any) -> str:
    """Returns an answer, computed here or by a server, as a page for a person."""
    blocks = [
        (_origin(item.root) + title, item.rendered.removeprefix(f"{item.title}\n"))
        for title, item in zip(answer.titles(), answer.items, strict=True)
    ]
    text = page(answer, NOUNS[answer.kind], blocks)
    least = answer.token_budget_min
    return text if least is None else f"{text}\nnothing fits: a budget of {least} tokens does"


def may_state(answer: Answer[Any]) -> bool:
    """Returns whether an answer may have a stated value: it is of nodes, and to such a question."""
    opening = (answer.query.text or "").casefold().split(maxsplit=1)[:1]
    return answer.kind is AnswerKind.NODES and opening in _OPENINGS


def best_ids(answer: Answer[AnswerItem]) -> list[NodeId]:
    """Returns the id of each item's best node."""
    return [best_node(item).id for item in answer.items]


def receipt_of(
    answer: Answer[AnswerItem],
    *,
    commit: CommitCid | None = None,
    notes_head: CommitCid | None = None,
    models: Mapping[str, bytes] = EMPTY,
    agent: str | None = None,
    task: str | None = None,
) -> Receipt:
    """Returns the receipt of an answer.

    Args:
        answer: of any kind; the receipt keeps the best node and the text's digest of each item.
        commit: the commit whose root was queried, if there was one.
        notes_head: the commit of the notes that the answer counts, if it counts any.
        models: digests of the models of the query's vectors, if they are known.
        agent: who asked.
        task: what for.
    """
    return Receipt(
        root=answer.root,
        query=answer.query,
        result=answer.cid,
        items=tuple([_receipt_item(item, answer.query.union) for item in answer.items]),
        commit=commit,
        notes_head=notes_head,
        models=MappingProxyType(dict(models)),
        rerank=answer.rerank,
        agent=agent,
        task=task,
    )


def best_node(item: AnswerItem) -> RankedNode:
    """Returns the node that an item stands for first."""
    return item.hits[0]


def _receipt_item(item: AnswerItem, union: RootSet | None) -> ReceiptItem:
    best = best_node(item)
    digest = blake3(item.rendered.encode()).digest()
    origin = None if union is None or best.root is None else union.roots.index(best.root)
    return ReceiptItem(best.id, best.cid, item.score, digest, best.lanes, origin)


def _lines(answer: Answer[AnswerItem]) -> Iterator[str]:
    is_packs = answer.kind is AnswerKind.PACKS
    union = answer.query.union
    for root in (answer.root,) if union is None else union.roots:
        yield f"root {root}"
    if answer.query.records is not None:
        yield from _record_options(answer.query.records)
    yield from _pack_options(answer.query) if is_packs else _options(answer.query)
    for lane, status in answer.status.items():
        yield f"lane {lane}: {status}"
    seen, count, tokens = answer.candidates_seen, len(answer), f"{answer.tokens_used} tokens"
    if is_packs:
        yield f"{seen} hits, {count} packs, {tokens}"
    else:
        yield from _reordering(answer)
        yield f"{seen} candidates, {count} items"
        yield tokens
    for position, item in enumerate(answer, 1):
        yield from item.explain(position)
    if answer.graph is not None:
        yield from _relations(answer.graph)
    for reason, left_out in answer.dropped_counts.items():
        if left_out:
            yield f"{left_out} {'packs ' if is_packs else ''}left out by {reason}"
    yield from () if is_packs else map(_drop_line, answer.dropped[:_DROPS_SHOWN])
    for warning in answer.warnings:
        about = "" if is_packs else _subject(warning)
        yield f"warning {warning.code}: {warning.message}{about}"


def _options(query: Query) -> Iterator[str]:
    budget = "no budget" if query.token_budget is None else f"budget {query.token_budget}"
    limit = "no limit" if query.limit is None else f"limit {query.limit}"
    yield f"fusion {query.fusion.name}, depth {query.depth}, {limit}, {budget}"
    if query.valid is not None:
        yield f"valid at {query.valid.at}, without a time: {query.valid.missing}"


def _pack_options(query: Query) -> Iterator[str]:
    options = query.packs
    assert options is not None, "BUG: packs without their options"
    yield f"expand {options.expand}, merge {options.merge}, rank {options.rank}"


def _record_options(options: RecordOptions) -> Iterator[str]:
    yield (
        f"records at {options.as_of}, {options.root_limit} roots, {options.limit} records, "
        f"{options.edge_limit} relations, {options.hops} hops {options.direction}"
    )


def _relations(graph: RecordGraph) -> Iterator[str]:
    for edge in graph.edges:
        yield f"   {edge.src} {edge.etype} {edge.dst}"
    if graph.edges_skipped:
        yield f"{graph.edges_skipped} relations skipped by limit"
    chosen = graph.selection
    if chosen.selected:
        more = ", needs more" if chosen.needs_more else ""
        yield f"selected {chosen.selected[0]}, score {chosen.top!r}, gap {chosen.gap!r}{more}"


def _reordering(answer: Answer[AnswerItem]) -> Iterator[str]:
    query, direct = answer.query, answer.direct
    if query.rerank is not None:
        yield f"rerank by {query.rerank.name!r}, depth {query.rerank.depth}"
    if query.mmr is not None:
        yield f"mmr lambda {query.mmr.share!r}, depth {query.mmr.depth}"
    if (value := answer.stated) is not None:
        yield f"stated: {value}"
    if direct is not None:
        node = "" if direct.node is None else f" {direct.node}"
        yield f"direct answer: {direct.reason}{node}"


def _origin(root: RootCid | None) -> str:
    """Returns what stands before the title of an item of a union: the beginning of its root."""
    return "" if root is None else f"root {str(root)[:_ROOT_CHARACTERS]}: "


def _drop_line(drop: Drop) -> str:
    cost = "" if drop.tokens is None else f", {drop.tokens} tokens"
    return f"   {drop.id} score {drop.score!r}, {drop.reason}{cost}"


def _subject(warning: AnswerWarning) -> str:
    subject = "" if warning.subject is None else f" ({warning.subject!r})"
    return subject if warning.count is None else f"{subject}: {warning.count}"
