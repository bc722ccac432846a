"""Merging from the command line: what is said, what it ends with, and wrong calls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import ibidem
from ibidem.objects.ids import NodeId

Run = Callable[..., Result]
Data = Callable[..., dict[str, Any]]

MILL = "18832f2b469918663d8f97ad421e49f1"


@pytest.fixture
def apart(run: Run) -> Run:
    """Two branches that say something else about one node."""

    def says(summary: str, *more: str) -> None:
        run("node", "add", "Fact", "--key", "mill", "--summary", summary, "--replace", *more)
        run("commit", "-m", summary)

    run("init")
    says("base")
    run("branch", "side")
    says("ours")
    run("switch", "side")
    says("theirs", "--prop", "year=1843")
    run("switch", "main")
    return run


def test_a_merge_with_conflicts_ends_with_one_and_says_what_meets(apart: Run, data: Data):
    said = apart("merge", "side", code=1)
    assert "1 conflict to resolve" in said.stdout
    assert "summary  ours | theirs" in said.stdout or "summary  theirs | ours" in said.stdout
    assert "repo resolve" in said.stderr
    assert data("status")["conflicts"][0]["fields"] == ["summary"]
    assert data("show", MILL)["value"]["props"] == {"year": 1843}
    assert "main is up to date" in apart("merge", "side").stdout


def test_values_of_a_hidden_node_are_not_shown(apart: Run):
    apart("merge", "side", code=1)
    apart("node", "tombstone", MILL)
    apart("commit", "-m", "hide")
    shown = apart("status").stdout
    assert f"! node {MILL}  changed differently\n      it was forgotten" in shown
    assert f"'repo node untombstone {MILL}'" in shown
    assert "theirs" not in shown


def test_of_many_alternatives_a_few_are_shown(run: Run):
    def says(summary: str) -> None:
        run("node", "add", "Fact", "--key", "mill", "--summary", summary, "--replace")
        run("commit", "-m", summary)

    run("init")
    says("base")
    for number in range(7):
        run("branch", f"b{number}")
    for number in range(7):
        run("switch", f"b{number}")
        says(f"by writer {number}")
    run("switch", "main")
    for number in range(7):
        run("merge", f"b{number}", code=int(number > 0))
    (line,) = (one for one in run("status").stdout.splitlines() if "by writer" in one)
    assert (line.count("by writer"), line.endswith(" | and 2 more")) == (5, True)


def in_two_versions(notes: Run, folder: Path, page: str) -> None:
    """Commits a page with another number on a side branch than on the main one."""
    notes("branch", "side")
    for branch, number in (("side", "Ten"), ("main", "Thirty")):
        notes("switch", branch)
        path = folder / "notes" / "timeouts.md"
        path.write_text(page.format(number), encoding="utf-8")
        notes("commit", "notes", "-m", number)


def test_two_versions_of_a_document_meet_by_their_text(notes: Run, tmp_path: Path):
    in_two_versions(notes, tmp_path, "# Timeouts\n\n{} seconds.\n")
    said = notes("merge", "side", code=1).stdout
    assert "! notes/timeouts.md  changed differently, in Timeouts\n" in said
    assert "Thirty seconds.\n      =======\n      Ten seconds.\n" in said


def test_both_versions_of_a_passage_say_where_they_stand(notes: Run, data: Data, tmp_path: Path):
    in_two_versions(notes, tmp_path, "# Timeouts\n\n## Client\n\n{} seconds wait.\n")
    notes("merge", "side", code=1)
    assert "changed differently, in Timeouts > Client\n" in notes("status").stdout
    place = "notes/timeouts.md > Timeouts > Client"
    shown = notes("packs", "seconds wait").stdout
    assert f"] {place}\n" in shown
    assert f"] {place} > in another version\n" in shown
    listed = notes("retrieve", "seconds wait").stdout
    assert "] notes/timeouts.md:5 > Timeouts > Client\n" in listed
    assert f"] {place} > in another version\n" in listed
    (other,) = (one for one in data("retrieve", "seconds wait")["items"] if not one["location"])
    assert other["rendered"] in ("Ten seconds wait.", "Thirty seconds wait.")


def test_a_conflict_of_two_writers_says_where_its_part_stands(tmp_path: Path, run: Run):
    run("init")
    with ibidem.open(tmp_path) as repo:
        repo.ingest(text="# Trip\n\n## Cost\n\nNine euros.\n", path="trip.md")
        first, second = repo.transaction(), repo.transaction()
        for tx, text in ((first, "Eight euros."), (second, "One euro.")):
            ibidem.ingest_text(tx, f"# Trip\n\n## Cost\n\n{text}\n", path="trip.md")
            tx.publish()
    assert "changed differently, in trip.md > Trip > Cost\n" in run("status").stdout


def test_a_dry_run_says_the_same_and_changes_nothing(apart: Run, data: Data):
    before = data("status")["head"]
    assert "1 conflict to resolve" in apart("merge", "side", "--dry-run", code=1).stdout
    assert data("status")["head"] == before
    assert "applied" in apart("history", "rebase", "side", "--dry-run", code=1).stdout
    assert data("status")["head"] == before


@pytest.mark.parametrize(
    ("choice", "summary"),
    [
        (["--ours"], "ours"),
        (["--theirs"], "theirs"),
        (["--base"], "base"),
        (["--value", "summary=42"], "42"),
        (["--theirs", "--value", "props.year=null"], "theirs"),
    ],
)
def test_a_conflict_is_settled_by_the_beginning_of_its_id(
    apart: Run, data: Data, choice: list[str], summary: str
):
    apart("merge", "side", code=1)
    assert "no conflicts left" in apart("resolve", MILL[:6], *choice, "-m", "why").stdout
    node = data("show", MILL)["value"]
    assert node["summary"] == summary
    assert node["props"] == ({} if "props.year=null" in choice else {"year": 1843})
    assert data("log")["commits"][0]["message"] == "why"
    assert "to resolve" not in apart("status").stdout


def test_wrong_calls_are_refused_and_change_nothing(apart: Run, data: Data):
    apart("merge", "nowhere", code=3)
    apart("cherry-pick", "nowhere", code=3)
    apart("resolve", MILL, "--ours", code=3)
    apart("merge", "side", code=1)
    head = data("status")["head"]
    for wrong in ([], ["--value", "summary"], ["--value", "=1"]):
        apart("resolve", MILL, *wrong, code=2)
    apart("resolve", "00", "--ours", code=2)
    apart("resolve", "", "--ours", code=2)
    assert data("status")["head"] == head


def test_commits_are_made_again_and_taken_back(apart: Run, data: Data):
    assert "1 conflict to resolve" in apart("cherry-pick", "side", code=1).stdout
    apart("undo")
    assert "applied: 1 node changed" in apart("revert", "HEAD", "-m", "back").stdout
    assert data("show", MILL)["value"]["summary"] == "base"
    assert "unchanged" in apart("history", "rebase", "main").stdout
    apart("merge", "side")
    assert data("show", MILL)["value"]["summary"] == "theirs"


def test_a_stage_that_meets_another_commit_is_merged_and_says_so(apart: Run, data: Data):
    with ibidem.open(".") as repository:
        apart("node", "add", "Fact", "--key", "mill", "--summary", "staged", "--replace")
        with repository.transaction() as tx:
            tx.update_node(NodeId.parse(MILL), summary="committed")
    made = data("commit", "-m", "staged")
    assert made["conflict_count"] == 1
    assert data("status")["conflicts"][0]["id"] == MILL
