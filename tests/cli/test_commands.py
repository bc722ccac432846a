"""Each command does what its help says."""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import ibidem
from ibidem.ingest.ingest import ingest_text

Run = Callable[..., Result]
Data = Callable[..., dict[str, Any]]


BAD_LINES = '{"node": {"ntype": "Note", "summary": "x"}}\nnot a record\n'
COUNTS_ZERO = {"added": 0, "changed": 0, "removed": 0}


def test_the_repository_is_found_upwards_by_option_and_by_environment(
    notes: Run, data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    head = data("status")["head"]
    monkeypatch.chdir(tmp_path / "notes")
    assert data("status")["head"] == head
    monkeypatch.chdir("/")
    assert data("status", "-R", str(tmp_path))["head"] == head
    assert data("-R", str(tmp_path), "status")["head"] == head
    monkeypatch.setenv("IBIDEM_REPO", str(tmp_path))
    assert data("status")["head"] == head
    notes("status", "-R", str(tmp_path / "notes"), code=10)


def test_the_same_files_make_the_same_root_in_any_folder(notes: Run, data: Data, tmp_path: Path):
    other = tmp_path / "elsewhere"
    (other / "notes").mkdir(parents=True)
    for file in (tmp_path / "notes").iterdir():
        (other / "notes" / file.name).write_bytes(file.read_bytes())
    notes("init", str(other))
    notes("commit", str(other / "notes"), "-R", str(other), "-m", "notes on failure")
    assert data("log")["commits"] == data("log", "-R", str(other))["commits"]


def test_committing_the_same_again_makes_no_commit(notes: Run, data: Data):
    again = data("commit", "notes", "-m", "again")
    assert again["commit"] is None
    assert again["ingested"]["documents"] == {
        "added": 0,
        "changed": 0,
        "removed": 0,
        "unchanged": 2,
    }
    assert "nothing to commit" in notes("commit").stdout
    assert len(data("log")["commits"]) == 1


def test_a_commit_has_author_time_and_message(notes: Run, data: Data):
    (commit,) = data("log")["commits"]
    assert (commit["author"], commit["time"]) == ("ada", 1_767_225_600_000_000)
    assert commit["message"] == "notes on failure"
    notes("node", "add", "Note", "--summary", "x")
    assert data("commit", "--author", "bob")["commit"]["author"] == "bob"


def test_add_stages_and_commit_publishes(notes: Run, data: Data, tmp_path: Path):
    (tmp_path / "more.md").write_text("# More\n\nA third note.\n")
    notes("add", "more.md")
    assert data("status")["staged"]["nodes"]["added"] == 3
    assert data("query", "--where", "source=more.md")["nodes"] == []
    notes("commit", "-m", "more")
    assert data("status")["staged"]["nodes"] == COUNTS_ZERO
    assert len(data("query", "--where", "source=more.md")["nodes"]) == 1


def test_unstage_drops_what_is_staged(notes: Run, data: Data):
    notes("node", "add", "Note", "--summary", "x")
    assert data("undo", "--staged")["dropped"]["nodes"]["added"] == 1
    assert "nothing to commit" in notes("commit").stdout
    assert "nothing was staged" in notes("undo", "--staged").stdout


def test_prune_removes_documents_of_files_that_are_gone(notes: Run, data: Data, tmp_path: Path):
    with ibidem.open(tmp_path) as repository, repository.stage.transaction() as tx:
        ingest_text(tx, "from elsewhere", path="notes/elsewhere.md")
    (tmp_path / "notes" / "timeouts.md").unlink()
    assert data("add", "notes", "--ignore-removal")["missing"] == ["notes/timeouts.md"]
    assert data("add", "notes", "--prune")["documents"]["removed"] == 2
    notes("commit")
    assert len(data("query", "--label", "Document")["nodes"]) == 1


def test_prune_wants_paths_below_the_repository(
    notes: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    below = tmp_path / "below"
    notes("init", str(below))
    assert "--prune: got" in notes("add", "--prune", "notes", "-R", str(below), code=2).stderr


def test_one_bad_file_is_reported_and_the_rest_is_committed(notes: Run, data: Data, tmp_path: Path):
    (tmp_path / "notes" / "bad.ndjson").write_text(BAD_LINES)
    (tmp_path / "notes" / "good.md").write_text("# Good\n")
    result = data("commit", "notes", code=1)
    assert [error["path"] for error in result["ingested"]["errors"]] == ["notes/bad.ndjson"]
    assert result["ingested"]["documents"]["added"] == 1
    assert "failed: notes/bad.ndjson" in notes("commit", "notes", code=1).stderr


def test_strict_commits_nothing_when_one_file_is_bad(notes: Run, data: Data, tmp_path: Path):
    (tmp_path / "notes" / "bad.ndjson").write_text(BAD_LINES)
    (tmp_path / "notes" / "aaa.md").write_text("# Good\n")
    notes("commit", "notes", "--strict", code=2)
    assert len(data("log")["commits"]) == 1
    assert data("status")["staged"]["nodes"] == COUNTS_ZERO


def test_json_lines_come_from_standard_input(notes: Run, data: Data):
    lines = (
        b'{"node": {"name": "a", "ntype": "Person", "key": "ada", "summary": "Ada"}}\n'
        b'{"node": {"name": "b", "ntype": "Person", "key": "bob", "summary": "Bob"}}\n'
        b'{"edge": {"source": "a", "etype": "knows", "target": "b"}}\n'
    )
    report = data("add", "-", stdin=lines)
    assert (report["nodes"]["added"], report["edge_count"]) == (2, 1)
    notes("commit")
    assert [n["summary"] for n in data("query", "--label", "Person")["nodes"]] != []


def test_node_and_edge_are_staged_and_shown(notes: Run, data: Data):
    ada = notes("node", "add", "Person", "--key", "ada", "--prop", "born=1815").stdout.strip()
    bob = notes("node", "add", "Person", "--key", "bob", "--content", "bytes").stdout.strip()
    edge = notes(
        "edge", "add", ada, "knows", bob, "--weight", "0.5", "--prop", "since=1833"
    ).stdout.strip()
    notes("commit", "-m", "people")
    found = data("show", ada)
    assert found["value"]["props"] == {"born": 1815}
    assert found["value"]["key"] == {"key": "ada", "namespace": ""}
    assert found["location"] is None
    (shown,) = found["edges"]
    assert (shown["id"], shown["source"], shown["target"], shown["weight"]) == (edge, ada, bob, 0.5)
    assert notes("show", bob, "--content").stdout_bytes == b"bytes"
    assert f"<- knows {ada}" in notes("show", bob).stdout
    assert data("show", edge)["kind"] == "edge"
    assert data("show", found["value"]["cid"])["value"] == found["value"]
    notes("show", ada, "--at", "main~1", code=3)


def test_the_same_node_twice_is_one(notes: Run):
    first = notes("node", "add", "Note", "--summary", "x").stdout
    assert notes("node", "add", "Note", "--summary", "x").stdout == first
    notes("node", "add", "Note", "--key", "k", "--summary", "one")
    refused = notes("node", "add", "Note", "--key", "k", "--summary", "two", code=2)
    assert "--replace" in refused.stderr or "replace" in refused.stderr
    notes("node", "add", "Note", "--key", "k", "--summary", "two", "--replace")


def test_a_documents_text_is_given_back_byte_for_byte(notes: Run, data: Data, tmp_path: Path):
    for document in data("query", "--label", "Document")["nodes"]:
        source = (tmp_path / document["props"]["source"]).read_bytes()
        assert notes("show", document["id"], "--text").stdout_bytes == source
        for option in ("--text", "--content"):
            refused = notes("show", document["id"], option, "--json", code=2)
            assert "exclude --json" in refused.stderr + refused.stdout


def test_a_terminal_gets_a_text_without_what_steers_it(monkeypatch: pytest.MonkeyPatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    import_module("ibidem.cli.render.output").say_bytes("a\x1b[2J\u202eb\rc\nd".encode())
    shown = terminal.getvalue()
    assert shown.splitlines()[-1] == "d"
    assert not set("\x1b\r\u202e") & set(shown)


def test_log_show_and_diff_agree_on_an_edit(notes: Run, data: Data, tmp_path: Path):
    path = tmp_path / "notes" / "timeouts.md"
    path.write_text(path.read_text().replace("thirty", "ten"))
    commit = data("commit", "notes", "-m", "shorter")["commit"]["cid"]
    assert [c["message"] for c in data("log")["commits"]] == ["shorter", "notes on failure"]
    assert [c["message"] for c in data("log", "--at", "main~1")["commits"]] == ["notes on failure"]
    assert len(data("log", "-n", "1")["commits"]) == 1
    shown = data("show", commit)["value"]
    difference = data("diff", "main~1")
    assert shown["counts"] == difference["counts"] == data("diff", "main~1", commit)["counts"]
    assert difference["counts"]["nodes"]["added"] == 1
    assert difference["counts"]["nodes"]["removed"] == 1
    assert data("diff", "main", "main~1")["counts"]["nodes"]["removed"] == 1
    notes("diff", "main~1", "--exit-code", code=1)
    notes("diff", "main", "--exit-code")
    assert commit[:12] in notes("log", "--oneline").stdout
    first, author, time, empty, subject = notes("log", "-n", "1").stdout.splitlines()
    assert (first, empty) == (f"commit {commit}", "")
    assert (author.split()[0], time.split()[0], subject[:2]) == ("author", "time", "  ")
    assert "no difference" in notes("diff").stdout


def test_branches_tags_and_switching(notes: Run, data: Data):
    notes("branch", "experiment")
    notes("switch", "experiment")
    notes("node", "add", "Note", "--summary", "x")
    notes("commit", "-m", "on experiment")
    listed = data("branch")
    assert listed["current"] == "experiment"
    assert [branch["name"] for branch in listed["branches"]] == ["experiment", "main"]
    notes("tag", "first", "--at", "main")
    notes("tag", "first", "--at", "experiment", code=2)
    assert data("tag")["tags"] == [{"name": "first", "target": listed["branches"][1]["target"]}]
    notes("switch", "main")
    assert len(data("log")["commits"]) == 1
    assert len(data("log", "--at", "experiment")["commits"]) == 2
    notes("branch", "-d", "experiment")
    notes("tag", "-d", "first")
    assert [branch["name"] for branch in data("branch")["branches"]] == ["main"]
    notes("switch", "-c", "other")
    assert data("status")["branch"] == "other"


def test_undo_says_what_stays_staged_and_a_commit_of_it_how_to_go_on(run: Run, data: Data):
    run("init")
    run("node", "add", "Note", "--summary", "one", "--key", "one")
    run("commit", "-m", "one")
    head = data("status")["head"]
    assert "still staged" not in run("undo").stderr
    run("redo")
    run("node", "add", "Note", "--summary", "two", "--key", "two")
    assert "still staged: 1 node added" in run("undo").stderr
    refused = run("commit", "-m", "two", code=11).stderr
    assert "the branch has no commit any more" in refused
    assert "'repo redo'" in refused
    assert "'repo undo --staged'" in refused
    assert f"'repo branch main --at {head}'" in refused
    assert "still staged: 1 node added" in run("redo").stderr
    run("undo")
    run("branch", "main", "--at", head)
    run("commit", "-m", "two")


def test_undo_and_redo_move_the_head(notes: Run, data: Data):
    notes("node", "add", "Note", "--summary", "x")
    notes("commit")
    after = data("status")["head"]
    notes("undo")
    assert data("status")["head"] == data("log", "--at", "main")["commits"][0]["cid"] != after
    notes("redo")
    assert data("status")["head"] == after
    notes("redo", code=2)


def test_stored_text_cannot_steer_the_terminal(notes: Run, data: Data):
    evil = "red\x1b[31m and \u202eback"
    node = notes("node", "add", "Note", "--summary", evil, "--prop", f"x={evil}").stdout.strip()
    notes("commit", "-m", evil)
    for arguments in (
        ["show", node],
        ["log"],
        ["show"],
        ["retrieve", "red"],
        ["query"],
        ["show", node],
    ):
        shown = notes(*arguments).output
        assert "\x1b" not in shown
        assert "\u202e" not in shown
    assert data("show", node)["value"]["summary"] == evil


def test_stats_count_what_is_there(notes: Run, data: Data):
    stats = data("index", "stats")
    assert stats["node_count"] == len(data("query")["nodes"])
    assert stats["labels"]["Document"] == 2
    assert stats["blocks"]["count"] > stats["node_count"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program(run: Run, shell: str):
    script = run("completion", shell).stdout
    assert "_REPO_COMPLETE" in script


def test_progress_and_notes_stay_out_of_a_pipe(notes: Run):
    result = notes("commit", "notes")
    assert "ingesting" not in result.output


def test_an_empty_repository_can_be_looked_at(run: Run, data: Data):
    run("init")
    assert data("status")["head"] is None
    assert data("log")["commits"] == []
    assert data("index", "stats")["node_count"] == 0
    assert data("query")["nodes"] == []
    assert data("diff")["changes"] == []
    assert data("retrieve", "anything")["items"] == []
    assert data("branch") == {"schema": "ibidem/branch-list/1", "current": "main", "branches": []}
    assert data("doctor", "--full")["is_ok"] is True
    assert "no commit yet" in run("branch").stdout
    run("index", "build")
    run("show", code=3)
    run("undo", code=2)
    for arguments in (["status"], ["log"], ["index", "stats"], ["query"], ["diff"], ["tag"]):
        run(*arguments)


def test_an_answer_without_items_says_why(notes: Run):
    assert "nothing matches" in notes("retrieve", "zygote").stderr
    assert "nothing fits" in notes("retrieve", "request", "--budget", "1").stderr


@pytest.mark.parametrize(
    ("typed", "proposed"),
    [
        ("repo log --at mai", ["plain,main", "plain,maintained"]),
        ("repo query --label P", ["plain,Passage"]),
        ("repo log --label D", ["plain,Document"]),
        ("repo ask x --label Sec", ["plain,Section"]),
        ("repo ask x --model m", []),
    ],
)
def test_names_of_the_repository_complete(
    notes: Run, monkeypatch: pytest.MonkeyPatch, typed: str, proposed: list[str]
):
    notes("tag", "maintained")
    monkeypatch.setenv("_REPO_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    assert notes().stdout.split() == proposed


@pytest.mark.parametrize(
    ("viewer", "proposed"),
    [
        ("", []),
        ("low", ["plain,Open"]),
        ("high", ["plain,Document", "plain,Open", "plain,Passage", "plain,Section"]),
        ("all", ["plain,Document", "plain,Open", "plain,Passage", "plain,Section"]),
    ],
)
def test_only_labels_that_the_caller_sees_complete(
    run: Run, monkeypatch: pytest.MonkeyPatch, viewer: str, proposed: list[str]
):
    run("init")
    run("trust", "enable")
    run("node", "add", "Open", "--summary", "a gate")
    Path("keys.md").write_text("---\nlevel: 3\n---\n# Keys\n\nThe spare key.\n", "utf-8")
    run("commit", ".", "-m", "the keys")
    monkeypatch.setenv("_REPO_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"repo query --viewer {viewer} --label ".replace("  ", " x "))
    monkeypatch.setenv("COMP_CWORD", "5")
    assert run().stdout.split() == proposed


def test_a_thread_that_is_not_there_is_said_by_its_name(notes: Run):
    for command in ("show", "clear"):
        told = notes("thread", command, "nope", code=3).stderr
        assert "thread 'nope' does not exist" in told
        assert "repo thread list" in told
    assert "no message selected" in notes("thread", "select", "nope").stderr


def test_nodes_and_edges_go_and_are_hidden_all_or_none(notes: Run, data: Data):
    one, two = (data("node", "add", "Fact", "--summary", text)["id"] for text in ("mill", "store"))
    edge = data("edge", "add", one, "feeds", two)["id"]
    notes("commit", "-m", "facts")
    notes("node", "remove", one, "00" * 16, code=3)
    assert "nothing is staged" in notes("status").stdout
    assert "1 edge to be removed" in notes("edge", "remove", edge).stdout
    assert "1 node to be hidden" in notes("node", "tombstone", one, "--reason", "wrong").stdout
    notes("commit", "-m", "hidden")
    notes("show", edge, code=3)
    assert "was forgotten: wrong" in notes("show", one, code=3).stderr
    assert data("show", one, "--at", "HEAD~1")["value"]["id"] == one
    notes("node", "remove", one, code=2)
    notes("node", "untombstone", one)
    notes("node", "untombstone", two, code=3)
    notes("commit", "-m", "seen")
    notes("show", one)
    assert "2 nodes to be removed" in notes("node", "remove", one, two).stdout
    notes("commit", "-m", "gone")
    assert data("query", "--label", "Fact", "--count")["count"] == 0


def test_what_lies_outside_is_told_how_it_is_named(notes: Run, tmp_path: Path):
    outside = tmp_path.parent / f"{tmp_path.name} outside"
    outside.mkdir()
    (outside / "page.txt").write_text("one", encoding="utf-8")
    assert "named by their path below it" in notes("add", str(outside)).stderr
    assert "named by its name alone" in notes("add", str(outside / "page.txt")).stderr
    assert "outside" not in notes("add", "notes").stderr


def test_a_branch_without_commits_has_no_head(run: Run, data: Data):
    run("init")
    run("node", "add", "Note", "--summary", "a")
    run("commit", "-m", "first")
    assert data("undo")["head"] is None
    assert data("switch", "main")["head"] is None
    assert "head is unset" in run("switch", "main").stdout
    assert "head is unset" in run("status").stdout
    run("redo")
    assert "head is unset" in run("undo").stdout


def test_a_node_is_named_by_the_beginning_of_its_id(notes: Run, data: Data):
    found = data("query", "--label", "Section", "--limit", "1")["nodes"][0]["id"]
    assert data("show", found[:8])["value"]["id"] == found
    assert data("blame", found[:8])["id"] == found
    assert data("edge", "traverse", found[:8], "--path", "both:*")["paths"] == []
    assert "expected 4 to 32" in notes("blame", "abc", code=2).stderr
    assert "begins 'ffff'" in notes("show", "ffff", code=3).stderr


def test_the_edges_of_a_node_are_shown_in_pages(notes: Run, data: Data):
    lines = ['{"node": {"name": "hub", "ntype": "Hub", "key": "hub"}}']
    for number in range(250):
        lines.append(f'{{"node": {{"name": "{number}", "ntype": "Leaf", "key": "{number}"}}}}')
        lines.append(f'{{"edge": {{"source": "hub", "etype": "to", "target": "{number}"}}}}')
    notes("add", "-", stdin="\n".join(lines).encode())
    notes("commit")
    (hub,) = (node["id"] for node in data("query", "--label", "Hub")["nodes"])
    first = data("show", hub)
    assert len(first["edges"]) == 100
    found, page = first["edges"], first
    while page["next"] is not None:
        assert f"--after {page['next']}" in notes("show", hub, "--limit", str(len(found))).stdout
        page = data("show", hub, "--after", page["next"])
        found = found + page["edges"]
    assert found == data("show", hub, "--limit", "all")["edges"]
    assert len({edge["id"] for edge in found}) == 250
    notes("show", "main", "--limit", "3", code=2)
    notes("show", hub, "--after", "x", code=2)
