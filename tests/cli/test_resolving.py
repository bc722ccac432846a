"""Conflicts about documents, read and resolved as text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run

Data = Callable[..., dict[str, Any]]
BASE = "# Style\n\nFirst rule.\n\nSecond rule.\n\nThird rule.\n"
BOTH_FIRST = BASE.replace("First", "First of ours"), BASE.replace("First", "First of theirs")


@pytest.fixture
def meet(run: Run, tmp_path: Path) -> Callable[..., str]:
    """Commits two versions of `style.md` on two branches, None for a removal, and merges them."""

    def write(text: str | None) -> None:
        page = tmp_path / "style.md"
        page.unlink() if text is None else page.write_text(text, encoding="utf-8")
        run("commit", ".", "-m", "edit")

    def call(ours: str | None, theirs: str | None, *, code: int = 1) -> str:
        run("init")
        write(BASE)
        run("switch", "-c", "side")
        write(theirs)
        run("switch", "main")
        (tmp_path / "style.md").write_text(BASE, encoding="utf-8")
        write(ours)
        return run("merge", "side", code=code).stdout

    return call


def hide_second_rule(run: Run, data: Data) -> str:
    """Commits a tombstone of the passage with the second rule; returns its id."""
    passages = data("query", "--label", "Passage")["nodes"]
    (hidden,) = (str(each["id"]) for each in passages if "Second rule" in each["summary"])
    run("node", "tombstone", hidden)
    run("commit", "-m", "hide")
    return hidden


def test_a_conflict_names_the_path_and_shows_both_texts(
    meet: Callable[..., str], run: Run, data: Data
) -> None:
    said = meet(*BOTH_FIRST)
    assert said.endswith(
        "  ! style.md  changed differently, in Style\n"
        "      # Style\n"
        "      \n"
        "      <<<<<<< ours\n"
        "      First of ours rule.\n"
        "      =======\n"
        "      First of theirs rule.\n"
        "      >>>>>>> theirs\n"
        "      \n"
        "      Second rule.\n"
    )
    (found,) = data("status")["documents"]
    assert (found["path"], found["ours"], found["theirs"]) == ("style.md", *BOTH_FIRST)
    assert found["marker_count"] == 1
    assert "same lines" in run("resolve", "style.md", code=2).stderr


def test_the_text_around_a_hidden_passage_is_not_shown(
    meet: Callable[..., str], run: Run, data: Data
) -> None:
    meet(*BOTH_FIRST)
    hidden = hide_second_rule(run, data)
    shown = run("status").stdout
    assert f"  ! style.md  changed differently\n      node {hidden} of it was forgotten" in shown
    assert f"'repo node untombstone {hidden}'" in shown
    assert "Second rule" not in shown
    (found,) = data("status")["documents"]
    assert found["hidden"] == hidden
    assert (found["ours"], found["theirs"], found["merged"]) == (None, None, None)
    refused = run("resolve", "style.md", "--edit", code=3)
    assert f"node {hidden} of it was forgotten" in refused.stderr
    assert "no conflicts left" in run("resolve", "style.md", "--theirs").stdout
    assert hidden in run("cat", "style.md", code=3).stderr
    run("node", "untombstone", hidden)
    run("commit", "-m", "show")
    assert run("cat", "style.md").stdout == BOTH_FIRST[1]


def test_a_passage_that_is_shown_again_is_shown_in_its_conflict(
    run: Run, data: Data, tmp_path: Path
) -> None:
    page = tmp_path / "style.md"
    run("init")
    page.write_text(BASE, encoding="utf-8")
    run("commit", ".", "-m", "base")
    hidden = hide_second_rule(run, data)
    run("branch", "side")
    page.write_text(BOTH_FIRST[0], encoding="utf-8")
    run("commit", ".", "-m", "ours")
    run("switch", "side")
    page.write_text(BOTH_FIRST[1], encoding="utf-8")
    run("commit", ".", "-m", "theirs")
    run("switch", "main")
    assert "Second rule" not in run("merge", "side", code=1).stdout
    run("node", "untombstone", hidden)
    run("commit", "-m", "show")
    assert "Second rule" in run("status").stdout


def test_an_erased_part_of_a_document_in_conflict_leaves_it_to_resolve(
    meet: Callable[..., str], run: Run, data: Data
) -> None:
    meet(*BOTH_FIRST)
    hidden = hide_second_rule(run, data)
    run("erase", hidden, "--yes")
    assert "! style.md" in run("status").stdout
    assert data("status")["documents"][0]["path"] == "style.md"
    run("resolve", "style.md", "--ours")


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_side_is_taken_and_not_taken_back(
    meet: Callable[..., str], run: Run, data: Data, tmp_path: Path, side: str
) -> None:
    meet(BOTH_FIRST[0], BOTH_FIRST[1].replace("Third", "Third of theirs"))
    assert "no conflicts left" in run("resolve", "style.md", f"--{side}").stdout
    wanted = BASE.replace("First", f"First of {side}").replace("Third", "Third of theirs")
    assert run("cat", "style.md").stdout == wanted
    assert data("commit", ".", "-m", "nothing")["commit"] is None
    assert run("cat", "style.md").stdout == wanted
    run("checkout", "style.md")
    assert (tmp_path / "style.md").read_text(encoding="utf-8") == wanted
    run("fsck")


def test_changes_of_different_paragraphs_are_no_conflict(
    meet: Callable[..., str], run: Run, data: Data
) -> None:
    theirs = BASE.replace("Third", "Third of theirs")
    assert "conflict" not in meet(BOTH_FIRST[0], theirs, code=0)
    assert run("cat", "style.md").stdout == BOTH_FIRST[0].replace("Third", "Third of theirs")
    assert data("status")["documents"] == []
    run("fsck")


def test_changes_of_different_lines_need_no_choice(meet: Callable[..., str], run: Run) -> None:
    ours, theirs = (BASE.replace(word, "The same") for word in ("First", "Third"))
    assert "in different lines" in meet(ours, theirs)
    run("resolve", "style.md")
    assert run("cat", "style.md").stdout == ours.replace("Third", "The same")
    run("fsck")


def test_a_file_resolves_unless_it_has_markers(
    meet: Callable[..., str], run: Run, data: Data, tmp_path: Path
) -> None:
    meet(*BOTH_FIRST)
    merged = data("status")["documents"][0]["merged"]
    (tmp_path / "style.md").write_text(merged, encoding="utf-8")
    assert "still has markers" in run("resolve", "style.md", "--file", "style.md", code=2).stderr
    (tmp_path / "style.md").write_text("# Style\n\nBoth.\n", encoding="utf-8")
    assert data("resolve", "style.md", "--file", "style.md")["conflict_count"] == 0
    status = data("status")
    assert (status["documents"], status["conflicts"]) == ([], [])
    assert status["folder"]["modified"] == status["folder"]["behind"] == []
    assert data("query", "--label", "Passage", "--count")["count"] == 1
    run("resolve", "style.md", "--file", "-", code=2)


def test_the_editor_gets_the_markers(
    meet: Callable[..., str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    meet(*BOTH_FIRST)
    monkeypatch.setenv("VISUAL", "")
    monkeypatch.setenv("EDITOR", "true")
    assert "not saved" in run("resolve", "style.md", "--edit", code=2).stderr
    monkeypatch.setenv("EDITOR", "sed -i -e '/^<<<<<<<\\|^=======\\|^>>>>>>>/d'")
    run("resolve", "style.md", "--edit")
    assert "First of ours rule.\nFirst of theirs rule.\n" in run("cat", "style.md").stdout


@pytest.mark.parametrize(("side", "gone"), [("ours", True), ("theirs", False)])
def test_a_removal_meets_a_change(
    meet: Callable[..., str], run: Run, data: Data, side: str, gone: bool
) -> None:
    assert "deleted by ours" in meet(None, BOTH_FIRST[1])
    run("resolve", "style.md", code=2)
    run("resolve", "style.md", f"--{side}")
    count = data("query", "--label", "Document", "--count")["count"]
    assert count == (0 if gone else 1)
    assert data("status")["conflicts"] == []
    run("fsck")


def test_options_of_the_other_kind_are_refused(meet: Callable[..., str], run: Run) -> None:
    meet(*BOTH_FIRST)
    run("resolve", "style.md", "--base", code=2)
    run("resolve", "style.md", "--ours", "--edit", code=2)
    two = run("resolve", "style.md", "--ours", "--theirs", code=2).stderr
    assert "expected one of --ours, --theirs" in two
    two = run("resolve", "style.md", "--ours", "--theirs", code=2).stderr
    assert "expected one of --ours, --theirs" in two
    run("resolve", "abcd1234", "--edit", code=2)
    run("resolve", "other.md", "--ours", code=2)
