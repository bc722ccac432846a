"""`repo packs`, `repo prompt` and `repo thread` on a terminal."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from ibidem.cli.main import cli


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")

    def call(*arguments, code=0, stdin=""):
        result = CliRunner().invoke(cli, list(arguments), input=stdin, prog_name="repo")
        assert result.exit_code == code, result.output
        return result.output

    (tmp_path / "a.md").write_text("# Retries\n\nbefore\n\nwe retry twice\n\nafter\n\nfar\n")
    call("init")
    call("commit", "a.md", "-m", "notes")
    return call


def test_packs_show_what_stands_around_a_hit(run):
    shown = run("packs", "retry twice", "--label", "Passage", "--around", "1")
    assert "a.md > Retries" in shown
    assert "o:0-2" not in shown
    assert "    before" in shown
    assert "far" not in shown
    assert "far" in run("packs", "retry twice", "--expand", "section")
    explained = run("packs", "retry twice", "--label", "Passage", "--around", "1", "--explain")
    assert "o:0-2, score " in explained
    assert "hit " in explained
    receipt = next(line for line in shown.splitlines() if line.startswith("receipt ")).split()[1]
    again = run("replay", receipt, "--show")
    assert "    before" in again
    assert f"receipt {receipt}" in again


def test_packs_explain_through_which_name_a_hit_was_found(run):
    run("node", "add", "Note", "--summary", "The analytical engine was described by Ada Lovelace.")
    run("node", "add", "Note", "--summary", "Ada Lovelace, born in London")
    run("commit", "-m", "names")
    asked = ("packs", "who described the analytical engine")
    assert '         through "Ada Lovelace" of ' in run(*asked, "--explain")
    assert "through" not in run(*asked)


def test_a_node_without_a_document_is_titled_by_its_type(run):
    run("node", "add", "Fact", "--summary", "we deploy on Fridays")
    run("commit", "-m", "a fact")
    assert "[1] Fact\n    we deploy on Fridays\n" in run("packs", "deploy")
    assert " [1] Fact\nwe deploy on Fridays\n" in run("prompt", "deploy")


def test_options_of_packs_reach_the_library(run):
    assert "o:1-1" in run("packs", "twice", "--around", "0", "--explain")
    assert "0 packs" in run("packs", "twice", "--budget", "1", "--overflow", "stop")
    refused = run("packs", "twice", "--walk-hops", "2", code=2)
    assert "hops" in refused


def test_a_person_and_a_model_get_the_row_that_was_asked_for(run, tmp_path):
    rows = "".join(f"| mill {number} | {number * 7} |\n" for number in range(190))
    table = f"| name | port |\n|---|---|\n{rows}| quarry | 7731 |\n"
    (tmp_path / "t.md").write_text(f"```\n{table}```\n")  # a block of code is one passage
    run("commit", "t.md", "-m", "ports")
    for command in ("packs", "prompt"):
        ask = (command, "which port has the quarry", "--budget", "220")
        assert "| quarry | 7731 |" in run(*ask)
        assert "| quarry | 7731 |" not in run(*ask, "--overflow", "cut")


def test_prompt_prints_both_texts_and_writes_citations(run, tmp_path):
    shown = run("prompt", "twice", "--citations", "cited.json")
    assert "[1] a.md > Retries" in shown
    [cited, *_] = json.loads((tmp_path / "cited.json").read_text("utf-8"))
    assert cited["marker"] == "[1]"
    asked = ("prompt", "twice", "--label", "Nobody", "--json")
    assert json.loads(run(*asked))["warnings"][0]["code"] == "unknown_label"
    without = run("prompt", "absent")
    assert "\n\nabsent\n0 sources, 0 tokens\nreceipt " in without
    assert "the prompt has no sources: no pack was found" in without
    cut = run("prompt", "twice", "--budget", "48")
    assert "the prompt has no sources: nothing fits: allow more tokens" in cut


def test_citations_replace_citations_and_no_other_file(run, tmp_path):
    for text in ("# Mine\n", "7", '[{"name": 1}]'):
        (tmp_path / "mine.txt").write_text(text)
        run("prompt", "twice", "--citations", "mine.txt", code=2)
        assert (tmp_path / "mine.txt").read_text() == text
    run("prompt", "twice", "--citations", ".", code=2)
    for question in ("twice", "absent", "twice"):
        run("prompt", question, "--citations", "cited.json")
    assert json.loads((tmp_path / "cited.json").read_text("utf-8"))


def test_a_prompt_with_a_thread_that_is_not_there_is_refused(run):
    assert "thread 'nope' does not exist" in run("prompt", "twice", "--thread", "nope", code=3)
    run("thread", "append", "yes", "we try twice")
    assert "we try twice" in run("prompt", "twice", "--thread", "yes")


def test_a_thread_is_kept_shown_chosen_from_and_cleared(run):
    assert "kept: 1 message" in run("thread", "append", "t", "hello there")
    lines = '{"role": "user", "text": "hello there"}\n\n{"role": "assistant", "text": "hi"}\n'
    assert "kept: 1 message" in run("thread", "append", "t", "--stdin", "--save", stdin=lines)
    again = run("thread", "append", "t", "-", "--save", stdin=lines)
    assert "nothing changed" in again
    shown = run("thread", "show", "t")
    assert re.fullmatch(
        r"0 user: hello there  [0-9a-f]{32}\n1 assistant: hi  [0-9a-f]{32}\n", shown
    )
    assert run("thread", "select", "t", "hello", "-n", "1") == shown.splitlines(True)[0]
    assert "1 assistant: hi" in run("thread", "select", "t", "-n", "1")
    run("thread", "compact", "t", "0", "1", "they met")
    assert run("thread", "show", "t").startswith("0-1 Summary: they met  ")
    assert "2 messages" in run("thread", "list")
    assert "hidden: 2 messages" in run("thread", "clear", "t")
    assert run("thread", "show", "t") == ""


def test_a_thread_that_is_not_there_and_input_that_is_none(run):
    run("thread", "show", "t", code=3)
    run("thread", "append", "t", code=2)
    assert "line 1" in run("thread", "append", "t", "--stdin", stdin="{", code=2)


def test_a_prompt_of_documents_facts_and_a_conversation(run):
    run("thread", "append", "support", "do we retry?")
    run("thread", "append", "support", "twice", "--role", "assistant")
    shown = run("prompt", "do we retry", "--thread", "support", "--budget", "300")
    assert "a.md > Retries" in shown
    assert "support > message 0, user" in shown
    assert shown.index("a.md") < shown.index("message 0") < shown.index("message 1")
    assert "support" not in run("prompt", "do we retry", "--facts")
    assert "warning" not in shown
    shown = run("prompt", "do we retry", "--thread", "support", "--label", "Nothing")
    assert [line for line in shown.splitlines() if line.startswith("warning")] == [
        "warning: label 'Nothing': no node of this root has such a label"
    ]
    assert "--user needs --thread" in run("prompt", "retry", "--user", "ada", code=2)


def test_a_bare_heading_is_no_source_unless_asked_for(run, tmp_path):
    (tmp_path / "plan.md").write_text("# Retry plan\n")
    run("commit", "plan.md", "-m", "a heading")
    for command in ("packs", "prompt"):
        assert "Retry plan" not in run(command, "retry plan")
        assert "Retry plan" in run(command, "retry plan", "--headings", "keep")
    (tmp_path / "days.md").write_text("# Holidays\n")
    run("commit", "days.md", "-m", "another")
    assert "only headings without text match: --headings keep" in run("packs", "holidays")
    assert "nothing matches" in run("packs", "zebra")


def test_a_stream_is_the_whole_answer_in_parts(run):
    asked = ("packs", "retry twice far", "--around", "0")
    assert run(*asked, "--stream") == run(*asked)
    assert run(*asked, "--stream", "--explain") == run(*asked, "--explain")
    whole = json.loads(run(*asked, "--json"))
    *items, last = map(json.loads, run(*asked, "--stream", "--json").splitlines())
    assert {**last, "items": [one["item"] for one in items]} == whole
    for option in (("--summary", "1"), ("--assess",)):
        run(*asked, "--stream", *option, code=2)


def test_a_pack_is_written_before_the_next_is_made(run, monkeypatch, capsys):
    from ibidem.retrieve.context import assemble

    make, seen = assemble._Making._pack, []

    def noted(self, group):
        seen.append(capsys.readouterr().out)
        return make(self, group)

    monkeypatch.setattr(assemble._Making, "_pack", noted)
    with pytest.raises(SystemExit):
        cli(["packs", "retry twice far", "--around", "0", "--stream", "--json"])
    assert seen[0] == ""
    assert all(json.loads(one)["item"] for one in seen[1:])
    assert len(seen) > 1
