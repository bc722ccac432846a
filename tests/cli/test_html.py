"""`--html` of `repo diff --query` and `repo run diff`: pages that stand alone and run nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.pages.reading import Tag, check_inert, read

import ibidem
from ibidem.cli.exits import FAILED
from ibidem.pages import change
from ibidem.repo.history.answer_change import compared
from ibidem.retrieve.access.policy import TrustPolicy

from .conftest import Run

Data = Callable[..., dict[str, Any]]

EVIL = "A deadline </p><script>alert(1)</script>\x1b[2J\u202e"


def page(path: Path) -> Tag:
    found = read(path.read_text("utf-8"))
    check_inert(found)
    assert not found.all("script")
    assert found.one("meta", http_equiv="Content-Security-Policy")
    return found


def test_a_question_at_two_revisions_is_a_page(notes: Run, tmp_path: Path):
    (tmp_path / "notes" / "timeouts.md").write_text(f"# Timeouts\n\n{EVIL} passed.\n")
    notes("commit", "notes", "-m", f"edit {EVIL}")
    asked = ("diff", "--query", "deadline of a call", "--label", "Passage", "main~1", "main")
    plain = notes(*asked)
    shown = notes(*asked, "--html", "out.html", "--exit-code", code=FAILED)
    assert shown.stdout == plain.stdout
    size = (tmp_path / "out.html").stat().st_size
    assert shown.stderr == f"out.html written, {size:,} bytes\n"
    found = page(tmp_path / "out.html")
    assert found.one("h1").words == "deadline of a call"
    assert "<script>alert(1)</script>" in found.words
    assert "ranks: main~1 and main" in found.all("title")[1].words
    assert "Contains the question" in found.words
    first = (tmp_path / "out.html").read_bytes()
    notes(*asked, "--html", "out.html")
    assert (tmp_path / "out.html").read_bytes() == first


def test_a_page_is_cut_by_the_viewer(notes: Run, tmp_path: Path):
    with ibidem.open(tmp_path) as repo:
        with repo.transaction(message="policy") as tx:
            tx.set_trust_policy(TrustPolicy())
            told = tx.add_node("Note", summary="a deadline is told", props={"level": 1})
        with repo.transaction(message="HIDDEN words", author="mallory") as tx:
            tx.update_node(told, summary="a HIDDEN deadline", props={"level": 4})
    asked = ("diff", "--query", "deadline", "HEAD~1", "HEAD", "--label", "Note", "--html")
    notes(*asked, "all.html", "--viewer", "all")
    assert "HIDDEN words by mallory" in page(tmp_path / "all.html").words
    notes(*asked, "some.html", "--viewer", "1", code=2)
    assert not (tmp_path / "some.html").exists()
    with ibidem.open(tmp_path) as repo:
        viewer = ibidem.Viewer(level=1, scopes=())
        found = repo.history.compare("deadline", before="HEAD~1", label="Note", viewer=viewer)
        text = change.page(compared(repo.core.store, found, before="HEAD~1", after="HEAD"))
    assert "a deadline is told" in text
    assert "level 1, no scope" in text
    assert "HIDDEN" not in text
    assert "mallory" not in text


def test_two_runs_are_a_page(notes: Run, tmp_path: Path):
    with ibidem.open(tmp_path) as repo:
        for answer in ("wait", EVIL):
            with repo.runs.start("desk") as run:
                run.retrieve("request retried", limit=2)
                run.event("model", "a prompt", lambda answer=answer: answer)
            with repo.transaction(message="edit") as tx:
                tx.add_node("Note", summary=f"request retried {EVIL}")
    said = notes("run", "diff", "desk/1", "desk/2").stdout
    assert notes("run", "diff", "desk/1", "desk/2", "--html", "runs.html").stdout == said
    found = page(tmp_path / "runs.html")
    assert found.one("h1").words == "Runs desk/1 and desk/2"
    assert [one.words for one in found.all("h2")] == ["1. step 1", "2. step 2"]
    assert "was answered something else" in found.words
    assert "ranks: desk/1 and desk/2" in found.one("svg").all("title")[0].words
    assert "<script>alert(1)</script>" in found.words
    notes("run", "diff", "desk/1", "desk/1", "--html", "same.html")
    assert "the same, step for step" in page(tmp_path / "same.html").words


def test_a_bisection_is_a_page(notes: Run, data: Data, tmp_path: Path):
    found = data("retrieve", "deadline of a call", "--label", "Passage", "--limit", "1")
    expected = found["items"][0]["id"]
    for number in range(4):
        text = "gone" if number == 2 else f"Every call has a deadline of thirty seconds {number}."
        (tmp_path / "notes" / f"{number}.md").write_text(f"# Other {number}\n\n{text}\n")
        if number == 2:
            (tmp_path / "notes" / "timeouts.md").write_text(f"# Timeouts\n\n{EVIL} is gone.\n")
        notes("commit", "notes", "-m", f"edit {number} {EVIL}")
    asked = ("bisect", "--query", "deadline of a call", "--label", "Passage", "--expect", expected)
    plain = notes(*asked).stdout
    assert notes(*asked, "--html", "bisect.html").stdout == plain
    found = page(tmp_path / "bisect.html")
    assert found.one("h1").words == "deadline of a call"
    assert "of 5 tried" in found.words
    assert {one.words for one in found.all("span", class_="tag")} >= {"holds", "fails", "left"}
    first = found.all("h2")[0]
    assert first.words == "First to fail"
    assert "edit 2 A deadline" in found.words
    assert "<script>alert(1)</script>" in found.words


def test_what_cannot_be_written_is_refused(notes: Run):
    assert "--html needs --query" in notes("diff", "--html", "x.html", code=2).stderr
    asked = ("diff", "--query", "deadline", "main", "--html")
    notes(*asked, ".", code=2)
    assert "error:" in notes(*asked, "none/x.html", code=15).stderr
