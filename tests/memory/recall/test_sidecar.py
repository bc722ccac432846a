"""What is remembered beside a repository: AR20 and AR21, each under its id."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from blake3 import blake3

import ibidem
from ibidem.cli.recall import command
from ibidem.memory.recall.feedback import Feedback
from ibidem.memory.recall.query_log import SESSIONS_MAX, LastRecall, QueryLog
from ibidem.memory.recall.recall import recall
from ibidem.objects.errors import StorageError

from .helpers import NOW, add, set_slow


def entry(session: str, time: int) -> LastRecall:
    return LastRecall(session, time, "00", 5, None, "result", ("a",))


def test_ar20_last_recall(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha")
        found = recall(repo, "alpha", session="one")
        sidecar = QueryLog(repo.folder)
        last = sidecar.last("one")
        assert last is not None
        assert last.result == str(found.result.cid)
        assert found.result.receipt is not None
        assert last.receipt == str(found.result.receipt.cid)
        assert sidecar.last() == last
        assert sidecar.last("two") is None
        for number in range(60):
            sidecar.remember(entry(f"session {number:02}", NOW + 1 + number))
        assert len(sidecar.sessions()) == SESSIONS_MAX
        assert sidecar.sessions()[0] == "session 10"
        newest = sidecar.last()
        assert newest is not None
        assert newest.session == "session 59"
        with pytest.raises(AttributeError):
            newest.session = "changed"  # type: ignore[misc]


def test_ar21_nothing_but_the_receipt_keeps_the_words_of_a_question(tmp_path: Path) -> None:
    canary = "zyzzogeton"
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        (node,) = add(repo, "alpha")
        set_slow(repo, 0)
        found = recall(repo, f"alpha {canary}", session="s")
        Feedback(repo).vote(found.result, node, 1, author="ada")
        Feedback(repo).not_useful(found.result, [node], author="ada")
    plain = sha256(f"alpha {canary}".encode())
    word = sha256(canary.encode())
    unkeyed = blake3(canary.encode())
    secrets = [canary.encode()]
    for digest in (plain, word, unkeyed):
        secrets += [digest.digest(), digest.hexdigest().encode()]
    folder = tmp_path / ".ibidem"
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.name == "impressions.jsonl" for path in files)
    keeping = {
        path.relative_to(folder).parts[0]
        for path in files
        if any(secret in path.read_bytes() for secret in secrets)
    }
    assert keeping == {"receipts"}
    told = " ".join((command.help or "").split())
    assert "The receipt, which feedback needs, contains QUERY" in told
    assert "(.ibidem/local) contains no word of QUERY" in told


def test_ar21_the_sidecar_decides_nothing(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha one", "alpha two")
        before = recall(repo, "alpha").result
        for path in (tmp_path / ".ibidem" / "local").iterdir():
            path.unlink()
        assert recall(repo, "alpha").result.to_bytes() == before.to_bytes()


def test_a_line_that_a_crash_cut_off_does_not_swallow_the_next_one(tmp_path: Path) -> None:
    sidecar = QueryLog(tmp_path)
    sidecar.remember(entry("one", NOW))
    log = tmp_path / "local" / "impressions.jsonl"
    for torn in (b"{", b'{"session": "cut', log.read_bytes()[:-1]):
        with log.open("ab") as file:
            file.write(torn)
        sidecar.remember(entry("two", NOW + 1))
        assert [line["session"] for line in sidecar.impressions()][-1] == "two"
    assert [line["session"] for line in sidecar.impressions()] == ["one", "two", "two", "two"]


def test_a_sidecar_in_memory_has_what_one_in_a_folder_has(tmp_path: Path) -> None:
    for sidecar in (QueryLog(tmp_path), QueryLog(None)):
        sidecar.remember(entry("one", NOW))
        assert sidecar.last() == entry("one", NOW)
        assert [one["session"] for one in sidecar.impressions()] == ["one"]


def test_a_sidecar_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "local").write_text("in the way")
    sidecar = QueryLog(tmp_path)
    for work in (
        lambda: sidecar.remember(entry("one", NOW)),
        lambda: sidecar.digest("question"),
        lambda: list(sidecar.impressions()),
    ):
        with pytest.raises(StorageError):
            work()


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"a": 1}', '{"a": {"time": 1}}', '{"a": {"session": "a", "time": "x"}}']
)
def test_an_entry_that_is_damaged_or_of_another_version_counts_as_absent(
    tmp_path: Path, text: str
) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha")
        (tmp_path / ".ibidem" / "local").mkdir()
        file = tmp_path / ".ibidem" / "local" / "last.json"
        for session in ("one", "two"):
            file.write_text(text)
            sidecar = QueryLog(repo.folder)
            assert sidecar.last() is sidecar.last("a") is None
            recall(repo, "alpha", session=session)
            assert sidecar.sessions() == [session]
            with file.with_name("impressions.jsonl").open("a") as impressions:
                impressions.write('[]\n{"time": "x"}\n')
        assert [one["session"] for one in sidecar.impressions()] == ["one", "two"]
