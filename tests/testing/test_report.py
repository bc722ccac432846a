"""The report of `--retrieval-report`: complete, escaped, bounded, and the same from any process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.pages.reading import Tag, check_inert, read

from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import TrustPolicy

from .conftest import PLUGIN, QUESTION, Run, note

EVIL = "Retries </p><script>alert(1)</script> \x1b[2J\u202e | ``` @octocat ![x](http://evil/x.png)"
RANKS = f"""
def test_retries(retrieval):
    retrieval.check({QUESTION!r}, mode="ranks", limit=3)

def test_deadline(retrieval):
    retrieval.check("deadline", mode="ranks", limit=3)
"""


@pytest.fixture
def edited(project: pytest.Pytester, run: Run, repo: Repository) -> pytest.Pytester:
    """The project after an edit that changes one of two recorded answers."""
    project.makepyfile(test_notes=RANKS)
    run("--retrieval-update").assert_outcomes(passed=2)
    with repo.transaction(author="eve", message=f"tidy up {EVIL}") as tx:
        tx.add_node("Note", summary="Nothing to see here.", key="retries", replace=True)
        tx.add_node("Note", summary=EVIL, key="evil")
    note(repo, "other", "Beside the point.", "later")
    return project


def page(project: pytest.Pytester, name: str = "report.html") -> Tag:
    found = read((project.path / name).read_text("utf-8"))
    check_inert(found)
    return found


def test_the_page_shows_ranks_texts_and_the_commit(edited: pytest.Pytester, run: Run):
    result = run("--retrieval-report=out/report.html", "--retrieval-report=report.md")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["written  out/report.html", "written  report.md"])
    shown = page(edited, "out/report.html")
    assert "1 of 2 answers changed." in shown.words
    assert QUESTION in shown.one("h2").words
    assert "ranks: recorded and now" in shown.one("svg").all("title")[0].words
    assert {tag.words for tag in shown.all("span", class_="tag")} >= {"left", "entered", "moved"}
    assert "tidy up" in shown.words
    assert "test_notes.py::test_retries" in shown.words
    policy = shown.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert {link.attributes["href"] for link in shown.all("a")} == {"#content", "#change-1"}


def test_no_text_of_a_repository_becomes_markup(edited: pytest.Pytester, run: Run):
    run("--retrieval-report=report.html", "--retrieval-report=report.md")
    shown = page(edited)
    assert not shown.all("script")
    assert not shown.all("img")
    assert "<script>alert(1)</script>" in shown.words
    comment = (edited.path / "report.md").read_text("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", comment)
    # Without its code, nothing of the text is left.
    bare = re.sub(r"(?s)(`{3,})(?:diff|text)\n.*?\n\1\n", "", comment)
    bare = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", bare)
    assert "Retries" in comment
    for word in ("script", "octocat", "evil", "Retries", "tidy"):
        assert word not in bare, bare


@pytest.mark.slow
def test_processes_write_the_same_bytes(
    edited: pytest.Pytester, run: Run, repo: Repository, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("xdist")
    run("--retrieval-report=one.html")
    repo.close()
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2] / "src"))
    edited.runpytest_subprocess("-q", *PLUGIN, "-n", "2", "--retrieval-report=two.html")
    one, two = ((edited.path / f"{name}.html").read_bytes() for name in ("one", "two"))
    assert one == two
    assert str(edited.path).encode() not in one


def test_an_update_reports_what_it_accepts(edited: pytest.Pytester, run: Run):
    run("--retrieval-update", "--retrieval-report=report.html").assert_outcomes(passed=2)
    assert "1 of 2 answers changed." in page(edited).words
    run("--retrieval-report=report.md").assert_outcomes(passed=2)
    comment = (edited.path / "report.md").read_text("utf-8")
    assert comment == "### Answers of retrieval\n\n0 of 2 answers changed.\n"


def test_new_answers_other_questions_and_gates_are_reported(edited: pytest.Pytester, run: Run):
    (edited.path / "judged.jsonl").write_text('{"query": "deadline", "relevant": ["none"]}\n')
    edited.makepyfile(
        test_notes=RANKS.replace("limit=3", "limit=2")
        + f"""
def test_new(retrieval):
    retrieval.check({QUESTION!r})

def test_gate(retrieval):
    retrieval.quality("judged.jsonl", mrr=0.5)
"""
    )
    run("--retrieval-report=report.html").assert_outcomes(failed=4)
    words = page(edited).words
    assert "2 of 3 answers changed, 1 without a golden answer, 1 quality gates" in words
    assert "the question is not the recorded one: limit: 3 -> 2" in words
    assert "below the gate (mean)" in words


def test_without_tests_there_is_a_report_of_none(project: pytest.Pytester, run: Run):
    project.makepyfile(test_notes="def test_nothing():\n    pass\n")
    run("--retrieval-report=report.html").assert_outcomes(passed=1)
    assert "0 of 0 answers changed." in page(project).words


def test_names_that_cannot_be_written_are_refused(edited: pytest.Pytester, run: Run):
    result = run("--retrieval-report=report.pdf")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (edited.path / "file").write_text("")
    result = run("--retrieval-report=file/report.html")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["failed   file/report.html: *", "*1 failed, 1 passed*"])


def test_a_restricted_caller_gets_no_message_and_no_other_node(
    project: pytest.Pytester, run: Run, repo: Repository
):
    with repo.transaction(author="ada", message="the policy") as tx:
        tx.set_trust_policy(TrustPolicy())
        told = tx.add_node("Note", summary="Retries back off, it is told.", props={"level": 1})
    project.makepyfile(
        test_notes=f"""
from ibidem import Viewer

def test_it(retrieval):
    retrieval.check({QUESTION!r}, viewer=Viewer(level=1, scopes=()), mode="ranks")
"""
    )
    run("--retrieval-update").assert_outcomes(passed=1)
    with repo.transaction(author="eve", message="SECRET message") as tx:
        tx.update_node(told, summary="SECRET retries", props={"level": 4})
        tx.add_node("Note", summary="SECRET again", props={"level": 4})
    run("--retrieval-report=report.html", "--retrieval-report=report.md").assert_outcomes(failed=1)
    for name in ("report.html", "report.md"):
        text = (project.path / name).read_text("utf-8")
        assert "it is told" in text
        assert "SECRET" not in text
        assert "eve" not in re.findall(r"\w+", text)
        assert str(repo.resolve("HEAD")) in text
        assert "level 1, no scope" in text or name == "report.md"


def test_an_answer_recorded_for_everybody_shows_a_restricted_caller_no_text_of_it(
    project: pytest.Pytester, run: Run, repo: Repository
):
    with repo.transaction(author="ada", message="the policy") as tx:
        tx.set_trust_policy(TrustPolicy())
        tx.add_node("Note", summary="Retries back off.\n\nSECRET body", props={"level": 4})
        tx.add_node("Note", summary="Retries are told.", props={"level": 1})
    test = f"""
from ibidem import ALL, Viewer

def test_it(retrieval):
    retrieval.check({QUESTION!r}, viewer=VIEWER, mode="ranks")
"""
    project.makepyfile(test_notes=test.replace("VIEWER", "ALL"))
    run("--retrieval-update").assert_outcomes(passed=1)
    project.makepyfile(
        test_notes=test.replace("viewer=VIEWER", "viewer=Viewer(level=1, scopes=())")
    )
    run("--retrieval-report=report.html", "--retrieval-report=report.md").assert_outcomes(failed=1)
    for name in ("report.html", "report.md"):
        text = (project.path / name).read_text("utf-8")
        assert "are told" in text
        assert "SECRET" not in text
