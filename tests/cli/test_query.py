"""`query`, `traverse` and the options of `retrieve` after the lanes: each changes what is
printed."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import ibidem
from ibidem.cli.main import cli


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("queries")
    with (
        ibidem.init(path, clock=lambda: 0) as repo,
        repo.transaction(author="a", message="m") as tx,
    ):
        papers = [
            tx.add_node(
                "Paper",
                summary="retry and backoff" if year < 1992 else f"retry wolf{year} hen{year}",
                props={"year": year, "valid_from": year},
                key=year,
            )
            for year in range(1990, 1995)
        ]
        for one, other in pairwise(papers):
            tx.add_edge(one, "cites", other)
    return path


def asked(folder: Path, *arguments: str, code: int = 0) -> Any:
    result = CliRunner().invoke(cli, ["-R", str(folder), *arguments, "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.stdout if code == 0 else result.stderr)


def text(folder: Path, *arguments: str) -> str:
    result = CliRunner().invoke(cli, ["-R", str(folder), *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def years(nodes: list[dict[str, Any]]) -> list[int]:
    return [node["props"]["year"] for node in nodes]


def test_query_lists_what_is_new(folder: Path) -> None:
    found = asked(folder, "query", "--newest", "created", "--limit", "2")["nodes"]
    assert len(found) == 2
    assert {one["commit"]["message"] for one in found} == {"m"}
    assert "retry" in text(folder, "query", "--newest", "updated", "--where", "year=1990")
    assert asked(folder, "query", "--created-after", "1970-01-01", "--count")["count"] == 5
    assert asked(folder, "query", "--created-after", "1970-01-02", "--count")["count"] == 0
    assert asked(folder, "query", "--updated-before", "now", "--count")["count"] == 5
    assert asked(folder, "retrieve", "retry", "--created-after", "yesterday")["items"] == []
    for option in ("--as-of", "--created-after"):
        asked(folder, "query", option, "1767225600", code=2)
        asked(folder, "retrieve", "retry", option, "1767225600000", code=2)
    for option in ("--order-by", "--after"):
        asked(folder, "query", "--newest", "created", option, "year", code=2)


def test_query_sorts_pages_and_counts(folder: Path) -> None:
    first = asked(folder, "query", "--order-by", "-year", "--limit", "2")
    assert (years(first["nodes"]), first["count"]) == ([1994, 1993], 5)
    rest = asked(folder, "query", "--order-by", "-year", "--after", first["next"])
    assert (years(rest["nodes"]), rest["next"]) == ([1992, 1991, 1990], None)
    assert years(asked(folder, "query", "--order-by", "year", "--offset", "3")["nodes"]) == [
        1993, 1994,
    ]  # fmt: skip
    assert asked(folder, "query", "--where", "year>=1993", "--count")["count"] == 2
    assert asked(folder, "query", "--as-of", "1991", "--count")["count"] == 2
    assert text(folder, "query", "--count") == "5\n"
    shown = text(folder, "query", "--order-by", "-year", "--limit", "1")
    assert "1994" in shown
    assert "1 of 5 nodes" in shown
    assert "--after" in shown
    asked(folder, "query", "--count", "--limit", "1", code=2)
    assert asked(folder, "query", "--after", "nonsense", code=2)["kind"] == "invalid-input"


def test_traverse_walks_and_says_where_it_ends(folder: Path) -> None:
    nodes = asked(folder, "query", "--order-by", "year")["nodes"]
    ids = [node["id"] for node in nodes]
    found = asked(folder, "edge", "traverse", ids[0], ids[1], "--path", "out:cites,out:cites")
    assert sorted(path["nodes"] for path in found["paths"]) == sorted([ids[:3], ids[1:4]])
    assert all(len(path["edges"]) == 2 for path in found["paths"])
    back = ("edge", "traverse", ids[1], "--path", "in:cites,out:cites")
    assert asked(folder, *back)["paths"] == []
    assert len(asked(folder, *back, "--repeats", "all")["paths"]) == 1
    assert "2 paths" in text(folder, "edge", "traverse", ids[1], "--path", "both:*")
    assert "raise --limit" in text(
        folder, "edge", "traverse", ids[1], "--path", "both:*", "--limit", "1"
    )
    asked(folder, "edge", "traverse", ids[0], "--path", "cites", code=2)
    asked(folder, "edge", "traverse", "0" * 32, "--path", "out:*", code=3)


def test_options_after_the_lanes_reach_the_answer(folder: Path) -> None:
    plain = asked(folder, "retrieve", "retry backoff")
    order = [item["id"] for item in plain["items"]]
    assert len(order) == 5
    assert len(asked(folder, "retrieve", "retry", "--as-of", "1991")["items"]) == 2
    diverse = asked(folder, "retrieve", "retry backoff", "--mmr", "0.3")
    assert [item["id"] for item in diverse["items"]] != order
    edges = asked(folder, "retrieve", "retry", "--adjacency", "1")
    assert "cites -> " in edges["items"][0]["rendered"] + edges["items"][1]["rendered"]
    rrf = asked(folder, "retrieve", "retry", "--fusion", "rrf")
    assert rrf["result"] != asked(folder, "retrieve", "retry")["result"]
    wrong = asked(folder, "retrieve", "retry", "--estimator", "words", code=2)
    assert wrong["message"].startswith("--estimator: ")


def test_what_repeats_an_item_is_left_out_and_counted(run: Any, tmp_path: Path) -> None:
    """Without a question, all are listed; nodes that are no passages stay, whatever their text."""
    text = "A parcel from the mill arrives on Monday.\n"
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(f"# Parcels\n\n{text}\n## Parcel\n", "utf-8")
    run("init")
    run("add", ".")
    for kind in ("Person", "Place"):
        run("node", "add", kind, "--summary", "parcel")
    run("commit", "-m", "m")
    once = json.loads(run("retrieve", "parcel", "--json").stdout)
    assert once["dropped_counts"] == {"budget": 0, "dedupe": 1, "headings": 2, "limit": 0}
    assert sorted(one["reason"] for one in once["dropped"]) == ["dedupe", "headings", "headings"]
    assert len(once["items"]) == 3
    assert "3 items, 15 tokens, 1 repetition left out" in run("retrieve", "parcel").stderr
    assert "1 by dedupe, 2 by headings" in run("retrieve", "parcel", "--explain").stderr
    listed = json.loads(run("retrieve", "--label", "Passage", "--json").stdout)
    assert len(listed["items"]) == 2
    every = ("--dedupe", "none", "--headings", "keep")
    assert len(json.loads(run("retrieve", "parcel", *every, "--json").stdout)["items"]) == 6


def test_a_limit_means_the_same_everywhere(data, run, notes):
    paths = (
        "edge",
        "traverse",
        data("query", "--label", "Document")["nodes"][0]["id"],
        "--path",
        "both:*",
    )
    run("node", "add", "Note", "--summary", "a deadline")
    for command, name in (
        (("retrieve", "deadline request"), "items"),
        (("packs", "deadline request"), "items"),
        (("memory", "recall", "deadline request"), "items"),
        (("query",), "nodes"),
        (("log",), "commits"),
        (("log", "--label", "Passage"), "commits"),
        (("diff",), "changes"),
        (paths, "paths"),
    ):
        every = data(*command, "--limit", "all")[name]
        assert every or name == "paths"
        assert data(*command, "--limit", "0")[name] == []
        assert data(*command, "--limit", "1")[name] == every[:1]
        for wrong in ("-1", "some", "", "1.5", "9" * 16):
            told = run(*command, "--limit", wrong, code=2).stderr
            assert "expected a whole number from 0, or all" in told


def test_signatures_of_no_commit_are_not_called_good(notes):
    assert "from 1, or all" in notes("key", "verify", "--limit", "0", code=2).stderr


def test_an_empty_answer_says_what_would_help(notes):
    assert "--limit" in notes("retrieve", "deadline", "--limit", "0").stderr
    assert "--budget" in notes("retrieve", "deadline", "--budget", "1").stderr
    assert "other words" in notes("retrieve", "zebra").stderr


def test_a_receipt_shows_where_the_branch_was(folder: Path) -> None:
    found = asked(folder, "retrieve", "retry", "--created-after", "1969-01-01")
    shown = asked(folder, "receipt", "show", found["receipt"])
    assert shown["history"] == {"created_after": None}
    assert "created_after  no commit yet" in text(folder, "receipt", "show", found["receipt"])
    found = asked(folder, "retrieve", "retry", "--updated-before", "now")
    shown = asked(folder, "receipt", "show", found["receipt"])
    assert shown["history"] == {"updated_before": found["root"]}
