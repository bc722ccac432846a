"""Files and folders into a graph: repeatable, local, and one bad file does not stop the rest."""

import io
import os
import pydoc_data.topics
import random

import pytest

from ibidem.ingest.draft import document_id
from ibidem.ingest.ingest import ingest, ingest_text
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.location import source_text

from .graph import Graph
from .trees import changed

PRIVATE_KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7VJTUt9Us8cKjMzEfYyjiWA4R4" * 2 + "\n"
)


def make(folder, files):
    for name, data in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())


def passages(graph):
    return sorted(node.summary for node in graph.nodes().values() if node.ntype == "Passage")


@pytest.fixture
def topics(tmp_path):
    """Forty real documents, in folders."""
    names = sorted(pydoc_data.topics.topics)[:40]
    make(
        tmp_path,
        {
            f"{name[0].lower()}/{name}.md": f"# {name}\n\n{pydoc_data.topics.topics[name]}"
            for name in names
        },
    )
    return tmp_path


def test_a_second_ingest_of_the_same_is_a_no_op(topics):
    graph = Graph()
    first = graph.ingest(topics)
    root = graph.cid
    second = graph.ingest(topics)
    assert (first.documents_added, first.errors) == (40, [])
    assert (second.documents_added, second.documents_changed, second.documents_unchanged) == (
        0,
        0,
        40,
    )
    assert (second.nodes_added, second.nodes_changed, second.nodes_removed) == (0, 0, 0)
    assert (graph.cid, graph.publications) == (root, 1)


def test_neither_place_nor_order_of_ingest_changes_the_root(topics, tmp_path_factory):
    one = Graph()
    one.ingest(topics)
    files = list(topics.rglob("*.md"))
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for file in files:
        make(elsewhere, {f"deep/{file.relative_to(topics)}": file.read_bytes()})
    for seed in range(3):
        other = Graph()
        mixed = [elsewhere / "deep" / file.relative_to(topics) for file in files]
        random.Random(seed).shuffle(mixed)
        for part in (mixed[:11], mixed[11:]):
            other.ingest(*part, root=elsewhere / "deep")
        assert other.cid == one.cid


def test_every_ingested_file_comes_back_byte_for_byte(topics):
    graph = Graph()
    graph.ingest(topics)
    nodes = graph.nodes()
    for file in topics.rglob("*.md"):
        path = file.relative_to(topics).as_posix()
        assert source_text(document_id(path), nodes.__getitem__).encode() == file.read_bytes()


def test_an_edit_changes_its_passage_and_ancestors_and_going_back_gives_the_old_root(tmp_path):
    graph = Graph()
    text = "# A\n\n" + "\n\n".join(f"Paragraph {number}." for number in range(100)) + "\n"
    make(tmp_path, {"a.md": text, "b.md": text})
    graph.ingest(tmp_path)
    before, root = graph.nodes(), graph.cid
    make(tmp_path, {"a.md": text.replace("Paragraph 42.", "Edited.")})
    report = graph.ingest(tmp_path)
    assert changed(before, graph.nodes()) == [
        "+Passage: Edited.",
        "-Passage: Paragraph 42.",
        "~Document: A",
        "~Section: A",
    ]
    assert (report.documents_changed, report.documents_unchanged) == (1, 1)
    assert (report.nodes_added, report.nodes_changed, report.nodes_removed) == (1, 2, 1)
    make(tmp_path, {"a.md": text})
    graph.ingest(tmp_path)
    assert graph.cid == root


def test_edges_on_a_part_live_as_long_as_the_part(tmp_path):
    graph = Graph()
    make(tmp_path, {"a.md": "one\n\ntwo\n\nthree\n"})
    graph.ingest(tmp_path)
    ids = {node.summary: node.id for node in graph.nodes().values()}
    with graph.transaction() as tx:
        tx.add_edge(ids["one"], "cites", ids["three"])
        tx.add_edge(ids["two"], "cites", ids["three"])
    make(tmp_path, {"a.md": "zero\n\ntwo\n\nthree\n"})
    graph.ingest(tmp_path)
    assert [(edge.src, edge.dst) for edge in graph.edges()] == [(ids["two"], ids["three"])]


def test_what_others_set_on_a_node_survives_the_next_ingest(tmp_path):
    graph = Graph()
    make(tmp_path, {"a.md": "---\nstatus: old\ndraft: true\n---\n# A\n\ntext\n"})
    graph.ingest(tmp_path)
    with graph.transaction() as tx:
        tx.update_node(
            document_id("a.md"),
            set_props={"reviewed_by": "ada"},
            context_sentence="From the archive.",
        )
    make(tmp_path, {"a.md": "---\nstatus: new\n---\n# B\n\ntext\n"})
    graph.ingest(tmp_path)
    document = graph.nodes()[document_id("a.md")]
    assert dict(document.props) == {
        "source": "a.md",
        "media_type": "text/markdown",
        "status": "new",
        "reviewed_by": "ada",
    }
    assert (document.summary, document.context_sentence) == ("B", "From the archive.")


def test_an_integer_that_becomes_a_boolean_is_a_change(tmp_path):
    graph = Graph()
    make(tmp_path, {"a.md": "---\nn: 1\n---\n"})
    graph.ingest(tmp_path)
    make(tmp_path, {"a.md": "---\nn: true\n---\n"})
    graph.ingest(tmp_path)
    assert graph.nodes()[document_id("a.md")].props["n"] is True


def test_bad_files_are_reported_and_the_rest_is_ingested(tmp_path):
    make(
        tmp_path,
        {
            "good.md": "text",
            "nul.md": b"a\0b",
            "latin.md": "é".encode("latin-1"),
            "key.txt": PRIVATE_KEY,
            "large.md": "x" * 500,
            "other.jsonl": '{"a": 1}\n',
            "bom.md": "\ufeff# T\n",
            ".env": "",
            "a.pem": "",
            "lines.ndjson": "nonsense\n",
        },
    )
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "link.md").symlink_to("/etc/passwd")
    (tmp_path / "line\nfeed.md").write_text("newline")
    graph = Graph()
    report = graph.ingest(tmp_path, tmp_path / "absent", size_bytes_max=400)
    assert dict(report.skipped) == {
        "nul.md": "binary (NUL at byte 1)",
        "latin.md": "text in another encoding (not UTF-8 at byte 0)",
        "key.txt": "holds a private key",
        "large.md": "500 bytes, at most 400",
        "other.jsonl": "JSON lines of another form than node, edge, vector, ...",
        "lines.ndjson": "JSON lines of another form than node, edge, vector, ...",
        ".env": "looks like a secret (by its name)",
        "a.pem": "looks like a secret (by its name)",
        "pipe.md": "not a regular file",
        "link.md": "symbolic link, not followed",
    }
    assert report.errors == [(str(tmp_path / "absent"), "No such file or directory")]
    assert report.warnings == [("bom.md", "byte order mark at the start, kept in the source")]
    assert {
        node.props["source"] for node in graph.nodes().values() if node.ntype == "Document"
    } == {
        "good.md",
        "bom.md",
        "line\nfeed.md",
    }


def test_a_file_that_is_named_may_be_a_link_or_hidden_but_not_a_secret(tmp_path):
    make(tmp_path, {"real/a.md": "text", ".hidden.md": "hidden", "id_rsa": "x"})
    (tmp_path / "link.md").symlink_to(tmp_path / "real" / "a.md")
    graph = Graph()
    report = graph.ingest(tmp_path / "link.md", tmp_path / ".hidden.md", tmp_path / "id_rsa")
    assert passages(graph) == ["hidden", "text"]
    assert report.skipped == [("id_rsa", "looks like a secret (by its name)")]


def test_paths_are_named_from_the_root(tmp_path):
    make(tmp_path, {"docs/in/a.md": "a", "b.md": "b"})
    graph = Graph()
    report = graph.ingest(tmp_path / "docs", tmp_path / "b.md", root=tmp_path)
    assert report.errors == []
    assert {document_id("docs/in/a.md"), document_id("b.md")} <= graph.nodes().keys()
    outside = graph.ingest("/etc/hostname", root=tmp_path)
    assert "expected a path inside" in outside.errors[0][1]


def test_a_path_that_no_file_system_has_is_an_error_of_its_own(tmp_path):
    make(tmp_path, {"a.md": "a"})
    report = Graph().ingest("nul\0.md", os.fsdecode(b"bad\xff.md"), tmp_path)
    assert len(report.errors) == 2
    assert report.documents_added == 1


def test_two_files_of_one_name_are_told_apart_or_refused(tmp_path):
    make(tmp_path, {"x/a.md": "one", "y/a.md": "two"})
    graph = Graph()
    report = graph.ingest(tmp_path / "x", tmp_path / "y")
    assert passages(graph) == ["one"]
    assert "is taken by" in report.errors[0][1]
    assert Graph().ingest(tmp_path / "x", tmp_path / "y", root=tmp_path).documents_added == 2


def test_only_prune_removes_the_documents_of_files_that_are_gone(tmp_path):
    make(tmp_path, {"docs/a.md": "# A\n\na", "docs/b.md": "b", "other/c.md": "c"})
    graph = Graph()
    graph.ingest(tmp_path, root=tmp_path)
    (tmp_path / "docs" / "a.md").unlink()
    (tmp_path / "other" / "c.md").unlink()
    assert graph.ingest(tmp_path / "docs", root=tmp_path).documents_removed == 0
    report = graph.ingest(tmp_path / "docs", root=tmp_path, prune=True)
    assert (report.documents_removed, report.nodes_removed) == (1, 3)
    assert passages(graph) == ["b", "c"]


def test_prune_keeps_a_document_whose_file_is_there_but_left_out(tmp_path):
    make(tmp_path, {"a.md": "a", "b.md": "b"})
    graph = Graph()
    graph.ingest(tmp_path, root=tmp_path)
    make(tmp_path, {".gitignore": "a.md\n", "b.md": b"\0"})
    graph.ingest(tmp_path, root=tmp_path, prune=True)
    assert passages(graph) == ["a", "b"]


def test_a_forgotten_document_stays_forgotten(tmp_path):
    make(tmp_path, {"a.md": "one\n\ntwo\n"})
    graph = Graph()
    graph.ingest(tmp_path)
    with graph.transaction() as tx:
        tx.tombstone(document_id("a.md"), reason="wrong")
    root = graph.cid
    make(tmp_path, {"a.md": "one\n\nthree\n"})
    assert graph.ingest(tmp_path).skipped == [("a.md", "forgotten: the document has a tombstone")]
    assert graph.cid == root


def test_a_forgotten_passage_does_not_stop_its_document_and_keeps_its_tombstone(tmp_path):
    make(tmp_path, {"a.md": "one\n\ntwo\n"})
    graph = Graph()
    graph.ingest(tmp_path)
    two = next(node.id for node in graph.nodes().values() if node.summary == "two")
    with graph.transaction() as tx:
        tx.tombstone(two, reason="wrong")
    for text in ("one\n\ntwo\n\nthree\n", "one\n", "one\n\ntwo\n"):
        make(tmp_path, {"a.md": text})
        assert graph.ingest(tmp_path).errors == []
        assert graph.transaction().is_tombstoned(two)
    assert source_text(document_id("a.md"), graph.nodes().__getitem__) == "one\n\ntwo\n"


def test_a_forgotten_section_that_would_change_is_an_error_and_changes_nothing(tmp_path):
    make(tmp_path, {"a.md": "# A\n\none\n"})
    graph = Graph()
    graph.ingest(tmp_path)
    section = next(node.id for node in graph.nodes().values() if node.ntype == "Section")
    with graph.transaction() as tx:
        tx.tombstone(section)
    root = graph.cid
    make(tmp_path, {"a.md": "# A\n\none\n\ntwo\n"})
    assert "has a tombstone" in graph.ingest(tmp_path).errors[0][1]
    assert graph.cid == root


def test_standard_input_is_json_lines_or_a_document():
    graph = Graph()
    assert (
        graph.ingest("-", stdin=io.BytesIO(b'{"node": {"ntype": "T", "key": 1}}\n')).nodes_added
        == 1
    )
    graph.ingest(
        "-", stdin=io.BytesIO(b"# Title\n\ntext\n"), media_type="text/markdown", stdin_path="in.md"
    )
    assert graph.nodes()[document_id("in.md")].summary == "Title"
    report = graph.ingest(
        "-", stdin=io.BytesIO(b"x" * 11), media_type="text/plain", size_bytes_max=10
    )
    assert report.skipped == [("-", "more than 10 bytes")]


def test_progress_is_told_after_each_file(topics):
    seen = []
    Graph().ingest(topics, progress=seen.append)
    assert [each.files_done for each in seen] == list(range(1, 41))
    assert {each.files_count for each in seen} == {40}
    assert (
        seen[-1].bytes_done
        == seen[-1].bytes_count
        == sum(file.stat().st_size for file in topics.rglob("*.md"))
    )


def test_strict_raises_at_the_first_error_and_the_transaction_publishes_nothing(tmp_path):
    make(tmp_path, {"a.md": "text", "b.ndjson": '{"node": {"ntype": "T"}}\n{"node": {}}\n'})
    graph = Graph()
    with pytest.raises(InvalidInputError, match=r"line 2: node\.ntype: missing"):
        graph.ingest(tmp_path, strict=True)
    with pytest.raises(InvalidInputError, match="No such file"):
        graph.ingest(tmp_path / "absent", strict=True)
    assert graph.publications == 0


@pytest.mark.parametrize(
    ("paths", "options"),
    [
        ("a.md", {}),
        (["a.md"], {"media_type": "image/png"}),
        (["a.md"], {"prune": True}),
        (["-"], {}),
        ([""], {}),
        (["a.md"], {"size_bytes_max": 0}),
    ],
)
def test_wrong_arguments_are_refused(paths, options):
    with Graph().transaction() as tx, pytest.raises(InvalidInputError):
        ingest(tx, paths, **options)


def test_one_text_is_ingested_by_itself_and_its_errors_are_raised():
    graph = Graph()
    with graph.transaction() as tx:
        report = ingest_text(tx, "# A\n\ntext\n", path="notes/a.md")
        for text, path in (("a\0b", "a.md"), ("x", "../a.md"), ("\ud800", "a.md")):
            with pytest.raises(InvalidInputError):
                ingest_text(tx, text, path=path)
    assert report.nodes_added == len(graph.nodes()) == 3


def test_an_id_taken_by_another_key_is_an_error_of_its_kind():
    graph = Graph()
    with graph.transaction() as tx:
        tx.add_node("Other", id=document_id("a.md"))
    with graph.transaction() as tx, pytest.raises(InvalidInputError) as caught:
        ingest_text(tx, "x", path="a.md")
    assert caught.value.kind is ErrorKind.ID_COLLISION
