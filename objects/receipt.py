"""The block of a receipt: what every reader must find in one, whatever version answered.

What the query and the items mean is read in `retrieve`, which knows the semantics; here is what
keeping, copying and verifying a receipt needs.

Spec: format 5.11, retrieval 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

from ibidem.objects.block import Block, Map, empty, frozen, frozen_extra, require, typed_link
from ibidem.objects.cid import Cid, CommitCid, ReceiptCid, ResultCid, RootCid
from ibidem.objects.constants import DIGEST_BYTES, FORMAT_VERSION, INTEGER_MAX
from ibidem.objects.ids import ID_BYTES
from ibidem.objects.record import record

_KNOWN = frozenset(
    (
        "semantics",
        "root",
        "query",
        "models",
        "result",
        "items",
        "commit",
        "notes_head",
        "rerank",
        "text_digest",
    )
)


@record(eq=False)
class ReceiptBlock(Block):
    """A receipt as it is kept and copied."""

    KIND: ClassVar[str] = "receipt"
    OPTIONAL: ClassVar[frozenset[str]] = frozenset(
        ("commit", "notes_head", "rerank", "text_digest")
    )
    CID: ClassVar[type[ReceiptCid]] = ReceiptCid

    semantics: int
    root: RootCid
    query: Mapping[str, Any]
    models: Mapping[str, Any]
    result: ResultCid
    items: tuple[Any, ...]
    """Rows of id, node CID, score, digest of the rendered text, and lanes."""
    commit: CommitCid | None = None
    notes_head: CommitCid | None = None
    rerank: Mapping[str, Any] | None = None
    text_digest: bytes | None = None
    """Keyed blake3 of the query's text, which is then left out."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        valid = type(self.semantics) is int and 1 <= self.semantics <= INTEGER_MAX
        require(valid, "receipt", "semantics", self.semantics, "a version from 1")
        put = object.__setattr__
        put(self, "query", frozen("receipt", "query", self.query))
        put(self, "models", frozen("receipt", "models", self.models))
        for name, value in self.models.items():
            require(_is_digest(value), "receipt", f"models.{name:.40}", value, "32 bytes")
        require(
            isinstance(self.items, (tuple, list)) and all(map(_is_row, self.items)),
            "receipt",
            "items",
            self.items,
            "rows of 16 bytes, a link, a float, 32 bytes and a map of lanes",
        )
        put(self, "items", tuple(self.items))
        if self.rerank is not None:
            put(self, "rerank", frozen("receipt", "rerank", self.rerank))
        digest = self.text_digest
        expected = "32 bytes or nothing"
        require(digest is None or _is_digest(digest), "receipt", "text_digest", digest, expected)
        put(self, "extra", frozen_extra(ReceiptBlock, _KNOWN, self.extra))

    @property
    def cid(self) -> ReceiptCid:
        """The identity of the receipt."""
        return ReceiptCid.of(self.encode())

    def to_map(self) -> Map:
        """Returns the block as a map, in canonical order unless there is `extra`."""
        fields: Map = {"v": FORMAT_VERSION, "kind": "receipt", "root": self.root}
        fields["items"] = self.items
        fields["query"] = dict(self.query)
        if self.commit is not None:
            fields["commit"] = self.commit
        fields["models"] = dict(self.models)
        if self.rerank:
            fields["rerank"] = dict(self.rerank)
        fields["result"] = self.result
        fields["semantics"] = self.semantics
        if self.notes_head is not None:
            fields["notes_head"] = self.notes_head
        if self.text_digest is not None:
            fields["text_digest"] = self.text_digest
        fields.update(self.extra)
        return fields

    @classmethod
    def _read(cls, fields: Map) -> Self:
        take = fields.pop
        return cls(
            semantics=take("semantics"),
            root=typed_link("receipt", "root", take("root"), RootCid),
            query=take("query"),
            models=take("models"),
            result=typed_link("receipt", "result", take("result"), ResultCid),
            items=take("items"),
            commit=_read_link("commit", take("commit", None)),
            notes_head=_read_link("notes_head", take("notes_head", None)),
            rerank=take("rerank", None),
            text_digest=take("text_digest", None),
            extra=fields,
        )


def _is_digest(value: object) -> bool:
    return type(value) is bytes and len(value) == DIGEST_BYTES


def _is_row(row: object) -> bool:
    return (
        isinstance(row, (tuple, list))
        and len(row) == 5
        and type(row[0]) is bytes
        and len(row[0]) == ID_BYTES
        and isinstance(row[1], Cid)
        and not row[1].is_raw
        and type(row[2]) is float
        and _is_digest(row[3])
        and isinstance(row[4], Mapping)
    )


def _read_link(name: str, value: object) -> CommitCid | None:
    return None if value is None else typed_link("receipt", name, value, CommitCid)
