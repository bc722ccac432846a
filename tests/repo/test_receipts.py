"""The receipt log: what is whole is found, what is torn is not believed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibidem.objects.cid import ReceiptCid
from ibidem.objects.codec import encode
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.repo.receipts import LOG_FILE, Receipts

BLOCKS = [encode({"number": number, "filling": "x" * number}) for number in range(40)]


@pytest.mark.parametrize("is_on_disk", [True, False])
def test_receipts_are_found_by_their_cid_or_its_beginning(tmp_path: Path, is_on_disk: bool) -> None:
    receipts = Receipts(tmp_path / "receipts" if is_on_disk else None)
    with pytest.raises(NotFoundError):
        receipts.find(str(ReceiptCid.of(BLOCKS[0])))
    for block in BLOCKS:
        receipts.append(block)
    for block in BLOCKS:
        text = str(ReceiptCid.of(block))
        assert receipts.find(text) == receipts.find(text[:20]) == block


def test_a_repeat_in_a_row_is_kept_once(tmp_path: Path) -> None:
    receipts = Receipts(tmp_path)
    for _ in range(3):
        receipts.append(BLOCKS[0])
    receipts.append(BLOCKS[1])
    assert len(list(receipts.blocks())) == 2


def test_an_ambiguous_beginning_is_refused(tmp_path: Path) -> None:
    receipts = Receipts(tmp_path)
    for block in BLOCKS:
        receipts.append(block)
    texts = [str(ReceiptCid.of(block))[:8] for block in BLOCKS]
    twice = next(text for text in texts if texts.count(text) > 1)
    with pytest.raises(NotFoundError) as caught:
        receipts.find(twice)
    assert caught.value.kind is ErrorKind.AMBIGUOUS
    for bad in ("bafyr4i", "", None, 7):
        with pytest.raises(InvalidInputError):
            receipts.find(bad)  # type: ignore[arg-type]


def test_a_torn_tail_is_ignored_and_what_comes_after_it_is_found(tmp_path: Path) -> None:
    for block in BLOCKS[:2]:
        Receipts(tmp_path).append(block)
    whole = (tmp_path / LOG_FILE).read_bytes()
    second = whole.rfind(b"\x00IbR")
    for stop in range(second, len(whole)):
        (tmp_path / LOG_FILE).write_bytes(whole[:stop])
        assert [block for _, block in Receipts(tmp_path).blocks()] == BLOCKS[:1]
        Receipts(tmp_path).append(BLOCKS[2])
        assert [block for _, block in Receipts(tmp_path).blocks()] == [BLOCKS[0], BLOCKS[2]]


def test_a_flipped_bit_loses_one_receipt_only(tmp_path: Path) -> None:
    for block in BLOCKS[:3]:
        Receipts(tmp_path).append(block)
    whole = (tmp_path / LOG_FILE).read_bytes()
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        (tmp_path / LOG_FILE).write_bytes(damaged)
        found = [block for _, block in Receipts(tmp_path).blocks()]
        assert len(found) == 2
        assert set(found) <= set(BLOCKS)


def test_a_log_that_can_not_be_written_does_not_fail(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    Receipts(tmp_path / "file").append(BLOCKS[0])


def test_a_log_that_is_taken_away_is_begun_again(tmp_path: Path) -> None:
    receipts = Receipts(tmp_path)
    receipts.append(BLOCKS[0])
    (tmp_path / LOG_FILE).unlink()
    receipts.append(BLOCKS[1])
    assert [block for _, block in receipts.blocks()] == [BLOCKS[1]]
    receipts.close()
    receipts.append(BLOCKS[2])
    assert len(list(receipts.blocks())) == 2
