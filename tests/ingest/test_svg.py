"""SVG: what is text in a picture, and what is not."""

import pytest

from ibidem.ingest.document import read_document
from ibidem.ingest.ingest import ingest_text
from ibidem.ingest.report import IngestReport
from ibidem.ingest.svg import extract

from .graph import Graph

SVG = """\
<?xml version="1.0"?>
<!DOCTYPE svg [<!ENTITY ns "http://www.w3.org/2000/svg">]>
<svg xmlns="&ns;"><title>The mill</title><style>.a { fill: red }</style>
<path d="M289.044,71c6.51,5.823,8.749,15.918,11,26"/><g><text x="1" y="2">Wa<tspan>ter</tspan>
  <tspan x="1" y="9">wheel</tspan></text><text>sluice</text><text> </text><text>sluice</text></g>
<switch><foreignObject><div xmlns="http://www.w3.org/1999/xhtml">trout<br/>pool</div></foreignObject>
<text>trout pool</text></switch><desc>A mill at a weir.</desc></svg>
"""


def test_the_texts_of_a_picture_are_lines():
    found = extract(SVG.encode())
    assert found.text == "Water wheel\nsluice\ntrout pool\nA mill at a weir."
    assert found.title == "The mill"


@pytest.mark.parametrize("data", [b"", b"<svg/>", b"<svg><path d='M1'/></svg>", b"\0\xff", b"{}"])
def test_a_picture_without_text_is_a_document_without_text(data):
    (document,) = read_document("img/mill.svg", data).drafts
    assert document.summary == "mill.svg"


def test_pictures_and_pages_without_text_are_left_out(tmp_path):
    (tmp_path / "mill.svg").write_text("<svg><path d='M1'/></svg>")
    (tmp_path / "mill.html").write_text("<script>mill()</script>")
    (tmp_path / "named.svg").write_text("<svg><title>The mill</title></svg>")
    (tmp_path / "empty.txt").write_text("")
    graph = Graph()
    report = graph.ingest(tmp_path)
    assert report.skipped == [("mill.html", "has no text"), ("mill.svg", "has no text")]
    assert report.documents_added == 2
    report = graph.ingest(tmp_path / "mill.svg")
    assert report.skipped == [("mill.svg", "has no text")]
    report = IngestReport()
    with graph.transaction() as tx:
        ingest_text(tx, "<svg/>", path="a.svg", report=report)
    assert report.skipped == [("a.svg", "has no text")]


def test_a_picture_with_prefixes_is_read():
    assert extract(b'<svg:svg xmlns:svg="x"><svg:text>rye</svg:text></svg:svg>').text == "rye"
