"""Questions from the command line: what is printed, filtered, warned of and explained."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import Result

Run = Callable[..., Result]


Data = Callable[..., dict[str, Any]]


def test_retrieve_shows_places_cost_and_receipt(notes: Run, data: Data):
    answer = data("retrieve", "how long is a request retried", "--budget", "100")
    assert answer["token_budget"] == 100
    assert answer["tokens_used"] == sum(one["tokens"] for one in answer["items"]) <= 100
    best = answer["items"][0]
    assert best["location"]["source"] == "notes/retries.md"
    assert best["location"]["heading_path"][-1] in ("Backoff", "Idempotency")
    shown = notes("retrieve", "how long is a request retried", "--budget", "100")
    assert f"{answer['tokens_used']} of 100 tokens" in shown.stderr
    assert answer["receipt"] in shown.stderr
    assert "notes/retries.md:" in shown.stdout


def test_a_value_of_front_matter_is_answered_with_its_place(notes: Run, data: Data):
    Path("gate.md").write_text("---\nowner: Ada Mill\n---\n# Gate\n\nThe gate is green.\n")
    notes("commit", "gate.md", "-m", "a gate")
    question = "Who is the owner of the gate?"
    shown = notes("retrieve", question).stdout.splitlines()[0]
    assert shown == "Ada Mill (owner of Gate, the document of [1])"
    answer = data("retrieve", question)
    assert answer["stated"]["node"] == answer["items"][0]["location"]["document"]


def test_retrieve_filters_before_it_ranks(notes: Run, data: Data):
    for year in range(5):
        notes(
            "node",
            "add",
            "Memo",
            "--summary",
            f"retried request {year}",
            "--prop",
            f"year={2020 + year}",
        )
    notes("commit")
    found = data("retrieve", "retried request", "--where", "year>=2022", "--where", "year<2024")[
        "items"
    ]
    assert len(found) == 2
    assert (
        len(data("retrieve", "retried request", "--label", "Memo", "--limit", "all")["items"]) == 5
    )
    assert len(data("retrieve", "--label", "Memo", "--limit", "3")["items"]) == 3
    assert len(data("query", "--label", "Memo", "--limit", "3")["nodes"]) == 3


def test_a_listing_warns_of_names_that_no_node_has(notes: Run):
    asked = ("--label", "Nope", "--where", "nosuch=3")
    for more in ((), ("--count",), ("--order-by", "-other"), ("--json",)):
        told = notes("query", *asked, *more).stderr
        assert "warning: label 'Nope': no node of this root has such a label" in told
        assert "warning: where 'nosuch': no node of this root has such a property" in told
        assert ("order_by 'other'" in told) == ("-other" in more)
    assert "warning" not in notes("query", "--where", "source?", "--order-by", "source").stderr


def test_a_listing_as_json_has_its_warnings(notes: Run, data: Data):
    told = "no value of this property is of the type that it is compared with"
    wanted = {"code": "type_mismatch", "option": "where", "subject": "source", "count": None}
    for more in ((), ("--count",)):
        asked = ("query", "--where", "source=2020", *more)
        assert data(*asked)["warnings"] == [{**wanted, "message": told}]
        assert f"warning: where 'source': {told}\n" in notes(*asked).stderr
        assert data("query", *more)["warnings"] == []


def test_retrieve_by_vector(notes: Run, data: Data, tmp_path: Path):
    lines = b"".join(
        b'{"node": {"name": "%d", "ntype": "Memo", "key": %d}}\n'
        b'{"vector": {"node": "%d", "model": "m", "values": [%d, 1]}}\n' % (i, i, i, i)
        for i in range(4)
    )
    data("add", "-", stdin=lines)
    notes("commit")
    np.save(tmp_path / "v.npy", np.array([1, 0], np.float32))
    found = data("retrieve", "--vector", "m=v.npy", "--limit", "2")["items"]
    assert [item["lanes"]["dense"]["rank"] for item in found] == [1, 2]
    data("add", "-", stdin=lines.replace(b'"key": ', b'"summary": "a stone", "key": 1'))
    notes("commit")
    answer = data("retrieve", "--vector", "m=v.npy", "--label", "Memo")
    assert answer["dropped_counts"]["dedupe"] == 0  # the option holds, and memos are no passages
    np.save(tmp_path / "w.npy", np.array([1, 0, 0], np.float32))
    assert "3" in notes("retrieve", "--vector", "m=w.npy", code=2).stderr
    notes("retrieve", "--vector", "other=v.npy", code=2)


def test_an_older_revision_answers_as_it_did(notes: Run, data: Data, tmp_path: Path):
    before = data("retrieve", "deadline of a call")
    path = tmp_path / "notes" / "timeouts.md"
    path.write_text(path.read_text().replace("thirty", "ten"))
    notes("commit", "notes", "-m", "shorter")
    assert data("retrieve", "deadline of a call")["result"] != before["result"]
    assert data("retrieve", "deadline of a call", "--at", "main~1")["result"] == before["result"]
    replayed = data("replay", before["receipt"])
    assert replayed["is_identical"] is True
    assert replayed["result"] == before["result"]
    notes("index", "build")
    notes("index", "compact")
    assert data("index", "stats")["index"]["is_current"] is True
    assert "1 segment, " in notes("index", "stats").stdout
    assert data("replay", before["receipt"][:21])["result"] == before["result"]
    assert "same bytes" in notes("replay", before["receipt"]).stdout


def test_explain_names_lanes_and_what_was_left_out(notes: Run):
    text = notes("retrieve", "request retried deadline", "--limit", "1", "--explain").stdout
    assert "lexical  rank 1" in text
    assert "left out" in text
    assert "limit" in text


def test_warnings_go_to_standard_error(notes: Run):
    result = notes("retrieve", "request", "--label", "Nobody")
    assert "warning: label 'Nobody'" in result.stderr
    assert "warning" not in result.stdout


def test_strict_makes_a_warning_an_error(notes: Run):
    result = notes("retrieve", "request", "--label", "Nobody", "--strict", code=2)
    assert "label 'Nobody'" in result.stderr
    assert not result.stdout


def test_one_token_is_no_tokens(notes: Run):
    notes("node", "add", "Note", "--summary", "b")
    notes("commit", "-m", "one letter")
    assert "1 item, 1 token\n" in notes("retrieve", "b").stderr
    assert "0 of 1 token, " in notes("retrieve", "b", "--budget", "1").stderr


def test_a_record_that_does_not_hold_is_marked(run: Run, data: Data) -> None:
    run("init")
    run("thread", "append", "talk", "I prefer tea over coffee.", "--role", "user")
    run("thread", "extract", "talk", "0", "0", "--rules", "--user", "ada")
    assert "] ada prefers tea over coffee (proposed)\n" in run("retrieve", "prefers tea").stdout
    (proposal,) = (one["id"] for one in data("memory", "proposals")["proposals"])
    run("memory", "accept", proposal)
    assert "] ada prefers tea over coffee\n" in run("retrieve", "prefers tea").stdout


def test_near_copies_do_not_crowd_out_another_page(run: Run, data: Data, tmp_path: Path) -> None:
    words = "The gate of the castle opens in the morning when the guard has rung the bell of tower"
    for number in range(6):
        text = f"# Gate\n\n{words} {number}.\n"
        (tmp_path / f"copy{number}.md").write_text(text, encoding="utf-8")
    (tmp_path / "other.md").write_text("# Hours\n\nThe castle gate is shut on Mondays.\n")
    run("init")
    run("commit", ".", "-m", "pages")
    question = "when does the gate of the castle open"
    for command in ("packs", "prompt"):
        shown = run(command, question, "--budget", "300").stdout
        assert shown.count("the guard has rung") == 1
        assert "shut on Mondays" in shown
    assert len(data("packs", question, "--dedupe", "text", "--budget", "300")["items"]) > 2


def test_an_answer_without_packs_says_why(notes: Run) -> None:
    for options in ((), ("--stream",)):
        assert "nothing matches: try other words" in notes("packs", "zebra", *options).stderr
        shown = notes("packs", "retries", "--limit", "0", *options).stderr
        assert "the limit is 0: allow more items with --limit" in shown
        assert "nothing matches" not in notes("packs", "retries", *options).stderr


def test_the_best_match_that_does_not_fit_is_named(run: Run, data: Data) -> None:
    run("init")
    best = run("node", "add", "Note", "--summary", "bridge toll " * 30).stdout.strip()
    run("node", "add", "Note", "--summary", "The river is under the bridge.")
    run("commit", "-m", "notes")
    assert data("retrieve", "bridge toll")["items"][0]["id"] == best
    for name in ("retrieve", "packs"):
        command = (name, "--overflow", "skip")
        shown = run(*command, "bridge toll", "--budget", "40")
        assert "The river" in shown.stdout
        assert f"the best match, node {best}, did not fit with " in shown.stderr
        needed = shown.stderr.rpartition("--budget ")[2].split()[0]
        assert "toll" in run(*command, "bridge toll", "--budget", needed).stdout
        assert "best match" not in run(*command, "bridge toll").stderr
        assert "best match" not in run(*command, "bridge toll", "--budget", "1").stderr
        cut = run(name, "bridge toll", "--budget", "40")
        assert "bridge toll" in cut.stdout
        assert "best match" not in cut.stderr


def test_show_of_a_path_without_a_document_says_what_it_expects(notes: Run) -> None:
    shown = notes("show", "notes/nothing.md", code=3).stderr
    assert "name: got 'notes/nothing.md', expected a document at HEAD, a revision or an id" in shown
    assert "repo query --label Document" in shown
    assert "no branch, tag or commit" in notes("show", "nothing", code=3).stderr
