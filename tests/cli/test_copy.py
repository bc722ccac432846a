"""Export, import, clone, fetch, pull, push, remote and serve, as they are typed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import ibidem

from .conftest import TIMEOUTS, Run

SOURCE = Path(__file__).resolve().parents[2] / "src"


def summaries(path: Path) -> set[str]:
    with ibidem.open(path) as repository:
        return {node.summary or "" for node in repository.at().nodes()}


def test_a_clone_pulls_and_pushes(notes: Run, tmp_path: Path):
    told = notes("clone", ".", "copy").stdout.splitlines()
    assert told[0] == f"created a repository in {tmp_path / 'copy' / '.ibidem'}"
    assert told[1].startswith("heads/main ")
    notes("node", "add", "Note", "--summary", "from the copy", "-R", "copy")
    notes("commit", "-m", "new", "-R", "copy")
    assert "forwarded" in notes("push", "-R", "copy").output
    assert "from the copy" in summaries(tmp_path)
    notes("node", "add", "Note", "--summary", "from here")
    notes("commit", "-m", "newer")
    notes("pull", "-R", "copy")
    assert summaries(tmp_path) == summaries(tmp_path / "copy")
    assert "nothing had to be copied" in notes("pull", "-R", "copy").output


def test_conflicts_of_a_pull_and_of_an_import_have_the_exit_code_of_a_merge(
    notes: Run, tmp_path: Path
):
    notes("clone", ".", "copy")
    page = tmp_path / "notes" / "timeouts.md"
    for text, folder in (("five", "."), ("nine", "copy")):
        page.write_text(TIMEOUTS.replace("thirty", text), encoding="utf-8")
        (tmp_path / "copy" / "notes").mkdir(exist_ok=True)
        (tmp_path / "copy" / "notes" / "timeouts.md").write_bytes(page.read_bytes())
        notes("commit", f"{folder}/notes/timeouts.md", "-m", text, "-R", folder)
    notes("export", "all.car")
    assert "1 conflict: repo status" in notes("pull", "-R", "copy", code=1).stderr
    notes("undo", "-R", "copy")
    assert "1 conflict: repo status" in notes("import", "all.car", "-R", "copy", code=1).stderr


def test_a_push_that_is_not_what_was_meant_says_what_would_be(notes: Run):
    notes("clone", ".", "copy")
    notes("branch", "feature", "-R", "copy")
    assert "repo push origin feature" in notes("push", "feature", "-R", "copy", code=3).stderr
    notes("push", "origin", "feature", "-R", "copy")
    told = notes("push", "--delete", "feature", "-R", "copy", code=11).stderr
    assert "deleting it there would lose bafy" in told
    notes("push", "--delete", "feature", "--force", "-R", "copy")


def test_a_file_that_is_no_export_is_said_to_be_none(notes: Run):
    for call in (
        ("import", "notes/retries.md", "--format", "car"),
        ("clone", "notes/retries.md", "copy"),
    ):
        assert "does not begin as a file of 'repo export'" in notes(*call, code=12).stderr
    unknown = notes("import", "notes/retries.md", code=2).stderr
    assert "unknown format, expected one of car, ndjson" in unknown
    for call in (("export", "x", "--format", "zip"), ("import", "x", "--format", "zip")):
        assert "hint: car" in notes(*call, code=2).stderr


def test_an_export_is_imported_elsewhere(notes: Run, tmp_path: Path):
    notes("export", "all.car")
    assert "exists" in notes("export", "all.car", code=2).output
    notes("init", "elsewhere")
    notes("import", "all.car", "-R", "elsewhere")
    assert summaries(tmp_path) == summaries(tmp_path / "elsewhere")


def test_the_same_state_gives_the_same_bytes(notes: Run, tmp_path: Path):
    data = notes("export", "-").stdout_bytes
    assert data == notes("export", "-").stdout_bytes
    notes("clone", ".", "copy")
    assert notes("export", "-", "-R", "copy").stdout_bytes == data
    notes("init", "elsewhere")
    notes("import", "-", "-R", "elsewhere", stdin=data)
    assert summaries(tmp_path) == summaries(tmp_path / "elsewhere")


def test_a_part_by_label_has_nothing_of_the_rest(notes: Run, tmp_path: Path):
    notes("node", "add", "Fact", "--summary", "a fact")
    notes("commit", "-m", "fact")
    notes("export", "facts.car", "--label", "Fact")
    assert b"deadline" not in (tmp_path / "facts.car").read_bytes()
    notes("clone", "facts.car", "facts")
    assert summaries(tmp_path / "facts") == {"a fact"}


def test_a_part_as_a_caller_sees_it_has_nothing_of_the_rest(notes: Run, tmp_path: Path):
    notes("trust", "enable")
    notes("node", "add", "Fact", "--summary", "open to all", "--prop", "level=0")
    notes("node", "add", "Fact", "--summary", "for few", "--prop", "level=4")
    notes("commit", "-m", "facts")
    notes("export", "open.car", "--for", "public")
    assert b"open to all" in (tmp_path / "open.car").read_bytes()
    assert b"for few" not in (tmp_path / "open.car").read_bytes()


def test_options_that_do_not_go_together_are_refused(notes: Run):
    notes("export", "x.car", "--label", "Fact", "--full", code=2)
    notes("export", "x.car", "--at", "main~1", code=2)
    notes("export", "x.car", "--full", "--since", "HEAD", code=2)
    notes("push", "origin", "--expect", "main", code=2)
    notes("clone", ".", "notes", code=0)
    notes("clone", "notes", code=2)


def test_remotes_are_listed_added_and_removed(notes: Run):
    notes("remote", "add", "team", "https://notes.example.org")
    notes("remote", "add", "team", "/elsewhere", code=2)
    notes("remote", "add", "bad/name", "/elsewhere", code=2)
    notes("remote", "add", "secret", "https://me:pass@notes.example.org", code=2)
    assert "https://notes.example.org" in notes("remote", "list").output
    notes("remote", "fetch", "team", code=2)
    notes("remote", "remove", "team")
    notes("remote", "fetch", "team", code=3)


def test_serve_answers_a_clone_until_it_is_interrupted(notes: Run, tmp_path: Path):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "ibidem", "serve", "--remote", "--port", "0"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        # A background job of a shell ignores the signal, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as server:
        assert server.stdout is not None
        try:
            url = server.stdout.readline().split()[0]
            token_file = tmp_path / ".ibidem" / "local" / "serve-token"
            assert token_file.stat().st_mode & 0o077 == 0
            shown = notes("clone", url, "copy", "--token-file", str(token_file), "--json")
            assert json.loads(shown.stdout_bytes)["block_count"] > 5
            notes("clone", url, "other", code=2)
            token_file.write_text("a wrong token of some length\n")
            notes("remote", "fetch", "-R", "copy", code=16)
        finally:
            server.send_signal(signal.SIGINT)
            try:
                assert server.wait(120) == 130
            finally:
                server.kill()
    assert summaries(tmp_path) == summaries(tmp_path / "copy")
    notes("remote", "fetch", "-R", "copy", code=16)
