"""Sealed receipts: nothing says what was asked, and only the text and the key open them."""

from __future__ import annotations

import pytest

import ibidem
from ibidem.objects import codec
from ibidem.objects.errors import (
    CorruptError,
    FormatError,
    IbidemError,
    InvalidInputError,
    ReplayError,
)
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.retrieve.answer.sealed import SealedReceipt, read_receipt, seal

KEY = bytes(range(32))


class Half:
    name = "half"
    digest = bytes(32)

    def rerank(self, text, rendered):
        return [float(len(one)) for one in rendered]


def answered(**options) -> Receipt:
    repo = ibidem.init("memory:", clock=lambda: 0)
    with repo.transaction() as tx:
        for index in range(3):
            tx.add_node("Note", summary=f"quarterly figure {index}", key=index)
    receipt = repo.retrieve(**{"text": "quarterly", **options}).receipt
    assert receipt is not None
    return receipt


@pytest.mark.parametrize(
    "options",
    [{}, {"rerank": Half()}, {"operator": "and"}],
    ids=["plain", "rerank", "operator"],
)
def test_a_sealed_receipt_opens_with_its_text_and_key_alone(options):
    """[10-c]"""
    receipt = answered(**options)
    sealed = seal(receipt, KEY)
    assert b"quarterly" not in sealed.encode()
    assert read_receipt(sealed.encode()) == sealed
    assert sealed.open("quarterly", KEY) == receipt
    for text, key in (("quarterly ", KEY), ("", KEY), ("quarterly", bytes(32))):
        with pytest.raises(ReplayError, match="not the one that was asked"):
            sealed.open(text, key)


def test_nothing_else_can_be_sealed_and_no_other_key_will_do():
    with pytest.raises(InvalidInputError, match="without a text"):
        seal(answered(text=None, label="Note"), KEY)
    with pytest.raises(InvalidInputError, match="rerank_text"):
        seal(answered(rerank=Half(), rerank_text="figures"), KEY)
    for key in (b"short", "x" * 32, None):
        with pytest.raises(InvalidInputError, match="key: got"):
            seal(answered(), key)


def test_every_flipped_byte_of_a_sealed_receipt_is_another_receipt_or_none():
    sealed = seal(answered(), KEY)
    block = sealed.encode()
    for at in range(len(block)):
        flipped = bytes([*block[:at], block[at] ^ 1, *block[at + 1 :]])
        try:
            found = read_receipt(flipped)
        except IbidemError:
            continue
        assert found.cid != sealed.cid


def test_a_receipt_of_other_semantics_is_refused_by_name():
    block = seal(answered(), KEY).encode()
    with pytest.raises(FormatError) as caught:
        read_receipt(block.replace(b"isemantics\x01", b"isemantics\x02"))
    assert caught.value.kind == "unsupported-semantics"
    with pytest.raises(CorruptError):
        read_receipt(codec.encode({"kind": "receipt", "v": 1, "text_digest": bytes(32)}))
    assert isinstance(read_receipt(block), SealedReceipt)
