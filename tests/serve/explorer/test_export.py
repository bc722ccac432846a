"""The file of `repo view --export`: it stands alone, says what it contains, and is bounded."""

import pytest
from tests.pages.reading import check_inert, read

import ibidem
from ibidem.retrieve.query.options import FOR_READERS
from ibidem.serve.explorer import export as module
from ibidem.serve.explorer.export import export

from .conftest import QUESTION


def test_the_file_has_the_answer_its_sources_and_the_history(repo: ibidem.Repository):
    text = export(repo, QUESTION)
    page = read(text)
    check_inert(page)
    assert [one.words for one in page.all("h2")][:2] == ["What this file contains", "Answer"]
    assert "seventy times" in page.words
    assert "update the limits" in page.words
    assert str(repo.retrieve(QUESTION, **FOR_READERS).cid) in page.words
    assert not page.all("script")
    assert not page.all("link")
    assert [a.attributes["href"] for a in page.all("a")] == ["#content"]
    assert "everything" in page.one("main").all("dl")[0].words


def test_a_revision_of_the_past_is_exported_from_there(repo: ibidem.Repository):
    assert "seventy" not in read(export(repo, QUESTION, at="HEAD~2")).words


def test_without_a_question_the_nodes_are_listed(repo: ibidem.Repository):
    count = repo.at().count()
    assert f"{count} of {count} nodes" in read(export(repo)).words


def test_the_same_state_gives_the_same_bytes(repo: ibidem.Repository):
    assert export(repo, QUESTION) == export(repo, QUESTION)


def test_what_would_make_it_too_large_is_left_out_and_named(
    repo: ibidem.Repository, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "EXPORT_BYTES_MAX", 4000)
    text = export(repo, QUESTION)
    page = read(text)
    assert "the file would be too large" in page.words
    assert "History" in page.one("main").all("dl")[0].words


def test_a_viewer_exports_what_he_may_see():
    with ibidem.init("memory:") as repo:
        with repo.transaction(message="policy of Bob", time=1) as tx:
            tx.set_trust_policy(ibidem.TrustPolicy())
            ada = tx.add_node("Person", summary="Ada, payments", props={"level": 1})
            bob = tx.add_node("Person", summary="Bob, payments", props={"level": 3})
            tx.add_edge(ada, "boss of", bob)
        viewer = repo.as_viewer(ibidem.Viewer(level="low", scopes=()))
        for question in ("payments", ""):
            page = read(export(viewer, question))
            assert "Ada" in page.words
            assert "Bob" not in page.words
            said = page.one("main").all("dl")[0].words
            assert "up to level 1" in said
            assert "none: only what is in no scope" in said


@pytest.mark.parametrize(
    ("viewer", "said"),
    [
        (ibidem.Viewer(level=2, scopes=("team/a", "<b>\u202e")), "<b>\\u202e, team/a"),
        (ibidem.Viewer(level=2, scopes=ibidem.ALL_SCOPES), "scopesall"),
        (ibidem.Viewer(level=4, scopes=(), authenticated=False), "an anonymous viewer"),
    ],
)
def test_the_file_names_the_scopes_of_its_viewer(viewer: ibidem.Viewer, said: str):
    with ibidem.init("memory:") as repo:
        with repo.transaction(message="policy", time=1) as tx:
            tx.set_trust_policy(ibidem.TrustPolicy())
        page = read(export(repo.as_viewer(viewer)))
        assert said in page.one("main").all("dl")[0].words
