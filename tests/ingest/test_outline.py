"""Losslessness: whatever a format module makes of a source, its parts joined are the source."""

import pydoc_data.topics

import pytest
from hypothesis import given, settings
from tests.examples import examples

from ibidem.ingest.document import read_document
from ibidem.ingest.mark import BLANK, BOM, LEAD_CHARS_MAX, Block, with_gaps
from ibidem.ingest.markdown import HEADING_CHARS_MAX, markdown_marks
from ibidem.ingest.outline import outline, source_of
from ibidem.ingest.plain import code_marks, plain_marks
from ibidem.ingest.split import PASSAGE_CHARS_MAX
from ibidem.objects.location import source_text

from .strategies import SOURCES
from .trees import nodes_of, read

FORMATS = ["a.md", "a.txt", "a.py", "a.org", "a.tex", "a.1", "a.srt"]


@pytest.mark.parametrize("path", FORMATS)
@given(source=SOURCES)
@settings(max_examples=examples(150), deadline=None)
def test_the_nodes_of_a_document_give_its_source_back(path, source):
    drafts = read_document(path, source).drafts
    nodes = nodes_of(drafts)
    assert len(nodes) == len(drafts)
    assert source_text(drafts[-1].id, nodes.__getitem__) == source


@given(source=SOURCES)
@settings(max_examples=examples(100), deadline=None)
def test_parts_stay_within_their_limits(source):
    for marks in (
        list(markdown_marks(source)),
        list(plain_marks(source)),
        list(code_marks(source, None)),
    ):
        filled = list(with_gaps(source, 0, marks))
        assert source_of(outline(source, filled)) == source
        at = 0
        for mark in filled:
            limit = PASSAGE_CHARS_MAX if isinstance(mark, Block) else HEADING_CHARS_MAX
            assert 0 < mark.stop - mark.start <= limit
            assert mark.start - at <= LEAD_CHARS_MAX
            at = mark.stop


@pytest.mark.parametrize("path", ["a.txt", "a.py"])
@given(source=SOURCES)
@settings(max_examples=examples(100), deadline=None)
def test_nothing_but_layout_stays_outside_the_passages_of_plain_text(path, source):
    for node in read(source, path).values():
        outside = "".join(child.lead for child in node.children) + node.tail
        assert set(outside) <= set(BLANK + "*_-=~" + BOM)


@pytest.mark.parametrize("path", FORMATS)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_real_documents_survive(path, ending):
    source = "\n\n".join(
        f"# {name}\n\n{text}" for name, text in sorted(pydoc_data.topics.topics.items())
    )
    source = source.replace("\n", ending)
    drafts = read_document(path, source).drafts
    nodes = nodes_of(drafts)
    assert source_text(drafts[-1].id, nodes.__getitem__) == source
    assert len(drafts) > 500


@pytest.mark.parametrize(
    "source",
    ["", "\n", "\ufeff", "\ufeff\n", "#", "# A", "---\n---\n", "---\na: 1\n---", "\r", "x"],
)
def test_small_sources_survive(source):
    nodes = read(source)
    (document,) = (node for node in nodes.values() if node.ntype == "Document")
    assert source_text(document.id, nodes.__getitem__) == source
