"""A tombstone stays with its text when the document of the text gets another path."""

import pytest

import ibidem
from ibidem.ingest.draft import document_id
from ibidem.ingest.ingest import ingest, ingest_text
from ibidem.ingest.prune import remove_document
from ibidem.ingest.report import IngestReport
from ibidem.objects.location import source_text

TEXT = "# A\n\nThe password is swordfish.\n\nOther text.\n"
MORE = TEXT + "\nMore text.\n"


@pytest.fixture
def repo(tmp_path):
    """A repository with a document, one passage of which is hidden."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text(TEXT)
    with ibidem.init("memory:") as repository:
        with repository.transaction() as tx:
            ingest(tx, [tmp_path], root=tmp_path)
        with repository.transaction() as tx:
            tx.tombstone(secret(repository), reason="leaked")
        yield repository


def secret(repo, path="notes/a.md"):
    """Returns the id of the passage with the password in a document, hidden or not."""
    document = document_id(path).raw
    (found,) = (
        node.id
        for node in repo.at().nodes(include_tombstoned=True)
        if "swordfish" in node.summary and node.key[1][0] == document
    )
    return found


def shown(repo):
    return sorted(node.summary for node in repo.at().nodes() if node.ntype == "Passage")


def move(repo, text, before, after):
    report = IngestReport()
    with repo.transaction() as tx:
        ingest_text(tx, text, path=after, report=report)
        remove_document(tx, before, report, moved_to=after)
    assert (report.renamed, report.skipped) == ([(before, after)], [])


@pytest.mark.parametrize("text", [TEXT, MORE])
def test_a_moved_document_shows_no_hidden_passage_and_its_other_text_once(repo, text):
    with repo.transaction() as tx:
        tx.update_node(document_id("notes/a.md"), set_props={"owner": "ada"})
    move(repo, text, "notes/a.md", "b.md")
    assert [item.node.summary for item in repo.retrieve("swordfish password")] == []
    assert shown(repo) == ["More text."] * (text == MORE) + ["Other text."]
    now = repo.at()
    assert now.tombstone(secret(repo, "b.md")) == now.tombstone(secret(repo)) == "leaked"
    assert now.node(document_id("b.md")).props["owner"] == "ada"


def test_what_is_attached_to_a_hidden_passage_moves_with_it(repo):
    with repo.transaction() as tx:
        tx.untombstone(secret(repo))
        tx.update_node(secret(repo), set_props={"seen": True})
        tx.add_edge(secret(repo), "of", document_id("notes/a.md"))
        tx.tombstone(secret(repo), reason="leaked")
    move(repo, TEXT, "notes/a.md", "b.md")
    with repo.transaction() as tx:
        tx.untombstone(secret(repo, "b.md"))
    now = repo.at()
    assert now.node(secret(repo, "b.md")).props["seen"] is True
    assert {edge.dst for edge in now.edges_of(secret(repo, "b.md"))} == {document_id("b.md")}


def test_a_text_that_was_hidden_is_hidden_again_under_both_paths(repo):
    move(repo, TEXT, "notes/a.md", "b.md")
    for path in ("notes/a.md", "b.md"):
        with repo.transaction() as tx:
            ingest_text(tx, MORE, path=path)
        assert "The password is swordfish." not in shown(repo)
    nodes = {node.id: node for node in repo.at().nodes(include_tombstoned=True)}
    assert source_text(document_id("notes/a.md"), nodes.__getitem__) == MORE
    with repo.transaction() as tx:
        tx.untombstone(secret(repo, "b.md"))
    assert shown(repo).count("The password is swordfish.") == 1


def test_a_document_that_moves_back_is_hidden_as_before(repo):
    move(repo, TEXT, "notes/a.md", "b.md")
    move(repo, TEXT, "b.md", "notes/a.md")
    assert shown(repo) == ["Other text."]


def test_a_removed_document_leaves_only_what_is_hidden(repo):
    report = IngestReport()
    with repo.transaction() as tx:
        remove_document(tx, "notes/a.md", report)
    assert (report.deleted, report.documents_removed, report.nodes_removed) == (
        ["notes/a.md"],
        1,
        3,
    )
    (left,) = repo.at().nodes(include_tombstoned=True)
    assert left.id == secret(repo)
    with repo.transaction() as tx:
        ingest_text(tx, TEXT, path="notes/a.md")
    assert shown(repo) == ["Other text."]


@pytest.mark.parametrize("text", [TEXT, MORE])
def test_a_moved_folder_shows_no_hidden_passage(repo, tmp_path, text):
    (tmp_path / "notes").rename(tmp_path / "papers")
    (tmp_path / "papers" / "a.md").write_text(text)
    with repo.transaction() as tx:
        report = ingest(tx, [tmp_path], root=tmp_path, prune=True)
    assert (report.documents_added, report.documents_removed) == (1, 1)
    assert "The password is swordfish." not in shown(repo)
    assert repo.at().tombstone(secret(repo, "papers/a.md")) == "leaked"
