"""Hostile sources: each ends in an error of its kind, in bounded time and memory."""

import time

import pytest

from ibidem.ingest.document import read_document
from ibidem.ingest.formats import Format
from ibidem.ingest.sandbox import Limits, Sandbox
from ibidem.objects.errors import ErrorKind, InvalidInputError

from .samples import archive, docx, epub, paragraph, pdf

LIMITS = Limits(seconds=5, memory_bytes=512 << 20)
ENTITIES = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "]>"
)


@pytest.fixture
def sandbox():
    with Sandbox(LIMITS) as made:
        yield made


def refused(sandbox, path, data):
    with pytest.raises(InvalidInputError) as error:
        read_document(path, data, sandbox=sandbox)
    return error.value


def works(sandbox):
    return read_document("a.html", "<p>x", sandbox=sandbox).drafts[0].summary == "x"


def test_a_zip_bomb_is_refused(sandbox):
    error = refused(sandbox, "a.docx", archive({"word/document.xml": b"\0" * (129 << 20)}))
    assert error.kind is ErrorKind.LIMIT_EXCEEDED
    assert works(sandbox)


def test_an_archive_of_too_many_parts_is_refused(sandbox):
    error = refused(sandbox, "a.epub", archive({str(number): b"" for number in range(20_001)}))
    assert error.kind is ErrorKind.LIMIT_EXCEEDED


def test_entities_are_refused_and_never_expanded(sandbox):
    assert "entities" in str(refused(sandbox, "a.epub", epub({"a.xhtml": "x"}, head=ENTITIES)))
    body = ENTITIES + "<w:document><w:body>&i;</w:body></w:document>"
    assert "entities" in str(refused(sandbox, "a.docx", archive({"word/document.xml": body})))
    page = read_document("a.html", ENTITIES + "<p>&i;", sandbox=sandbox)
    assert max(len(draft.summary) for draft in page.drafts) < 5000


def test_names_that_lead_out_of_an_archive_name_nothing(sandbox, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("<p>secret")
    for name in ("../../../../etc/passwd", "/etc/passwd", str(secret), f"file://{secret}"):
        reading = read_document("a.epub", epub({"a.xhtml": "<p>text", name: None}), sandbox=sandbox)
        assert [draft.summary for draft in reading.drafts] == ["text", "The & Book"]
        assert "not in the archive" in reading.warnings[0]


def test_an_endless_pdf_is_refused(sandbox):
    pytest.importorskip("pypdf")
    refused(sandbox, "a.pdf", pdf(["one"], kids="2 0 R 2 0 R"))
    assert works(sandbox)


def test_a_pdf_that_unpacks_without_end_is_refused(sandbox):
    pytest.importorskip("pypdf")
    error = refused(sandbox, "a.pdf", pdf(["one"], packed=b"q " * (150 << 20)))
    assert works(sandbox)
    assert error.kind in (ErrorKind.LIMIT_EXCEEDED, ErrorKind.INVALID_INPUT)


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("endless", ErrorKind.LIMIT_EXCEEDED),
        pytest.param("asleep", ErrorKind.LIMIT_EXCEEDED, marks=pytest.mark.slow),
        ("greedy", ErrorKind.LIMIT_EXCEEDED),
        ("crash", ErrorKind.LIMIT_EXCEEDED),
        ("write", ErrorKind.INVALID_INPUT),
        ("deep", ErrorKind.INVALID_INPUT),
        ("wrong", ErrorKind.INVALID_INPUT),
        ("chatter", None),
    ],
)
def test_a_reader_that_misbehaves_is_stopped(function, kind, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "hostile_reader.py").write_text(HOSTILE.replace("FOLDER", str(tmp_path)))
    bad = Format("bad", "x/y", (), None, f"hostile_reader:{function}")
    page = Format("HTML", "text/html", (), None, "ibidem.ingest.html:extract")
    limits = Limits(seconds=1, memory_bytes=512 << 20, patience=3)
    started = time.monotonic()
    with Sandbox(limits) as sandbox:
        if kind is None:
            assert sandbox.extract(bad, b"x").text == "x"
        else:
            with pytest.raises(InvalidInputError) as error:
                sandbox.extract(bad, b"x")
            assert error.value.kind is kind
        assert sandbox.extract(page, b"<p>next").text == "next"
    assert time.monotonic() - started < 60
    assert not (tmp_path / "written").exists() or not (tmp_path / "written").read_bytes()


HOSTILE = """
import os, sys, time
from ibidem.ingest.extraction import Extraction

def endless(data):
    while True:
        pass

def asleep(data):
    time.sleep(1000)

def greedy(data):
    return Extraction("x" * (2 << 30), ())

def crash(data):
    os._exit(3)

def write(data):
    with open("FOLDER/written", "wb", buffering=0) as file:
        file.write(data)

def deep(data):
    return deep(data)

def wrong(data):
    raise LookupError("no")

def chatter(data):
    print("noise" * 100_000)
    sys.stdout.flush()
    return Extraction("x", ())
"""


@pytest.mark.parametrize("size", [30_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_deep_and_broken_documents_are_read_in_bounded_time(size: int):
    sandbox = Sandbox(Limits(seconds=20))
    for path, data in (
        ("a.html", "<div>" * size),
        ("a.html", "<table><tr><td>" * (size // 10)),
        ("a.html", '<a href="' * (size // 4)),
        ("a.html", "<" * size),
        ("a.html", "&" * size),
        ("a.html", "<!--" * (size // 2)),
        ("a.html", "<ul><li>" * (size // 10)),
        ("a.csv", '"' * (size // 2 + 1)),
        ("a.csv", "," * (size // 2) + "\n" + "x," * (size // 2)),
        ("a.docx", docx(paragraph("x") + "<w:p>" * (size // 2))),
    ):
        kind = None
        try:
            read_document(path, data, sandbox=sandbox)
        except InvalidInputError as error:
            kind = error.kind
        assert kind in (None, ErrorKind.INVALID_INPUT), (path, data[:20])
    sandbox.close()
