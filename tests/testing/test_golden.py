"""The text form of a golden holds every option of a question, those that most have not included."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ibidem
from ibidem.objects.errors import CorruptError
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer
from ibidem.testing.golden import Golden, parse, read, record
from ibidem.testing.judge import Mode
from ibidem.testing.recheck import recheck


@pytest.mark.parametrize("asked", [{}, {"recency": True}, {"feedback": True}, {"direct": True}])
@pytest.mark.parametrize("viewer", [None, ALL, Viewer(level=1, scopes=("a",))])
def test_an_option_that_a_plain_question_has_not_is_kept(
    tmp_path: Path, asked: dict[str, bool], viewer: Viewer | None
) -> None:
    options = asked if viewer is None else {**asked, "viewer": viewer}
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            tx.add_node("Note", summary="pour tea", props={"updated": 1})
            if viewer is not None:
                tx.set_trust_policy(TrustPolicy())
        check = record("tea", repo.retrieve("tea", **options), Mode.of("exact").form())
        Golden("notes", {"tea": check}).write(tmp_path / "notes.golden")
        (found,) = read(tmp_path / "notes.golden").checks.values()
        assert found.query == check.query
        assert recheck(repo.core, repo.core.graph(), found) == []


@pytest.mark.parametrize("asked", [{"feedback": True}, {"worth": True}])
def test_the_notes_that_count_are_kept(tmp_path: Path, asked: dict[str, bool]) -> None:
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            tea = tx.add_node("Note", summary="pour tea")
        repo.notes.space().reinforce(tea, author="ada")
        check = record("tea", repo.retrieve("tea", **asked), Mode.of("exact").form())
        assert check.query.recall is not None
        assert check.query.recall.notes is not None
        Golden("notes", {"tea": check}).write(tmp_path / "notes.golden")
        (found,) = read(tmp_path / "notes.golden").checks.values()
        assert found.query == check.query
        assert recheck(repo.core, repo.core.graph(), found) == []


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (b"\n", b"\r\n", "its lines end in CRLF: put '\\*\\*/__retrieval__/\\*\\* -text' into"),
        (
            b"\nchecksum",
            b"\n<<<<<<< a\n>>>>>>> b\nchecksum",
            "markers of a merge conflict",
        ),
        (b"tea", b"tee", "restore the file, or record it again"),
    ],
)
def test_the_hint_on_a_damaged_golden_names_what_git_did(old: bytes, new: bytes, hint: str) -> None:
    data = Golden("tea", {}).text().encode()
    with pytest.raises(CorruptError) as raised:
        parse(data.replace(old, new))
    assert raised.value.hint is not None
    assert re.search(hint, raised.value.hint)
