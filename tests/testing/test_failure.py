"""What a failure says is itself a golden text: what moved, who moved it, which bytes differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from ibidem.repo.repository import Repository
from ibidem.retrieve.query.match import Match

from .conftest import QUESTION, Run, note

EXPECTED = Path(__file__).with_name("expected_failure.txt")
RANKS = f"""
def test_retries(retrieval):
    retrieval.check({QUESTION!r}, mode="ranks", limit=3)
"""
PLAIN = RANKS.replace(", limit=3", "")


def said(result: pytest.RunResult) -> str:
    """Returns the failure's message, hashes written as what they are hashes of."""
    text = result.stdout.str()
    start, stop = text.index("retrieval changed"), text.index("to accept it")
    message = re.sub(r"\bb[a-z2-7]{58}\b", "CID", text[start:stop])
    return re.sub(r"\b[0-9a-f]{64}\b", "HASH", message)


def test_a_failure_shows_entered_left_moved_and_scores(
    project: pytest.Pytester, run: Run, repo: Repository
):
    note(repo, "fourth", "Retries and nothing else, at some length and to no purpose.", "more")
    note(repo, "long", f"Retries {'and so on ' * 9}", "more still")
    project.makepyfile(
        test_notes=f"def test_it(retrieval):\n    retrieval.check({QUESTION!r}, limit=4)\n"
    )
    run("--retrieval-update").assert_outcomes(passed=1)
    with repo.transaction(author="eve", message="tidy up wording") as tx:
        first = repo.retrieve(QUESTION).items[0].id
        tx.update_node(first, summary="Nothing to see here.")
        tx.add_node("Note", summary="Retries back off.", key="fifth")
        second, third = (item.id for item in repo.retrieve(QUESTION).items[1:3])
        tx.update_node(
            second,
            summary="Retries need a key, and that is all there is to say about the matter here.",
        )
        tx.update_node(third, props={"checked": True})
    shown = said(run())
    for word in ("left", "entered", "moved", "rescored"):
        assert re.search(rf"-> \S+ +{word} ", shown), shown
    assert shown == EXPECTED.read_text(encoding="utf-8")


def test_a_planted_regression_is_named(project: pytest.Pytester, run: Run, repo: Repository):
    for number in range(100):
        note(repo, f"a{number}", f"Calls and deadlines, number {number}.", "filler")
    project.makepyfile(test_notes=RANKS)
    run("--retrieval-update").assert_outcomes(passed=1)
    for number in range(61):
        note(repo, f"b{number}", f"Calls and deadlines, again {number}.", "filler")
    planted = note(repo, "retries", "Nothing to see here.", "tidy up wording")
    for number in range(37):
        note(repo, f"c{number}", f"Other calls with a deadline, number {number}.", "filler")
    assert len(list(repo.history.log())) == 200
    result = run()
    result.assert_outcomes(failed=1)
    commit = repo.resolve("HEAD~37")
    shown = result.stdout.str()
    assert f"caused by commit {commit} 'tidy up wording' by ada" in shown
    assert f"node {planted} changed (summary)" in shown
    asked = re.search(r"37 back, found by asking (\d+) more commits", shown)
    assert asked is not None
    assert int(asked[1]) <= 8


def test_a_golden_of_another_history_still_finds_the_commit(
    project: pytest.Pytester, run: Run, repo: Repository
):
    """The recorded commit is not here, as in a repository that the tests build anew."""
    project.makepyfile(test_notes=RANKS.replace("limit=3", "limit=1"))
    note(repo, "other", "Beside the point.", "only there")
    repo.branch("elsewhere")
    run("--retrieval-update").assert_outcomes(passed=1)
    repo.history.undo()
    repo.history.undo()
    for number in range(5):
        note(repo, f"a{number}", "Calls.", "filler")
    note(repo, "retries", "Nothing to see here.", "spoilt")
    note(repo, "b", "Calls.", "filler")
    result = run()
    result.stdout.fnmatch_lines(["caused by commit * 'spoilt' by ada*"])


def test_the_program_is_blamed_where_the_root_is_the_recorded_one(
    project: pytest.Pytester, run: Run
):
    from ibidem.testing.golden import Golden, read

    project.makepyfile(test_notes=RANKS)
    run("--retrieval-update")
    path = project.path / "__retrieval__" / "test_notes" / "test_retries.txt"
    from dataclasses import replace

    golden = read(path)
    check = golden.checks["1"]
    forged = replace(check, items=check.items[::-1])
    Golden(golden.test, {"1": forged}).write(path)
    run().stdout.fnmatch_lines(["*no commit caused this, the program did*"])


def test_a_commit_of_another_configuration_is_named(
    project: pytest.Pytester, run: Run, repo: Repository
):
    project.makepyfile(test_notes=PLAIN)
    run("--retrieval-update")
    note(repo, "new", "Pumps stand in the cellar.", "another note")
    with repo.transaction(author="bob", message="only one") as tx:
        tx.configure(limit=1, fusion="rrf")
    note(repo, "new2", "Pumps stand in the attic.", "one more note")
    result = run("--retrieval-report=report.md")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "the question is not the recorded one",
            "  fusion.name: 'score_normalised' -> 'rrf'",
            "  limit: 10 -> 1",
            "  * -> -   left *",
            "caused by commit * 'only one' by bob, *",
            "  1 back, found by asking * more commit*",
            "to accept it: *",
        ]
    )
    report = (project.path / "report.md").read_text("utf-8")
    assert "the question is not the recorded one: fusion.name: " in report
    assert "`only one` by `bob`" in report


def test_records_without_a_time_are_told_to_give_one(
    project: pytest.Pytester, run: Run, repo: Repository
):
    project.makepyfile(test_notes=PLAIN.replace("mode=", "kind='records', mode="))
    run("--retrieval-update")
    note(repo, "new", "Pumps stand in the cellar.", "another note")
    run().stdout.fnmatch_lines(
        [
            "  records.as_of: * -> *",
            "  in the answer: no item differs",
            "hint: give as_of, whose default is the time of the newest commit",
        ]
    )


def test_a_changed_test_is_named_as_the_cause(project: pytest.Pytester, run: Run, repo: Repository):
    project.makepyfile(test_notes=PLAIN)
    run("--retrieval-update")
    project.makepyfile(test_notes=PLAIN.replace("mode=", "limit=1, mode="))
    result = run()
    result.stdout.fnmatch_lines(
        ["  limit: 10 -> 1", "  *left *", "the root is the recorded one: the test was changed"]
    )
    note(repo, "new", "Pumps stand in the cellar.", "another note")
    run().stdout.fnmatch_lines(["the test was changed: it asks this at the recorded commit, too"])


def test_a_golden_of_before_holds_while_a_rule_of_a_release_changes_no_answer(
    project: pytest.Pytester, run: Run, repo: Repository, monkeypatch: pytest.MonkeyPatch
):
    project.makepyfile(test_notes=RANKS)
    resolved = Match.for_texts

    def of_before(match: Match, texts: Sequence[str], *, related: bool) -> Match:
        return resolved(match, texts, related=related).counting_like(Match())

    with monkeypatch.context() as patch:
        patch.setattr(Match, "for_texts", of_before)
        run("--retrieval-update").assert_outcomes(passed=1)
    (golden,) = project.path.rglob("*.txt")
    assert '"accents"' not in golden.read_text(encoding="utf-8")
    run().assert_outcomes(passed=1)
