"""Receipts: enough to ask the same question again and to tell whether the answer is the same.

A receipt holds ids, scores and digests, never the text of a node: it can be kept and shown where
the nodes themselves may not. `sealed.py` takes the text of the question out as well.

Spec: retrieval 10.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    count_of,
    head_of,
    link_of,
    map_of,
    real_of,
    text_of,
)
from ibidem.retrieve.answer.lane_score import LaneScore, LaneScores
from ibidem.retrieve.query.query import SEMANTICS, Query
from ibidem.retrieve.rerank import RerankRecord

_ROW = head_of(4, 5) + head_of(2, ID_BYTES)
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
    """What each lane said about it."""

    def encode(self) -> bytes:
        """Returns the canonical bytes."""
        return b"".join(
            (
                *(_ROW, self.id.raw, LINK_HEAD, self.cid.raw, real_of(self.score)),
                *(_DIGEST, self.digest, self.lanes.encode()),
            )
        )


@record
class Receipt:
    """What was asked of which root, and what the answer was."""

    root: RootCid
    query: Query
    result: ResultCid
    items: tuple[ReceiptItem, ...]
    commit: CommitCid | None = None
    notes_head: CommitCid | None = None
    models: Mapping[str, bytes] = field(default_factory=empty)
    """By model, the digest of its files, where it is known."""
    rerank: RerankRecord | None = None
    """What the reranker said; a replay takes it in the model's place."""
    semantics: int = SEMANTICS

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
            "models": codec.encode(dict(self.models)),
            "result": link_of(self.result),
            "items": array_of(item.encode() for item in self.items),
        }
        if self.commit is not None:
            parts["commit"] = link_of(self.commit)
        if self.notes_head is not None:
            parts["notes_head"] = link_of(self.notes_head)
        if self.rerank is not None:
            parts["rerank"] = codec.encode(self.rerank.form())
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
        if fields.get("v") != 1 or fields.get("semantics") != SEMANTICS:
            raise FormatError(
                f"receipt: got v {fields.get('v')}, semantics {fields.get('semantics')}, "
                f"expected 1 and {SEMANTICS}",
                kind=ErrorKind.UNSUPPORTED_SEMANTICS,
                hint="replay it with the release that made it",
            )
        # What every version has is checked there: links, rows, digests.
        kept = ReceiptBlock.from_map(dict(fields))
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
    def _read(cls, kept: ReceiptBlock) -> Self:
        return cls(
            root=kept.root,
            query=Query.from_form(dict(kept.query)),
            result=kept.result,
            items=tuple(
                ReceiptItem(NodeId(id_), NodeCid(cid.raw), score, digest, _lanes(lanes))
                for id_, cid, score, digest, lanes in kept.items
            ),
            commit=kept.commit,
            notes_head=kept.notes_head,
            models=kept.models,
            rerank=None if kept.rerank is None else RerankRecord.from_form(kept.rerank),
        )


def _lanes(said: Mapping[str, Any]) -> LaneScores:
    """Returns what each lane said of an item."""
    for name, row in said.items():
        is_row = isinstance(row, list) and len(row) == 3
        if not is_row or [type(one) for one in row] != [int, float, float] or row[0] < 1:
            raise CorruptError(
                f"items: got {row!r:.80} of lane {name!r:.40}, "
                "expected [rank from 1, score, contribution], the last two floats"
            )
    return LaneScores({name: LaneScore(*row) for name, row in said.items()})


def _limit(error: IbidemError) -> ErrorKind | None:
    """Returns the kind of a refusal where it is about size."""
    return error.kind if error.kind is ErrorKind.LIMIT_EXCEEDED else None
