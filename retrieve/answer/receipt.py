"""Receipts: enough data to ask a question again and to check that the answer is the same.

A receipt contains ids, scores and digests, never the text of a node, so it can be kept and shown
where the nodes themselves may not. `sealed.py` removes the text of the question as well.

Spec: retrieval 10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Self

from ibidem.objects import codec
from ibidem.objects.block import empty
from ibidem.objects.cid import CommitCid, NodeCid, ReceiptCid, ResultCid, RootCid
from ibidem.objects.constants import BLOCK_BYTES_MAX, DIGEST_BYTES
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    FormatError,
    IbidemError,
    InvalidInputError,
)
from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.objects.receipt import ReceiptBlock
from ibidem.objects.record import record
from ibidem.retrieve.answer.cbor_writer import (
    LINK_HEAD,
    array_of,
    bytes_of,
    count_of,
    head_of,
    link_of,
    map_of,
    real_of,
    text_of,
)
from ibidem.retrieve.answer.lane_score import LaneScore, LaneScores
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.rerank import RerankRecord
from ibidem.retrieve.semantics import check_version, read_query

_ROW = head_of(4, 5) + head_of(2, ID_BYTES)
_LONGER = head_of(4, 6) + head_of(2, ID_BYTES)
"""The beginning of a row that has the position of its root."""
_DIGEST = head_of(2, DIGEST_BYTES)


@record
class ReceiptItem:
    """One returned node."""

    id: NodeId
    cid: NodeCid
    score: float
    digest: bytes
    """blake3 of the rendered text, 32 bytes."""
    lanes: LaneScores = field(default_factory=LaneScores)
    """The node's rank and score in each lane."""
    origin: int | None = None
    """The position of the node's root in `query.union`; None in an answer over one root."""

    def encode(self) -> bytes:
        """Returns the canonical bytes."""
        row, origin = (_ROW, b"") if self.origin is None else (_LONGER, count_of(self.origin))
        cid, score, lanes = self.cid.raw, real_of(self.score), self.lanes.encode()
        parts = (row, self.id.raw, LINK_HEAD, cid, score, _DIGEST, self.digest, lanes, origin)
        return b"".join(parts)


@record
class Receipt:
    """A question, the root that it was asked of, and its answer."""

    root: RootCid
    query: Query
    result: ResultCid
    items: tuple[ReceiptItem, ...]
    commit: CommitCid | None = None
    notes_head: CommitCid | None = None
    models: Mapping[str, bytes] = field(default_factory=empty)
    """The digest of each model's files, if it is known."""
    rerank: RerankRecord | None = None
    """The reranker's scores; a replay uses them instead of the model."""
    agent: str | None = None
    """Who asked; not part of the answer."""
    task: str | None = None
    """What for, likewise."""

    def __str__(self) -> str:
        return str(self.cid)

    @property
    def semantics(self) -> int:
        """The version of the rules that produced the answer: that of the query."""
        return self.query.semantics

    def encode(self) -> bytes:
        """Returns the canonical bytes.

        Raises:
            InvalidInputError: kind `limit-exceeded`: an answer of many thousand items has a receipt
                larger than a block.
        """
        parts = {
            "kind": text_of("receipt"),
            "v": count_of(1),
            "semantics": count_of(self.semantics),
            "root": link_of(self.root),
            "query": self.query.encode(),
            "models": map_of({name: bytes_of(one) for name, one in self.models.items()}),
            "result": link_of(self.result),
            "items": array_of([item.encode() for item in self.items]),
        }
        if self.commit is not None:
            parts["commit"] = link_of(self.commit)
        if self.notes_head is not None:
            parts["notes_head"] = link_of(self.notes_head)
        if self.rerank is not None:
            parts["rerank"] = codec.encode(self.rerank.form())
        for name, value in (("agent", self.agent), ("task", self.task)):
            if value is not None:
                parts[name] = text_of(value)
        block = map_of(parts)
        if len(block) > BLOCK_BYTES_MAX:
            raise InvalidInputError(
                f"receipt: got {len(block)} bytes, expected at most {BLOCK_BYTES_MAX}",
                kind=ErrorKind.LIMIT_EXCEEDED,
                hint="ask for fewer items",
            )
        return block

    @property
    def cid(self) -> ReceiptCid:
        """The identity of the receipt."""
        return ReceiptCid.of(self.encode())

    @classmethod
    def decode(cls, block: bytes) -> Self:
        """Returns the receipt that `encode` wrote.

        Raises:
            CorruptError: the bytes are not a receipt.
            FormatError: a version that this program does not know.
        """
        fields = codec.decode_foreign(block)
        if not isinstance(fields, dict) or fields.get("kind") != "receipt":
            raise CorruptError(f"receipt: got {str(fields)[:60]}, expected a map of kind 'receipt'")
        # Links, rows and digests, which every version has, are checked there.
        kept = ReceiptBlock.from_map(dict(fields))
        check_version(fields["semantics"], "receipt.semantics")
        try:
            receipt = cls._read(kept)
        except FormatError:
            raise
        except IbidemError as error:
            raise CorruptError(f"receipt.{error}", kind=_limit(error)) from error
        if receipt.encode() != block:
            raise CorruptError("receipt: got fields that do not write back to themselves")
        return receipt

    @classmethod
    def _read(cls, block: ReceiptBlock) -> Self:
        query = read_query(block.query)
        receipt = cls(
            root=block.root,
            query=query,
            result=block.result,
            items=tuple(_item(row, query) for row in block.items),
            commit=block.commit,
            notes_head=block.notes_head,
            models=block.models,
            rerank=None if block.rerank is None else RerankRecord.from_form(block.rerank),
            agent=block.agent,
            task=block.task,
        )
        if query.union is not None and receipt.root != query.union.roots[0]:
            raise CorruptError("root: got another than the first of the roots of the query")
        return receipt


def _item(row: Sequence[Any], query: Query) -> ReceiptItem:
    """Returns the item of a row, which names its root exactly if the query has several."""
    id_, cid, score, digest, lanes, *origin = row
    count = 0 if query.union is None else len(query.union.roots)
    if bool(origin) != bool(count) or (origin and not origin[0] < count):
        raise CorruptError(
            f"items: got {origin} as the position of a root, expected one of {count} roots"
        )
    return ReceiptItem(NodeId(id_), NodeCid(cid.raw), score, digest, _lanes(lanes), *origin)


def _lanes(said: Mapping[str, Any]) -> LaneScores:
    """Returns the results of each lane for an item."""
    for name, row in said.items():
        is_row = isinstance(row, list) and len(row) == 3
        if not is_row or [type(one) for one in row] != [int, float, float] or row[0] < 1:
            raise CorruptError(
                f"items: got {row!r:.80} of lane {name!r:.40}, "
                "expected [rank from 1, score, contribution], the last two floats"
            )
    return LaneScores({name: LaneScore(*row) for name, row in said.items()})


def _limit(error: IbidemError) -> ErrorKind | None:
    """Returns the kind of an error if it is about size."""
    return error.kind if error.kind is ErrorKind.LIMIT_EXCEEDED else None
