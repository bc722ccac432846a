"""Sealed receipts: receipts with a keyed digest of the question in place of its text.

Without the key nobody can test guesses of the text; with the key and the text the receipt opens and
replays as any other. A query vector stays in it, because the replay needs it, and may reveal
something about the text.

Spec: retrieval 10.
"""

from __future__ import annotations

import hmac
from typing import Any

from blake3 import blake3

from ibidem.objects import codec
from ibidem.objects.cid import ReceiptCid, RootCid
from ibidem.objects.errors import (
    CorruptError,
    InvalidInputError,
    ReplayError,
)
from ibidem.objects.receipt import ReceiptBlock
from ibidem.objects.record import record
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.retrieve.semantics import check_version

KEY_BYTES = 32
_ANY_TEXT = "a text"


@record
class SealedReceipt:
    """A receipt without the text of its question."""

    block: ReceiptBlock

    @property
    def root(self) -> RootCid:
        """The root that was queried."""
        return self.block.root

    @property
    def cid(self) -> ReceiptCid:
        """The identity of the sealed receipt, which differs from that of the open one."""
        return self.block.cid

    def encode(self) -> bytes:
        """Returns the canonical bytes."""
        return self.block.encode()

    def open(self, text: str, key: bytes) -> Receipt:
        """Returns the receipt with the text of its question.

        Raises:
            ReplayError: kind `replay-mismatch`: the text is not that of the question, or the key is
                not the one that sealed it.
        """
        found = text_digest(text, key)
        if not hmac.compare_digest(found, self.block.text_digest or b""):
            raise ReplayError(
                "receipt: the text is not the one that was asked, or the key is another",
                hint="give the text as it was asked, to the letter, and the key of that time",
            )
        return _open(codec.decode(self.encode()), text)


def seal(receipt: Receipt, key: bytes) -> SealedReceipt:
    """Returns a receipt without the text of its question.

    Args:
        receipt: of a question with a text.
        key: 32 bytes, to be kept elsewhere.

    Raises:
        InvalidInputError: there is no text, or the reranker was given another one.
    """
    query = receipt.query
    if query.text is None:
        raise InvalidInputError("receipt: got one of a question without a text, nothing to seal")
    if query.rerank is not None and query.rerank.text != query.text:
        raise InvalidInputError(
            "receipt: got one whose rerank_text is another than its text, expected one text",
            hint="ask without rerank_text, or keep the receipt as it is",
        )
    if query.queries is not None:
        raise InvalidInputError(
            "receipt: got one with further questions, expected one text to seal",
            hint="ask without queries, or keep the receipt as it is",
        )
    fields: dict[str, Any] = codec.decode(receipt.encode())
    fields["text_digest"] = text_digest(query.text, key)
    _set_text(fields["query"], None)
    return SealedReceipt(ReceiptBlock.from_map(fields))


def read_receipt(block: bytes) -> Receipt | SealedReceipt:
    """Returns the receipt in a block, open or sealed.

    Raises:
        CorruptError: the block is not a receipt.
        FormatError: the receipt has semantics that this program does not know.
    """
    fields = codec.decode_foreign(block)
    if not isinstance(fields, dict) or "text_digest" not in fields:
        return Receipt.decode(block)
    sealed = ReceiptBlock.from_map(fields)
    check_version(sealed.semantics, "receipt.semantics")
    if sealed.encode() != block:
        raise CorruptError("receipt: got fields that do not write back to themselves")
    # This only checks everything except the text, so any text will do.
    _open(codec.decode(block), _ANY_TEXT)
    return SealedReceipt(sealed)


def _open(fields: dict[str, Any], text: str) -> Receipt:
    """Returns the receipt of a sealed one and its text; takes ownership of `fields`.

    Raises:
        CorruptError: the fields are not a receipt.
    """
    del fields["text_digest"]
    query = fields.get("query")
    if not isinstance(query, dict) or query.get("text") is not None:
        raise CorruptError(f"receipt.query: got {query!r:.80}, expected one without a text")
    rerank = query.get("rerank")
    if rerank is not None and (not isinstance(rerank, dict) or rerank.get("text") is not None):
        raise CorruptError(f"receipt.query.rerank: got {rerank!r:.80}, expected one without a text")
    _set_text(query, text)
    try:
        return Receipt.decode(codec.encode(fields))
    except InvalidInputError as error:
        raise CorruptError(f"receipt: {error}") from error


def text_digest(text: str, key: bytes) -> bytes:
    """Returns the keyed digest of a text, 32 bytes."""
    if type(key) is not bytes or len(key) != KEY_BYTES:
        raise InvalidInputError(
            f"key: got {type(key).__name__} of {len(key) if isinstance(key, (bytes, str)) else 0}, "
            f"expected {KEY_BYTES} bytes",
            hint="make one with secrets.token_bytes(32) and keep it apart from the repository",
        )
    if type(text) is not str:
        raise InvalidInputError(f"text: got {type(text).__name__}, expected a text")
    return blake3(text.encode("utf-8", "surrogatepass"), key=key).digest()


def _set_text(query: dict[str, Any], text: str | None) -> None:
    query["text"] = text
    if query.get("rerank") is not None:
        query["rerank"]["text"] = text
