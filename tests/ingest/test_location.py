"""Places of parts: bytes, lines and headings computed from parents are those of the source."""

import pytest
from hypothesis import given, settings
from tests.examples import examples

from ibidem.ingest.draft import document_id
from ibidem.objects.child import Child
from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import locate, source_text
from ibidem.objects.node import Node

from .strategies import SOURCES
from .trees import parents_of, read


def located(nodes, part_id):
    return locate(part_id, nodes.__getitem__, parents_of(nodes).get)


def by_text(nodes, text):
    return next(
        node.id for node in nodes.values() if node.summary == text and node.ntype != "Document"
    )


@given(source=SOURCES)
@settings(max_examples=examples(100), deadline=None)
def test_the_bytes_and_lines_of_every_part_are_those_of_the_source(source):
    nodes = read(source)
    data = source.encode()
    for node in nodes.values():
        place = located(nodes, node.id)
        own = source_text(node.id, nodes.__getitem__).encode()
        assert data[place.byte_start : place.byte_stop] == own
        assert place.line_start == 1 + data[: place.byte_start].count(b"\n")
        assert place.line_stop == place.line_start + 1 + own.count(b"\n")
        assert (place.document_id, place.source) == (document_id("a.md"), "a.md")


def test_a_passage_knows_its_headings_and_lines():
    nodes = read(
        "---\nx: 1\n---\n# Guide\n\nIntro.\n\n## Réseau\n\nTwo\nlines.\n\n### Deep\n\nHere.\n"
    )
    place = located(nodes, by_text(nodes, "Two\nlines."))
    assert place.heading_path == ("Guide", "Réseau")
    assert (place.line_start, place.line_stop) == (10, 12)
    assert located(nodes, by_text(nodes, "Here.")).heading_path == ("Guide", "Réseau", "Deep")
    section = located(nodes, by_text(nodes, "Deep"))
    assert (section.heading_path, section.line_start) == (("Guide", "Réseau"), 13)


def test_groups_without_heading_do_not_show_in_the_path():
    nodes = read("# A\n\n" + "\n\n".join(f"Text {number}." for number in range(1500)))
    place = located(nodes, by_text(nodes, "Text 700."))
    assert place.heading_path == ("A",)
    assert place.line_start == 3 + 2 * 700


def test_the_parent_is_asked_for_once_a_level():
    nodes = read("# A\n\n## B\n\n### C\n\ntext\n")
    parents, asked = parents_of(nodes), []

    def parent(part_id):
        asked.append(part_id)
        return parents.get(part_id)

    locate(by_text(nodes, "text"), nodes.__getitem__, parent)
    assert len(asked) == 4


def test_a_node_outside_of_any_document_has_no_place():
    alone = Node(id=NodeId(bytes(16)), ntype="Passage", summary="x")
    with pytest.raises(InvalidInputError, match="part of no document"):
        locate(alone.id, {alone.id: alone}.__getitem__, lambda _: None)


def test_a_parent_that_does_not_list_its_child_is_corrupt():
    nodes = read("a\n\nb\n")
    other = Node(id=NodeId(bytes(16)), ntype="Passage", summary="x")
    nodes[other.id] = other
    with pytest.raises(CorruptError, match="does not list"):
        locate(other.id, nodes.__getitem__, lambda _: document_id("a.md"))


def test_a_circle_of_parts_is_refused():
    one, two = NodeId(b"1" * 16), NodeId(b"2" * 16)
    nodes = {
        one: Node(id=one, ntype="Section", children=(Child(two, "", 0, 0),)),
        two: Node(id=two, ntype="Section", children=(Child(one, "", 0, 0),)),
    }
    with pytest.raises(CorruptError, match="contains itself"):
        source_text(one, nodes.__getitem__)
    with pytest.raises(InvalidInputError, match="part of no document: its parents run in a circle"):
        locate(one, nodes.__getitem__, parents_of(nodes).get)
