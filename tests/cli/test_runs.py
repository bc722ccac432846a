"""`repo run` and `repo receipt`: what they print, and how they end."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import ibidem

AGENT = """
def main(repo, question="retries"):
    found = repo.retrieve(question, limit=1)
    said = repo.event("model", found.items[0].rendered, lambda: 1 / 0)
    with repo.transaction(message="note") as tx:
        tx.add_node("Answer", summary=said)


def other(repo):
    main(repo, "timeouts")
"""


@pytest.fixture
def recorded(notes, tmp_path: Path):
    """The program in a repository with one run of an agent."""
    with ibidem.open(tmp_path) as repo, repo.runs.start("desk", agent="a", task="t") as run:
        found = run.retrieve("retries", limit=1)
        said = run.event("model", found.items[0].rendered, lambda: "wait a second")
        with run.transaction(message="note") as tx:
            tx.add_node("Answer", summary=said)
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    return notes


def test_a_run_is_listed_and_shown_in_words(recorded):
    assert re.match(r"desk/1 +6 steps +finished", recorded("run", "list").stdout)
    lines = recorded("run", "show", "desk").stdout.splitlines()
    assert lines[0] == "run desk/1: finished"
    assert lines[2] == "1  retrieved for 'retries' at HEAD (limit 1)"
    assert lines[3].startswith("2  event 'model' with ")
    assert lines[3].endswith("-> 'wait a second'")
    assert lines[4] == "3  began a transaction (message 'note')"
    assert re.fullmatch(r"4  committed bafy\w+ 'note'", lines[5])
    assert lines[6] == "5  the run ended"


def test_a_run_replays_alone_and_with_its_agent(recorded):
    said = recorded("run", "replay", "desk").stdout
    assert said.startswith("same: run desk/1, 1 begin, 1 commit, 1 end, 1 event, 1 retrieve")
    assert recorded("run", "replay", "desk", "agent.py:main").stdout == said


def test_a_changed_agent_ends_with_1_and_both_are_shown(recorded):
    done = recorded("run", "replay", "desk", "agent.py:other", code=1)
    assert "recorded: retrieved for 'retries' at HEAD (limit 1)" in done.stderr
    assert "now:      retrieved for 'timeouts' at HEAD (limit 1)" in done.stderr
    assert "hint: if the change is meant" in done.stderr


def test_an_agent_imports_what_lies_beside_it(recorded, tmp_path: Path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "beside_the_agent.py").write_text(AGENT, encoding="utf-8")
    agent = "from beside_the_agent import main"
    (tmp_path / "work" / "agent.py").write_text(agent, encoding="utf-8")
    assert "same: run desk/1" in recorded("run", "replay", "desk", "work/agent.py:main").stdout
    assert str(tmp_path / "work") not in sys.path


def test_an_agent_that_failed_has_to_fail_in_the_same_way(recorded, tmp_path: Path):
    agent = (
        "def main(repo, what='boom'):\n    repo.retrieve('retries')\n    raise ValueError(what)\n"
    )
    agent += (
        "def other(repo):\n    main(repo, 'bang')\ndef well(repo):\n    repo.retrieve('retries')\n"
    )
    (tmp_path / "fails.py").write_text(agent, encoding="utf-8")
    fails: dict[str, Any] = {}
    exec(agent, fails)
    with (
        ibidem.open(tmp_path) as repo,
        pytest.raises(ValueError, match="boom"),
        repo.runs.start("night") as run,
    ):
        fails["main"](run)
    assert "same: run night/1" in recorded("run", "replay", "night", "fails.py:main").stdout
    told = recorded("run", "replay", "night", "fails.py:other", code=1).stderr
    assert "the agent ended with ValueError: bang, at fails.py:3" in told
    assert "recorded: ValueError: boom" in told
    assert "no longer does" in recorded("run", "replay", "night", "fails.py:well", code=1).stderr


def test_an_agent_that_cannot_be_loaded_is_no_traceback(recorded, tmp_path: Path):
    (tmp_path / "bad.py").write_text("1 / 0\n", encoding="utf-8")
    told = recorded("run", "replay", "desk", "bad.py:main", code=2).stderr
    assert "bad.py cannot be loaded: ZeroDivisionError: division by zero" in told


def test_wrong_names_are_refused(recorded):
    for agent in ("agent.py", "none.py:main", "agent.py:nothing"):
        recorded("run", "replay", "desk", agent, code=2)
    recorded("run", "show", "night", code=3)
    recorded("run", "drop", "desk/2", code=3)


def test_runs_are_compared_exported_and_dropped(recorded, tmp_path: Path):
    assert "step for step" in recorded("run", "diff", "desk", "desk/1").stdout
    with ibidem.open(tmp_path) as repo, repo.runs.start("desk") as run:
        run.retrieve("timeouts")
    said = recorded("run", "diff", "desk/1", "desk/2").stdout
    assert "step 1 asked something else\n  before: retrieved for 'retries'" in said
    assert "after:  the run is over" in said
    assert "desk.car" in recorded("run", "export", "desk/1", "desk.car").stdout
    with ibidem.init(tmp_path / "other") as other:
        assert other.runs.load(tmp_path / "desk.car").name == "desk/1"
    recorded("run", "drop", "desk")
    assert recorded("run", "list").stdout.startswith("desk/1")


def test_what_differs_between_two_runs_is_shown(recorded, data, tmp_path: Path):
    with ibidem.open(tmp_path) as repo:
        node = repo.retrieve("retries", limit=1).items[0].node
        with repo.transaction(message="edit") as tx:
            tx.update_node(node.id, summary="Retries stop after a minute")
        with repo.runs.start("desk") as run:
            run.retrieve("retries", limit=1)
            run.event("model", "another prompt", lambda: "wait a minute")
    said = recorded("run", "diff", "desk/1", "desk/2").stdout
    assert "step 1 was answered something else" in said
    assert re.search(rf"\n    root: bafy\w+ -> bafy\w+\n    (edited|left): .*{node.id}", said)
    assert re.search("    answer.*: 'wait a second' -> 'wait a minute'", said)
    rows = data("run", "diff", "desk/1", "desk/2")["differences"]
    assert any(line.startswith("root: ") for row in rows for line in row["details"]), rows
    with ibidem.open(tmp_path) as repo, repo.runs.start("desk") as run:
        run.retrieve("retries", limit=3, model=None)
    assert "    question.limit: 1 -> 3\n" in recorded("run", "diff", "desk/1", "desk/3").stdout


def test_a_run_is_asked_against_the_facts_of_today(recorded, data, tmp_path: Path):
    same = recorded("run", "replay", "desk", "--at", "HEAD~1", "--exit-code")
    assert (
        same.stdout
        == "1 retrieval of run desk/1 asked at HEAD~1: 0 would be answered differently\n"
    )
    with ibidem.open(tmp_path) as repo:
        node = repo.retrieve("retries", limit=1).items[0].node
        with repo.transaction(message="edit") as tx:
            tx.remove_node(node.id)
    said = recorded("run", "replay", "desk", "--at", "main").stdout
    assert said.startswith("step 1  retrieved for 'retries' at HEAD (limit 1)\n    root: ")
    assert f"    left: rank 1, {node.id}" in said
    assert "    entered: rank 1, " in said
    recorded("run", "replay", "desk", "--at", "main", "--exit-code", code=1)
    found = data("run", "replay", "desk", "--at", "main")
    assert (found["changed_count"], found["steps"][0]["index"]) == (1, 1)
    assert recorded("run", "replay", "desk").stdout.startswith("same: ")
    recorded("run", "replay", "desk", "agent.py:main", "--at", "main", code=2)
    recorded("run", "replay", "desk", "--exit-code", code=2)
    recorded("run", "replay", "desk", "--at", "nothing", code=3)


def test_a_commit_that_changes_no_item_changes_no_answer_of_a_run(recorded, data, tmp_path: Path):
    with ibidem.open(tmp_path) as repo, repo.transaction(message="elsewhere") as tx:
        tx.add_node("Note", summary="of something else")
    said = recorded("run", "replay", "desk", "--at", "main", "--exit-code").stdout
    assert said == "1 retrieval of run desk/1 asked at main: 0 would be answered differently\n"
    (step,) = data("run", "replay", "desk", "--at", "main")["steps"]
    assert step["details"] == []


def test_a_receipt_is_kept_shown_sealed_and_dropped(notes, data, tmp_path: Path):
    receipt = data("retrieve", "retries")["receipt"]
    assert notes("receipt", "keep", receipt[:16]).stdout == f"kept receipt {receipt}\n"
    (tmp_path / "key").write_text("ab" * 32 + "\n")
    sealed = data("receipt", "keep", receipt, "--key-file", "key")["receipt"]
    listed = notes("receipt", "list").stdout
    assert re.search(rf"{receipt} .*retries", listed)
    assert re.search(rf"{sealed} .*sealed", listed)
    shown = notes("receipt", "show", receipt).stdout
    assert "text    'retries'" in shown
    assert re.search(r"1\. \w{32}  [\d.]+  lexical rank 1", shown)
    assert "text    sealed" in notes("receipt", "show", sealed).stdout
    notes("replay", sealed, code=2)
    notes("replay", sealed, "--text", "retries", "--key-file", "key")
    wrong = notes("replay", sealed, "--text", "retry", "--key-file", "key", code=1)
    assert "not the one that was asked" in wrong.stderr
    (tmp_path / "key").write_text("short")
    notes("receipt", "keep", receipt, "--key-file", "key", code=2)
    notes("receipt", "drop", sealed)
    notes("receipt", "drop", sealed, code=3)


def test_replay_at_another_revision_says_what_moved(notes, data):
    receipt = data("retrieve", "idempotency key")["receipt"]
    notes("replay", receipt, "--at", "main")
    notes("node", "add", "Note", "--summary", "idempotency key idempotency key")
    notes("commit", "-m", "more keys")
    done = notes("replay", receipt, "--at", "main", code=1)
    assert "item 1" in done.stderr
    assert "another root" in done.stderr


RECORDED = """
from pathlib import Path


def next_number():
    file = Path(__file__).with_suffix(".count")
    file.write_text(file.read_text() + "x" if file.exists() else "x")
    return len(file.read_text())


def main(run, question="retries"):
    found = run.retrieve(question, limit=1).items[0].node.summary
    said = run.tool("model", lambda text: f"{text} {next_number()}")(found)
    with run.transaction(message="note") as tx:
        tx.add_node("Answer", summary=said)


def other(run):
    run.tool("model", str)("another question")


def fails(run):
    raise KeyError("no")
"""


@pytest.fixture
def made(notes, tmp_path: Path):
    """The program in a repository with a run that it recorded."""
    (tmp_path / "made.py").write_text(RECORDED, encoding="utf-8")
    assert notes("run", "record", "made", "made.py:main").stdout == "recorded run made/1, 6 steps\n"
    return notes


def test_a_run_is_recorded_by_a_command(made, data, tmp_path: Path):
    [run] = data("run", "list")["runs"]
    assert (run["name"], run["agent"], run["step_count"]) == ("made/1", "made.py:main", 6)
    assert "same: run made/1" in made("run", "replay", "made", "made.py:main").stdout
    assert (tmp_path / "made.count").read_text() == "x"
    told = made("run", "record", "made", "made.py:fails", code=1).stderr
    assert "the agent ended with KeyError: 'no', at made.py:" in told
    assert data("run", "list")["runs"][1]["failure"] == "KeyError: 'no'"


def test_live_shows_both_answers_and_moves_no_branch(made, data):
    head = data("log")["commits"][0]["cid"]
    out = made("run", "replay", "made", "made.py:main", "--mode", "live").stdout
    assert "step 2 was answered something else" in out
    assert re.search(r"answer.value: '.* 1' -> '.* 2'", out)
    assert out.endswith("recorded as run made-fork/1\n")
    assert data("log")["commits"][0]["cid"] == head
    live = ("run", "replay", "made", "made.py:main", "--mode", "live", "--exit-code")
    made(*live, code=1)


def test_what_if_stops_or_goes_on(made, data):
    what_if = ("run", "replay", "made", "made.py:other", "--mode", "what-if")
    told = made(*what_if, code=1).stderr
    assert "no longer does what was recorded, from step 2 on" in told
    assert "'another question' now" in told
    out = made(*what_if, "--go-on").stdout
    assert "step 1 asked something else" in out
    assert "recorded as run made-fork/2" in out
    same = made("run", "replay", "made", "made.py:main", "--mode", "what-if", "--at", "main").stdout
    assert "made-fork/3" in same
    found = data("run", "replay", "made", "made.py:main", "--mode", "what-if")
    assert found == {**found, "fork": "made-fork/4", "step": None, "differences": []}


def test_a_fork_asks_again_from_its_step_on(made, data):
    found = data("run", "fork", "made", "5", "made.py:main")
    assert found["step"] is None
    found = data("run", "fork", "made", "2", "made.py:main")
    assert found["step"] == 2
    assert "step: got 99" in made("run", "fork", "made", "99", "made.py:main", code=2).stderr


def test_runs_are_tested_in_one_line(made, data, tmp_path: Path):
    made("run", "record", "made", "made.py:main")
    made("run", "export", "made/1", "made.car")
    out = made("run", "test", "made", "made.py:main").stdout
    assert out == "same: run made/1\nsame: run made/2\n2 runs replayed, 0 differ\n"
    assert "1 run replayed, 0 differ" in made("run", "test", "made.car", "made.py:main").stdout
    assert "2 runs replayed, 0 differ" in made("run", "test", "made").stdout
    out = made("run", "test", "made", "made.py:other", code=1).stdout
    assert out.startswith("differs: run made/1\n  run 'made/1' no longer does what was recorded")
    assert out.endswith("2 runs replayed, 2 differ\n")
    assert made("run", "test", "nothing", code=3).stderr.startswith("error: run 'nothing'")


@pytest.mark.parametrize(
    "options",
    [
        ("--mode", "live"),
        ("made.py:main", "--go-on"),
        ("made.py:main", "--mode", "live", "--go-on"),
        ("made.py:main", "--mode", "later"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, made):
    made("run", "replay", "made", *options, code=2)
