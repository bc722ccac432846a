"""The table of formats: what it says is what ingest does and what the documentation lists."""

import importlib
import importlib.metadata
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from ibidem.cli import commit
from ibidem.ingest.formats import CONVERTED, FORMATS, MEDIA_TYPES, TEXT, format_of
from ibidem.ingest.ingest import ingest_text
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.location import source_text

from .graph import Graph

HOUSE = Path(__file__).resolve().parents[2]


def test_no_suffix_stands_twice():
    suffixes = [suffix for each in FORMATS for suffix in each.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in suffixes)


def test_every_entry_is_a_function_and_every_extra_one_of_the_package():
    project = (HOUSE / "pyproject.toml").read_text()
    for each in FORMATS:
        if each.entry is not None:
            module, _, name = each.entry.partition(":")
            assert callable(getattr(importlib.import_module(module), name))
        if each.extra is not None:
            assert f"\n{each.extra} = [" in project
            assert all(f'"{package}>=' in project for package in each.packages)


def test_the_documentation_lists_every_format_and_suffix():
    page = (HOUSE / "docs/how-to/ingest.md").read_text()
    missing = [
        (each.name, suffix)
        for each in FORMATS
        for suffix in each.suffixes
        if f"`{suffix}`" not in page
    ]
    assert missing == []


def test_the_help_of_commit_names_every_format():
    help_text = str(commit.command.help)
    assert [each.name for each in FORMATS if not each.language and each.name not in help_text] == []
    assert all(
        each.install in help_text
        for each in FORMATS
        if each.extra is not None and not each.language
    )


def test_a_media_type_comes_before_the_suffix():
    assert format_of("a.html").name == "HTML"
    assert format_of("a.py", "text/plain").name == "Python"
    assert format_of("a.html", "text/plain") == TEXT
    assert format_of("page", "text/html").name == "HTML"
    assert format_of("README") == TEXT
    assert "application/pdf" in MEDIA_TYPES


@pytest.fixture
def without_extras(monkeypatch):
    def version(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr(importlib.metadata, "version", version)


def test_a_format_that_is_not_installed_is_an_error_with_the_command(without_extras, tmp_path):
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4\x00")
    graph = Graph()
    report = graph.ingest(tmp_path)
    ((path, error),) = report.errors
    assert path == "a.pdf"
    assert error.count("pip install 'ibidem[pdf]'") == 1
    with pytest.raises(InvalidInputError) as raised, graph.transaction() as tx:
        ingest_text(tx, "%PDF", path="a.pdf")
    assert raised.value.kind is ErrorKind.MISSING_PACKAGE


def test_a_file_of_an_older_program_is_left_out_with_a_command_that_converts_it(tmp_path):
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    for suffix in CONVERTED:
        data = b"{\\rtf1 text}" if suffix == ".rtf" else old + b"\0"
        (tmp_path / f"a{suffix}").write_bytes(data)
    (tmp_path / "README.doc").write_text("Plain text.")
    report = Graph().ingest(tmp_path)
    assert report.errors == []
    assert report.documents_added == 1
    assert dict(report.skipped) == {
        f"a{suffix}": f"{suffix} is not read: convert it, for example with "
        f"soffice --headless --convert-to {target}"
        for suffix, target in CONVERTED.items()
    }


def test_programs_are_read_without_their_extra_and_one_warning_names_it(without_extras, tmp_path):
    for name in ("a.go", "b.go", "c.rs", "d.sh"):
        (tmp_path / name).write_text("one\n\ntwo\n")
    report = Graph().ingest(tmp_path)
    assert report.documents_added == 4
    ((path, warning),) = report.warnings
    assert path == "a.go"
    assert warning == (
        "this and 2 more (Go, Rust) cut at blank lines; "
        "at definitions after pip install 'ibidem[code]'"
    )


def test_extracted_documents_change_and_keep_what_others_set(tmp_path):
    graph = Graph()
    page = tmp_path / "a.html"
    page.write_text("<h1>One</h1><p>first<p>second")
    graph.ingest(tmp_path)
    root = graph.cid
    graph.ingest(tmp_path)
    assert graph.cid == root
    (document,) = (node for node in graph.nodes().values() if node.ntype == "Document")
    with graph.transaction() as tx:
        tx.update_node(document.id, props={**document.props, "mine": "kept"})
    page.write_text("<h1>One</h1><p>first<p>other")
    report = graph.ingest(tmp_path)
    assert (report.nodes_added, report.nodes_removed) == (1, 1)
    nodes = graph.nodes()
    assert nodes[document.id].props["mine"] == "kept"
    assert nodes[document.id].props["source_sha256"] != document.props["source_sha256"]
    assert source_text(document.id, nodes.__getitem__) == "# One\n\nfirst\n\nother"


def test_a_header_that_a_message_no_longer_has_is_gone(tmp_path):
    graph = Graph()
    message = tmp_path / "a.eml"
    message.write_text("Subject: A\nFrom: a@b\n\nText.\n")
    graph.ingest(tmp_path)
    message.write_text("Subject: A\n\nText.\n")
    graph.ingest(tmp_path)
    (document,) = (node for node in graph.nodes().values() if node.ntype == "Document")
    assert "from" not in document.props


def test_a_key_in_an_extracted_source_stays_out(tmp_path):
    body = "MIIEpAIBAAKCAQEA7VJTUt9Us8cKjMzEfYyjiWA4R4" * 2
    (tmp_path / "a.html").write_text(f"<pre>-----BEGIN RSA PRIVATE KEY-----\n{body}\n</pre>")
    assert Graph().ingest(tmp_path).skipped == [("a.html", "holds a private key")]
