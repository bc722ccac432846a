"""Documents by their paths: cat, checkout, rm, mv, and differences as text."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import ibidem
from ibidem.cli.main import cli
from ibidem.cli.render.text_diff import diff_lines, unified
from ibidem.ingest.draft import document_id
from ibidem.ingest.ingest import ingest_text
from ibidem.objects.child import Child
from ibidem.objects.cid import Cid
from ibidem.repo.history.documents import DocumentChange
from ibidem.store.lmdb.store import LmdbStore

from .conftest import RETRIES, TIMEOUTS, Run

Data = Callable[..., dict[str, Any]]


@pytest.fixture
def edited(notes: Run, tmp_path: Path) -> Run:
    """One edit of `retries.md` after the first commit."""
    page = tmp_path / "notes" / "retries.md"
    page.write_text(RETRIES.replace("one second", "ten seconds"), encoding="utf-8")
    notes("commit", ".", "-m", "ten")
    return notes


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no line feed",
        b"\xef\xbb\xbf# Mark\r\n\r\nand windows\r\n",
        "# Ümlaut\n\n\u2028line\x1b[2J\n".encode(),
        b"---\ntitle: x\n---\n\n\n# A\n\ntext\n\n\n",
    ],
)
def test_cat_prints_text_byte_for_byte(notes: Run, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "odd.md").write_bytes(data)
    notes("commit", "odd.md", "-m", "odd")
    (tmp_path / "odd.md").write_bytes(b"later\n")
    notes("commit", "odd.md", "-m", "later")
    assert notes("cat", "odd.md", "--at", "main~1").stdout_bytes == data
    notes("checkout", "odd.md", "--at", "main~1")
    assert (tmp_path / "odd.md").read_bytes() == data


def test_cat_of_an_extracted_document_says_so(notes: Run, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>Hello <b>you</b></p>", encoding="utf-8")
    notes("commit", "page.html", "-m", "page")
    found = notes("cat", "page.html")
    assert found.stdout == "Hello you"
    assert "extracted" in found.stderr
    (tmp_path / "page.html").unlink()
    assert "only extracted text" in notes("checkout", "page.html", code=2).stderr
    told = notes("checkout", ".").stderr
    assert "left out: 1 file, of which only the extracted text is stored" in told
    (tmp_path / "page.html").write_text("<p>another</p>", encoding="utf-8")
    told = notes("checkout", ".", code=1).stderr
    assert "only extracted text" in told
    assert told.count("hint: copy such files from where they were committed") == 1


def test_checkout_leaves_the_unchanged_file_of_an_extracted_document(
    notes: Run, data: Data, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p>Hello</p>", encoding="utf-8")
    notes("commit", ".", "-m", "page")
    assert data("checkout", ".")["unchanged_count"] == 3
    assert data("checkout", "page.html")["unchanged_count"] == 1
    page.write_text("<p>Bye</p>", encoding="utf-8")
    assert [each["path"] for each in data("checkout", ".", code=1)["errors"]] == ["page.html"]
    assert page.read_text(encoding="utf-8") == "<p>Bye</p>"


def test_a_document_that_checkout_cannot_restore_does_not_count_as_deleted(
    notes: Run, data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page.html").write_text("<p>Hello</p>", encoding="utf-8")
    notes("commit", ".", "-m", "page")
    copy = tmp_path / "copy"
    notes("clone", str(tmp_path), str(copy))
    monkeypatch.chdir(copy)
    taken = data("checkout", ".")
    assert (taken["left_out"], taken["errors"]) == (["page.html"], [])
    assert data("status")["folder"]["deleted"] == []
    notes("switch", "-c", "other")
    notes("node", "add", "Note", "--summary", "there")
    notes("commit", ".", "-m", "a note")
    notes("undo")
    assert data("commit", ".", "-m", "the folder")["commit"] is None
    assert notes("cat", "page.html").stdout == "Hello"


def test_paths_are_relative_to_where_the_command_runs(
    notes: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path / "notes")
    assert notes("cat", "retries.md").stdout == RETRIES
    monkeypatch.chdir(tmp_path.parent)
    assert notes("cat", "notes/retries.md", "-R", str(tmp_path)).stdout == RETRIES
    assert "expected a document" in notes("cat", "x.md", "-R", str(tmp_path), code=3).stderr


def test_a_restricted_viewer_sees_documents_and_changes_none(
    notes: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes("trust", "enable", "--default-level", "low")
    assert notes("cat", "notes/timeouts.md", "--viewer", "low").stdout == TIMEOUTS
    hidden = notes("cat", "notes/timeouts.md", "--viewer", "public", code=3).stderr
    missing = notes("cat", "notes/missing.md", "--viewer", "public", code=3).stderr
    assert hidden.replace("timeouts", "missing") == missing
    monkeypatch.setenv("IBIDEM_VIEWER", "low")
    for command in (["checkout", "."], ["rm", "x"], ["mv", "x", "y"], ["status"], ["diff"]):
        assert "is refused" in notes(*command, code=2).stderr


def test_checkout_restores_deleted_and_older_files(edited: Run, data: Data, tmp_path: Path) -> None:
    page = tmp_path / "notes" / "retries.md"
    page.unlink()
    (tmp_path / "notes" / "timeouts.md").unlink()
    assert data("checkout", "notes")["restored"] == ["notes/retries.md", "notes/timeouts.md"]
    assert (tmp_path / "notes" / "timeouts.md").read_text(encoding="utf-8") == TIMEOUTS
    assert data("status")["folder"]["modified"] == []
    assert data("checkout", ".") == {
        "schema": "ibidem/checkout/1",
        "restored": [],
        "unchanged_count": 2,
        "left_out": [],
        "errors": [],
    }
    edited("checkout", "notes/retries.md", "--at", "main~1")
    assert page.read_text(encoding="utf-8") == RETRIES
    assert data("status")["folder"]["modified"] == ["notes/retries.md"]
    assert data("commit", ".")["ingested"]["documents"]["changed"] == 1


def test_checkout_reads_documents_in_batches(
    notes: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        text = f"# Note {number}\n\nNumber {number}.\n\n## More\n\nAnd more of {number}.\n"
        (tmp_path / "notes" / f"{number}.md").write_text(text)
    notes("commit", ".", "-m", "many")
    with ibidem.open(tmp_path) as repo, repo.transaction() as tx:
        tx.tombstone(document_id("notes/7.md"))
    notes("clone", ".", "copy")
    reads: list[object] = []
    get = LmdbStore.get

    def counted(store: LmdbStore, cid: Cid) -> bytes:
        reads.append(cid)
        return get(store, cid)

    monkeypatch.setattr(LmdbStore, "get", counted)
    monkeypatch.chdir(tmp_path / "copy")
    assert "41 files restored" in notes("checkout", ".").stdout
    assert len(reads) < 80  # one by one, nodes and trees were 784
    for file in (tmp_path / "notes").iterdir():
        if file.name != "7.md":
            assert (tmp_path / "copy" / "notes" / file.name).read_bytes() == file.read_bytes()


def test_checkout_does_not_overwrite_changes(edited: Run, data: Data, tmp_path: Path) -> None:
    page = tmp_path / "notes" / "retries.md"
    page.write_text("mine\n", encoding="utf-8")
    assert "was changed" in edited("checkout", "notes/retries.md", code=11).stderr
    (error,) = data("checkout", ".", "--at", "main~1", code=1)["errors"]
    assert error["path"] == "notes/retries.md"
    assert page.read_text(encoding="utf-8") == "mine\n"
    edited("checkout", "notes/retries.md", "--force")
    assert "ten seconds" in page.read_text(encoding="utf-8")
    assert "expected a document" in edited("checkout", "nothing.md", code=3).stderr


@pytest.mark.parametrize(
    "path",
    [".git/hooks/pre-commit", "a/.ibidem/format", "link/x.md", "target.md", "folder", "pipe"],
)
def test_checkout_writes_nothing_to_hidden_or_linked_places(
    run: Run, tmp_path: Path, path: str
) -> None:
    run("init")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "target.md").symlink_to(tmp_path / "elsewhere" / "target.md")
    with ibidem.open(tmp_path) as repository, repository.transaction() as tx:
        ingest_text(tx, "evil\n", path=path)
    run("checkout", path, "--force", code=2)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert not (tmp_path / ".git").exists()


def test_rm_removes_the_document_and_its_file(edited: Run, data: Data, tmp_path: Path) -> None:
    page = tmp_path / "notes" / "retries.md"
    assert "--recursive" in edited("rm", "notes", code=2).stderr
    found = data("rm", "notes/retries.md")
    assert (found["deleted"], found["file_count"]) == (["notes/retries.md"], 1)
    assert not page.exists()
    edited("undo", "--staged")
    edited("checkout", "notes/retries.md")
    page.write_text("mine\n", encoding="utf-8")
    edited("rm", "notes/retries.md", code=11)
    assert data("rm", "notes/retries.md", "--cached")["file_count"] == 0
    assert page.exists()
    assert data("rm", "-r", ".", "--force")["deleted"] == ["notes/timeouts.md"]
    edited("commit", "-m", "none")
    assert data("query", "--label", "Document", "--count")["count"] == 0
    assert data("status")["folder"]["new"] == ["notes/retries.md"]


def test_mv_renames_and_stages(edited: Run, data: Data, tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    found = data("mv", "notes/retries.md", "archive")
    assert found["after"] == "archive/retries.md"
    assert (tmp_path / "archive" / "retries.md").exists()
    assert not (tmp_path / "notes" / "retries.md").exists()
    edited("commit", "-m", "moved")
    status = data("status")["folder"]
    assert (status["new"], status["deleted"]) == ([], [])
    messages = [each["message"] for each in data("log", "--path", "archive/retries.md")["commits"]]
    assert messages == ["moved", "ten", "notes on failure"]


def test_a_refused_mv_changes_nothing(edited: Run, tmp_path: Path) -> None:
    def files() -> list[str]:
        return sorted(each.name for each in (tmp_path / "notes").iterdir())

    before = files()
    edited("mv", "notes/retries.md", "notes/timeouts.md", code=2)
    edited("mv", "notes/retries.md", "notes/secrets.key", code=2)
    edited("mv", "notes", "other", code=2)
    edited("mv", "notes/nothing.md", "x.md", code=3)
    assert files() == before
    assert "nothing is staged" in edited("status").stdout


@pytest.fixture
def hidden(notes: Run, data: Data) -> str:
    """The id of a hidden passage of `timeouts.md`."""
    found = [each["id"] for each in data("query", "--label", "Passage")["nodes"]]
    (one,) = (id_ for id_ in found if "deadline" in notes("show", id_, "--text").stdout)
    notes("node", "tombstone", one)
    notes("commit", "-m", "hide")
    return str(one)


def _move(notes: Run, _: Path) -> None:
    notes("mv", "notes/timeouts.md", "deadlines.md")
    notes("commit", "-m", "moved")


def _move_file(notes: Run, folder: Path) -> None:
    (folder / "notes" / "timeouts.md").rename(folder / "deadlines.md")
    notes("commit", ".", "-m", "moved")


def _move_and_edit(notes: Run, folder: Path) -> None:
    page = (folder / "notes" / "timeouts.md").rename(folder / "deadlines.md")
    page.write_text(f"{TIMEOUTS}\nMore of it.\n", encoding="utf-8")
    notes("commit", ".", "-m", "moved")


def _move_folder(notes: Run, folder: Path) -> None:
    (folder / "notes").rename(folder / "papers")
    notes("commit", ".", "-m", "moved")


@pytest.mark.parametrize("move", [_move, _move_file, _move_and_edit, _move_folder])
@pytest.mark.usefixtures("hidden")
def test_a_renaming_shows_no_hidden_passage_and_leaves_no_duplicate(
    notes: Run, data: Data, tmp_path: Path, move: Callable[[Run, Path], None]
) -> None:
    move(notes, tmp_path)
    assert data("query", "--label", "Document", "--count")["count"] == 2
    for again in (False, True):
        if again:
            (tmp_path / "notes").mkdir(exist_ok=True)
            (tmp_path / "notes" / "timeouts.md").write_text(TIMEOUTS, encoding="utf-8")
            notes("commit", ".", "-m", "again")
        assert "thirty" not in notes("retrieve", "deadline of thirty seconds").stdout
        assert not any(data("status")["folder"].values())


@pytest.mark.usefixtures("hidden")
def test_rm_removes_a_document_with_a_hidden_passage(notes: Run, data: Data) -> None:
    assert data("rm", "notes/timeouts.md")["deleted"] == ["notes/timeouts.md"]
    notes("commit", "-m", "removed")
    assert data("query", "--label", "Document", "--count")["count"] == 1
    notes("fsck")


def test_diff_shows_text_by_path(edited: Run, data: Data, tmp_path: Path) -> None:
    expected = [
        "--- a/notes/retries.md",
        "+++ b/notes/retries.md",
        "@@ -2,7 +2,7 @@",
        " ",
        " ## Backoff",
        " ",
        "-A failed request is tried again after one second, then two, then four.",
        "+A failed request is tried again after ten seconds, then two, then four.",
        " ",
        " ## Idempotency",
        " ",
        "1 document changed",
    ]
    assert edited("diff", "HEAD~1").stdout.splitlines() == expected
    assert edited("diff", "HEAD~1", "HEAD", "notes/timeouts.md").stdout == "no difference\n"
    assert edited("diff", "HEAD~1", "notes").stdout.splitlines() == expected
    (tmp_path / "notes" / "retries.md").unlink()
    (tmp_path / "notes" / "new.md").write_text("new\n", encoding="utf-8")
    found = {each["path"]: each["action"] for each in data("diff")["documents"]}
    assert found == {"notes/new.md": "added", "notes/retries.md": "removed"}
    edited("diff", "notes/timeouts.md", "--exit-code")
    edited("diff", "notes/new.md", "--exit-code", code=1)
    assert "no branch, tag or commit" in edited("diff", "nothing", code=3).stderr


def test_diff_shows_a_rename_as_one(edited: Run, data: Data, tmp_path: Path) -> None:
    (tmp_path / "notes" / "retries.md").rename(tmp_path / "notes" / "again.md")
    pair = "renamed notes/retries.md -> notes/again.md"
    assert edited("diff").stdout.splitlines() == [pair, "1 document changed"]
    edited("commit", ".", "-m", "moved")
    assert edited("diff", "HEAD~1").stdout.splitlines() == [pair, "1 document changed"]
    back = "renamed notes/again.md -> notes/retries.md"
    assert edited("diff", "HEAD", "HEAD~1").stdout.splitlines()[0] == back
    assert data("diff", "HEAD~1")["documents"] == [
        {
            "path": "notes/again.md",
            "former": "notes/retries.md",
            "action": "renamed",
            "lines": [],
        }
    ]
    edited("mv", "notes/again.md", "third.md")
    (tmp_path / "third.md").write_text("# Retries\n\nNo more.\n", encoding="utf-8")
    for shown in (edited("diff"), edited("commit", ".", "-m", "b") and edited("diff", "HEAD~1")):
        lines = shown.stdout.splitlines()
        assert lines[:3] == [
            "renamed notes/again.md -> third.md",
            "--- a/notes/again.md",
            "+++ b/third.md",
        ]
        assert "+No more." in lines
        assert "--- /dev/null" not in lines
    whole = edited("diff", "HEAD~3", "HEAD", "notes/retries.md").stdout
    assert whole.startswith("renamed notes/retries.md -> third.md\n")
    assert "notes/timeouts.md" not in edited("diff", "HEAD~3", "HEAD").stdout


def test_a_file_in_the_place_of_a_removed_one_is_no_rename(edited: Run, tmp_path: Path) -> None:
    edited("rm", "notes/timeouts.md")
    (tmp_path / "notes" / "retries.md").rename(tmp_path / "notes" / "timeouts.md")
    uncommitted = edited("diff").stdout
    assert "+++ b/notes/timeouts.md" in uncommitted
    edited("commit", ".", "-m", "moved")
    assert edited("diff", "HEAD~1").stdout == uncommitted
    assert "--- a/notes/retries.md\n+++ /dev/null" in uncommitted


def test_a_document_that_came_as_another_went_is_no_rename(edited: Run, tmp_path: Path) -> None:
    (tmp_path / "notes" / "retries.md").unlink()
    (tmp_path / "other.md").write_text("# Other\n\nSomething else.\n", encoding="utf-8")
    edited("commit", ".", "-m", "another")
    shown = edited("diff", "HEAD~1").stdout
    assert "renamed" not in shown
    assert "2 documents changed" in shown


def test_documents_with_erased_parts_are_named(edited: Run, data: Data) -> None:
    found = data("query", "--label", "Passage")["nodes"]
    (one,) = (each["id"] for each in found if "ten seconds" in each["summary"])
    edited("erase", one, "--yes")
    (page,) = data("diff", "HEAD~2", "HEAD~1")["documents"]
    assert (page["path"], page["action"], page["lines"]) == ("notes/retries.md", "changed", [])
    assert "a part was erased" in edited("diff", "HEAD~2", "HEAD~1").stdout
    assert "a part was erased" in edited("diff", "notes/retries.md").stdout
    edited("cat", "notes/retries.md", code=3)
    assert data("status")["folder"]["modified"] == ["notes/retries.md"]


def test_the_text_around_a_hidden_passage_is_not_shown(
    notes: Run, data: Data, tmp_path: Path, hidden: str
) -> None:
    way_out = f"'repo node untombstone {hidden}'"
    page = tmp_path / "notes" / "timeouts.md"
    page.unlink()
    for command in ("cat", "checkout"):
        shown = notes(command, "notes/timeouts.md", code=3)
        assert f"notes/timeouts.md: node {hidden} was forgotten" in shown.stderr
        assert way_out in shown.stderr
    page.write_text(TIMEOUTS.replace("thirty", "forty"), encoding="utf-8")
    uncommitted = notes("diff").stdout
    (changed,) = data("diff")["documents"]
    assert (changed["path"], changed["lines"]) == ("notes/timeouts.md", [])
    notes("commit", ".", "-m", "forty")
    for shown in (uncommitted, notes("diff", "HEAD~1").stdout, notes("diff", "HEAD~2").stdout):
        assert f"notes/timeouts.md: node {hidden} of it was forgotten" in shown
        assert way_out in shown
        assert "deadline" not in shown
    notes("cat", "notes/timeouts.md")


def test_diff_says_which_text_is_not_known_yet(notes: Run, data: Data, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>Hello</p>", encoding="utf-8")
    assert data("diff")["extracted"] == ["page.html"]
    assert "extracted when it is committed" in notes("diff").stdout


def test_changed_words_are_highlighted(edited: Run) -> None:
    shown = edited("diff", "HEAD~1", "--color", "always").stdout
    assert "\x1b[7;31mone\x1b[0m" in shown
    assert "\x1b[7;32mten\x1b[0m" in shown


TEXT = st.text(st.sampled_from("ab \n\r\u2028ü"), max_size=30)


@given(TEXT, TEXT)
def test_a_unified_diff_is_a_patch(before: str, after: str) -> None:
    if before == after:
        return
    lines = unified(DocumentChange("x", before, after))
    assert _patched(before, lines) == after
    assert len(list(diff_lines(DocumentChange("x", before, after)))) == len(lines)


def _patched(text: str, lines: list[str]) -> str:
    """Applies a unified diff, as `patch` does."""
    old = text.split("\n")
    found: list[str] = []
    at, newline = 0, True
    is_touched = False
    for index, line in enumerate(lines[2:], start=2):
        if line.startswith("@@"):
            start = int(line.split()[1].split(",")[0].lstrip("-"))
            count = int(line.split()[1].partition(",")[2] or 1)
            begin = start - 1 if count else start
            found += old[at:begin]
            at = begin
            continue
        follows = lines[index + 1 : index + 2] == ["\\ No newline at end of file"]
        if line[0] in " +":
            found.append(line[1:])
            newline = not follows
            is_touched = True
        if line[0] in " -":
            assert old[at] == line[1:]
            at += 1
    rest = old[at:]
    if rest and (rest != [""] or not is_touched):
        return "\n".join([*found, *rest])
    return "\n".join(found) + ("\n" if newline and found else "")


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["diff", "HEAD~1"], "ten"),
        pytest.param(["log"], "ten", marks=pytest.mark.slow),
        pytest.param(["query"], "Passage", marks=pytest.mark.slow),
        (["ask", "timeout deadline"], "a deadline"),
        pytest.param(["packs", "timeout deadline"], "a deadline", marks=pytest.mark.slow),
    ],
    ids=["diff", "log", "query", "ask", "packs"],
)
def test_a_pager_is_used_on_a_terminal(
    edited: Run, tmp_path: Path, command: list[str], shown: str
) -> None:
    script = (
        "import pty, sys, os; os.environ.update(PAGER='tee paged', TERM='xterm');"
        "sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
    )
    del edited
    import sys

    program = [sys.executable, "-m", "ibidem", *command]
    subprocess.run([sys.executable, "-c", script, *program], check=True, capture_output=True)
    assert shown in (tmp_path / "paged").read_text(encoding="utf-8")
    (tmp_path / "paged").unlink()
    program += ["--no-pager"]
    subprocess.run([sys.executable, "-c", script, *program], check=True, capture_output=True)
    assert not (tmp_path / "paged").exists()


def test_diff_of_a_repository_without_commits(run: Run, tmp_path: Path) -> None:
    run("init")
    (tmp_path / "a.md").write_text("a\n", encoding="utf-8")
    result = CliRunner().invoke(cli, ["diff"], prog_name="repo")
    assert "+a" in result.output


def test_a_range_of_revisions_is_refused_with_what_to_write_instead(edited: Run) -> None:
    for text in ("HEAD~1..HEAD", "main..HEAD"):
        said = edited("diff", text, code=2 if "~" in text else 3).stderr
        assert "two revisions are two arguments: repo diff A B" in said
    assert "two revisions" not in edited("diff", "../missing.md", code=3).stderr


def test_items_whose_score_alone_differs_are_counted(edited: Run, data: Data) -> None:
    edited("node", "add", "Note", "--summary", "a deadline of something else that is retried")
    edited("commit", "-m", "more")
    question = ("--query", "request deadline retried", "HEAD~1", "HEAD")
    kinds = [item["kind"] for item in data("diff", *question)["items"]]
    said = edited("diff", *question).stdout
    assert kinds.count("rescored") > 1
    assert f"{kinds.count('rescored')} items at the same rank with another score\n" in said
    assert "rescored" not in said.partition("\n\n")[0]
    assert "entered" in said


def test_blame_of_a_document_counts_its_parts(edited: Run) -> None:
    said = edited("blame", "notes/retries.md").stdout
    (line,) = (line for line in said.splitlines() if line.startswith("children"))
    assert line.endswith("  1 part")
    assert '"bytes"' not in said


def test_a_part_of_a_document_without_a_path_is_shown(notes: Run, tmp_path: Path) -> None:
    with ibidem.open(tmp_path) as repo, repo.transaction() as tx:
        part = tx.add_node("Passage", summary="of a document without a source")
        tx.add_node("Document", summary="made by a program", children=[Child(part, "", 4, 1)])
    shown = notes("show", str(part)).stdout
    assert "of a document without a source" in shown
    assert "source" in shown
