"""Kept receipts: they last, replay from anywhere in the history, and whatever was changed shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import ibidem
from ibidem.objects.codec import encode
from ibidem.objects.errors import (
    FormatError,
    IbidemError,
    InvalidInputError,
    NotFoundError,
    ReplayError,
)
from ibidem.objects.ids import NodeId
from ibidem.repo.receipts.log import LOG_FILE, OLDER_FILE, ReceiptLog
from ibidem.repo.repository import Repository
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.retrieve.answer.sealed import read_receipt

KEY = bytes(range(32))


def filled(repo: Repository, count: int = 6) -> list[NodeId]:
    with repo.transaction(message="begin") as tx:
        return [
            tx.add_node("Note", summary=f"retry number {index}", key=index)
            for index in range(count)
        ]


def edit(repo: Repository, node: NodeId, summary: str) -> None:
    with repo.transaction() as tx:
        tx.update_node(node, summary=summary)


@pytest.fixture
def asked(repo: Repository) -> tuple[Repository, Receipt, list[NodeId]]:
    nodes = filled(repo)
    receipt = repo.retrieve("retry number", limit=3).receipt
    assert receipt is not None
    return repo, receipt, nodes


def test_a_kept_receipt_lasts_without_the_log_and_through_undo(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        filled(repo)
        result = repo.retrieve("retry")
        assert result.receipt is not None
        cid = repo.receipts.keep(str(result.receipt.cid)[:12])
        assert repo.receipts.keep(result.receipt) == cid == result.receipt.cid
        (repo.folder / "receipts" / LOG_FILE).unlink()  # type: ignore[operator]
        repo.history.undo()
        assert repo.head is None
        assert [kept.receipt for kept in repo.receipts.list()] == [result.receipt]
        assert repo.receipts.replay(cid).to_bytes() == result.to_bytes()
        repo.history.redo()
        assert repo.head is not None
    with ibidem.open(tmp_path) as repo:
        assert repo.receipts.replay(str(cid)[:14]).cid == result.cid
        assert repo.receipts.drop(cid) == cid
        assert repo.receipts.list() == []
        with pytest.raises(NotFoundError, match="not kept"):
            repo.receipts.replay(cid)
        with pytest.raises(NotFoundError, match="not among those kept"):
            repo.receipts.drop(cid)


def test_a_sealed_receipt_is_kept_without_its_text_and_replays_with_it(asked) -> None:
    repo, receipt, _ = asked
    cid = repo.receipts.keep(receipt, key=KEY)
    assert cid != receipt.cid
    assert b"retry" not in repo.core.store.get(cid)
    assert repo.receipts.replay(cid, text="retry number", key=KEY).cid == receipt.result
    with pytest.raises(InvalidInputError, match="it is sealed"):
        repo.receipts.replay(cid)
    with pytest.raises(ReplayError, match="not the one that was asked"):
        repo.receipts.replay(cid, text="retry numbers", key=KEY)
    with pytest.raises(InvalidInputError, match="sealed already"):
        repo.receipts.keep(cid, key=KEY)
    with pytest.raises(InvalidInputError, match="one that says what was asked"):
        repo.receipts.replay(receipt, text="another", key=KEY)
    assert repo.receipts.keep(read_receipt(repo.core.store.get(cid))) == cid


def test_a_receipt_is_kept_only_where_its_root_is(asked) -> None:
    _, receipt, _ = asked
    with ibidem.init("memory:") as elsewhere:
        with pytest.raises(NotFoundError, match="its root"):
            elsewhere.receipts.keep(receipt)
        with pytest.raises(ReplayError, match="its root") as caught:
            elsewhere.receipts.replay(receipt)
    assert caught.value.kind == "not-found"


def test_another_root_is_named_with_item_lane_and_number(asked) -> None:
    repo, receipt, _ = asked
    assert repo.receipts.replay(receipt, at="HEAD").cid == receipt.result
    edit(repo, receipt.items[0].id, "retry number number retry")
    with pytest.raises(ReplayError) as caught:
        repo.receipts.replay(receipt, at="HEAD")
    said = str(caught.value)
    assert f"item 1, {receipt.items[0].id}: the node is another version" in said
    assert "lane lexical, score " in said
    assert "another root" in said
    assert repo.receipts.replay(receipt).cid == receipt.result


def test_what_is_missing_is_named(asked) -> None:
    repo, receipt, _ = asked
    repo.core.search_index.current.forget()
    repo.core.store.delete([receipt.items[0].cid])
    with ibidem.init("memory:") as other:
        blocks = {cid: repo.core.store.get(cid) for cid in repo.core.store.cids()}
        other.core.store.put(blocks)
        with pytest.raises(ReplayError, match="a block of its root is missing") as caught:
            other.receipts.replay(receipt)
    assert caught.value.kind == "block-not-found"


def test_unknown_semantics_are_refused_by_name(asked) -> None:
    repo, receipt, _ = asked
    newer = receipt.encode().replace(b"isemantics\x01", b"isemantics\x02")
    for read in (read_receipt, Receipt.decode):
        with pytest.raises(FormatError) as caught:
            read(newer)
        assert caught.value.kind == "unsupported-semantics"
    with pytest.raises(FormatError, match="version 2"):
        repo.receipts.replay(replace(receipt, query=replace(receipt.query, semantics=2)))


def test_every_flipped_byte_of_a_receipt_is_detected(asked) -> None:
    repo, receipt, _ = asked
    block = receipt.encode()
    replayed = 0
    for at in range(len(block)):
        flipped = bytes([*block[:at], block[at] ^ 0x01, *block[at + 1 :]])
        try:
            found = read_receipt(flipped)
        except IbidemError:
            continue
        assert found.cid != receipt.cid
        replayed += 1
        # Only the commit may pass: it is named, and need not be there any more.
        if found.commit == receipt.commit:
            with pytest.raises(IbidemError):
                repo.receipts.replay(found)
    assert replayed > 100


def test_every_flipped_byte_of_the_log_is_detected(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        filled(repo)
        cid = repo.retrieve("retry", limit=1).receipt.cid  # type: ignore[union-attr]
        log = tmp_path / ".ibidem" / "receipts" / LOG_FILE
        whole = log.read_bytes()
        for at in range(len(whole)):
            log.write_bytes(bytes([*whole[:at], whole[at] ^ 1, *whole[at + 1 :]]))
            with pytest.raises(NotFoundError):
                repo.receipts.find(str(cid))


@pytest.mark.parametrize("is_on_disk", [True, False])
def test_the_log_is_bounded_and_has_the_last_receipts(tmp_path: Path, is_on_disk: bool) -> None:
    folder = tmp_path / "receipts" if is_on_disk else None
    receipts = ReceiptLog(folder, log_bytes_max=4000)
    blocks = [encode({"number": number, "filling": "x" * 50}) for number in range(300)]
    for block in blocks:
        receipts.append(block)
    found = [block for _, block in receipts.blocks()]
    assert found == blocks[-len(found) :]
    assert 30 < len(found) < 90
    if folder is not None:
        sizes = [(folder / name).stat().st_size for name in (LOG_FILE, OLDER_FILE)]
        assert max(sizes) < 4200


def test_what_was_erased_is_named_as_the_reason(asked) -> None:
    repo, receipt, _ = asked
    cid = repo.receipts.keep(receipt)
    with repo.runs.start("desk") as run:
        run.retrieve("retry number", limit=3)
    repo.maintenance.erase(receipt.items[0].id)
    with pytest.raises(ReplayError, match="has been erased") as caught:
        repo.receipts.replay(cid)
    assert caught.value.kind == "erased"
    with pytest.raises(ReplayError, match="has been erased"):
        run.replay().retrieve("retry number", limit=3)


def test_a_model_that_the_other_root_lacks_is_named_as_the_reason(repo: Repository) -> None:
    repo.branch("bare", at=filled_head(repo))
    with repo.transaction() as tx:
        tx.set_vector(repo.query(label="Note")[0].id, model="m", vector=[1.0, 0.0])
    receipt = repo.retrieve(vector=("m", [1.0, 0.5])).receipt
    with pytest.raises(ReplayError) as caught:
        repo.receipts.replay(receipt, at="bare")
    assert "model" in str(caught.value)


def filled_head(repo: Repository) -> object:
    filled(repo)
    return repo.head
