"""The working folder against the head: its status, what a commit takes, which files are read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ibidem
from ibidem.ingest import stat_table

from .conftest import Run

Data = Callable[..., dict[str, Any]]
LONG_AGO = 1_700_000_000
NOTHING: dict[str, list[Any]] = {
    name: [] for name in ("new", "modified", "deleted", "renamed", "behind", "diverged", "skipped")
}


@pytest.fixture
def folder(data: Data) -> Callable[[], dict[str, Any]]:
    """Returns those parts of the status of the working folder that are not empty."""

    def call() -> dict[str, Any]:
        found = data("status")["folder"]
        assert set(found) == set(NOTHING)
        return {name: value for name, value in found.items() if value}

    return call


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are opened, in the order of opening."""
    from ibidem.ingest import folder_status, ingest, walk

    opened: list[str] = []
    real = walk.opened

    def recorded(base: Path, below: str, **options: Any) -> Any:
        opened.append(below)
        return real(base, below, **options)

    monkeypatch.setattr(ingest, "opened", recorded)
    monkeypatch.setattr(folder_status, "opened", recorded)
    return opened


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the clock of the file system run an hour ahead, so that every file is old enough."""
    from ibidem.ingest import working_folder

    real = working_folder._file_system_time
    monkeypatch.setattr(
        working_folder, "_file_system_time", lambda folder: real(folder) + 3600 * 10**9
    )


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_status_names_new_changed_deleted_and_renamed_files(
    notes: Run, folder: Callable[[], dict[str, Any]], tmp_path: Path
) -> None:
    assert folder() == {}
    write(tmp_path / "notes" / "new.md", "# New\n\nnew\n")
    write(tmp_path / "notes" / "retries.md", "# Retries\n\nchanged\n")
    (tmp_path / "notes" / "timeouts.md").rename(tmp_path / "deadlines.md")
    assert folder() == {
        "new": ["notes/new.md"],
        "modified": ["notes/retries.md"],
        "renamed": [{"before": "notes/timeouts.md", "after": "deadlines.md"}],
    }
    (tmp_path / "deadlines.md").unlink()
    assert folder()["deleted"] == ["notes/timeouts.md"]
    out = notes("status").stdout
    assert "changed: notes/retries.md" in out
    assert "deleted: notes/timeouts.md" in out


def test_status_is_empty_after_a_commit_and_after_staging(
    notes: Run, folder: Callable[[], dict[str, Any]], tmp_path: Path
) -> None:
    write(tmp_path / "notes" / "retries.md", "# Retries\n\nchanged\n")
    notes("add", "notes")
    assert folder() == {}
    notes("undo", "--staged")
    assert folder() == {"modified": ["notes/retries.md"]}
    notes("commit", ".", "-m", "changed")
    assert folder() == {}


def test_an_undone_commit_leaves_its_files_to_commit_again(
    notes: Run, folder: Callable[[], dict[str, Any]], tmp_path: Path, data: Data
) -> None:
    write(tmp_path / "notes" / "retries.md", "# Retries\n\nchanged\n")
    notes("commit", ".", "-m", "changed")
    notes("undo")
    assert folder() == {"modified": ["notes/retries.md"]}
    assert data("commit", ".", "-m", "again")["ingested"]["documents"]["changed"] == 1


@pytest.mark.usefixtures("old")
def test_unchanged_files_are_not_read(notes: Run, reads: list[str], tmp_path: Path) -> None:
    notes("commit", ".", "-m", "with the clock of this test")
    reads.clear()
    notes("status")
    notes("commit", ".", "-m", "nothing")
    assert [name for name in reads if name.endswith(".md")] == []
    write(tmp_path / "notes" / "retries.md", "# Retries\n\nchanged\n")
    notes("status")
    assert reads == ["notes/retries.md"]


@pytest.mark.usefixtures("old")
def test_after_the_table_is_lost_each_file_is_read_once(
    notes: Run, reads: list[str], tmp_path: Path
) -> None:
    (tmp_path / ".ibidem" / stat_table.FILE).unlink(missing_ok=True)
    notes("status")
    assert reads == ["notes/retries.md", "notes/timeouts.md"]
    notes("status")
    assert len(reads) == 2


def test_a_file_as_new_as_its_reading_is_read_again(
    notes: Run, reads: list[str], folder: Callable[[], dict[str, Any]], tmp_path: Path
) -> None:
    page = tmp_path / "notes" / "retries.md"
    ahead = 4_000_000_000
    os.utime(page, (ahead, ahead))
    notes("status")
    reads.clear()
    notes("status")
    assert "notes/retries.md" in reads
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("one second", "two second"), encoding="utf-8")
    os.utime(page, (ahead, ahead))
    assert folder() == {"modified": ["notes/retries.md"]}


@pytest.mark.parametrize("damage", [b"", b"x", b"{}\n"])
def test_a_damaged_table_counts_as_none(
    notes: Run, folder: Callable[[], dict[str, Any]], tmp_path: Path, damage: bytes
) -> None:
    table = tmp_path / ".ibidem" / stat_table.FILE
    data = table.read_bytes()
    table.write_bytes(damage or data[:-1])
    assert folder() == {}


def test_a_commit_removes_documents_of_files_that_are_gone(
    notes: Run, data: Data, tmp_path: Path
) -> None:
    (tmp_path / "notes" / "timeouts.md").unlink()
    kept = data("commit", ".", "--ignore-removal")
    assert kept["commit"] is None
    assert kept["ingested"]["missing"] == ["notes/timeouts.md"]
    notes("init", "elsewhere")
    assert data("commit", "elsewhere")["ingested"]["deleted"] == []
    assert data("commit", "notes")["ingested"]["deleted"] == ["notes/timeouts.md"]
    assert data("query", "--label", "Document", "--count")["count"] == 1


def test_a_deleted_file_can_be_committed_by_its_name(
    notes: Run, data: Data, tmp_path: Path
) -> None:
    (tmp_path / "notes" / "timeouts.md").unlink()
    found = data("commit", "notes/timeouts.md")["ingested"]
    assert (found["deleted"], found["errors"]) == (["notes/timeouts.md"], [])
    assert data("commit", "notes/nothing.md", code=1)["ingested"]["errors"]


def test_documents_that_never_had_a_file_here_stay(
    notes: Run, data: Data, folder: Callable[[], dict[str, Any]], tmp_path: Path
) -> None:
    from ibidem.ingest.ingest import ingest_text

    with ibidem.open(tmp_path) as repository, repository.transaction() as tx:
        ingest_text(tx, "from elsewhere\n", path="notes/elsewhere.md")
    assert folder() == {}
    assert data("commit", ".")["commit"] is None
    assert data("commit", ".", "--prune")["ingested"]["documents"]["removed"] == 1


def test_a_renamed_document_keeps_what_is_attached_to_it(
    notes: Run, data: Data, tmp_path: Path
) -> None:
    def passage() -> str:
        found = [each["id"] for each in data("query", "--label", "Passage")["nodes"]]
        (one,) = (id_ for id_ in found if "deadline" in notes("show", id_, "--text").stdout)
        return str(one)

    fact = data("node", "add", "Fact", "--summary", "thirty seconds is long")["id"]
    notes("edge", "add", fact, "about", passage())
    notes("commit", "-m", "a fact")
    first = data("log", "--path", "notes/timeouts.md")["commits"]
    (tmp_path / "notes" / "timeouts.md").rename(tmp_path / "notes" / "deadlines.md")
    done = data("commit", ".", "-m", "a better name")
    assert done["ingested"]["renamed"] == [
        {"before": "notes/timeouts.md", "after": "notes/deadlines.md"}
    ]
    (edge,) = data("show", fact)["edges"]
    assert edge["target"] == passage()
    history = data("log", "--path", "notes/deadlines.md")["commits"]
    assert [each["cid"] for each in history] == [
        done["commit"]["cid"],
        *(each["cid"] for each in first),
    ]
    for node in (passage(), "notes/deadlines.md"):
        by_node = data("log", "--node", node)["commits"]
        assert by_node[-1]["cid"] == first[-1]["cid"]
    blamed = {each["field"]: each["commit"]["cid"] for each in data("blame", passage())["lines"]}
    assert blamed["summary"] == first[-1]["cid"]
    document = {
        each["field"]: each["commit"]["cid"]
        for each in data("blame", "notes/deadlines.md")["lines"]
    }
    assert document["summary"] == first[-1]["cid"]
    assert document["props.source"] == done["commit"]["cid"]


@pytest.fixture
def merged(notes: Run, tmp_path: Path) -> Run:
    """The head has a newer version of `retries.md` than the folder."""
    page = tmp_path / "notes" / "retries.md"
    before = page.read_text(encoding="utf-8")
    notes("branch", "other")
    notes("switch", "other")
    write(page, before.replace("one second", "ten seconds"))
    notes("commit", ".", "-m", "ten")
    notes("switch", "main")
    write(page, before)
    notes("status")
    notes("merge", "other")
    return notes


def test_a_commit_of_an_unchanged_file_takes_no_merge_back(
    merged: Run, data: Data, folder: Callable[[], dict[str, Any]]
) -> None:
    assert folder() == {"behind": ["notes/retries.md"]}
    done = data("commit", ".")
    assert (done["commit"], done["ingested"]["behind"]) == (None, ["notes/retries.md"])
    assert "older than the document" in merged("commit", ".").stderr
    assert data("commit", ".", "--overwrite")["ingested"]["documents"]["changed"] == 1
    assert folder() == {}


def test_a_file_whose_document_a_merge_removed_can_be_deleted_or_taken_again(
    notes: Run, data: Data, folder: Callable[[], dict[str, Any]], tmp_path: Path
) -> None:
    page = tmp_path / "notes" / "retries.md"
    notes("switch", "-c", "other")
    page.unlink()
    notes("commit", ".", "-m", "gone")
    notes("switch", "main")
    notes("checkout", ".")
    notes("merge", "other")
    shown = notes("status")
    assert "  its document was removed: notes/retries.md\n" in shown.stdout
    assert "older than" not in shown.stdout
    assert "next: delete the file, or repo commit PATH --overwrite" in shown.stderr
    assert "checkout" not in shown.stderr
    assert folder() == {"behind": ["notes/retries.md"]}
    assert "delete a file whose document was removed" in notes("commit", ".").stderr
    assert data("commit", ".", "--overwrite")["ingested"]["documents"]["added"] == 1
    notes("undo")
    page.unlink()
    assert folder() == {}


def test_a_file_that_both_sides_changed_is_not_taken(
    merged: Run, data: Data, folder: Callable[[], dict[str, Any]], tmp_path: Path
) -> None:
    write(tmp_path / "notes" / "retries.md", "# Retries\n\nmine\n")
    assert folder() == {"diverged": ["notes/retries.md"]}
    (error,) = data("commit", ".", code=1)["ingested"]["errors"]
    assert error["error"].startswith("the file and its document were both changed")
    assert "--overwrite takes the file" in error["error"]
    assert data("commit", ".", "--overwrite")["ingested"]["documents"]["changed"] == 1


def test_a_deleted_file_whose_document_is_newer_is_not_removed(
    merged: Run, data: Data, tmp_path: Path
) -> None:
    (tmp_path / "notes" / "retries.md").unlink()
    assert data("commit", ".")["ingested"]["behind"] == ["notes/retries.md"]
    assert data("commit", ".", "--overwrite")["ingested"]["deleted"] == ["notes/retries.md"]


def test_odd_files_are_told_and_do_not_disturb(
    notes: Run, folder: Callable[[], dict[str, Any]], tmp_path: Path
) -> None:
    at = os.fsencode(tmp_path / "notes")
    (tmp_path / "notes" / "picture.png").write_bytes(b"\x89PNG\0")
    (tmp_path / "notes" / "latin.txt").write_bytes(b"caf\xe9")
    (tmp_path / "notes" / "link.md").symlink_to(tmp_path / "notes" / "retries.md")
    with (tmp_path / "notes" / "huge.txt").open("wb") as huge:
        huge.truncate((64 << 20) + 1)
    Path(os.fsdecode(at + b"/\xff.md")).write_text("x")
    write(tmp_path / "notes" / "Retries.md", "# Another by case\n")
    os.mkfifo(tmp_path / "notes" / "pipe.md")
    found = folder()
    reasons = {each["path"]: each["reason"] for each in found.pop("skipped")}
    assert found == {"new": ["notes/Retries.md"]}
    assert reasons == {
        "notes/picture.png": "binary (NUL at byte 4)",
        "notes/latin.txt": "text in another encoding (not UTF-8 at byte 3)",
        "notes/link.md": "symbolic link, not followed",
        "notes/huge.txt": f"{(64 << 20) + 1} bytes, at most {64 << 20}",
        "notes/\\udcff.md": "name is not UTF-8",
        "notes/pipe.md": "not a regular file",
    }
    assert {each["path"]: each["reason"] for each in folder()["skipped"]} == reasons


@pytest.mark.parametrize("error", [PermissionError, OSError])
def test_what_cannot_be_looked_at_is_not_deleted(
    notes: Run, data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    (tmp_path / "notes" / "timeouts.md").rename(tmp_path / "elsewhere.txt")
    real = os.lstat

    def lstat(path: Any, **options: Any) -> os.stat_result:
        if str(path).endswith("timeouts.md"):
            raise error
        return real(path, **options)

    monkeypatch.setattr(os, "lstat", lstat)
    assert data("commit", "notes", "--prune")["ingested"]["documents"]["removed"] == 0
    assert data("status")["folder"]["deleted"] == []


def test_a_tombstoned_document_is_skipped(
    notes: Run, data: Data, folder: Callable[[], dict[str, Any]]
) -> None:
    document = data("query", "--label", "Document")["nodes"][0]["id"]
    found = notes("node", "tombstone", document, "--reason", "wrong")
    assert "sections and passages, 2 of which stay visible" in found.stderr
    notes("commit", "-m", "hidden")
    (skipped,) = folder()["skipped"]
    assert skipped["reason"].startswith("forgotten")
    assert data("commit", ".")["commit"] is None


def test_a_read_only_repository_has_a_status(
    notes: Run, folder: Callable[[], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ibidem.ingest import working_folder
    from ibidem.objects.errors import StorageError

    def refused(*_: object) -> None:
        raise StorageError("no")

    monkeypatch.setattr(working_folder, "write_table", refused)
    assert folder() == {}


def test_restored_files_of_a_copy_are_not_new(notes: Run, data: Data, tmp_path: Path) -> None:
    assert "next: repo checkout ." in notes("clone", ".", "copy").stderr
    notes("checkout", "copy", "-R", "copy")
    assert (tmp_path / "copy" / "notes" / "retries.md").is_file()
    assert data("status", "-R", "copy")["folder"] == NOTHING


def test_files_left_out_for_the_same_reason_are_one_line(notes: Run, tmp_path: Path) -> None:
    for name in "abcd":
        write(tmp_path / "notes" / f"{name}.bin", f"{name}\0")
    write(tmp_path / "notes" / ".hidden", "x")
    said = notes("commit", ".", "-m", "x").stderr
    assert "skipped: notes/a.bin: binary (NUL at byte 1), as are 3 more\n" in said
    assert "skipped: notes/.hidden: hidden\n" in said
    assert "b.bin" not in said


def test_golden_answers_are_left_out_since_they_quote_the_question(
    notes: Run, folder: Callable[[], dict[str, Any]]
) -> None:
    notes("snapshot", "record", "answers.golden", "how often is a request tried again")
    assert "skipped: answers.golden: golden answers" in notes("commit", ".", "-m", "x").stderr
    assert [each["path"] for each in folder()["skipped"]] == ["answers.golden"]


def test_status_names_staged_documents_by_their_paths(notes: Run, tmp_path: Path) -> None:
    write(tmp_path / "notes" / "retries.md", "# Retries\n\nNever.\n")
    write(tmp_path / "notes" / "new.md", "# New\n\nnew\n")
    (tmp_path / "notes" / "timeouts.md").unlink()
    notes("add", ".")
    notes("node", "add", "Rule", "--summary", "two sign")
    said = notes("status").stdout
    shown = said.partition("staged: ")[2].splitlines()[1:5]
    documents = ["  + notes/new.md", "  ~ notes/retries.md", "  - notes/timeouts.md"]
    assert shown[:3] == documents
    assert shown[3].startswith("  + node ")
    assert "Passage" not in said


def test_many_staged_documents_are_counted(notes: Run, tmp_path: Path) -> None:
    for number in range(25):
        write(tmp_path / "notes" / f"{number}.md", f"# {number}\n\ntext {number}\n")
    notes("add", ".")
    assert "  and 5 more\n" in notes("status").stdout


def test_a_level_of_front_matter_hides_the_text_of_the_file(notes: Run, tmp_path: Path) -> None:
    secret = tmp_path / "notes" / "secret.md"
    write(secret, "---\nlevel: 3\n---\n# Vault\n\nThe code is 4711.\n")
    notes("commit", ".", "-m", "before the policy")
    notes("trust", "enable")
    asked = ("retrieve", "what is the code", "--viewer")
    assert "4711" not in notes(*asked, "low").stdout
    assert "4711" in notes(*asked, "high").stdout
    write(secret, "---\nlevel: 2\n---\n# Vault\n\nThe code is 0815.\n")
    assert "warning" not in notes("commit", ".", "-m", "lower").stderr
    assert "0815" not in notes(*asked, "low").stdout
    assert "0815" in notes(*asked, "medium").stdout
    assert notes("diff").stdout == "no difference\n"


def test_a_level_in_words_is_refused_with_its_numbers(notes: Run, tmp_path: Path) -> None:
    notes("trust", "enable")
    write(tmp_path / "notes" / "vault.md", "---\nlevel: high\n---\n# Vault\n\nThe code is 4711.\n")
    out = notes("commit", "notes/vault.md", "-m", "vault", code=1).stderr
    assert "failed: notes/vault.md: props.level: got 'high', expected a level from 0 to 4" in out
    assert "3 is high" in out


def test_a_policy_with_names_of_its_own_hides_what_is_there(notes: Run, tmp_path: Path) -> None:
    secret = tmp_path / "notes" / "secret.md"
    write(secret, "---\nsecrecy: 3\n---\n# Vault\n\nThe code is 4711.\n")
    notes("commit", ".", "-m", "before the policy")
    notes("trust", "enable", "--level", "secrecy")
    assert "4711" not in notes("retrieve", "what is the code", "--viewer", "low").stdout


def test_a_level_that_a_document_got_otherwise_is_that_of_its_text_after_a_commit(
    notes: Run, tmp_path: Path
) -> None:
    notes("trust", "enable")
    with ibidem.open(tmp_path) as repo, repo.transaction() as tx:
        document = next(n for n in tx.nodes(label="Document") if "retries" in str(n.key))
        tx.update_node(document.id, set_props={"level": 3})
    assert "1 changed" in notes("commit", ".", "-m", "parts").stdout
    shown = notes("query", "--viewer", "low", "--json").stdout
    assert document.id.raw.hex() not in shown
    assert '"count":3,' in shown


def test_a_file_is_restored_under_a_trust_policy(notes: Run, tmp_path: Path) -> None:
    notes("trust", "enable", "--default-level", "hyper")
    file = tmp_path / "notes" / "retries.md"
    text = file.read_text("utf-8")
    file.unlink()
    notes("checkout", ".")
    assert file.read_text("utf-8") == text
    notes("checkout", ".", "--viewer", "low", code=2)


def test_a_switch_names_the_files_that_still_have_the_text_of_the_former_branch(
    notes: Run, data: Data, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    assert "warning" not in notes("switch", "-c", "side").stderr
    write(folder / "retries.md", "# Retries\n\nNever.\n")
    write(folder / "more.md", "# More\n")
    notes("commit", ".", "-m", "other notes")
    write(folder / "timeouts.md", "# Not committed\n")
    found = notes("switch", "main")
    assert "on branch main" in found.stdout
    assert found.stderr.startswith(
        "warning: 2 files still as on side: notes/more.md, notes/retries.md\n"
    )
    assert data("switch", "side")["former_files"] == []
    assert data("switch", "main")["former_files"] == ["notes/more.md", "notes/retries.md"]
    notes("checkout", "notes/retries.md", "--force")
    (folder / "more.md").unlink()
    notes("switch", "side")
    assert data("switch", "main")["former_files"] == []


def test_a_checkout_after_a_switch_loses_only_what_another_branch_has(
    notes: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    before = (folder / "retries.md").read_text("utf-8")
    notes("switch", "-c", "side")
    write(folder / "retries.md", "# Retries\n\nNever.\n")
    write(folder / "more.md", "# More\n")
    notes("commit", ".", "-m", "other notes")
    write(folder / "timeouts.md", "# Not committed\n")
    notes("switch", "main")
    listed = notes("status").stdout
    assert "  new: notes/more.md (as on side)\n" in listed
    assert "  changed: notes/retries.md (as on side)\n" in listed
    assert "  changed: notes/timeouts.md\n" in listed
    found = notes("checkout", ".", code=1)
    assert "restored: notes/retries.md\n1 file restored" in found.stdout
    assert "failed: notes/timeouts.md" in found.stderr
    assert (folder / "retries.md").read_text("utf-8") == before
    assert (folder / "timeouts.md").read_text("utf-8") == "# Not committed\n"


def test_a_switch_passes_over_what_is_not_a_file_any_more(
    notes: Run, data: Data, tmp_path: Path
) -> None:
    names = ["folder.md", "link.md", "more.md", "pipe.md"]
    files = [tmp_path / "notes" / name for name in names]
    notes("switch", "-c", "side")
    for file in files:
        write(file, f"# {file.name}\n")
    notes("commit", ".", "-m", "more")
    for file in (files[0], files[1], files[3]):
        file.unlink()
    files[0].mkdir()
    files[1].symlink_to(files[1])
    os.mkfifo(files[3])
    assert data("switch", "main")["former_files"] == ["notes/more.md"]


def test_a_damaged_branch_can_be_left(notes: Run, tmp_path: Path) -> None:
    notes("switch", "-c", "side")
    write(tmp_path / "notes" / "more.md", "# More\n")
    notes("commit", ".", "-m", "more")
    with ibidem.open(tmp_path) as repo:
        repo.core.store.delete([repo.core.branches()["side"]])
    assert "on branch main" in notes("switch", "main").stdout


def test_a_removal_that_is_not_committed_leaves_a_deleted_file(
    notes: Run, folder: Callable[[], dict[str, Any]]
) -> None:
    notes("rm", "notes/timeouts.md")
    assert folder() == {}
    notes("undo", "--staged")
    assert folder() == {"deleted": ["notes/timeouts.md"]}
    notes("checkout", "notes/timeouts.md")
    assert folder() == {}


def test_a_removal_that_is_undone_leaves_a_deleted_file_each_time(
    notes: Run, folder: Callable[[], dict[str, Any]], tmp_path: Path, data: Data
) -> None:
    (tmp_path / "notes" / "timeouts.md").unlink()
    notes("commit", ".", "-m", "gone")
    for _ in range(2):
        assert folder() == {}
        notes("undo")
        assert folder() == {"deleted": ["notes/timeouts.md"]}
        notes("redo")
    notes("undo")
    assert data("commit", ".", "-m", "again")["ingested"]["deleted"] == ["notes/timeouts.md"]


def test_a_renaming_that_is_taken_back_leaves_a_renamed_file(
    notes: Run, folder: Callable[[], dict[str, Any]], data: Data
) -> None:
    notes("mv", "notes/timeouts.md", "notes/deadlines.md")
    assert "  renamed notes/timeouts.md -> notes/deadlines.md\n" in notes("status").stdout
    notes("undo", "--staged")
    renamed = {"before": "notes/timeouts.md", "after": "notes/deadlines.md"}
    assert folder() == {"renamed": [renamed]}
    ingested = data("commit", ".", "-m", "deadlines")["ingested"]
    assert ingested["renamed"] == [renamed]
    notes("undo")
    assert folder() == {"renamed": [renamed]}


def test_a_file_that_was_removed_on_the_former_branch_is_named(
    notes: Run, folder: Callable[[], dict[str, Any]], data: Data
) -> None:
    notes("branch", "other")
    notes("rm", "notes/timeouts.md")
    notes("commit", "-m", "gone")
    assert data("switch", "other")["former_files"] == ["notes/timeouts.md"]
    assert folder() == {"deleted": ["notes/timeouts.md"]}
    assert data("switch", "main")["former_files"] == []
    assert folder() == {}


def test_a_removed_file_that_is_written_again_is_new(
    notes: Run, folder: Callable[[], dict[str, Any]], tmp_path: Path
) -> None:
    notes("rm", "notes/timeouts.md")
    notes("commit", "-m", "gone")
    write(tmp_path / "notes" / "timeouts.md", "# Timeouts\n\nfrom the beginning\n")
    assert folder() == {"new": ["notes/timeouts.md"]}
    notes("undo")
    assert folder() == {"modified": ["notes/timeouts.md"]}


def test_a_document_that_a_revert_brings_back_is_newer_than_its_missing_file(
    notes: Run, folder: Callable[[], dict[str, Any]]
) -> None:
    notes("rm", "notes/timeouts.md")
    notes("commit", "-m", "gone")
    notes("revert", "main")
    assert folder() == {"behind": ["notes/timeouts.md"]}
