"""fsck, gc, erase, key and verify from the command line: what they print and how they end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dag_cbor
import pytest
from click.testing import Result

import ibidem
from ibidem.repo.operation_log import OPERATIONS_KEPT
from ibidem.repo.receipts.log import LOG_BYTES_MAX
from ibidem.repo.state import ERASING, ERASING_CELL

Run = Callable[..., Result]
Data = Callable[..., dict[str, Any]]


def test_a_whole_repository(notes: Run, data: Data) -> None:
    report = data("fsck")
    assert report["is_clean"] is True
    assert report["is_data_whole"] is True
    assert "no damage found" in notes("fsck").stdout


def test_damaged_data_ends_with_12_and_comes_from_a_copy(
    notes: Run, run: Run, tmp_path: Path
) -> None:
    run("clone", ".", "copy")
    with ibidem.open(tmp_path) as repo:
        gone = repo.query(label="Passage")[0].cid
        repo.core.store.delete([gone])
    out = run("fsck", code=12).stdout
    assert "missing" in out
    assert str(gone) in out
    run("fsck", "--repair", code=12)
    assert "taken from the other copy" in run("fsck", "--repair", "--from", "copy").stdout
    run("fsck")
    run("fsck", "--from", "copy", code=2)


def test_a_damaged_index_ends_with_1_and_is_made_again(notes: Run, tmp_path: Path) -> None:
    notes("retrieve", "retries")
    segment = min((tmp_path / ".ibidem/index/segments").iterdir())
    segment.write_bytes(segment.read_bytes()[:-1])
    assert "index" in notes("fsck", code=1).stdout
    assert "mended" in notes("fsck", "--repair").stdout
    notes("fsck")
    assert notes("retrieve", "retries").stdout


def test_a_damaged_layout_is_told_and_not_opened(notes: Run, tmp_path: Path) -> None:
    path = tmp_path / ".ibidem/blocks/data.mdb"
    content = bytearray(path.read_bytes())
    content[16] ^= 1  # the magic number of the first meta page
    path.write_bytes(content)
    assert "page" in notes("fsck", code=12).stdout
    notes("fsck", "--repair", code=12)


def test_gc_counts_before_it_deletes(notes: Run, data: Data) -> None:
    notes("node", "add", "Note", "--summary", "staged and dropped")
    notes("undo", "--staged")
    would = data("gc", "--dry-run")
    assert would["is_dry_run"] is True
    assert would["block_count"] > 0
    assert "would delete" in notes("gc", "--dry-run").stdout
    assert data("gc")["block_count"] == would["block_count"]
    assert data("gc")["block_count"] == 0
    assert "dropped from the log" in notes("gc", "--keep-operations", "1").stdout
    notes("gc", "--keep-operations", "0", code=2)
    assert f"[default: {OPERATIONS_KEPT}]" in notes("gc", "--help").stdout


def test_stats_shows_the_logs_with_their_bounds(notes: Run, data: Data) -> None:
    before = data("index", "stats")
    receipt_bytes = 2 * LOG_BYTES_MAX
    assert before["receipt_log"] == {"count": 0, "size_bytes": 0, "size_bytes_max": receipt_bytes}
    assert before["operation_log"]["count_max"] == OPERATIONS_KEPT
    notes("node", "add", "Note", "--summary", "the mill calculates")
    notes("commit", "-m", "one more")
    notes("retrieve", "mill")
    after = data("index", "stats")
    assert after["operation_log"]["count"] == before["operation_log"]["count"] + 1
    assert after["operation_log"]["size_bytes"] > before["operation_log"]["size_bytes"]
    assert after["receipt_log"]["count"] == 1
    said = notes("index", "stats").stdout
    assert f"1 receipt, {after['receipt_log']['size_bytes']:,} of at most 33,554,432 bytes" in said
    assert f"{after['operation_log']['count']} operations" in said
    assert "'repo gc' keeps the newest 10,000" in said


def test_a_document_is_erased_by_its_path_with_its_parts(notes: Run, data: Data) -> None:
    said = notes("erase", "notes/timeouts.md", stdin="y\n")
    assert "documents with all parts?" in said.stderr
    assert "erased 3 nodes" in said.stdout
    assert data("retrieve", "deadline of every call")["items"] == []
    assert "forgotten" in notes("commit", ".", "-m", "again").stderr


def test_erase_asks_first_and_says_what_it_did(notes: Run, data: Data, tmp_path: Path) -> None:
    secret = data("node", "add", "Note", "--summary", "a secret that is long enough")["id"]
    data("node", "add", "Note", "--summary", "copied: a secret that is long enough")
    notes("commit", "-m", "secrets")
    notes("erase", secret, stdin="n\n", code=130)
    assert "pass --yes" in notes("erase", secret, stdin="", code=2).stderr
    assert "pass --yes" in notes("erase", secret, "--json", code=2).stderr
    notes("show", secret)
    said = notes("erase", secret, "--reason", "asked", stdin="y\n")
    assert "erased 1 node" in said.stdout
    assert "also occurs in node" in said.stderr
    notes("show", secret, code=3)
    notes("show", secret, "--at", "HEAD~1", code=3)
    assert data("retrieve", "secret", "--at", "HEAD~1", "--allow-erased")["erased"] == [secret]
    partial = notes("retrieve", "secret", "--at", "HEAD~1", "--allow-erased")
    assert "left out" in partial.stderr
    assert "no receipt: erased nodes were left out" in partial.stderr
    assert data("fsck")["erased_count"] == 1
    notes("undo", code=2)
    notes("erase", "00" * 16, "--yes", code=3)
    notes("erase", "no id", "--yes", code=2)
    with ibidem.open(tmp_path) as repo:
        assert repo.core.store.cell(ERASING_CELL) is None


def test_an_erasure_that_was_cut_short_is_said_and_finished(
    notes: Run, data: Data, tmp_path: Path
) -> None:
    assert "no interrupted erasure" in notes("erase", "--finish").stdout
    with ibidem.open(tmp_path) as repo:
        repo.core.store.publish({}, {ERASING_CELL: (None, ERASING)})
    said = data("fsck", code=1)
    assert said["is_data_whole"] is True
    assert [fault["kind"] for fault in said["faults"]] == ["unfinished"]
    assert "run 'repo erase --finish'" in notes("fsck", code=1).stdout
    assert "hint: repo erase --finish" in notes("doctor", "--full", code=1).stdout
    assert data("erase", "--finish")["is_finished"] is True
    notes("fsck")
    notes("erase", "00" * 16, "--finish", code=2)
    notes("erase", code=2)


def test_keys_sign_and_are_trusted_no_more(notes: Run, data: Data) -> None:
    public = data("key", "generate", "ada")["public"]
    notes("node", "add", "Note", "--summary", "signed")
    notes("commit", "-m", "signed", "--sign", "ada")
    assert "good" in notes("key", "verify", "--limit", "1").stdout
    assert data("key", "verify", code=1)["is_good"] is False
    assert data("key", "verify", "--allow-unsigned")["is_good"] is True
    assert public in notes("key", "list").stdout
    notes("key", "revoke", "ada")
    assert data("key", "verify", "--limit", "1", code=1)["commits"][0]["standing"] == "revoked"
    notes("key", "revoke", "bob", code=3)
    notes("key", "trust", "bob", "12", code=2)
    notes("commit", "-m", "x", "--sign", "nobody", code=3)
    assert "heads/" in notes("key", "require", "heads/").stdout
    assert "none" in notes("key", "require").stdout


@pytest.mark.parametrize("command", ["fsck", "gc", "erase", "key"])
def test_every_help_has_an_example(run: Run, command: str) -> None:
    assert "Example" in run(command, "--help").stdout


def test_a_deep_check_ends_with_12_where_two_libraries_disagree(
    notes: Run, data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes("fsck", "--deep")
    monkeypatch.setattr(dag_cbor, "encode", lambda _: b"")
    assert {fault["kind"] for fault in data("fsck", "--deep", code=12)["faults"]} == {
        "disagreement"
    }
    notes("fsck")
